package native_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/dsl"
	"github.com/isohound/isohound/history/native"
)

// TestSpelling pins how a recorder's lines refer to each other.
func TestSpelling(t *testing.T) {
	const want = `{"isohound":2,"initial":null}
{"intent":1,"session":1,"begin":5,"ops":[["r",["lists(7)",0],null],["w",0,"100,101,102,103,"]],"line":2}
{"txn":1,"dbtxn":9,"end":8,"status":"committed"}
{"intent":2,"session":2,"begin":9,"ops":[["r",0],["w",0,["104,"]],["r","k",1]],"line":4}
{"intent":3,"session":1,"begin":9,"ops":[["r",0,[16]],["w",0,["105,"]]],"line":5}
{"txn":3,"end":11,"status":"aborted","cause":"conflict"}
{"txn":2,"begin":10,"end":12,"status":"committed","ops":[["r",0,[18,"4,"]]],"line":7}
{"txn":4,"session":1,"status":"committed","ops":[["r","k","short"],["r","k"],["w","k","longer"]],"line":8}
{"closed":{"reason":"complete","txns":4}}
`
	var out bytes.Buffer
	log, err := native.NewLog(&out, false)
	if err != nil {
		t.Fatal(err)
	}
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	op := func(kind history.OpKind, key, value string) native.Op {
		return native.Op{Kind: kind, Key: key, Value: []byte(value)}
	}
	rec := func(id, session, begin, end int64, status history.Status) *history.Record {
		return &history.Record{ID: id, Session: session, Begin: begin, End: end, Due: history.NoTime, Status: status}
	}
	const r, w = history.Read, history.Write
	check(log.Header(&history.Header{}, "null", func(func(string, string) bool) {}))
	one := rec(1, 1, 5, 8, history.Committed)
	check(log.Intent(one, []native.Op{op(r, "lists(7)", "null"), op(w, "lists(7)", `"100,101,102,103,"`)}))
	after := *one
	after.DBTxn = 9
	check(log.Txn(&after, nil, one, true))
	two, three := rec(2, 2, 9, 12, history.Committed), rec(3, 1, 9, 11, history.Aborted)
	check(log.Intent(two, []native.Op{op(r, "lists(7)", `"100,101,102,103,"`), op(w, "lists(7)", `"100,101,102,103,104,"`), op(r, "k", "1")}))
	check(log.Intent(three, []native.Op{op(r, "lists(7)", `"100,101,102,103,"`), op(w, "lists(7)", `"100,101,102,103,105,"`)}))
	three.Cause = "conflict"
	check(log.Txn(three, nil, three, true))
	later := *two
	later.Begin = 10
	check(log.Txn(&later, []native.Op{op(r, "lists(7)", `"100,101,102,103,104,"`)}, two, false))
	four := rec(4, 1, history.NoTime, history.NoTime, history.Committed)
	check(log.Txn(four, []native.Op{op(r, "k", `"short"`), op(r, "k", `"short"`), op(w, "k", `"longer"`)}, nil, false))
	check(log.End(native.Ending{Reason: "complete", Txns: 4}))
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", &out, want)
	}
	h, err := read([]byte(want))
	if err != nil {
		t.Fatal(err)
	}
	const text = `initial nil
s1 T1 [5,8]: r("lists(7)",nil) w("lists(7)","100,101,102,103,")
s1 T3 [9,11]: r("lists(7)","100,101,102,103,") w("lists(7)","100,101,102,103,105,") abort
s2 T2 [10,12]: r("lists(7)","100,101,102,103,104,")
s1 T4: r(k,short) r(k,short) w(k,longer)
`
	if got := dsl.Format(h); got != strings.ReplaceAll(text, `"lists(7)"`, "lists(7)") || h.DBTxn(0) != 9 {
		t.Errorf("it is read as\n%s", got)
	}
}

