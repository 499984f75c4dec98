package explain

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/native"
)

// tables is the header of a history with two tables, one of them with two groups of columns.
const tables = `{"isohound":1,"schema":[{"name":"t","key":[{"name":"k","type":"int"}],"groups":[{"columns":[{"name":"v","type":"int"}]}]},` +
	`{"name":"u","key":[{"name":"k","type":"text"}],"groups":[{"name":"a","columns":[{"name":"x","type":"int"}]},{"name":"b","columns":[{"name":"y","type":"int"}]}]}],"initial":null}`

// txn is a line with a transaction.
func txn(id int, ops, preds string) string {
	return fmt.Sprintf(`{"txn":%d,"session":%d,"status":"committed","ops":[%s],"preds":[%s]}`, id, id, ops, preds)
}

func loadTables(t *testing.T, lines ...string) *history.History {
	t.Helper()
	text := tables + "\n" + strings.Join(lines, "\n") + "\n" + fmt.Sprintf(`{"closed":{"reason":"complete","txns":%d}}`, len(lines)) + "\n"
	r, err := native.NewReader(strings.NewReader(text), "h", 0)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	h, err := history.Load(t.Context(), r)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return h
}

// TestStatements checks the lines of transactions with statements of each kind.
func TestStatements(t *testing.T) {
	var many, cut []string
	for n := range 20 {
		many = append(many, fmt.Sprintf(`["r","t(%d)",7]`, n))
		cut = append(cut, fmt.Sprintf("t(%d)=7", n))
	}
	const where = `"where":[["v",">",4]],`
	for name, c := range map[string]struct{ ops, preds, want string }{
		"found and not found": {`["r","t(9)",1],["r","t(2)",null],["r","t(1)",5],["w","t(3)",8]`, `{"kind":"read","table":"t",` + where + `"ops":[1,3],"implied":1}`,
			"r(t(9),1)|scan t where v > 4 -> t(1)=5; not found: t(2)|w(t(3),8)"},
		"several versions":    {`["n","t(2)",5],["n","t(2)",6]`, `{"kind":"read","table":"t","where":[["v",">",4],["k","<",9]],"ops":[0,2],"implied":2}`, "scan t where v > 4 and k < 9 -> nothing; not found: t(2)"},
		"nothing":             {``, `{"kind":"read","table":"t","ops":[0,0]}`, "scan t -> nothing"},
		"a page":              {`["r","t(1)",5]`, `{"kind":"read","table":"t","order":["-v","k"],"limit":1,"ops":[0,1]}`, "scan t order by v desc, k limit 1 -> t(1)=5"},
		"groups":              {`["r","u('p').a",null],["r","u('q').a",1],["r","u('q').b",2],["r","u('r').a",3]`, `{"kind":"read","table":"u","where":[["x","<>",4]],"groups":["a","b"],"ops":[0,4],"implied":1}`, "scan u where x <> 4 -> u('q').a=1, u('q').b=2, u('r').a=3; not found: u('p')"},
		"update":              {`["r","t(2)",1],["r","t(1)",5],["w","t(1)",6],["w","t(3)",7]`, `{"kind":"update","table":"t",` + where + `"ops":[0,4],"implied":1}`, "update t where v > 4 -> t(1)=5->6, t(3)->7; not found: t(2)"},
		"changed, not read":   {`["r","t(1)",5],["w","t(1)",6]`, `{"kind":"update","table":"t",` + where + `"ops":[0,2],"implied":1}`, "update t where v > 4 -> t(1)->6"},
		"delete":              {`["r","t(2)",null],["r","t(1)",5],["w","t(1)",null],["w","t(3)",null]`, `{"kind":"delete","table":"t",` + where + `"ops":[0,4],"implied":1}`, "delete t where v > 4 -> t(1)=5, t(3); not found: t(2)"},
		"count":               {``, `{"kind":"count","table":"t",` + where + `"count":3,"ops":[0,0]}`, "count t where v > 4 -> 3"},
		"counted":             {`["r","t(1)",5],["n","t(2)",4],["r","t(3)",4],["r","t(4)",null],["n","t(5)",5]`, `{"kind":"count","table":"t",` + where + `"count":3,"ops":[0,5],"implied":5}`, "count t where v > 4 -> 3; counted: t(1), t(2); not counted: t(3), t(4), t(5)"},
		"an impossible count": {`["r","t(1)",5],["n","t(1)",5],["n","t(2)",null]`, `{"kind":"count","table":"t",` + where + `"count":3,"ops":[0,3],"implied":3}`, "count t where v > 4 -> 3"},
		"omitted":             {`["r","t(1)",5]`, `{"kind":"read","table":"t","ops":[0,1],"omitted":["t(2)","t(3)"]}`, "scan t -> t(1)=5, … 2 more"},
		"all omitted":         {`["r","t(4)",null]`, `{"kind":"read","table":"t","ops":[0,1],"implied":1,"omitted":["t(2)"]}`, "scan t -> 1 row; not found: t(4)"},
		"omitted, not read":   {`["r","t(2)",5]`, `{"kind":"update","table":"t","ops":[0,1],"implied":1,"omitted":["t(2)","t(3)"]}`, "update t -> t(2), … 1 more"},
		"two, then a write":   {`["r","t(1)",5],["r","t(1)",5],["w","t(1)",6]`, `{"kind":"read","table":"t","ops":[0,1]},{"kind":"read","table":"t","ops":[1,2]}`, "scan t -> t(1)=5|scan t -> t(1)=5|w(t(1),6)"},
		"many":                {strings.Join(many, ","), `{"kind":"read","table":"t","ops":[0,20]}`, "scan t -> " + strings.Join(cut[:maxTuples], ", ") + ", … 12 more"},
		"a key with line end": {`["r","u('p\nq').a",null]`, `{"kind":"read","table":"u","where":[["k","=","p\nq"]],"ops":[0,1],"implied":1}`, `scan u where k = 'p\nq' -> nothing; not found: u('p\nq')`},
	} {
		h := loadTables(t, txn(1, c.ops, c.preds))
		if got := strings.Join(Lines(NewTxn(h, 0, nil, nil).Ops), "|"); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, c.want)
		}
	}
}

