package native_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/isohound/isohound/generator/synth"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/dsl"
	"github.com/isohound/isohound/history/native"
	"github.com/isohound/isohound/history/schema"
)

func read(data []byte) (*history.History, error) {
	r, err := native.NewReader(bytes.NewReader(data), "h", int64(len(data)))
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return history.Load(context.Background(), r)
}

// same compares two histories, ignoring the numbers of their symbols and the reasons in their closing lines.
func same(t *testing.T, got, want *history.History) {
	t.Helper()
	if g, w := dsl.Format(got), dsl.Format(want); g != w {
		t.Errorf("got\n%s\nwant\n%s", g, w)
	}
	g, w := got.Header, want.Header
	if g.Ended, w.Ended = "", ""; !reflect.DeepEqual(g, w) {
		t.Errorf("the header is %+v, want %+v", g, w)
	}
	for i := range want.Txns {
		if got.DBTxn(i) != want.DBTxn(i) || got.Txns[i].Node != want.Txns[i].Node {
			t.Errorf("transaction %d: database id %d, node %d", i, got.DBTxn(i), got.Txns[i].Node)
		}
		if !reflect.DeepEqual(unnumbered(got.Predicates(i)), unnumbered(want.Predicates(i))) {
			t.Errorf("transaction %d: predicates %+v, want %+v", i, got.Predicates(i), want.Predicates(i))
		}
	}
}

// unnumbered returns predicates without the numbers of their statements.
func unnumbered(list []history.Predicate) []history.Predicate {
	list = slices.Clone(list)
	for i := range list {
		list[i].Number = 0
	}
	return list
}

// weird has everything that a history can hold.
func weird() *history.History {
	sym := history.NewSymbols()
	sym.SetInitial(sym.Key("a b"), sym.Int(7))
	sym.SetInitial(sym.Key("ü\"\\\n"), history.Absent)
	sym.DefaultInitial = sym.String("nothing")
	b := history.NewBuilder(history.Header{
		Seed: 5, Workload: "w", Params: map[string]string{"p": "q"}, Driver: "d", Isolation: "i",
		Schema: schema.Schema{{
			Name: "t \"", Key: []schema.Column{{Name: "a", Type: schema.Int}, {Name: "b", Type: schema.Text, Size: 9}},
			Groups:  []schema.Group{{Name: "g", Columns: schema.Ints("c")}, {Name: "é", Columns: schema.Texts("d", "e")}},
			Indexes: []schema.Index{schema.IndexOn("b", "c"), schema.IndexOn("e")},
		}, {Name: "u", Key: schema.Ints("k"), Groups: []schema.Group{{Columns: schema.Texts("v")}}}},
	}, sym, 0)
	for _, r := range []history.Record{
		{ID: 9, Session: -3, Begin: -5, End: 1 << 60, DBTxn: 77, Node: 2, Claim: history.Claim{Commit: 1 << 62, Snapshot: 0, Snapped: true}, Status: history.Committed, Ops: []history.Op{
			{Kind: history.Read, Key: 0, Value: 7}, {Kind: history.Write, Key: 1, Value: sym.String("x\"y\u2028")},
			{Kind: history.ReadNot, Key: 0, Value: history.Absent}, {Kind: history.Write, Key: 0, Value: sym.Raw("1e400")},
			{Kind: history.Write, Key: 0, Value: sym.Int(-1 << 63)}, {Kind: history.Read, Key: 0, Value: sym.Raw("18446744073709551615")}},
			Predicates: []history.Predicate{
				{Statement: &history.Statement{Kind: "read", Table: "t \"", Predicate: schema.Where(schema.AtMost("a", int64(math.MinInt64)), schema.Not("d", "x\"<")).By("-c", "b").First(7), Groups: []string{"g", "é"}}, Ops: [2]int{0, 1}, Implied: 1, Omitted: []string{"t \"(1,'x').g", "t(2)"}},
				{Statement: &history.Statement{Kind: "update", Table: "u"}, Ops: [2]int{6, 6}},
			}},
		{ID: 1, Session: 4, Begin: history.NoTime, End: history.NoTime, Status: history.Aborted, Cause: "40001 \"x\"", Claim: history.Claim{Snapshot: 12, Snapped: true, Visible: &history.Visible{Min: 1, Max: 1}}},
		{ID: 2, Session: 6, Begin: history.NoTime, End: history.NoTime, Status: history.Committed, Claim: history.Claim{Commit: 3, Visible: &history.Visible{Min: 5, Max: 9, Open: []int64{5, 8}}}},
		{ID: 0, Session: 5, Begin: 3, End: history.NoTime, Status: history.Unknown, Ops: []history.Op{{Kind: history.Write, Key: 1, Value: history.Absent}}},
	} {
		r.Due = history.NoTime
		if err := b.Add(&r); err != nil {
			panic(err)
		}
	}
	return b.Done(true, nil)
}