// TestVersion1 reads files of version 1: skew, with predicates, is complete, append was cut off.
func TestVersion1(t *testing.T) {
	for _, name := range []string{"append", "skew"} {
		data, err := os.ReadFile(filepath.Join("testdata", name+"-1.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		h, err := read(data)
		if err != nil {
			t.Fatal(err)
		}
		if name == "append" {
			want, err := os.ReadFile(filepath.Join("testdata", "append-1.txt"))
			if err != nil {
				t.Fatal(err)
			}
			if got := dsl.Format(h); got != string(want) {
				t.Errorf("it is read as\n%s", got)
			}
		}
		again, err := read(write(t, h, false))
		if err != nil {
			t.Fatal(err)
		}
		same(t, again, h)
		var plain bytes.Buffer
		if err := native.WritePlain(&plain, h, "complete"); err != nil {
			t.Fatal(err)
		}
		// WritePlain still writes version 1: the lines of the recorder without its intents.
		if h.Closed {
			cause := regexp.MustCompile(`,"cause":"[^"]*"`)
			var lines []string
			for _, line := range strings.SplitAfter(string(data), "\n") {
				if !strings.HasPrefix(line, `{"intent":`) {
					lines = append(lines, cause.ReplaceAllString(line, "")) // a history has no causes
				}
			}
			if plain.String() != strings.Join(lines, "") {
				t.Errorf("%s is written as\n%s", name, &plain)
			}
		}
	}
}

// TestBadReferences: a reference to what no line before has is an error that names the line.
func TestBadReferences(t *testing.T) {
	const (
		header = `{"isohound":2}` + "\n"
		first  = `{"intent":1,"session":1,"begin":3,"ops":[["w",["key",0],"0123456789"],["w","k",5],["w",["a",1],"é"],["w",["b",2],"\"9"]],"line":2}` + "\n"
	)
	txn := func(ops string) string {
		return header + first + `{"txn":2,"session":2,"status":"committed","ops":[` + ops + `],"line":3}` + "\n"
	}
	for _, tc := range []struct{ name, text, want string }{
		{"number", txn(`["r",3,1]`), "no line before says which key has the number 3"},
		{"negative number", txn(`["r",-1,1]`), "no line before says which key has the number -1"},
		{"number given twice", txn(`["r",["c",2],1]`), "key c gets the number 2, and the next number is 3"},
		{"number left out", txn(`["r",["c",4],1]`), "key c gets the number 4, and the next number is 3"},
		{"fraction", txn(`["r",0.5,1]`), "column"},
		{"null key", txn(`["r",null,1]`), "key: a JSON string is not in quotes"},
		{"three for a key", txn(`["r",["c",3,4],1]`), "column"},
		{"no text", txn(`["r","new"]`), "transaction 2, key new: the value refers to the text that an earlier line has for the key, and none has"},
		{"only a number", txn(`["r","k"]`), "transaction 2, key k: the value refers"},
		{"too long", txn(`["r",0,[11]]`), `transaction 2, key key: the value [11] does not fit the latest text of the key, "0123456789"`},
		{"negative length", txn(`["r",0,[-1]]`), "-1 is not a number of bytes"},
		{"half a character", txn(`["r",1,[1,"x"]]`), `the value [1,"x"] does not fit`},
		{"escape", txn(`["r",2,["x"]]`), `the value ["x"] does not fit`},
		{"escape in the tail", txn(`["r",0,["\n"]]`), `the value ["\n"] does not fit`},
		{"empty", txn(`["r",0,[]]`), "the value [] is neither"},
		{"three parts", txn(`["r",0,[1,"x",2]]`), "is neither"},
		{"other parts", txn(`["r",0,["x","y"]]`), "is neither"},
		{"object", txn(`["r",0,{"a":1}]`), "the value is not a scalar"},
		{"enormous", txn(`["r",0,["` + strings.Repeat("x", 64<<10) + `"]]`), "does not fit"},
		{"no line", strings.Replace(txn(`["r",0]`), `,"line":3`, "", 1), `transaction 2 has texts, and its line does not say which "line" it is`},
		{"no line of a text", strings.Replace(txn(`["r",0,"x"]`), `,"line":3`, "", 1), `transaction 2 has texts`},
		{"other line", strings.Replace(txn(`["r",0]`), `"line":3`, `"line":4`, 1), "this is line 3 and says that it is line 4: lines before it were lost"},
		{"intent lost", header + "\n" + `{"txn":1,"end":9,"status":"committed"}` + "\n", `transaction 1 has no "session", and no intent before it`},
		{"intent without session", header + "\n" + `{"intent":1,"ops":[]}` + "\n", `the intent of transaction 1 has no "session"`},
		{"version 1 has no numbers", `{"isohound":1}` + "\n\n" + `{"txn":1,"session":1,"status":"committed","ops":[["r",["x",0],1]]}` + "\n", "key: a JSON string is not in quotes"},
		{"version 1 has no references", `{"isohound":1}` + "\n\n" + `{"txn":1,"session":1,"status":"committed","ops":[["r","x","a"],["r","x",["a"]]]}` + "\n", "the value is not a scalar"},
		{"version 1 has all values", `{"isohound":1}` + "\n\n" + `{"txn":1,"session":1,"status":"committed","ops":[["r","x","a"],["r","x"]]}` + "\n", "is not JSON"},
		{"version 1 has no short outcomes", `{"isohound":1}` + "\n" + `{"intent":1,"session":1,"ops":[]}` + "\n" + `{"txn":1,"status":"committed"}` + "\n", `transaction 1 has no "session"`},
	} {
		_, err := read([]byte(tc.text))
		var bad *history.FormatError
		if !errors.As(err, &bad) || bad.Line != 3 || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q in line 3", tc.name, err, tc.want)
		}
	}
}

// TestLongText: a text beyond the limit of references is written in full, and can be read.
func TestLongText(t *testing.T) {
	sym := history.NewSymbols()
	b := history.NewBuilder(history.Header{}, sym, 0)
	list := strings.Repeat("x", 64<<10-10)
	for id := range int64(20) {
		rec := history.Record{ID: id, Session: 1, Begin: history.NoTime, End: history.NoTime, Due: history.NoTime, Status: history.Committed,
			Ops: []history.Op{{Kind: history.Write, Key: sym.Key("k"), Value: sym.String(list)}, {Kind: history.Read, Key: sym.Key("k"), Value: sym.String(list)}}}
		if err := b.Add(&rec); err != nil {
			t.Fatal(err)
		}
		list += "y"
	}
	h := b.Done(true, nil)
	data := write(t, h, false)
	if whole := bytes.Count(data, []byte(`"xxx`)); whole != 1+20-9 { // the first, and those above the limit
		t.Errorf("%d texts are written in full", whole)
	}
	got, err := read(data)
	if err != nil {
		t.Fatal(err)
	}
	same(t, got, h)
}

// TestForgottenKeys: the writer forgets keys that were not used for long, and introduces them
// again.
func TestForgottenKeys(t *testing.T) {
	sym := history.NewSymbols()
	b := history.NewBuilder(history.Header{}, sym, 0)
	text := strings.Repeat("0123456789", 400)
	var keys []string
	for n := range 30_000 { // ten times the memory
		keys = append(keys, fmt.Sprintf("key(%d)", n%20_000))
	}
	for n, key := range keys {
		rec := history.Record{ID: int64(n), Session: 1, Begin: history.NoTime, End: history.NoTime, Due: history.NoTime, Status: history.Committed}
		for _, k := range []string{key, "hot(0)"} {
			rec.Ops = append(rec.Ops, history.Op{Kind: history.Read, Key: sym.Key(k), Value: sym.String(k + text)})
		}
		if err := b.Add(&rec); err != nil {
			t.Fatal(err)
		}
	}
	h := b.Done(true, nil)
	data := write(t, h, false)
	if got := bytes.Count(data, []byte(`["hot(0)",`)); got != 1 {
		t.Errorf("a key that is always in use is introduced %d times", got)
	}
	if got := bytes.Count(data, []byte(`["key(5)",`)); got != 2 {
		t.Errorf("a key that was not used for long is introduced %d times", got)
	}
	got, err := read(data)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Txns) != len(h.Txns) || got.KeyCount() != h.KeyCount() {
		t.Fatalf("%d transactions and %d keys", len(got.Txns), got.KeyCount())
	}
	for i, op := range h.AllOps() {
		o := got.AllOps()[i]
		if got.KeyName(o.Key) != h.KeyName(op.Key) || got.ValueText(o.Value) != h.ValueText(op.Value) {
			t.Fatalf("operation %d differs", i)
		}
	}
}

