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

// TestPredicates checks that a violation is found and proved if transactions have predicates,
// although a counterexample keeps only some of the operations of a predicate.
func TestPredicates(t *testing.T) {
	for _, text := range []string{
		// Lost update, beside accesses that it does not need.
		"s1 T1: r(y,0) w(y,1) r(x,0) w(x,1)\ns2 T2: r(z,0) w(z,2) r(x,0) w(x,2)\ns3 T3: r(y,1) r(z,2)",
		"s1 T1: w(a,1) w(x,1) w(b,1)\ns2 T2: r(a,1) r(x,1) w(x,2) w(b,2)\ns3 T3: r(b,1) r(x,1) w(x,3) r(a,1)\ns4 T4: r(x,3) r(a,1)",
		// Two readers disagree on the order of blind writes, which takes a search.
		"s1 T1: w(x,1) w(y,1) w(a,1)\ns2 T2: w(x,2) w(y,2) w(b,1)\ns3 T3: w(c,1) r(x,1) r(y,2)\ns4 T4: w(d,1) r(x,2) r(y,1)",
	} {
		h := change(dsl.MustParse(text), func(_ *history.History, r *history.Record) {
			r.Predicates = []history.Predicate{{Statement: &history.Statement{Kind: "update", Table: "t"}, Ops: [2]int{1, len(r.Ops)}}}
		})
		if !h.HasPredicates() {
			t.Fatal("no predicates")
		}
		for _, engine := range []checker.Engine{checker.Auto, checker.Polygraph} {
			for _, lvl := range []level.Level{level.SI, level.SER} {
				r, err := checker.Check(context.Background(), h, lvl, checker.Options{Engine: engine, Certify: true})
				if err != nil || r.Verdict != verdict.Violated || len(r.Anomalies) == 0 {
					t.Errorf("%s, %s: %+v, %v\n%s", engine, lvl, r, err, text)
				}
			}
		}
	}
}