// TestStatementPart checks which operations of a statement a part of a transaction shows.
func TestStatementPart(t *testing.T) {
	var ops []string
	for n := range 12 {
		ops = append(ops, fmt.Sprintf(`["r","t(%d)",null]`, n))
	}
	for n := range 12 {
		ops = append(ops, fmt.Sprintf(`["r","t(%d)",7]`, 50+n))
	}
	h := loadTables(t, txn(1, strings.Join(ops, ",")+`,["r","t(99)",1],["w","t(98)",1]`,
		`{"kind":"read","table":"t","ops":[0,24],"implied":12},{"kind":"count","table":"t","ops":[24,24],"count":3}`))
	only := func(list ...int) func(int) bool { return func(n int) bool { return slices.Contains(list, n) } }
	for name, c := range map[string]struct {
		ops  []int
		near func(int) bool
		want string
	}{
		"one row that was not found":          {[]int{5, 25}, only(5), "scan t -> t(50)=7, t(51)=7, t(52)=7, t(53)=7, t(54)=7, t(55)=7, t(56)=7, t(57)=7, … 4 more; not found: t(5)|w(t(98),1) … 2 more"},
		"a late row comes before others":      {nil, only(22), "scan t -> t(50)=7, t(51)=7, t(52)=7, t(53)=7, t(54)=7, t(55)=7, t(56)=7, t(60)=7, … 4 more|count t -> 3|r(t(99),1) w(t(98),1)"},
		"no operation of the statement":       {[]int{24}, only(24), "r(t(99),1) … 3 more"},
		"not found, but nothing is near that": {[]int{5, 24}, only(24), "r(t(99),1) … 3 more"},
	} {
		if got := strings.Join(Lines(NewTxn(h, 0, c.ops, c.near).Ops), "|"); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, c.want)
		}
	}
}

// TestImpossibleCount checks that a count which no state has claims nothing about the row that stands
// for that, neither in the whole history nor in a part of it.
func TestImpossibleCount(t *testing.T) {
	for ops, n := range map[string]int{`["r","t(1)",5],["n","t(1)",5],["w","t(2)",1]`: 2, `["n","t(1)",null],["w","t(2)",1]`: 1} {
		h := loadTables(t, txn(1, ops, fmt.Sprintf(`{"kind":"count","table":"t","count":3,"ops":[0,%d],"implied":%d}`, n, n)))
		if got := strings.Join(Lines(Steps(h, 0)), "|"); got != "count t -> 3|w(t(2),1)" {
			t.Error(got)
		}
	}
}

// skew is a write skew in which neither transaction found the other one's row.
func skew(t *testing.T) (*history.History, *verdict.Anomaly) {
	const scan = `{"kind":"read","table":"t","where":[["v",">",4]],"ops":[0,1],"implied":1}`
	h := loadTables(t, txn(1, `["r","t(2)",null],["w","t(1)",7]`, scan), txn(2, `["r","t(1)",null],["w","t(2)",8]`, scan),
		txn(3, `["r","t(1)",7]`, `{"kind":"update","table":"t","where":[["v",">",8]],"ops":[0,1],"implied":1}`))
	key := func(name string) history.Key {
		return h.Ops(&h.Txns[map[string]int{"t(1)": 1, "t(2)": 0}[name]])[0].Key
	}
	a := &verdict.Anomaly{Kind: verdict.Cycle, Txns: []int32{0, 1}, Cycle: []verdict.Edge{
		{From: 0, To: 1, Kind: verdict.RW, Key: key("t(2)"), Value: history.Absent},
		{From: 1, To: 0, Kind: verdict.RW, Key: key("t(1)"), Value: history.Absent}}}
	return h, a
}

