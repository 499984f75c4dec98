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

// TestPredicatesInCounterexamples: a counterexample is cut out of transactions
// whose predicates name operations that it does not keep.
func TestPredicatesInCounterexamples(t *testing.T) {
	for name, text := range map[string]string{
		"cycle, linear":            "s1 T1: r(x,0) r(y,0) w(x,1)\ns2 T2: r(x,0) r(y,0) w(y,2)",
		"cycle, polygraph":         "s1 T1: r(x,0) r(y,0) r(a,0) r(b,0) w(x,1)\ns2 T2: r(x,0) r(y,0) r(a,0) r(b,0) w(y,2)\ns3 T3: r(a,0) r(b,0)",
		"contradiction, polygraph": "s1 T1: w(x,1) r(a,0)\ns2 T2: w(x,2) r(a,0)\ns3 T3: r(x,1) r(x,1) r(a,0)\ns3 T4: r(x,2)\ns3 T5: r(x,1) r(a,0)",
		"lost update":              "s1 T1: r(x,0) r(a,0) r(b,0) w(x,1)\ns2 T2: r(x,0) r(a,0) r(b,0) w(x,2)",
	} {
		plain := dsl.MustParse(text)
		b := history.NewBuilder(plain.Header, plain.Symbols, 0)
		for i := range plain.Txns {
			rec := plain.Record(i)
			rec.Predicates = []history.Predicate{{Kind: "read", Table: "t", Ops: [2]int{0, len(rec.Ops)}}}
			if err := b.Add(&rec); err != nil {
				t.Fatal(err)
			}
		}
		h := b.Done(true, nil)
		for _, engine := range []checker.Engine{checker.Auto, checker.Polygraph} {
			r, err := checker.Check(context.Background(), h, level.SER, checker.Options{Engine: engine, Certify: true})
			if err != nil {
				t.Errorf("%s, %s: %v", name, engine, err)
				continue
			}
			if r.Verdict != verdict.Violated || !r.Certified {
				t.Errorf("%s, %s: %s, proof verified %v: %s", name, engine, r.Verdict, r.Certified, r.Reason)
			}
		}
	}
}