// recorded is a random recording: the file, and what it says.
func recorded(tb testing.TB, rng *rand.Rand, txns int) (data []byte, want []string) {
	var out bytes.Buffer
	log, err := native.NewLog(&out, false)
	if err == nil {
		err = log.Header(&history.Header{}, "null", func(func(string, string) bool) {})
	}
	texts := []string{"", "é", "日本語 and more of it", "\U0001f600\U0001f601\U0001f602\U0001f603\U0001f605\U0001f606", "a \"quoted\" text of some length", "0123456789abcdefé", "0123456789abcdefèx", "12345678901234567890", "tab\tand more than sixteen"}
	latest := map[string]string{}
	value := func(key string) []byte {
		old := latest[key]
		switch rng.IntN(8) {
		case 0:
			return fmt.Append(nil, rng.IntN(2000)-1000)
		case 1:
			return []byte("null")
		case 2:
			return []byte("-1.5e3")
		case 3:
			old = texts[rng.IntN(len(texts))]
		case 4:
			for n := rng.IntN(5); n > 0 && old != ""; n-- {
				r := []rune(old)
				old = string(r[:len(r)-1])
			}
		default:
		}
		if rng.IntN(2) == 0 {
			old += []string{"x", "é", "日", "\U0001f604", "12,", "\\", "\u2028"}[rng.IntN(7)]
		}
		latest[key] = old
		return native.AppendText(nil, old)
	}
	ops := func() []native.Op {
		list := []native.Op{} // not nil
		for range rng.IntN(4) {
			key := []string{"a", "k1", "stock(1,2).level", "é", "17", "quo\"te"}[rng.IntN(6)]
			list = append(list, native.Op{Kind: history.OpKind(1 + rng.IntN(3)), Key: key, Value: value(key)})
		}
		return list
	}
	say := func(rec *history.Record, ops []native.Op) string {
		s := flat(rec)
		for _, op := range ops {
			s += fmt.Sprintf(" %s(%s,%s)", op.Kind, op.Key, op.Value)
		}
		return s
	}
	type open struct {
		rec history.Record
		ops []native.Op
	}
	var pending []open
	end := func(o open, intent bool) {
		rec, list := o.rec, o.ops
		rec.End, rec.Status = rng.Int64N(9)+100, history.Status(rng.IntN(3))
		if rec.Status != history.Committed {
			rec.Cause = "some \"cause\""
		}
		if !intent {
			err = errors.Join(err, log.Txn(&rec, list, nil, false))
		} else {
			switch rng.IntN(8) {
			case 0:
				rec.Begin = history.NoTime
			case 1:
				rec.Begin, rec.DBTxn = 7, 5
			case 2:
				rec.DBTxn, rec.Node, rec.Due = 0, 0, history.NoTime
			case 3:
				rec.Due, rec.Node = 6, 3
			}
			same := rng.IntN(4) > 0
			if !same {
				list = ops()
				rec.Predicates = nil
				if rng.IntN(2) == 0 {
					rec.Predicates = []history.Predicate{{Statement: &history.Statement{Kind: "delete", Table: "u"}}}
				}
			}
			err = errors.Join(err, log.Txn(&rec, list, &o.rec, same))
		}
		want = append(want, say(&rec, list))
	}
	for id := range int64(txns) {
		o := open{history.Record{ID: id, Session: id % 5, Begin: rng.Int64N(9), End: history.NoTime, Due: history.NoTime}, ops()}
		if rng.IntN(3) == 0 {
			o.rec.DBTxn, o.rec.Node, o.rec.Due = 77, 2, 3
		}
		if rng.IntN(3) == 0 {
			o.rec.Predicates = []history.Predicate{{Statement: &history.Statement{Kind: "read", Table: "t"}, Ops: [2]int{0, len(o.ops)}}}
		}
		if rng.IntN(3) == 0 {
			end(o, false)
			continue
		}
		err = errors.Join(err, log.Intent(&o.rec, o.ops))
		pending = append(pending, o)
		for len(pending) > rng.IntN(5) {
			n := rng.IntN(len(pending))
			end(pending[n], true)
			pending = slices.Delete(pending, n, n+1)
		}
	}
	for _, o := range pending {
		rec := o.rec
		rec.Cause = "no outcome was recorded"
		want = append(want, say(&rec, o.ops))
	}
	if err = errors.Join(err, log.Close()); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes(), want
}

