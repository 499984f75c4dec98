package elle_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/dsl"
	"github.com/isohound/isohound/history/elle"
	"github.com/isohound/isohound/history/fit"
)

// written fits h to the format and writes it.
func written(t *testing.T, h *history.History, json bool) string {
	t.Helper()
	name := "elle"
	if json {
		name = "elle-json"
	}
	fits, _, _, err := fit.To(h, elle.Carries(name))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := elle.Write(&b, fits, json); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func listHistory(text string) *history.History {
	h := dsl.MustParse("initial nil\n" + text)
	h.Workload = elle.ListWorkload
	return h
}

// TestAppends: what a history of lists becomes in EDN and in JSON.
func TestAppends(t *testing.T) {
	h := listHistory(`
s1 T1 [1,2]: r(x,nil) w(x,"5,") r(y,nil)
s2 T2 [3,4]: r(x,"5,") w(x,"5,-7,") r(x,"5,-7,") w(x,"5,-7,2,")
s1 T3 [5,6]: r(x,"5,-7,2,") w(x,"5,-7,2,9,") abort
s1 T4 [7,8]: r(x,"5,-7,2,")
`)
	if ok, why := elle.Appends(h); !ok {
		t.Fatal(why)
	}
	want := `{:index 0, :time 1, :type :invoke, :process 1, :f :txn, :value [[:r, "x", nil], [:append, "x", 5], [:r, "y", nil]]}
{:index 1, :time 2, :type :ok, :process 1, :f :txn, :value [[:r, "x", nil], [:append, "x", 5], [:r, "y", nil]]}
{:index 2, :time 3, :type :invoke, :process 2, :f :txn, :value [[:r, "x", nil], [:append, "x", -7], [:r, "x", nil], [:append, "x", 2]]}
{:index 3, :time 4, :type :ok, :process 2, :f :txn, :value [[:r, "x", [5]], [:append, "x", -7], [:r, "x", [5 -7]], [:append, "x", 2]]}
{:index 4, :time 5, :type :invoke, :process 1, :f :txn, :value [[:append, "x", 9]]}
{:index 5, :time 6, :type :fail, :process 1, :f :txn, :value [[:append, "x", 9]]}
{:index 6, :time 7, :type :invoke, :process 1, :f :txn, :value [[:r, "x", nil]]}
{:index 7, :time 8, :type :ok, :process 1, :f :txn, :value [[:r, "x", [5 -7 2]]]}
`
	if got := written(t, h, false); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := written(t, h, true); !strings.Contains(got, `["r", "x", [5,-7]], ["append", "x", 2]`) {
		t.Errorf("JSON: %s", got)
	}
}

// TestNoAppends: a history that lists cannot represent faithfully is written as registers, with
// the reason; so is a history of another workload.
func TestNoAppends(t *testing.T) {
	for _, tc := range []struct{ text, why string }{
		{`s1 T1: r(x,nil) w(x,5)`, "transaction 1 has 5 of key x, which is not a list"},
		{`s1 T1: r(x,nil) w(x,"5")`, `transaction 1 has "5" of key x, which is not a list`},
		{`s1 T1: r(x,nil) w(x,"05,")`, `transaction 1 has "05," of key x, which is not a list`},
		{`s1 T1: r(x,nil) w(x,"5,") w(x,nil)`, "transaction 1 deletes key x"},
		{`s1 T1: w(x,"5,")`, `transaction 1 writes "5," to key x, which is not the list that it read plus one element`},
		{`s1 T1: r(x,nil) w(x,"5,6,")`, `transaction 1 writes "5,6," to key x, which is not the list that it read`},
		{"s1 T1: r(x,nil) w(x,\"5,\")\ns1 T2: r(x,\"5,\") w(x,\"6,\")", `transaction 2 writes "6," to key x, which is not`},
		{"s1 T1: r(x,nil) w(x,\"5,\")\ns1 T2: r(x,\"5,\") w(x,\"5,5,\")", "transaction 2 appends 5 to key x, as another write does"},
		{"s1 T1: r(x,nil) w(x,\"5,\") abort\ns1 T2: r(x,nil) w(x,\"5,\")", "transaction 2 appends 5 to key x, as another write does"},
		{`s1 T1: n(x,"5,")`, "transaction 1 has a failed compare-and-set"},
		{`s1 T1: w(x,"4,5,") unknown`, "transaction 1 has an unknown outcome, and appended to a list of key x without a known writer"},
	} {
		h := listHistory(tc.text)
		ok, why := elle.Appends(h)
		if notes := elle.Notes(h); ok || !strings.HasPrefix(why, tc.why) || len(notes) != 1 || !strings.HasSuffix(notes[0], why) {
			t.Errorf("%s: %v, %s", tc.text, ok, why)
		}
		if out := written(t, h, false); strings.Contains(out, ":append") {
			t.Errorf("%s is written as\n%s", tc.text, out)
		}
	}
	h := dsl.MustParse("initial nil\ns1 T1: r(x,nil) w(x,\"5,\")")
	if ok, why := elle.Appends(h); ok || why != "" || len(elle.Notes(h)) > 0 {
		t.Errorf("registers from elsewhere: %v, %s", ok, why)
	}
	if out := written(t, h, false); !strings.Contains(out, `[:w, "x", "5,"]`) {
		t.Errorf("registers from elsewhere: %s", out)
	}
}

// lister simulates a database of lists that makes errors, and the histories of its clients.
// Elements are unique.
type lister struct {
	rng     *rand.Rand
	mistake float64 // how likely each step goes wrong
	lag     float64 // how likely a snapshot is one transaction old
	texts   map[string][]string
	before  map[string]int // how many states there were a transaction ago
	fresh   int64
}

// history runs transactions one after another, each on the state left by the last committed one,
// except for errors: old states, lost updates, elements of aborted transactions that remain, and
// elements that nobody appended.
func (l *lister) history(txns int) *history.History {
	sym := history.NewSymbols()
	b := history.NewBuilder(history.Header{Workload: elle.ListWorkload}, sym, 0)
	value := func(text string) history.Value {
		if text == "" {
			return history.Absent
		}
		return sym.String(text)
	}
	l.texts, l.before = map[string][]string{}, map[string]int{} // states of each list, the last one counts
	latest := int64(0)                                          // the session of the last committed transaction
	wrong := func() bool { return l.rng.Float64() < l.mistake }
	for id := range txns {
		rec := history.Record{ID: int64(id + 1), Session: 1 + l.rng.Int64N(4), Status: history.Committed, Begin: history.NoTime, End: history.NoTime, Due: history.NoTime}
		if l.rng.IntN(6) == 0 {
			rec.Status = history.Aborted
		}
		lags := l.rng.Float64() < l.lag && latest != rec.Session // a session sees its own writes
		own, wrote := map[string]string{}, map[string]bool{}
		for range 1 + l.rng.IntN(4) {
			name := []string{"x", "y", "z"}[l.rng.IntN(3)]
			text, seen := own[name]
			if states := l.texts[name]; (!seen || wrong()) && len(states) > 0 {
				text = states[len(states)-1]
				if n := l.before[name]; lags && n > 0 {
					text = states[n-1]
				} else if lags {
					text = ""
				}
				if wrong() {
					text = states[l.rng.IntN(len(states))]
				}
			}
			if wrong() && wrong() {
				l.fresh++
				text += elle.Tail(l.fresh) // an element that nobody appended
			}
			k := sym.Key(name)
			rec.Ops = append(rec.Ops, history.Op{Kind: history.Read, Key: k, Value: value(text)})
			own[name] = text
			if l.rng.IntN(2) == 0 {
				l.fresh++
				own[name] += elle.Tail(l.fresh)
				wrote[name] = true
				if lags && l.before[name] < len(l.texts[name]) {
					rec.Status = history.Aborted // the first updater won
				}
				rec.Ops = append(rec.Ops, history.Op{Kind: history.Write, Key: k, Value: value(own[name])})
			}
		}
		if rec.Status == history.Committed || wrong() {
			for name, states := range l.texts {
				l.before[name] = len(states)
			}
			for _, name := range slices.Sorted(maps.Keys(wrote)) {
				if !wrong() {
					l.texts[name] = append(l.texts[name], own[name])
				}
			}
			latest = rec.Session
		}
		if err := b.Add(&rec); err != nil {
			panic(err)
		}
	}
	return b.Done(true, nil)
}

// TestAppendsVerdict: a history of lists, correct or not, has the same verdict when it is
// written as lists with append, at every level and for every kind of error.
func TestAppendsVerdict(t *testing.T) {
	counts := map[string]int{}
	for seed := range uint64(400) {
		l := &lister{rng: rand.New(rand.NewPCG(seed, 1)), mistake: []float64{0, 0, 0.01, 0.1}[seed%4], lag: []float64{0, 0.8, 0, 0.2}[seed%4]}
		h := l.history(12 + int(seed%30))
		if ok, why := elle.Appends(h); !ok {
			t.Fatalf("seed %d: %s\n%s", seed, why, dsl.Format(h))
		}
		json := seed%3 == 0
		text := written(t, h, json)
		back, err := read(text, json)
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, text)
		}
		for _, lvl := range []level.Level{level.SER, level.SI} {
			want, got := verdictOf(t, h, lvl), verdictOf(t, back, lvl)
			counts[lvl.String()+" "+want.String()]++
			if got != want {
				t.Fatalf("seed %d at %s: %s as registers, %s as lists\n%s\n%s\n%s", seed, lvl, want, got, dsl.Format(h), text, dsl.Format(back))
			}
		}
		if seed%4 == 0 && verdictOf(t, h, level.SER) != verdict.Satisfied || seed%4 == 1 && verdictOf(t, h, level.SI) != verdict.Satisfied {
			t.Fatalf("seed %d: a database without mistakes is found wrong\n%s", seed, dsl.Format(h))
		}
	}
	for _, lvl := range []string{"ser", "si"} {
		for _, v := range []string{"satisfied", "violated"} {
			if counts[lvl+" "+v] < 100 {
				t.Errorf("%v: too few of one kind", counts)
			}
		}
	}
	if counts["si satisfied"]-counts["ser satisfied"] < 15 {
		t.Errorf("%v: too little write skew", counts)
	}
	t.Log(counts)
}

