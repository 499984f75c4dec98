package history_test

import (
	"bytes"
	"context"
	"slices"
	"testing"

	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/native"
)

// scans is two transactions. The first one scans twice and updates the rows that fulfil a
// condition.
const scans = `{"isohound":1,"workload":"w","initial":0}
{"initial":[["t(1)","one"],["t(9)",9]]}
{"txn":5,"session":7,"node":1,"begin":1,"end":9,"status":"committed","ops":[["r","t(1)","one"],["r","t(2)",0],["r","k",3],["r","t(2)",0],["w","t(2)",4],["r","t(3)",0],["w","t(3)",5]],"preds":[{"kind":"read","table":"t","where":[["v","<",7]],"order":["-v"],"limit":2,"ops":[0,2]},{"kind":"read","table":"t","where":[["v","=",8]],"ops":[2,2]},{"kind":"update","table":"t","ops":[3,7]}]}
{"txn":6,"session":8,"dbtxn":77,"status":"unknown","ops":[["w","k","x"],["w","t(9)",2]]}
{"closed":{"reason":"complete","txns":2}}
`

func read(t *testing.T, text string) *history.History {
	t.Helper()
	r, err := native.NewReader(bytes.NewReader([]byte(text)), "h", 0)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	h, err := history.Load(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func write(t *testing.T, h *history.History) string {
	t.Helper()
	var out bytes.Buffer
	if err := native.WritePlain(&out, h, "complete"); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestExtract: what is kept stays complete, including the predicates, and only the necessary
// names are kept.
func TestExtract(t *testing.T) {
	h := read(t, scans)
	all := []history.Part{{Txn: 0, Ops: []int{0, 1, 2, 3, 4, 5, 6}}, {Txn: 1, Ops: []int{0, 1}}}
	if got := write(t, h.Extract(all)); got != scans {
		t.Errorf("a history with all its parts is\n%s", got)
	}
	// t(9) exists, and no operation of a part names it, so the part has no such row.
	const beside = `{"isohound":1,"initial":null}
{"initial":[["t(9)",9]]}
{"txn":5,"session":7,"status":"committed","ops":[["r","t(1)",null]],"preds":[{"kind":"count","table":"t","count":1,"ops":[0,1],"implied":1}]}
{"closed":{"reason":"complete","txns":1}}
`
	if got := read(t, beside).Extract([]history.Part{{Txn: 0, Ops: []int{0}}}).Predicates(0); !got[0].Partial {
		t.Errorf("%+v claims that there are no other rows", got)
	}
	// t(1), which the first scan returned, and t(3), which the update changed, are left out. The
	// update's read of t(2) stays.
	want := `{"isohound":1,"workload":"w","initial":0}
{"txn":5,"session":7,"node":1,"begin":1,"end":9,"status":"committed","ops":[["r","t(2)",0],["r","k",3],["r","t(2)",0]],"preds":[{"kind":"read","table":"t","where":[["v","<",7]],"order":["-v"],"limit":2,"ops":[0,1],"omitted":["t(1)"],"partial":true},{"kind":"read","table":"t","where":[["v","=",8]],"ops":[1,1],"partial":true},{"kind":"update","table":"t","ops":[2,3],"omitted":["t(3)"],"partial":true}]}
{"txn":6,"session":8,"dbtxn":77,"status":"unknown","ops":[["w","k","x"]]}
{"closed":{"reason":"complete","txns":2}}
`
	parts := []history.Part{{Txn: 0, Ops: []int{1, 2, 3}}, {Txn: 1, Ops: []int{0}}}
	sub := h.Extract(parts)
	if got := write(t, sub); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if got := write(t, read(t, want)); got != want {
		t.Errorf("read and written again it is\n%s", got)
	}
	if sub.KeyCount() != 2 || sub.SessionCount() != 2 {
		t.Errorf("%d keys, %d sessions", sub.KeyCount(), sub.SessionCount())
	}
	// A part of the part lists what both left out.
	less := sub.Extract([]history.Part{{Txn: 0, Ops: []int{1}}})
	if p := less.Predicates(0); less.SessionCount() != 1 || !slices.Equal(p[0].Omitted, []string{"t(1)", "t(2)"}) || !slices.Equal(p[2].Omitted, []string{"t(3)", "t(2)"}) || p[2].Ops != [2]int{1, 1} {
		t.Errorf("the part of the part has %+v", p)
	}
	if got := write(t, h); got != scans {
		t.Errorf("the whole is now\n%s", got)
	}
}

// TestSub: like TestExtract, with the names of the whole history.
func TestSub(t *testing.T) {
	h := read(t, scans)
	sub := h.Sub([]history.Part{{Txn: 0, Ops: []int{0, 6}}})
	if sub.Symbols != h.Symbols || len(sub.Txns) != 1 || sub.Txns[0].ID != 5 || !sub.Closed || sub.Workload != "w" {
		t.Errorf("%+v", sub)
	}
	if ops := sub.Ops(&sub.Txns[0]); !slices.Equal(ops, []history.Op{h.AllOps()[0], h.AllOps()[6]}) {
		t.Errorf("operations %v", ops)
	}
	p := sub.Predicates(0)
	if len(p) != 3 || p[0].Ops != [2]int{0, 1} || !slices.Equal(p[0].Omitted, []string{"t(2)"}) || p[2].Ops != [2]int{1, 2} || !slices.Equal(p[2].Omitted, []string{"t(2)"}) {
		t.Errorf("predicates %+v", p)
	}
	rec := h.PartRecord(history.Part{Txn: 0, Ops: []int{0, 6}})
	if !slices.Equal(rec.Ops, sub.Ops(&sub.Txns[0])) || len(rec.Predicates) != 3 || rec.Predicates[0].Ops != p[0].Ops || rec.Session != 7 {
		t.Errorf("as a record it is %+v", rec)
	}
	if last := h.Sub([]history.Part{{Txn: 1}}); last.DBTxn(0) != 77 || last.HasPredicates() || last.Txns[0].OpCount() != 0 {
		t.Errorf("%+v", last)
	}
}