// flat spells a record without its operations.
func flat(rec *history.Record) string {
	plain := *rec
	plain.Ops, plain.Predicates = nil, nil
	s := fmt.Sprintf("%+v", plain)
	for _, p := range rec.Predicates {
		asked := *p.Statement
		p.Statement, p.Number = nil, 0
		s += fmt.Sprintf(" %+v %+v", asked, p)
	}
	return s
}

// records reads a file as recorded describes it.
func records(data []byte) (got []string, err error) {
	r, err := native.NewReader(bytes.NewReader(data), "h", 0)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var rec history.Record
	for {
		if err := r.Next(&rec); err != nil {
			return got, err
		}
		s := flat(&rec)
		for _, op := range rec.Ops {
			s += fmt.Sprintf(" %s(%s,%s)", op.Kind, r.Symbols().KeyName(op.Key), r.Symbols().ValueText(op.Value))
		}
		got = append(got, s)
	}
}

// FuzzRecording: what is written is read, by both parsers.
func FuzzRecording(f *testing.F) {
	for seed := range uint64(100) {
		f.Add(seed, 30)
	}
	f.Fuzz(func(t *testing.T, seed uint64, txns int) {
		data, want := recorded(t, rand.New(rand.NewPCG(seed, 1)), min(max(0, txns), 300))
		for range 2 {
			got, err := records(data)
			if err.Error() != "EOF" {
				t.Fatalf("%v\n%s", err, data)
			}
			if !slices.Equal(got, want) {
				for i := range min(len(got), len(want)) {
					if got[i] != want[i] {
						t.Errorf("got  %s\nwant %s", got[i], want[i])
					}
				}
				t.Fatalf("%d transactions of %d, from\n%s", len(got), len(want), data)
			}
			// The fast parser does not know spaces.
			data = bytes.ReplaceAll(data, []byte("{\"txn\":"), []byte("{\"txn\": "))
			data = bytes.ReplaceAll(data, []byte("{\"intent\":"), []byte("{\"intent\": "))
		}
	})
}