func write(t testing.TB, h *history.History, compressed bool) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := native.NewWriter(&out, compressed, &h.Header, h.Symbols)
	if err != nil {
		t.Fatal(err)
	}
	for i := range h.Txns {
		rec := h.Record(i)
		if err := w.Write(&rec); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(h.Closed, "complete"); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestRoundTrip(t *testing.T) {
	for _, h := range []*history.History{weird(), synth.Mini(synth.MiniConfig{Sessions: 5, Txns: 3000, Keys: 10, Seed: 3, Snapshot: true})} {
		for _, compressed := range []bool{false, true} {
			data := write(t, h, compressed)
			got, err := read(data)
			if err != nil {
				t.Fatal(err)
			}
			same(t, got, h)
			if !got.Closed || len(got.Notes) > 0 || got.Seed != h.Seed || got.Workload != h.Workload || got.Isolation != h.Isolation {
				t.Errorf("closed %v, notes %v, header %+v", got.Closed, got.Notes, got.Header)
			}
			if native, zst := native.Detect(data); !native || zst != compressed {
				t.Errorf("detected as %v, %v", native, zst)
			}
		}
	}
}

// TestTorn cuts a file at every byte: all complete lines are read, nothing is invented, and the
// reader reports that the recording was cut off.
func TestTorn(t *testing.T) {
	h := synth.Mini(synth.MiniConfig{Sessions: 3, Txns: 40, Keys: 5, Seed: 1})
	for _, compressed := range []bool{false, true} {
		data := withIntents(t, h, compressed)
		before := 0
		for cut := range data {
			got, err := read(data[:cut])
			if err != nil {
				if before > 0 || !strings.Contains(err.Error(), "header") && !strings.Contains(err.Error(), "empty") && !strings.Contains(err.Error(), "EOF") {
					t.Fatalf("cut at %d of %d: %v", cut, len(data), err)
				}
				continue
			}
			finished := 0
			for i := range got.Txns {
				if got.Txns[i].Status == history.Unknown {
					continue
				}
				if g, w := dsl.Txn(got, i), dsl.Txn(h, i); g != w {
					t.Fatalf("cut at %d: %s, want %s", cut, g, w)
				}
				finished++
			}
			if finished < before {
				t.Fatalf("cut at %d: %d transactions, fewer than before", cut, finished)
			}
			before = finished
			if got.Closed || len(got.Notes) == 0 {
				// Only the closing line's own newline may be missing.
				if cut < len(data)-64 {
					t.Fatalf("cut at %d of %d: closed %v, notes %v", cut, len(data), got.Closed, got.Notes)
				}
			}
		}
		if before != len(h.Txns) {
			t.Errorf("the last cut gave %d transactions", before)
		}
	}
}

// TestIntents: an intent with an outcome is dropped; one without becomes an unknown transaction.
func TestIntents(t *testing.T) {
	got, err := read([]byte(`{"isohound":1,"initial":0}
{"intent":1,"session":1,"begin":1,"ops":[["r","x",0],["w","x",1]]}
{"intent":2,"session":2,"dbtxn":55,"begin":2,"ops":[["r","x",1],["w","x",2]]}
{"txn":1,"session":1,"begin":1,"end":3,"status":"committed","ops":[["r","x",0],["w","x",1]]}
{"intent":3,"session":1,"begin":4,"ops":[["w","y",1]]}
`))
	if err != nil {
		t.Fatal(err)
	}
	want := "open\ns1 T1 [1,3]: r(x,0) w(x,1)\ns2 T2 [2,?]: r(x,1) w(x,2) unknown\ns1 T3 [4,?]: w(y,1) unknown\n"
	if g := dsl.Format(got); g != want || got.DBTxn(1) != 55 {
		t.Errorf("got\n%s\nwant\n%s", g, want)
	}
}

// TestFullOfVersion3: a file in full can be read again, also if its header needs version 3 and its values are texts.
func TestFullOfVersion3(t *testing.T) {
	for _, field := range []string{"no_common_clock", "incomplete"} {
		h, err := read([]byte(`{"isohound":3,"` + field + `":true,"initial":0}
{"txn":1,"session":1,"status":"committed","ops":[["r","x",0],["w","y","abcdefghijklmnopqrstuvwxyz"]],"line":2}
{"txn":2,"session":2,"status":"committed","ops":[["r","y","abcdefghijklmnopqrstuvwxyz"],["w","y","abcdefghijklmnopqrstuvwxyz012345"]],"line":3}
{"closed":{"reason":"complete","txns":2}}
`))
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := native.WritePlain(&b, h, "complete"); err != nil {
			t.Fatal(err)
		}
		again, err := read(b.Bytes())
		if err != nil {
			t.Fatalf("%s: %v\n%s", field, err, b.Bytes())
		}
		if again.NoCommonClock != h.NoCommonClock || again.Incomplete != h.Incomplete || len(again.Txns) != 2 || len(again.Ops(&again.Txns[1])) != 2 {
			t.Errorf("%s:\n%s", field, b.Bytes())
		}
	}
}

func TestErrors(t *testing.T) {
	header := `{"isohound":1}` + "\n"
	txn := `{"txn":1,"session":1,"status":"committed","ops":[]}` + "\n"
	for _, tc := range []struct{ name, text, want string }{
		{"empty", "", "h: the file is empty"},
		{"no header", txn, `h:1: the first line is not an isohound header`},
		{"not JSON", "hello\n", "h:1: the first line is not an isohound header"},
		{"newer", `{"isohound":4}`, "h:1: the history has format version 4; this isohound reads up to 3"},
		{"negative", `{"isohound":-1}`, "h:1: the history has format version -1, which there is not"},
		{"two clocks", `{"isohound":3,"no_common_clock":true,"no_common_clock":false}`, `h:1: header: the field "no_common_clock" is there twice`},
		{"two counts", header + `{"closed":{"reason":"complete","txns":1,"txns":0}}` + "\n", `the field "txns" is there twice`},
		{"two kinds", header + `{"txn":1,"session":1,"status":"committed","ops":[],"closed":{"txns":0}}` + "\n", `h:2: the line has two of the fields "txn"`},
		{"two outcomes", header + `{"txn":1,"session":1,"status":"committed","status":"aborted","ops":[]}` + "\n", `h:2: the line has the field "status" twice`},
		{"two lists", header + `{"txn":1,"session":1,"status":"committed","ops":[],"ops":[]}` + "\n", `h:2: the line has the field "ops" twice`},
		{"duplicate id", header + txn + txn, "h:3: transaction id 1 occurs twice"},
		{"status", header + `{"txn":1,"session":1,"status":"ok","ops":[]}` + "\n", `h:2: status is "ok"`},
		{"no status", header + `{"txn":1,"session":1,"ops":[]}` + "\n", `h:2: transaction 1 has no "status"`},
		{"no session", header + `{"txn":1,"status":"committed","ops":[]}` + "\n", `h:2: transaction 1 has no "session"`},
		{"operation", header + `{"txn":1,"session":1,"status":"committed","ops":[["q","x",1]]}` + "\n", `h:2: transaction 1 has an operation "q"`},
		{"value", header + `{"txn":1,"session":1,"status":"committed","ops":[["r","x",[1]]]}` + "\n", "h:2: transaction 1, key x: the value is not a scalar"},
		{"number", header + `{"txn":1,"session":1,"status":"committed","ops":[["r","x",01]]}` + "\n", "h:2: transaction 1, key x: value"},
		{"syntax", header + `{"txn":1,,}` + "\n", "h:2: column"},
		{"nothing", header + `{"foo":1}` + "\n", "h:2: not a line of a history"},
		{"backwards", header + `{"txn":1,"session":1,"begin":5,"end":4,"status":"committed","ops":[]}` + "\n", "h:2: transaction 1 ends at 4"},
		{"two intents", header + `{"intent":1,"session":1,"ops":[]}` + "\n" + `{"intent":1,"session":1,"ops":[]}` + "\n", "h:3: transaction id 1 has two intents"},
		{"lost lines", header + txn + `{"closed":{"reason":"complete","txns":2}}` + "\n", "h:3: the closing line counts 2 transactions and the file has 1"},
		{"behind the end", header + `{"closed":{"reason":"complete","txns":0}}` + "\n" + txn, "h:3: there is data after the closing line"},
		{"late initial", header + txn + `{"initial":[["x",1]]}` + "\n", "h:3: initial values must come before"},
		{"two initial values", header + `{"initial":[["x",1],["y",1]]}` + "\n" + `{"initial":[["x",1]]}` + "\n", "h:3: key x has two initial values"},
		{"two in a line", header + `{"initial":[["x",1],["x",2]]}` + "\n", "h:2: key x has two initial values"},
		{"a key that is no text", header + `{"txn":1,"session":1,"status":"committed","ops":[["r",5,1]]}` + "\n", "h:2: key: a JSON string is not in quotes"},
		{"no UTF-8", header + `{"txn":1,"session":1,"status":"committed","ops":[["r","` + "\xff" + `",1]]}` + "\n", "h:2: key: a string is not valid UTF-8"},
		{"no UTF-8 in a value", header + `{"txn":1,"session":1,"status":"committed","ops":[["r","x","` + "\xff" + `"]]}` + "\n", "h:2: transaction 1, key x: value: a string is not valid UTF-8"},
		{"nothing behind closed", header + txn + `{"closed":null}` + "\n", "h:3: the closing line says nothing"},
		{"session null", header + `{"txn":1,"session":null,"status":"committed","ops":[]}` + "\n", "h:2: column"},
		{"enormous line", header + strings.Repeat("x", native.MaxLine+10), "h:2: line is longer than 64 MiB"},
		{"snapshot", header + `{"txn":1,"session":1,"status":"committed","visible":[5,4],"ops":[]}` + "\n", "h:2: the snapshot of transaction 1: it goes from 5 to 4"},
		{"transactions in progress", header + `{"txn":1,"session":1,"status":"committed","visible":[5,9,8,6],"ops":[]}` + "\n", "h:2: the snapshot of transaction 1: the transactions in progress are not in ascending order"},
		{"half a snapshot", header + `{"txn":1,"session":1,"status":"committed","visible":[5],"ops":[]}` + "\n", `"visible" has less than two numbers`},
		{"zstd garbage", "\x28\xb5\x2f\xfdgarbage and more of it", "h"},
	} {
		_, err := read([]byte(tc.text))
		var fe *history.FormatError
		if err == nil || !strings.Contains(err.Error(), tc.want) || !errors.As(err, &fe) {
			t.Errorf("%s: %v, want %q", tc.name, err, tc.want)
		}
		if err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: the message has several lines: %v", tc.name, err)
		}
	}
}

