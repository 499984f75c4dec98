package explain

import (
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/dsl"
)

// ring makes the picture of a cycle of n transactions, with alternating kinds of edges, keys and
// values of some length, and some more writers.
func ring(n, extra int, key string) *Picture {
	p := &Picture{Title: fmt.Sprintf("a cycle of %d", n)}
	kinds := []string{"WR", "RW", "WW", "RT", "SO"}
	for i := range n + extra {
		at, end := int64(i)*1_000_000, int64(i)*1_000_000+1_500_000
		p.Txns = append(p.Txns, Txn{ID: int64(139440 + i), Session: int64(i % 6), Node: int16(i % 3), DBTxn: int64(77000 + i), Begin: &at, End: &end,
			Status: "committed", Ops: []Op{{Kind: history.Read, Key: key, Value: "1"}, {Kind: history.Write, Key: key, Value: "2"}}})
	}
	for i := range n {
		e := Edge{From: int64(139440 + i), To: int64(139440 + (i+1)%n), Kind: kinds[i%len(kinds)], Text: "because"}
		if e.Kind != "RT" && e.Kind != "SO" {
			e.Key, e.Value = fmt.Sprint(key, i), fmt.Sprint(100+i)
		}
		p.Cycle = append(p.Cycle, e)
	}
	for i := range extra {
		for _, to := range []int{i % n, (i + 1) % n} {
			p.Context = append(p.Context, Edge{From: int64(139440 + n + i), To: int64(139440 + to), Kind: "WR", Key: fmt.Sprint(key, i), Value: "1"})
		}
	}
	return p
}

const longKey = "accounts.balance.of.the.long.named.customer"

// TestNothingOverlaps checks, for cycles of all common lengths, that no two boxes or labels
// overlap, and that no edge runs through a box or label that is not its own.
func TestNothingOverlaps(t *testing.T) {
	for n := 2; n <= maxDrawn; n++ {
		for extra := 0; extra <= min(3, maxDrawn-n); extra++ {
			for _, key := range []string{"x", "accounts:1", longKey} {
				p := ring(n, extra, key)
				l := newLayout(p)
				if l.crowded {
					t.Errorf("%d transactions, %d beside, key %s: no places found", n, extra, key)
					continue
				}
				nodes := slices.Concat(l.ring, l.extra)
				if len(nodes) != n+extra || len(l.arrows) != n+2*extra {
					t.Errorf("%d transactions, %d beside: %d boxes and %d arrows", n, extra, len(nodes), len(l.arrows))
				}
				for i, a := range nodes {
					for _, b := range nodes[:i] {
						if a.rect.meets(b.rect, 4) {
							t.Errorf("%d, %d, %s: boxes %d and %d overlap", n, extra, key, a.id, b.id)
						}
					}
				}
				for i, a := range l.arrows {
					for _, b := range nodes {
						if a.label.meets(b.rect, 0) || b.id != a.From && b.id != a.To && a.curve.crosses(b.rect, 0) {
							t.Errorf("%d, %d, %s: edge %d touches box %d", n, extra, key, i, b.id)
						}
					}
					for j, b := range l.arrows {
						if i != j && (a.label.meets(b.label, 0) || a.curve.crosses(b.label, 0)) {
							t.Errorf("%d, %d, %s: edges %d and %d overlap", n, extra, key, i, j)
						}
					}
				}
			}
		}
	}
}

// TestTimelineKeepsApart checks that bars of one session do not overlap, and that each has room for
// its text.
func TestTimelineKeepsApart(t *testing.T) {
	for n := 2; n <= 30; n++ {
		p := ring(n, 0, longKey)
		for i := range 8 {
			begin, end := int64(i)*700_000, int64(i)*700_000+300_000
			p.Around = append(p.Around, Txn{ID: int64(i), Session: int64(20 + i%4), Begin: &begin, End: &end, Status: "committed"})
		}
		l := newTimeline(p, opsWidth)
		bars := 0
		for _, r := range l.rows {
			for i, a := range r.bars {
				bars++
				if a.x2-a.x1 < a.need()-4 {
					t.Errorf("%d: T%d has %.0f of %.0f", n, a.t.ID, a.x2-a.x1, a.need())
				}
				for _, b := range r.bars[:i] {
					if a.lane == b.lane && a.x1 < b.x2 && b.x1 < a.x2 {
						t.Errorf("%d: T%d and T%d overlap", n, a.t.ID, b.t.ID)
					}
				}
			}
		}
		if want := min(n, maxBars) + 8; bars != want || l.hidden != max(n-maxBars, 0) {
			t.Errorf("%d: %d bars, %d hidden, want %d", n, bars, l.hidden, want)
		}
	}
}