// TestLostLines removes, doubles and swaps lines of recordings that were cut off. The reader refuses
// the file, or every transaction in it is one of the recording's, or the intent of one.
func TestLostLines(t *testing.T) {
	refused, accepted := 0, 0
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 3))
		data, want := recorded(t, rng, 25)
		lines := bytes.SplitAfter(data, []byte("\n"))
		lines = lines[:len(lines)-1]
		valid := map[string]bool{}
		for _, w := range want {
			valid[w] = true
		}
		for cut := range lines { // a transaction whose outcome is lost
			got, err := records(bytes.Join(lines[:cut+1], nil))
			if err == nil || err.Error() != "EOF" {
				t.Fatalf("cut after line %d: %v", cut+1, err)
			}
			for _, g := range got {
				valid[g] = true
			}
		}
		for i := 1; i < len(lines); i++ {
			for _, change := range []func() [][]byte{
				func() [][]byte { return slices.Delete(slices.Clone(lines), i, i+1) },
				func() [][]byte { return slices.Insert(slices.Clone(lines), i, lines[i]) },
				func() [][]byte {
					c := slices.Clone(lines)
					j := 1 + rng.IntN(len(lines)-1)
					c[i], c[j] = c[j], c[i]
					return c
				},
			} {
				changed := change()
				got, err := records(bytes.Join(changed, nil))
				var bad *history.FormatError
				if errors.As(err, &bad) {
					if bad.Line == 0 {
						t.Errorf("no line in %v", err)
					}
					refused++
					continue
				}
				accepted++
				for _, g := range got {
					if !valid[g] {
						t.Fatalf("seed %d, line %d: the file is read with\n%s\nfrom\n%s\nmade of\n%s", seed, i+1, g, bytes.Join(changed, nil), data)
					}
				}
			}
		}
	}
	if refused < 100 || accepted < 100 {
		t.Errorf("%d files were refused and %d accepted", refused, accepted)
	}
}