// TestNull: a field that may be left out may be null.
func TestNull(t *testing.T) {
	h, err := read([]byte(`{"isohound":1,"initial":null,"seed":null,"params":null,"nodes":null}` + "\n" + `{"initial":[["y",null]]}` + "\n" +
		`{"txn":1,"session":1,"node":null,"dbtxn":null,"due":null,"begin":null,"end":null,"status":"committed","cause":null,"ops":[["r","x",null]],"preds":null}` + "\n" +
		`{"txn":2,"session":1,"status":"committed","ops":null}` + "\n" + `{"closed":{"reason":"complete","txns":2}}` + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	if got := dsl.Format(h); got != "initial nil\ninitial y=nil\ns1 T1: r(x,nil)\ns1 T2:\n" {
		t.Error(got)
	}
}

// TestSurrogates: each half of a surrogate pair is a separate key and value, and stays the same
// when it is written again.
func TestSurrogates(t *testing.T) {
	text := `{"isohound":1}` + "\n" + `{"initial":[["\ud800",1],["\udc00",2],["\ufffd",3]]}` + "\n" +
		`{"txn":1,"session":1,"status":"committed","ops":[["w","\ud800","\ud801"],["w","\udc00","\udc01"],["w","\ufffd","\ufffd"],["w","\ud83d\ude00","\ud83d\ude00"]]}` + "\n" +
		`{"closed":{"reason":"complete","txns":1}}` + "\n"
	h, err := read([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	want := `initial nil
initial "\ud800"=1
initial "\udc00"=2
initial ?=3
s1 T1: w("\ud800","\ud801") w("\udc00","\udc01") w(?,?) w(😀,😀)
`
	for range 2 {
		if got := dsl.Format(h); got != strings.ReplaceAll(want, "?", "\ufffd") || h.KeyCount() != 4 {
			t.Fatalf("got\n%s\nwant\n%s", got, want)
		}
		if h, err = read(write(t, h, false)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestForward: fields that later versions may add are skipped.
func TestForward(t *testing.T) {
	got, err := read([]byte(`{"isohound":1,"initial":0,"shiny":{"a":[1]}}
{"txn":1,"new":{"x":[null]},"session":1,"status":"committed","ops":[["r","x",0,{"version":7}],["w","x",1]],"node":3}
{"closed":{"reason":"complete","txns":1,"more":true}}
`))
	if err != nil || dsl.Format(got) != "s1 T1: r(x,0) w(x,1)\n" || got.Txns[0].Node != 3 {
		t.Errorf("%v, %v", got, err)
	}
}

// TestLog has many goroutines write; their lines must come out whole, each
// goroutine's in its order, and be in the stream when Write returns.
func TestLog(t *testing.T) {
	for _, compressed := range []bool{false, true} {
		var out safeBuffer
		log, err := native.NewLog(&out, compressed)
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for g := range 8 {
			wg.Add(1)
			go func() {
				defer wg.Done()
				for i := range 500 {
					line := fmt.Sprintf("%d %d\n", g, i)
					if _, err := log.Write([]byte(line)); err != nil {
						t.Error(err)
					}
					if i%100 == 0 && !compressed && !strings.Contains(out.String(), line) {
						t.Errorf("%q is not in the stream", line)
					}
				}
			}()
		}
		wg.Wait()
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
		if compressed {
			continue // TestRoundTrip reads such streams
		}
		next := map[int]int{}
		for _, line := range strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n") {
			var g, i int
			if _, err := fmt.Sscanf(line, "%d %d", &g, &i); err != nil || next[g] != i {
				t.Fatalf("line %q, want %d of goroutine %d", line, next[g], g)
			}
			next[g]++
		}
		if int64(len(out.String())) != log.Bytes() {
			t.Errorf("%d bytes, the log counts %d", len(out.String()), log.Bytes())
		}
	}
}

// TestLogFails: after an error all callers get it, and nothing more is written.
func TestLogFails(t *testing.T) {
	w := &failing{left: 100}
	log, err := native.NewLog(w, false)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for {
				if _, err := log.Write([]byte("0123456789")); err != nil {
					return
				}
			}
		}()
	}
	wg.Wait()
	calls := w.calls
	if _, err := log.Write([]byte("more")); err == nil || log.Err() == nil || w.calls != calls {
		t.Errorf("after the error: %v, %d calls more", err, w.calls-calls)
	}
}

type failing struct{ left, calls int }

func (f *failing) Write(b []byte) (int, error) {
	f.calls++
	if f.left -= len(b); f.left < 0 {
		return len(b) / 2, io.ErrShortWrite
	}
	return len(b), nil
}

type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// TestRandomDamage flips bytes: an error or a history, never a panic.
func TestRandomDamage(t *testing.T) {
	h := synth.Mini(synth.MiniConfig{Sessions: 3, Txns: 30, Keys: 5, Seed: 1})
	rng := rand.New(rand.NewPCG(1, 2))
	for _, compressed := range []bool{false, true} {
		data := withIntents(t, h, compressed)
		for range 3000 {
			damaged := bytes.Clone(data)
			for range 1 + rng.IntN(3) {
				damaged[rng.IntN(len(damaged))] = byte(rng.IntN(256))
			}
			_, _ = read(damaged)
		}
	}
}

// TestBadPredicates: a predicate about operations that do not exist, or without sense, is
// refused with its line.
func TestBadPredicates(t *testing.T) {
	for _, preds := range []string{
		`[{"kind":"scan","table":"t","ops":[0,1]}]`,
		`[{"kind":"read","table":"t","ops":[0,2]}]`,
		`[{"kind":"read","table":"t","ops":[1,0]}]`,
		`[{"kind":"read","table":"t","ops":[-1,0]}]`,
		`[{"kind":"read","table":"t","where":[["a","~",1]],"ops":[0,1]}]`,
		`[{"kind":"read","table":"t","where":[["a","="]],"ops":[0,1]}]`,
		`[{"kind":"read","table":"t","where":[["a","=",1.5]],"ops":[0,1]}]`,
		`[{"kind":"read","table":"t","where":[["a","=",99999999999999999999]],"ops":[0,1]}]`,
		`[{"kind":"read","table":"t","where":[["a","=",null]],"ops":[0,1]}]`,
		`[{"kind":"read","table":"t","ops":[0,1],"choices":[[]]}]`,
		`[{"kind":"read","table":"t","ops":[0,1],"choices":[[[{"kind":"w","item":"x","value":1}]]]}]`,
		`[{"kind":"read","table":"t","ops":[0,1],"choices":[[[{"kind":"r","item":"x","value":[1]}]]]}]`,
		`[{"kind":"read","table":"t","ops":[0,1],"choices":[[[{"kind":"r","item":"x"}]]]}]`,
		`{"kind":"read"}`, `[7]`, `"x"`,
	} {
		text := `{"isohound":1,"initial":0}` + "\n" + `{"txn":1,"session":1,"status":"committed","ops":[["r","x",0]],"preds":` + preds + "}\n"
		_, err := read([]byte(text))
		var bad *history.FormatError
		if !errors.As(err, &bad) || bad.Line != 2 {
			t.Errorf("%s: %v", preds, err)
		}
	}
}

// TestBadTables: a predicate that does not fit the header's schema is refused with its line, and
// so is an invalid schema.
func TestBadTables(t *testing.T) {
	const good = `[{"name":"t","key":[{"name":"k","type":"int"}],"groups":[{"columns":[{"name":"v","type":"text","size":8}]}]}]`
	file := func(tables, preds string) error {
		_, err := read([]byte(`{"isohound":1,"initial":0,"schema":` + tables + "}\n" + `{"txn":1,"session":1,"status":"committed","ops":[],"preds":` + preds + "}\n"))
		return err
	}
	if err := file(good, `[{"kind":"read","table":"t","where":[["k",">",1],["v","=","x"]],"order":["-v"],"ops":[0,0]}]`); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		tables, preds string
		line          int
	}{
		{good, `[{"kind":"read","table":"u","ops":[0,0]}]`, 2},
		{good, `[{"kind":"read","table":"t","where":[["w","=",1]],"ops":[0,0]}]`, 2},
		{good, `[{"kind":"read","table":"t","where":[["k","=","1"]],"ops":[0,0]}]`, 2},
		{good, `[{"kind":"read","table":"t","where":[["v","=",1]],"ops":[0,0]}]`, 2},
		{good, `[{"kind":"read","table":"t","order":["-w"],"ops":[0,0]}]`, 2},
		{`[{"name":"t"}]`, `[]`, 1},
		{`[null]`, `[]`, 1},
		{`7`, `[]`, 1},
		{strings.Replace(good, `"t"`, `""`, 1), `[]`, 1},
		{strings.Replace(good, `"v"`, `"k"`, 1), `[]`, 1},
		{strings.Replace(good, `"v"`, `""`, 1), `[]`, 1},
		{strings.Replace(good, `"int"`, `"blob"`, 1), `[]`, 1},
		{strings.Replace(good, `,"type":"int"`, ``, 1), `[]`, 1},
		{strings.Replace(good, `}]}]`, `}]},{"columns":[]}]`, 1), `[]`, 1},
		{strings.Replace(good, `"key"`, `"indexes":[["w"]],"key"`, 1), `[]`, 1},
		{good[:len(good)-1] + "," + good[1:], `[]`, 1},
	} {
		var bad *history.FormatError
		if err := file(c.tables, c.preds); !errors.As(err, &bad) || bad.Line != c.line {
			t.Errorf("%s, %s: %v", c.tables, c.preds, err)
		} else {
			t.Log(err)
		}
	}
}