// nasty are names that break output if they are not escaped.
var nasty = []string{`"`, `\`, `a"b\c`, "<b>&amp;", "]]>", "--", "\x00\x1b[31m\x7f", "\xff\xfe", "\ufffe", "a\nb", "{|}", strings.Repeat("long", 500), "键", "'"}

// TestPicturesAreWellFormed checks that the drawings are valid XML, and DOT with matching quotes
// and braces, whatever the names of keys are.
func TestPicturesAreWellFormed(t *testing.T) {
	for _, name := range nasty {
		p := ring(3, 1, name)
		p.Title = name
		p.Txns[0].Status = "unknown"
		for what, svg := range map[string]string{"graph": GraphSVG(p), "timeline": TimelineSVG(p), "narrow timeline": NarrowTimelineSVG(p)} {
			if svg == "" {
				t.Errorf("%q: no %s", name, what)
			}
			d := xml.NewDecoder(strings.NewReader(svg))
			for {
				if _, err := d.Token(); err == io.EOF {
					break
				} else if err != nil {
					t.Fatalf("%q: %s: %v", name, what, err)
				}
			}
			if strings.ContainsFunc(svg, func(r rune) bool { return r < ' ' && r != '\n' }) {
				t.Errorf("%q: %s has control characters", name, what)
			}
		}
		balanced(t, name, DOT(p))
	}
}

func balanced(t *testing.T, name, dot string) {
	t.Helper()
	in, depth, brackets := false, 0, 0
	for i := 0; i < len(dot); i++ {
		switch c := dot[i]; {
		case in && c == '\\':
			i++
		case c == '"':
			in = !in
		case in && (c == '\n' || c < ' '):
			t.Fatalf("%q: a raw control character in a string:\n%s", name, dot)
		case in:
		case c == '{':
			depth++
		case c == '}':
			depth--
		case c == '[':
			brackets++
		case c == ']':
			brackets--
		}
	}
	if in || depth != 0 || brackets != 0 {
		t.Errorf("%q: quotes %v, braces %d, brackets %d:\n%s", name, in, depth, brackets, dot)
	}
}

// TestFolded checks that the graph of a cycle of hundreds has a dozen boxes, and says how many more
// there are.
func TestFolded(t *testing.T) {
	svg := GraphSVG(ring(288, 0, "x"))
	if !strings.Contains(svg, "… 277 more") || strings.Count(svg, `rect class="box`) != maxDrawn {
		t.Errorf("%d boxes:\n%.3000s", strings.Count(svg, `rect class="box`), svg)
	}
	if svg := TimelineSVG(ring(300, 0, "x")); !strings.Contains(svg, "… 276 more transactions") {
		t.Errorf("%.3000s", svg)
	}
}

// TestTimes checks that without times the timeline has the order of sessions, and that a bar with
// an unknown end reaches to the edge.
func TestTimes(t *testing.T) {
	h := dsl.MustParse("s1 T1: r(x,0) w(x,1)\ns1 T2: r(x,1)\ns2 T3: r(x,0)")
	p := &Picture{Title: "none"}
	for i := range h.Txns {
		p.Txns = append(p.Txns, NewTxn(h, int32(i), nil, nil))
	}
	l := newTimeline(p, opsWidth)
	if l.timed || l.rows[0].bars[0].x2 > l.rows[0].bars[1].x1 || l.rows[1].bars[0].x1 != l.rows[0].bars[0].x1 {
		t.Errorf("%+v", l.rows)
	}
	if svg := TimelineSVG(p); !strings.Contains(svg, "No times of one clock are known") {
		t.Error(svg)
	}
	h = dsl.MustParse("no_common_clock\ns1 T1 [10,20]: r(x,0) w(x,1)\ns2 T2 [15,30]: r(x,1)")
	if x := NewTxn(h, 1, nil, nil); x.Begin != nil || x.End != nil {
		t.Error("times of several clocks are shown beside each other")
	}
	if list, more := Around(h, []int32{0}, func(history.Key) bool { return true }); len(list)+more > 0 {
		t.Error("somebody knows what ran at the same time without a common clock")
	}
	if text := Listing(h); !strings.Contains(text, "committed, ? to ?") {
		t.Error(text)
	}
	h = dsl.MustParse("s1 T1 [10,20]: r(x,0)\ns2 T2 [15,?]: w(x,1) unknown\ns3 T3 [?,30]: r(x,1)")
	p.Txns = nil
	for i := range h.Txns {
		p.Txns = append(p.Txns, NewTxn(h, int32(i), nil, nil))
	}
	l = newTimeline(p, opsWidth)
	if b := l.rows[1].bars[0]; !b.openRight || b.end != 30 {
		t.Errorf("%+v", b)
	}
	if b := l.rows[2].bars[0]; !b.openLeft || b.begin != 10 {
		t.Errorf("%+v", b)
	}
}

// TestReads checks the edges from certain and from possible writers to readers.
func TestReads(t *testing.T) {
	h := dsl.MustParse("s1 T1: w(x,1)\ns2 T2: w(x,1) w(y,0)\ns3 T3: r(x,1)\ns4 T4: w(z,1)\ns5 T5: r(z,1) r(y,0) r(q,0)\ns6 T6: w(z,1) abort")
	var got []string
	for _, e := range Reads(h, nil, nil) {
		got = append(got, fmt.Sprintf("%d %s %d", e.From, e.Kind, e.To))
	}
	if want := "1 WR? 3, 2 WR? 3, 4 WR 5, 2 WR? 5"; strings.Join(got, ", ") != want {
		t.Errorf("got %v, want %s", got, want)
	}
}

// TestForcedWords checks that the text of an edge between two writers names the read that forces it.
func TestForcedWords(t *testing.T) {
	h := dsl.MustParse("s1 T1: w(x,1)\ns2 T2: w(x,2)\ns1 T3: r(x,2)")
	e := verdict.Edge{From: 0, To: 1, Kind: verdict.WW, Key: 0, Value: 1}
	a := &verdict.Anomaly{Kind: verdict.Cycle, Cycle: []verdict.Edge{e}, Forced: map[int]verdict.OpRef{0: {Txn: 2}}}
	cycle, _ := Edges(h, a)
	if want := "T1 -WW-> T2: both wrote x: T1 wrote 1, T2 wrote 2. T3 read x = 2 from T2, and T1 came before T3. So T1 was first: otherwise its write would have been read."; cycle[0].Text != want {
		t.Errorf("got  %s\nwant %s", cycle[0].Text, want)
	}
}

// TestReadsOfFaults: what a transaction should not have read is drawn with the transaction that wrote it:
// an aborted one, one that overwrote the value itself, the one that a repeated read saw.
func TestReadsOfFaults(t *testing.T) {
	for text, want := range map[string]string{
		"s1 T1: w(x,1) abort\ns2 T2: r(x,1)\n":                "1 WR 2",
		"s1 T1: w(x,1) w(x,2)\ns2 T2: r(x,1)\n":               "1 WR 2",
		"s1 T1: r(x,0) r(x,1)\ns2 T2: w(x,1)\n":               "2 WR 1",
		"s1 T1: w(x,1) abort\ns2 T2: w(x,1)\ns3 T3: r(x,1)\n": "2 WR 3",
		"s1 T1: w(x,1) r(x,1)\n":                              "",
	} {
		h := dsl.MustParse(text)
		var got []string
		for _, e := range Reads(h, nil, nil) {
			got = append(got, fmt.Sprint(e.From, " ", e.Kind, " ", e.To))
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%s%v, want %s", text, got, want)
		}
	}
}

// TestNarrowTimeline: on a phone the transactions of the counterexample are there, and those around them are not.
func TestNarrowTimeline(t *testing.T) {
	at := func(ns int64) *int64 { return &ns }
	p := ring(2, 0, "k")
	for i := range p.Txns {
		p.Txns[i].Begin, p.Txns[i].End = at(int64(10+i)), at(int64(20+i))
	}
	p.Around, p.More = []Txn{{ID: 99, Session: 9, Begin: at(5), End: at(30), Status: "committed"}}, 7
	wide, narrow := TimelineSVG(p), NarrowTimelineSVG(p)
	if !strings.Contains(wide, ">T99<") || !strings.Contains(wide, "Faint") {
		t.Error(wide)
	}
	if strings.Contains(narrow, ">T99<") || strings.Contains(narrow, "Faint") || strings.Count(narrow, `class="name"`) != 2 {
		t.Error(narrow)
	}
	width := func(svg string) (w float64) {
		_, rest, _ := strings.Cut(svg, `width="`)
		fmt.Sscanf(rest, "%f", &w)
		return w
	}
	if w := width(narrow); w > 500 || w >= width(wide) {
		t.Errorf("the narrow timeline is %v wide, the other %v", w, width(wide))
	}
}