// TestScanEdges checks that labels of edges name the condition and the row, in both drawings.
func TestScanEdges(t *testing.T) {
	h, a := skew(t)
	cycle, _ := Edges(h, a)
	if got, want := strings.Join(labelLines(cycle[0]), "|"), "PRW scan t|where v > 4|not found: t(2)"; got != want {
		t.Errorf("label %q, want %q", got, want)
	}
	reads := Reads(h, nil, nil)
	if len(reads) != 1 || reads[0].Scan != "update t where v > 8" || !reads[0].Missed || reads[0].Text != "T3 changed rows of t with v > 8 and did not find t(1), which was 7, which T1 wrote." {
		t.Fatalf("%+v", reads)
	}
	long := Edge{Kind: "WR", Key: "t(1).a", Value: "1", Scan: "update t where one = 1 and another = 'a very long constant, indeed' and third between 1 and 2 and fourth = 4"}
	lines := labelLines(long)
	if len(lines) != 5 || lines[0] != "PWR update t" || lines[4] != "found: t(1).a" || !strings.HasSuffix(lines[3], "…") {
		t.Errorf("%q", lines)
	}
	for _, s := range lines {
		if len([]rune(s)) > scanWidth {
			t.Errorf("%q is too long", s)
		}
	}
	for e, want := range map[Edge]string{
		{Kind: "RW", Key: "t(1)", Scan: "count t"}:               "PRW count t|counted: t(1)",
		{Kind: "RW", Key: "t(1)", Scan: "count t", Missed: true}: "PRW count t|not counted: t(1)",
	} {
		if got := strings.Join(labelLines(e), "|"); got != want {
			t.Errorf("label %q, want %q", got, want)
		}
	}
	p := &Picture{Title: "skew", Cycle: cycle, Context: reads}
	for i := range h.Txns {
		p.Txns = append(p.Txns, NewTxn(h, int32(i), nil, nil))
		p.Txns[i].Kept = Steps(h, i)
	}
	svg, dot := GraphSVG(p), DOT(p)
	for _, want := range []string{">PRW scan t<", ">where v &gt; 4<", ">not found: t(2)<", ">not found: t(1)<", ">PWR update t<", "PRW: its scan saw the row before the other wrote it"} {
		if !strings.Contains(svg, want) {
			t.Errorf("the graph lacks %q:\n%s", want, svg)
		}
	}
	for _, want := range []string{`label="PRW scan t where v > 4\nnot found: t(2)"`, `label="PWR update t where v > 8\nnot found: t(1)"`} {
		if !strings.Contains(dot, want) {
			t.Errorf("the graph lacks %q:\n%s", want, dot)
		}
	}
	// Words are in the order of the lines of a bar.
	if text := strings.Join(newTimeline(p, opsWidth).rows[0].bars[0].lines, " "); text != "T1 scan t where v > 4 -> nothing; not found: t(2) w(t(1),7)" {
		t.Errorf("bar %q", text)
	}
	for what, text := range map[string]string{"graph": svg, "DOT": dot, "timeline": TimelineSVG(p)} {
		if strings.Contains(text, "r(t(") {
			t.Errorf("the %s shows a row that was not found as a read:\n%s", what, text)
		}
	}
	if got, want := Listing(h), "T1 (session 1), committed, ? to ?:\n    scan t where v > 4 -> nothing; not found: t(2)\n    w(t(1),7)\n"; !strings.HasPrefix(got, want) {
		t.Errorf("%s", got)
	}
}

// TestStatementText checks that a step read back from JSON is still known as a statement.
func TestStatementText(t *testing.T) {
	h, _ := skew(t)
	for _, o := range NewTxn(h, 0, nil, nil).Ops {
		text, err := o.MarshalText()
		var back Op
		if err == nil {
			err = back.UnmarshalText(text)
		}
		if err != nil || back.Statement() != o.Statement() || back.String() != o.String() || len(back.Items()) != 0 {
			t.Errorf("%v: %s became %s, a statement: %v", err, o, back, back.Statement())
		}
		if o.Statement() != strings.HasPrefix(o.String(), "scan ") || len(o.Items()) != 1 {
			t.Errorf("%s: statement %v, items %v", o, o.Statement(), o.Items())
		}
	}
}