// TestLinesAreJSON: every line is one JSON object.
func TestLinesAreJSON(t *testing.T) {
	data, _ := recorded(t, rand.New(rand.NewPCG(5, 6)), 200)
	for i, line := range bytes.Split(bytes.TrimSpace(data), []byte("\n")) {
		var object map[string]any
		if err := json.Unmarshal(line, &object); err != nil {
			t.Errorf("line %d: %v", i+1, err)
		}
	}
}

// TestDocs reads the example of docs/history-format.md, and writes it again.
func TestDocs(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "history-format.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, example, _ := strings.Cut(string(text), "```json\n")
	example, _, _ = strings.Cut(example, "```")
	h, err := read([]byte(example))
	if err != nil {
		t.Fatal(err)
	}
	const want = `initial nil
initial k0=0
initial k1=0
s3 T17 [120500,130900]: r(lists(4),"11,25,31,32,47,50,") w(lists(4),"11,25,31,32,47,50,52,") r(k1,0)
s4 T18 [121000,131000]: r(lists(4),"11,25,31,32,47,50,52,") w(lists(4),"11,25,31,32,47,50,52,58,") abort
s4 T19 [131100,131900]: r(lists(4),"11,25,31,32,47,50,52,") w(k1,7)
`
	if got := dsl.Format(h); got != want || !h.Closed {
		t.Errorf("the example is\n%s", got)
	}
	var out bytes.Buffer
	log, err := native.NewLog(&out, false)
	if err != nil {
		t.Fatal(err)
	}
	err = log.Header(&h.Header, "null", func(yield func(string, string) bool) { _ = yield("k0", "0") && yield("k1", "0") })
	for i := range h.Txns {
		rec := h.Record(i)
		if i > 0 {
			if i == 1 {
				rec.Cause = "40001 serialization failure"
			}
			err = errors.Join(err, log.Txn(&rec, spell(h, rec.Ops), nil, false))
			continue
		}
		intent := rec
		intent.DBTxn = 0
		err = errors.Join(err, log.Intent(&intent, spell(h, rec.Ops)), log.Txn(&rec, nil, &intent, true))
	}
	if err := errors.Join(err, log.End(native.Ending{Reason: "complete", Txns: 3})); err != nil {
		t.Fatal(err)
	}
	if out.String() != example {
		t.Errorf("the example is written as\n%s", &out)
	}
}

// TestOlderMark: files of earlier versions have U+FFFF as it is, also in a text that a later one continues.
func TestOlderMark(t *testing.T) {
	text := `{"isohound":2,"initial":null}` + "\n" +
		`{"txn":1,"session":1,"status":"committed","line":2,"ops":[["w","x","abcdefghij` + "\uffff" + `abcdefghijklmnop"]]}` + "\n" +
		`{"txn":2,"session":1,"status":"committed","line":3,"ops":[["w","x",["q"]]]}` + "\n" + `{"closed":{"reason":"complete","txns":2}}` + "\n"
	r, err := native.NewReader(strings.NewReader(text), "h", 0)
	if err != nil {
		t.Fatal(err)
	}
	h, err := history.Load(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := h.ValueText(h.Ops(&h.Txns[1])[0].Value), "\"abcdefghij\uffffabcdefghijklmnopq\""; got != want {
		t.Errorf("%s, not %s", got, want)
	}
}
