package checker_test

import (
	"context"
	"testing"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/dsl"
)

// TestPredicates: a transaction with predicates can be part of a
// counterexample, and of its proof, like any other, though operations of which
// its predicates speak are left out there.
func TestPredicates(t *testing.T) {
	plain, err := dsl.Parse("s1: r(a,0) r(b,0) r(x,0) w(x,1)\ns2: r(a,0) r(b,0) r(x,0) w(x,2)\ns3: r(y,0) w(y,1)\n", "")
	if err != nil {
		t.Fatal(err)
	}
	b := history.NewBuilder(plain.Header, plain.Symbols, len(plain.Txns))
	for i := range plain.Txns {
		rec := plain.Record(i)
		rec.Predicates = []history.Predicate{{Kind: "read", Table: "t", Ops: [2]int{0, len(rec.Ops) - 1}}}
		if err := b.Add(&rec); err != nil {
			t.Fatal(err)
		}
	}
	h := b.Done(true, nil)
	if !h.HasPredicates() {
		t.Fatal("the history has no predicates")
	}
	for _, lvl := range []level.Level{level.SER, level.SI} {
		r, err := checker.Check(context.Background(), h, lvl, checker.Options{Certify: true, Engine: checker.Polygraph})
		if err != nil || r.Verdict != verdict.Violated || !r.Certified || len(r.Anomalies) != 1 {
			t.Errorf("%s: %+v, %v", lvl, r, err)
			continue
		}
		if n := len(r.Anomalies[0].Ops); n != 4 {
			t.Errorf("%s: %d operations in the counterexample: %s", lvl, n, r.Anomalies[0].Text)
		}
	}
}
