package dsl_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/isohound/isohound/generator/synth"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/dsl"
	"github.com/isohound/isohound/history/schema"
)

func TestParse(t *testing.T) {
	h := dsl.MustParse(`
# a comment
initial nil
initial x=5 y="a b"     # and another
open
s1: r(x,5) w(x,6)
s2 T9 [3,9]: r(x,6) n(y,nil) abort
s-1 [?,4]: w(z,word) w(z,"7") unknown
s1 T2: commit
`)
	if h.Closed || h.DefaultInitial != history.Absent || h.Initial(h.Key("x")) != 5 || h.ValueText(h.Initial(h.Key("y"))) != `"a b"` {
		t.Errorf("closed %v, initial values %v, %v", h.Closed, h.Initial(h.Key("x")), h.Initial(h.Key("y")))
	}
	want := `initial nil
initial x=5
initial y="a b"
open
s1 T1: r(x,5) w(x,6)
s2 T9 [3,9]: r(x,6) n(y,nil) abort
s-1 T3 [?,4]: w(z,word) w(z,"7") unknown
s1 T2:
`
	if got := dsl.Format(h); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestNoCommonClock: the notation says that times are of several clocks, and so does a part of a history.
func TestNoCommonClock(t *testing.T) {
	const text = "no_common_clock\ns1 T1 [1,2]: w(x,1)\ns2 T2 [3,9]: r(x,1)\n"
	h := dsl.MustParse(text + "no_common_clock # again\n")
	if got := dsl.Format(h); got != text || !h.NoCommonClock || h.Timed() {
		t.Errorf("no common clock %v, got\n%s", h.NoCommonClock, got)
	}
	if got := dsl.Format(h.Extract([]history.Part{{Txn: 1, Ops: []int{0}}})); got != "no_common_clock\ns2 T2 [3,9]: r(x,1)\n" {
		t.Errorf("the part is\n%s", got)
	}
	if _, err := dsl.Parse("no_common_clock s1: r(x,0)", "f"); err == nil || !strings.HasPrefix(err.Error(), "f:1: nothing may follow here") {
		t.Errorf("%v", err)
	}
}

func TestClaims(t *testing.T) {
	const text = `s1 T1 @12: w(x,1)
s2 T2 [3,9] @14<12: r(x,1) w(x,2)
s3 T3 @<0: r(x,0)
s3 T4: r(x,2)
`
	h := dsl.MustParse(text)
	for i, want := range []history.Claim{{Commit: 12}, {Commit: 14, Snapshot: 12, Snapped: true}, {Snapped: true}, {}} {
		if got := h.Claim(i); got != want {
			t.Errorf("transaction %d claims %+v, want %+v", i+1, got, want)
		}
	}
	if got := dsl.Format(h); got != text {
		t.Errorf("got\n%s", got)
	}
	part := h.Extract([]history.Part{{Txn: 1, Ops: []int{0}}, {Txn: 3, Ops: []int{0}}})
	if got := dsl.Format(part); got != "s2 T2 [3,9] @14<12: r(x,1)\ns3 T4: r(x,2)\n" {
		t.Errorf("the part is\n%s", got)
	}
}

func TestVisible(t *testing.T) {
	const text = `s1 T1 $812: w(x,1)
s2 T2 [3,9] $816 @14 {812:820:815,817}: r(x,1) w(x,2)
s3 T3 {812:812:}: r(x,0)
`
	h := dsl.MustParse(text)
	if got := dsl.Format(h); got != text || !h.HasVisible() || !h.HasClaims() || h.DBTxn(1) != 816 {
		t.Errorf("got\n%s", got)
	}
	seen := h.Claim(1).Visible
	for n, want := range map[int64]bool{0: false, -1: false, 5: true, 811: true, 812: true, 814: true, 815: false, 816: true, 817: false, 819: true, 820: false, 900: false} {
		if got := seen.Has(n); got != want {
			t.Errorf("%s has %d: %v", seen, n, got)
		}
	}
	if part := h.Sub([]history.Part{{Txn: 2, Ops: []int{0}}}); part.Claim(0).Visible.String() != "812:812:" || !part.HasVisible() {
		t.Error("a part has lost its snapshot")
	}
	if plain := h.WithClaims(nil); plain.HasVisible() || plain.HasClaims() {
		t.Error("claims remain")
	}
}

func TestRoundTrip(t *testing.T) {
	h := synth.Mini(synth.MiniConfig{Sessions: 4, Txns: 200, Keys: 6, Seed: 9, Snapshot: true})
	text := dsl.Format(h)
	again, err := dsl.Parse(text, "")
	if err != nil {
		t.Fatal(err)
	}
	if got := dsl.Format(again); got != text {
		t.Error("a history is not the same after Format and Parse")
	}
}

// TestLongError: an error quotes the beginning of a line, which may be long.
func TestLongError(t *testing.T) {
	if _, err := dsl.Parse("s1: r("+strings.Repeat("ä", 100_000)+",,0)", "f"); err == nil || len(err.Error()) > 500 {
		t.Errorf("%.1000v", err)
	}
	if _, err := dsl.Parse("s1: r("+strings.Repeat("(", 100_000)+",0)", "f"); err == nil || len(err.Error()) > 500 {
		t.Errorf("%.1000v", err)
	}
}

func TestErrors(t *testing.T) {
	for text, want := range map[string]string{
		"s1 r(x,0)":                 "f:1: expected a colon",
		"\ns1: r(x)":                "f:2: expected a comma after the key",
		"s1: r(x,)":                 "f:1: expected a value",
		"s1: q(x,1)":                "f:1: expected r(key,value)",
		"s1: r(x,1) abort more":     "f:1: nothing may follow here",
		"x":                         "f:1: expected a session",
		"s1 @: r(x,1)":              "f:1: expected a number for the commit position",
		"s1 @5<: r(x,1)":            "f:1: expected a number for the snapshot",
		"s1 @-5: r(x,1)":            "f:1: transaction 1 has a claimed position below 0",
		"s1 {5:9: r(x,1)":           "f:1: expected } after the snapshot",
		"s1 {5:9}: r(x,1)":          "f:1: \"5:9\" is no snapshot",
		"s1 {5:9:a}: r(x,1)":        "f:1: \"5:9:a\" is no snapshot: \"a\"",
		"s1 {5:9:9}: r(x,1)":        "f:1: the transactions in progress",
		"s1 {0:9:}: r(x,1)":         "f:1: it goes from 0 to 9",
		"s1 @1 T2 @3: r(x,1)":       "f:1: @ occurs twice before the colon",
		"s1 [1,2] [1,2]: r(x,1)":    "f:1: [ occurs twice before the colon",
		"s1 T1 T2: r(x,1)":          "f:1: T occurs twice before the colon",
		"s1 @1 x: r(x,1)":           "f:1: expected a colon",
		"s1 $x: r(x,1)":             "f:1: expected a number for the transaction of the database",
		"sx: r(x,1)":                "f:1: expected a number for the session",
		"s1 [1 2]: r(x,1)":          "f:1: expected a comma in the interval",
		"s1 [2,1]: r(x,1)":          "f:1: transaction 1 ends at 1",
		"s1 T1: r(x,1)\ns2 T1:":     "f:2: transaction id 1 occurs twice",
		`s1: r(x,"abc)`:             "f:1: the text",
		`s1: r("abc,1)`:             "f:1: the text",
		`s1: r(a(1,2`:               "f:1: expected the name of a key",
		"initial x=1 y=2 x=1":       "f:1: key x has two initial values",
		"initial x=1\ninitial x=2":  "f:2: key x has two initial values",
		"initial 5\ninitial 5":      "f:2: there are two initial values of every key",
		"s1: r(x,\xff)":             "f:1: the line is not valid UTF-8",
		"s1: r(x,1) w(x,2":          "f:1: expected ) after the value",
		"s99999999999999999999: r(": "f:1: expected a number",
	} {
		_, err := dsl.Parse(text, "f")
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// TestOrder: what stands before the colon may be in any order, and is written in one.
func TestOrder(t *testing.T) {
	const written = "s1 T7 [3,9] $816 @12<10 {812:820:815}: r(x,1)"
	for _, text := range []string{
		written,
		"s1 {812:820:815} @12<10 $816 [3,9] T7: r(x,1)",
		"s1 @12<10 [3,9] T7 {812:820:815} $816: r(x,1)",
		"s1$816{812:820:815}[3,9]@12<10T7: r(x,1)",
	} {
		if h, err := dsl.Parse(text, "f"); err != nil || dsl.Txn(h, 0) != written {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestNames: every key and value is the same after it was written and read.
func TestNames(t *testing.T) {
	texts := []string{"", "x", "a b", "a,b", "stock(1,17).level", "f(g(1),2)", ")", "(", "a)b(", "a#", "#a", `"`, `a"b`, `\`, "[1]", "a=b", "é", "\u00a0", "\u2028", "\ufeffx",
		"\n", "\t", "\x00", "\x7f", "nil", "null", "true", "7", "-7", "+7", "007", "1.5", "-0", "1e3", "18446744073709551616", "commit", "abort", "open", "initial", "s1:", "T1", "\ufffd",
		"\xed\xa0\x80", "\xed\xb0\x80", "a\xed\xa0\x80"}
	sym := history.NewSymbols()
	values := []history.Value{history.Absent, sym.Int(0), sym.Int(-5), sym.Raw("1.5"), sym.Raw("-0"), sym.Raw("1e3"), sym.Raw("true"), sym.Raw("18446744073709551616"), sym.Int(-1 << 63)}
	for _, text := range texts {
		values = append(values, sym.String(text))
	}
	rec := history.Record{ID: 1, Session: 1, Status: history.Committed, Begin: history.NoTime, End: history.NoTime}
	for i, text := range texts {
		k := sym.Key(text)
		if i%2 == 0 {
			sym.SetInitial(k, values[i])
		}
		rec.Ops = append(rec.Ops, history.Op{Kind: history.Read, Key: k, Value: values[i]})
	}
	for _, v := range values {
		rec.Ops = append(rec.Ops, history.Op{Kind: history.Write, Key: sym.Key("x"), Value: v})
	}
	b := history.NewBuilder(history.Header{}, sym, 0)
	if err := b.Add(&rec); err != nil {
		t.Fatal(err)
	}
	h := b.Done(true, nil)
	again, err := dsl.Parse(dsl.Format(h), "f")
	if err != nil {
		t.Fatalf("%v\n%s", err, dsl.Format(h))
	}
	if len(again.AllOps()) != len(rec.Ops) {
		t.Fatalf("%d operations of %d", len(again.AllOps()), len(rec.Ops))
	}
	for i, op := range again.AllOps() {
		was := rec.Ops[i]
		if again.KeyName(op.Key) != h.KeyName(was.Key) || again.ValueText(op.Value) != h.ValueText(was.Value) {
			t.Errorf("%s is read as %q, %s; want %q, %s", dsl.Op(h, was), again.KeyName(op.Key), again.ValueText(op.Value), h.KeyName(was.Key), h.ValueText(was.Value))
		}
		if got, want := again.ValueText(again.Initial(op.Key)), h.ValueText(h.Initial(was.Key)); got != want {
			t.Errorf("%q begins as %s, want %s", h.KeyName(was.Key), got, want)
		}
	}
	if text := dsl.Format(dsl.MustParse("s1: r(stock(1,17).level,5) r(x,null) r(\"x y\",\"null\")")); text != "s1 T1: r(stock(1,17).level,5) r(x,nil) r(\"x y\",\"null\")\n" {
		t.Error(text)
	}
}

// FuzzParse: whatever is read survives being written and read again.
func FuzzParse(f *testing.F) {
	f.Add("initial nil\nopen\ns1 T3 [1,?]: r(x,0) w(y,\"a b\") abort\n")
	f.Add("s1: n(k,word) unknown # c")
	f.Add("s1 {812:820:815} @12<10 $816 [3,9] T7: r(x,1)@12")
	f.Add("initial \"a b\"=1.5 stock(1,17)=null\ns1: r(\"\\ud800\",\"\\u007f\") w(-0,-0)")
	f.Fuzz(func(t *testing.T, text string) {
		h, err := dsl.Parse(text, "")
		if err != nil {
			return
		}
		once := dsl.Format(h)
		again, err := dsl.Parse(once, "")
		if err != nil {
			t.Fatalf("%q was written as %q, which is not read: %v", text, once, err)
		}
		if twice := dsl.Format(again); twice != once {
			t.Fatalf("%q, then %q", once, twice)
		}
	})
}

// TestScans: statements with conditions are read, and written as they were read.
func TestScans(t *testing.T) {
	for _, text := range []string{
		"s1 T1: w(x,12) p(v > 10; x=12, y=15) r(x,12)",
		"s1 T1: p(v >= 3 and v < 9; )",
		"s1 T1: p(; x=1)",
		"s1 T1: p(k > 5 by -v limit 1; 7=3)",
		"s1 T1: pw(v > 10; x=12->13, y=->14) pw(v <> -1; )",
		"s1 T1: pd(v in (1,2); x, y=2)",
		"s1 T1: pc(v between 1 and 5; 3)",
		"s1 T1: p(k is null and v is not null; y=1, x=?)",
		"s1 T1: p(v > 1; x=2, y=?, ...) p(v > 2; ...) pc(; 3...)",
		`s1 T1: pw(v = 1; "a b"="x->y"->"->")`,
	} {
		h, err := dsl.Parse(text, "")
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := strings.TrimSpace(dsl.Format(h)); got != text {
			t.Errorf("%s is written as %s", text, got)
		}
	}
	h := dsl.MustParse("s1: p(v>10;x=12,y=15) pw(v in(1,2);z=1->2) pd( v=2 ; z ) pc(;0)")
	want := []history.Predicate{
		{Statement: &history.Statement{Kind: history.ScanRead, Predicate: schema.Where(schema.Above("v", int64(10)))}, Ops: [2]int{0, 2}},
		{Statement: &history.Statement{Kind: history.ScanUpdate, Predicate: schema.Where(schema.In("v", int64(1), int64(2)))}, Ops: [2]int{2, 4}, Number: 1},
		{Statement: &history.Statement{Kind: history.ScanDelete, Predicate: schema.Where(schema.Is("v", int64(2)))}, Ops: [2]int{4, 5}, Number: 2},
		{Statement: &history.Statement{Kind: history.ScanCount}, Ops: [2]int{5, 5}, Number: 3},
	}
	if got := h.Predicates(0); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
	for _, text := range []string{
		"s1: p(v>10)", "s1: p(v>10;x=nil)", "s1: p(v>10;x)", "s1: p(w>1;)", "s1: p(v~1;)", "s1: p(v>x;)", "s1: p(v>1 v<3;)", "s1: p(v between 1;)",
		"s1: p(v in 1;)", "s1: p(v in (1 2);)", "s1: pc(v>1;)", "s1: pc(v>1;x=1)", "s1: pc(;-1)", "s1: pc(v>1 limit 1;1)", "s1: p(limit -1;)", "s1: p(limit 0;)", "s1: p(v>1 limit 0; x=3)", "s1: p(by k;)", "s1: pd(v>1 by v;)",
		"s1: p(v like-prefix 1;)", "s1: pw(v>1; x=12)", "s1: pw(v>1; x)", "s1: p(v>1; x=12", "s1: p(v>1; x=1 y=2)",
	} {
		if _, err := dsl.Parse(text, ""); err == nil {
			t.Errorf("%s is taken", text)
		} else {
			t.Log(err)
		}
	}
}