func verdictOf(t *testing.T, h *history.History, lvl level.Level) verdict.Verdict {
	t.Helper()
	r, err := checker.Check(context.Background(), h, lvl, checker.Options{Certify: true})
	if err != nil {
		t.Fatalf("%v\n%s", err, dsl.Format(h))
	}
	return r.Verdict
}

// TestAppendsUnknown: an append of unknown outcome stays unknown, and counts if its element is
// read. The other reads of such a transaction are lost in every history of Elle.
func TestAppendsUnknown(t *testing.T) {
	for _, tc := range []struct {
		text        string
		want, lists verdict.Verdict
	}{
		{`s1 T1: r(x,nil) w(x,"1,") unknown
s2 T2: r(x,"1,") w(x,"1,2,")`, verdict.Satisfied, verdict.Satisfied},
		{`s1 T1: r(x,nil) w(x,"1,") unknown
s2 T2: r(x,nil) w(x,"2,")`, verdict.Satisfied, verdict.Satisfied},
		{`s1 T1: r(x,nil) w(x,"1,") unknown
s2 T2: r(x,nil) w(x,"2,")
s3 T3: r(x,"1,")`, verdict.Violated, verdict.Violated},
		{`s1 T1: r(x,nil) w(x,"1,")
s2 T2: r(x,"1,") w(x,"1,2,") r(x,"1,2,") w(x,"1,2,3,") unknown
s3 T3: r(x,"1,2,3,")`, verdict.Satisfied, verdict.Satisfied},
		{`s1 T1: r(x,nil) w(x,"1,") r(y,nil)
s2 T2: r(x,nil) r(y,nil) w(y,"5,") unknown
s3 T3: r(y,"5,")`, verdict.Violated, verdict.Satisfied},
	} {
		h := listHistory(tc.text)
		out := written(t, h, false)
		if n := strings.Count(out, ":append"); n < 2 {
			t.Errorf("%s: written as\n%s", tc.text, out)
		}
		back, err := read(out, false)
		if err != nil {
			t.Fatal(err)
		}
		if a, b := verdictOf(t, h, level.SER), verdictOf(t, back, level.SER); a != tc.want || b != tc.lists {
			t.Errorf("%s: %s as registers, %s as lists", tc.text, a, b)
		}
	}
}

// TestTail: lists are prefixes of each other exactly when their texts are.
func TestTail(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	text := func(list []int64) (s string) {
		for _, e := range list {
			s += elle.Tail(e)
		}
		return s
	}
	for range 2000 {
		var lists [2][]int64
		for i := range lists {
			for range rng.IntN(4) {
				lists[i] = append(lists[i], []int64{1, 11, -1, 2}[rng.IntN(4)])
			}
		}
		a, b := lists[0], lists[1]
		if got := strings.HasPrefix(text(b), text(a)); got != (len(a) <= len(b) && slices.Equal(a, b[:min(len(a), len(b))])) {
			t.Errorf("%s", fmt.Sprint(a, b, got))
		}
	}
}
