package scans_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/scans"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/native"
)

const header = `{"isohound":1,"schema":[{"name":"t","key":[{"name":"k","type":"int"}],"groups":[{"columns":[{"name":"v","type":"int"}]}]},` +
	`{"name":"u","key":[{"name":"k","type":"int"}],"groups":[{"name":"a","columns":[{"name":"x","type":"int"}]},{"name":"b","columns":[{"name":"y","type":"text"}]}]}],"initial":null}`

// footer closes a history. load counts the transactions.
const footer = `{"closed":{"reason":"complete","txns":0}}`

// load reads the lines of a history in the native format.
func load(t *testing.T, lines ...string) *history.History {
	t.Helper()
	text := strings.Join(lines, "\n") + "\n"
	text = strings.Replace(text, `"txns":0`, fmt.Sprintf(`"txns":%d`, strings.Count(text, `{"txn":`)), 1)
	r, err := native.NewReader(bytes.NewReader([]byte(text)), "h", 0)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	h, err := history.Load(context.Background(), r)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return h
}

// expand is scans.Expand.
func expand(t *testing.T, h *history.History) *history.History {
	t.Helper()
	x, _, err := scans.Expand(t.Context(), h, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// txn is a line with a committed transaction.
func txn(id, ops, preds string) string {
	return `{"txn":` + id + `,"session":` + id + `,"status":"committed","ops":[` + ops + `],"preds":[` + preds + `]}`
}

// TestVerdicts has small histories with their weakest violated levels, and the name and words of
// the violation at the first of them. Those called Vbox are counterexamples to the Vbox paper.
func TestVerdicts(t *testing.T) {
	const big = `{"kind":"read","table":"t","where":[["v",">",4]],"ops":`
	for name, c := range map[string]struct {
		lines    []string
		violated []level.Level // of ser, si and sser
		anomaly  string
		words    string
	}{
		"phantom": {[]string{`{"initial":[["t(1)",5]]}`,
			txn("1", `["w","t(2)",9],["w","t(3)",1]`, ``),
			txn("2", `["r","t(1)",5],["r","t(3)",1]`, big+`[0,1]}`)},
			[]level.Level{level.SER, level.SI}, "Phantom",
			"T2 looked for rows of t with v > 4 and did not find t(2), which did not exist; T1 then wrote 9."},
		"predicate write skew": {[]string{`{"initial":[["t(1)",3]]}`,
			txn("1", `["w","t(1)",7]`, big+`[0,0]}`),
			txn("2", `["w","t(2)",8]`, big+`[0,0]}`)},
			[]level.Level{level.SER}, "PredicateWriteSkew",
			"T2 looked for rows of t with v > 4 and did not find t(1), which was 3; T1 then wrote 7."},
		"an update misses a row": {[]string{`{"initial":[["t(1)",5],["t(2)",0]]}`,
			txn("1", `["r","t(2)",0],["w","t(2)",6],["w","t(3)",1]`, ``),
			txn("2", `["r","t(1)",5],["w","t(1)",9],["r","t(3)",1]`, `{"kind":"update","table":"t","where":[["v",">",4]],"ops":[0,2]}`)},
			[]level.Level{level.SER, level.SI}, "Phantom", "T2 changed rows of t with v > 4 and did not find t(2), which was 0"},
		"an update finds a row that does not fulfil its conditions": {[]string{`{"initial":[["t(1)",5]]}`,
			txn("1", `["w","t(1)",1]`, ``),
			txn("2", `["w","t(1)",2]`, `{"kind":"update","table":"t","where":[["v","=",3]],"ops":[0,1]}`)},
			[]level.Level{level.SER, level.SI}, "", ""},
		"a result that does not fulfil its conditions": {[]string{`{"initial":[["t(1)",3]]}`,
			txn("1", `["r","t(1)",3]`, big+`[0,1]}`)},
			[]level.Level{level.SER, level.SI}, "WrongRow", "t(1) was among them. It was 3, which does not fulfil the conditions"},
		"a row that always exists": {[]string{`{"initial":[["t(1)",5]]}`,
			txn("1", ``, big+`[0,0]}`)},
			[]level.Level{level.SER, level.SI}, "ThinAirRead", "the row always exists"},
		"its own insert is missing": {[]string{
			txn("1", `["w","t(1)",5]`, big+`[1,1]}`)},
			[]level.Level{level.SER, level.SI}, "NotMyOwnWrite", "wrote t(1) = 5 and later looked for rows of t with v > 4 and did not find t(1)"},
		"two scans of one transaction differ": {[]string{
			txn("1", `["w","t(1)",5]`, ``),
			txn("2", `["r","t(1)",5]`, big+`[0,0]},`+big+`[0,1]}`)},
			[]level.Level{level.SER, level.SI}, "NonRepeatableReads", "looked for rows of t with v > 4 and did not find t(1), so it did not exist and later read t(1) = 5"},
		"deleted and inserted again": {[]string{`{"initial":[["t(1)",5]]}`,
			txn("1", `["r","t(1)",5],["w","t(1)",null]`, ``),
			txn("2", `["r","t(1)",null],["w","t(1)",6]`, ``),
			txn("3", `["w","t(2)",1]`, big+`[0,0]}`),
			txn("4", `["r","t(2)",1],["r","t(1)",6]`, big+`[1,2]}`)}, nil, "", ""},
		"a page": {[]string{`{"initial":[["t(1)",5],["t(2)",6],["t(3)",7]]}`,
			txn("1", `["r","t(3)",7],["r","t(2)",6]`, `{"kind":"read","table":"t","where":[["v",">",4]],"order":["-v"],"limit":2,"ops":[0,2]}`)}, nil, "", ""},
		"a page without a row that sorts first": {[]string{`{"initial":[["t(1)",5],["t(2)",6],["t(3)",7]]}`,
			txn("1", `["r","t(3)",7],["r","t(1)",5]`, `{"kind":"read","table":"t","where":[["v",">",4]],"order":["-v"],"limit":2,"ops":[0,2]}`)},
			[]level.Level{level.SER, level.SI}, "ThinAirRead", "the first 2 rows of t with v > 4 by -v"},
		"a page that is not full": {[]string{`{"initial":[["t(1)",5],["t(2)",6]]}`,
			txn("1", `["r","t(2)",6]`, `{"kind":"read","table":"t","order":["-v"],"limit":2,"ops":[0,1]}`)},
			[]level.Level{level.SER, level.SI}, "ThinAirRead", "did not find t(1)"},
		"groups": {[]string{
			txn("1", `["w","u(1).a",1],["w","u(1).b","p"]`, ``),
			txn("2", `["r","u(1).b","p"],["w","u(1).b","q"],["w","t(1)",1]`, ``),
			txn("3", `["r","t(1)",1]`, `{"kind":"read","table":"u","where":[["y","=","q"]],"groups":["a","b"],"ops":[1,1]}`)},
			[]level.Level{level.SER, level.SI}, "Contradiction", `T3 looked for rows of u with y = 'q' and did not find u(1), so it was not "q".`},
		"a count without a row that the transaction changed itself": {[]string{`{"initial":[["u(1).a",5],["u(1).b","p"]]}`,
			txn("1", `["r","u(1).b","p"],["w","u(1).b","q"],["w","t(1)",1]`, `{"kind":"count","table":"u","where":[["x","=",5],["y","=","q"]],"ops":[3,3]}`),
			txn("2", `["r","t(1)",1],["r","u(1).a",5],["w","u(1).a",6]`, ``)},
			[]level.Level{level.SER, level.SI}, "", ""},
		"Vbox 1: a version that is installed later": {[]string{
			txn("1", `["w","t(1)",7]`, `{"kind":"read","table":"t","where":[["v","=",101]],"ops":[0,0]}`),
			txn("2", `["r","t(1)",7],["w","t(2)",101]`, ``)}, nil, "", ""},
		"Vbox 2: time contradicts the only order": {[]string{
			`{"txn":1,"session":1,"begin":1,"end":2,"status":"committed","ops":[["w","t(1)",9]]}`,
			`{"txn":2,"session":2,"begin":3,"end":4,"status":"committed","ops":[],"preds":[` + big + `[0,0]}]}`},
			[]level.Level{level.SSER}, "Phantom", ""},
		"Vbox 2: time implies the order": {[]string{
			`{"txn":1,"session":1,"begin":3,"end":4,"status":"committed","ops":[["w","t(1)",9]]}`,
			`{"txn":2,"session":2,"begin":1,"end":2,"status":"committed","ops":[],"preds":[` + big + `[0,0]}]}`}, nil, "", ""},
		"Vbox 3: two conditions on the same writers": {[]string{
			txn("1", `["w","t(1)",5],["w","t(2)",1]`, ``),
			txn("2", `["r","t(1)",5],["w","t(1)",2]`, ``),
			txn("3", `["r","t(2)",1]`, big+`[1,1]},{"kind":"read","table":"t","where":[["v","=",2],["k","=",1]],"ops":[1,1]}`)},
			[]level.Level{level.SER, level.SI}, "", ""},
		"Vbox 4: the scan's transaction inserts the row": {[]string{
			txn("1", `["w","t(1)",5]`, big+`[0,0]}`),
			txn("2", `["r","t(1)",5]`, big+`[0,1]}`)}, nil, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			h := expand(t, load(t, slices.Concat([]string{header}, c.lines, []string{footer})...))
			if h.Scans == nil || h.Scans.Judged != h.Scans.Scans {
				t.Fatalf("%+v", h.Scans)
			}
			if again := expand(t, h); again.Scans.Instantiated != 0 || len(again.AllOps()) != len(h.AllOps()) {
				t.Errorf("a second time: %+v", again.Scans)
			}
			levels := []level.Level{level.SER, level.SI}
			if h.Timed() {
				levels = append(levels, level.SSER)
			}
			for _, lvl := range levels {
				r, err := checker.Check(t.Context(), h, lvl, checker.Options{Certify: true})
				if err != nil {
					t.Fatal(err)
				}
				if want := slices.Contains(c.violated, lvl); (r.Verdict == verdict.Violated) != want || r.Verdict == verdict.Unknown {
					t.Errorf("%s %s", lvl, r.Verdict)
				}
				if len(c.violated) == 0 || lvl != c.violated[0] {
					continue
				}
				if len(r.Anomalies) == 0 || c.anomaly != "" && !slices.Contains(r.Anomalies[0].Names, c.anomaly) || !strings.Contains(r.Anomalies[0].Text, c.words) {
					t.Errorf("%s: %+v", lvl, r.Anomalies)
				}
			}
		})
	}
}

// TestNotJudged: a scan that cannot be judged says why, and takes away no other verdict.
func TestNotJudged(t *testing.T) {
	const scan = `{"kind":"read","table":"t","where":[["v",">",4]],"ops":[0,0]}`
	row := `{"initial":[["t(1)",5]]}`
	for reason, lines := range map[string][]string{
		"1 of 1 scans are not judged: the header has no schema":  {`{"isohound":1,"initial":null}`, row, txn("1", ``, scan), footer},
		"1 of 1 scans are not judged: the recording was cut off": {header, row, txn("1", ``, scan)},
		"1 of 2 scans are not judged: a scan of table u has a limit and is ordered by columns of several groups": {header, `{"initial":[["u(1).a",1],["u(1).b","p"]]}`,
			txn("1", `["r","u(1).a",1],["r","u(1).b","p"]`, `{"kind":"read","table":"u","order":["x","y"],"limit":1,"groups":["a","b"],"ops":[0,2]},{"kind":"read","table":"t","where":[["v",">",4]],"ops":[2,2]}`), footer},
		"1 of 2 scans are not judged: the predicates of a transaction overlap": {header, row, txn("1", `["r","t(1)",5],["r","t(1)",5]`,
			`{"kind":"read","table":"t","where":[["v",">",4]],"ops":[0,2]},{"kind":"read","table":"t","where":[["v",">",4]],"ops":[1,2]}`), footer},
		`1 of 1 scans are not judged: t(2) has the value "x", which does not fit the columns of table t`: {header, `{"initial":[["t(2)","x"]]}`, txn("1", ``, scan), footer},
		"1 of 1 scans are not judged: k is no row of table t":                                            {header, txn("1", `["r","k",null]`, `{"kind":"read","table":"t","where":[["v",">",4]],"ops":[0,1]}`), footer},
		"1 of 1 scans are not judged: a scan of table u has an order and a limit, and did not read the columns of the order": {header, `{"initial":[["u(1).a",1],["u(1).b","p"]]}`,
			txn("1", `["r","u(1).b","p"]`, `{"kind":"read","table":"u","order":["x"],"limit":1,"groups":["b"],"ops":[0,1]}`), footer},
	} {
		h := expand(t, load(t, lines...))
		if h.Scans == nil || !strings.HasPrefix(h.Scans.Reason, reason) || h.Scans.Judged == h.Scans.Scans {
			t.Errorf("%s: %+v", reason, h.Scans)
		}
	}
}

// TestManyVersions: a row of many versions that a scan did not find, or changed without reading it, is
// judged, one version at a time.
func TestManyVersions(t *testing.T) {
	for name, c := range map[string]struct {
		scan, ops string
		want      verdict.Verdict
	}{
		"missed before the first insertion":  {`{"kind":"read","table":"t","where":[["v",">=",0]],"ops":[0,0]}`, ``, verdict.Satisfied},
		"missed after 60 versions":           {`{"kind":"read","table":"t","where":[["k","=",1],["v","<",60]],"ops":[1,1]}`, `["r","t(2)",5]`, verdict.Satisfied},
		"missed before the last version":     {`{"kind":"read","table":"t","where":[["v","<",68]],"ops":[1,1]}`, `["r","t(2)",3]`, verdict.Violated},
		"changed after an insertion":         {`{"kind":"update","table":"t","where":[["v",">",30]],"ops":[0,1]}`, `["w","t(1)",900]`, verdict.Satisfied},
		"changed in a state that never was":  {`{"kind":"update","table":"t","where":[["v",">",100]],"ops":[0,1]}`, `["w","t(1)",900]`, verdict.Violated},
		"counted after the other insertions": {`{"kind":"count","table":"t","where":[["v",">=",0],["k","=",1]],"count":1,"ops":[0,0]}`, ``, verdict.Satisfied},
	} {
		lines := []string{header}
		for i := range 70 { // absence is a version, too
			before := fmt.Sprintf(`["r","t(1)",%d],`, i-1)
			if i == 0 {
				before = `["r","t(1)",null],`
			}
			lines = append(lines, txn(fmt.Sprint(i+2), before+fmt.Sprintf(`["w","t(1)",%d],["w","t(2)",%d]`, i, min(i, 5)), ``))
		}
		h, rest := settle(t, load(t, append(lines, txn("1", c.ops, c.scan), footer)...), 1<<30, level.SERNoSO)
		opt := checker.Options{Certify: true}
		if rest != nil {
			opt.Agree = rest.Decide
		}
		r, err := checker.Check(t.Context(), h, level.SERNoSO, opt)
		if err != nil || r.Verdict != c.want || h.Scans.Judged != h.Scans.Scans {
			t.Errorf("%s: %+v, %v, %+v", name, r, err, h.Scans)
		}
	}
}

// TestImpliedInFiles: a part of a history with its predicates gives the same operations when it
// is written and read again.
func TestImpliedInFiles(t *testing.T) {
	h := expand(t, load(t, header, `{"initial":[["t(1)",3],["t(2)",5]]}`,
		txn("1", `["r","t(2)",5],["w","t(1)",7]`, `{"kind":"read","table":"t","where":[["v",">",4]],"ops":[0,1]}`),
		txn("2", `["r","t(2)",5],["w","t(3)",8]`, `{"kind":"read","table":"t","where":[["v",">",4]],"ops":[0,1]}`), footer))
	// Without the row that the first scan returned, and without one that it did not find.
	part := h.Extract([]history.Part{{Txn: 0, Ops: []int{1, 3}}, {Txn: 1, Ops: []int{0, 1, 2, 3}}})
	var out bytes.Buffer
	w, err := native.NewWriter(&out, false, &part.Header, part.Symbols)
	if err != nil {
		t.Fatal(err)
	}
	for i := range part.Txns {
		rec := part.Record(i)
		if err := w.Write(&rec); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(true, "complete"); err != nil {
		t.Fatal(err)
	}
	back := load(t, strings.TrimSuffix(out.String(), "\n"))
	for i := range part.Txns {
		if !slices.EqualFunc(back.Predicates(i), part.Predicates(i), func(a, b history.Predicate) bool {
			return a.Ops == b.Ops && a.Implied == b.Implied && a.Partial && b.Partial && slices.Equal(a.Omitted, b.Omitted)
		}) {
			t.Errorf("%+v, not %+v", back.Predicates(i), part.Predicates(i))
		}
	}
	if p := back.Predicates(0)[0]; p.Implied != 1 || p.Ops != [2]int{0, 1} || !slices.Equal(p.Omitted, []string{"t(2)"}) {
		t.Errorf("%+v", p)
	}
	again := expand(t, back)
	if again.Scans.Judged != 2 || again.Scans.Instantiated > 0 {
		t.Errorf("%+v\n%s", again.Scans, out.String())
	}
}

// settle is scans.Expand with all operations added on demand that levels need.
func settle(t *testing.T, h *history.History, eager int, levels ...level.Level) (*history.History, *scans.Rest) {
	t.Helper()
	x, rest, err := scans.Expand(t.Context(), h, eager)
	if err != nil {
		t.Fatal(err)
	}
	if rest == nil {
		return x, nil
	}
	for _, lvl := range levels {
		x, err = rest.Settle(t.Context(), lvl, x, func(h *history.History) (*verdict.Result, error) {
			return checker.Check(t.Context(), h, lvl, checker.Options{Witness: true})
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	rest.Done()
	return x, rest
}

// TestOnDemand: scans that miss very many rows are judged, and need few operations.
func TestOnDemand(t *testing.T) {
	lines := func(n int, wrong string) (lines []string) {
		for i := range n {
			scan := fmt.Sprintf(`{"kind":"read","table":"t","where":[["k",">=",%d]],"ops":[0,0]}`, i)
			lines = append(lines, txn(fmt.Sprint(i+1), fmt.Sprintf(`["w","t(%d)",%d]`, i, i+5), scan))
		}
		return slices.Concat([]string{header}, append(lines, wrong), []string{footer})
	}
	const n = 3000
	good := load(t, lines(n, txn("9000", `["r","t(17)",22]`, `{"kind":"read","table":"t","where":[["k","=",17],["v",">",3]],"ops":[0,1]}`))...)
	h, rest := settle(t, good, scans.EagerOps, level.SER)
	if s := h.Scans; rest == nil || s.Scans != n+1 || s.Judged != n+1 || s.Instantiated > 2*scans.EagerOps+10*n || s.Reason != "" {
		t.Errorf("%+v", h.Scans)
	}
	r, err := checker.Check(t.Context(), h, level.SER, checker.Options{Certify: true})
	if err != nil || r.Verdict != verdict.Satisfied {
		t.Fatalf("%+v, %v", r, err)
	}
	if fits, err := rest.Fits(t.Context(), h, r.Witness); err != nil || !fits {
		t.Error(fits, err)
	}
	bad := load(t, lines(n, txn("9000", `["r","t(2999)",3004]`, `{"kind":"read","table":"t","where":[["k","=",17]],"ops":[1,1]}`))...)
	h, _ = settle(t, bad, scans.EagerOps, level.SER)
	if r, err = checker.Check(t.Context(), h, level.SER, checker.Options{Certify: true}); err != nil || r.Verdict != verdict.Violated || !slices.Contains(r.Anomalies[0].Names, "G2") {
		t.Errorf("%+v, %v", r, err) // t(17) was inserted before t(2999)
	}
	// In the reverse order the first scan should have found all other rows. Asking changes nothing.
	h, rest, err = scans.Expand(t.Context(), good, 0)
	if err != nil {
		t.Fatal(err)
	}
	var reverse []int32
	for i := int32(n); i >= 0; i-- {
		reverse = append(reverse, i)
	}
	before := h.Scans.Instantiated
	for range 2 {
		if fits, err := rest.Fits(t.Context(), h, &verdict.Witness{Order: reverse}); err != nil || fits || h.Scans.Instantiated != before {
			t.Errorf("%v, %v, %+v", fits, err, h.Scans)
		}
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	cause := errors.New("enough")
	cancel(cause)
	if _, _, err := scans.Expand(ctx, good, 0); err != cause {
		t.Error(err)
	}
}
