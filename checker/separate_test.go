package checker_test

import (
	"context"
	"testing"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history/dsl"
)

// TestNeighbours checks that a history tells each level from each level directly below it: the weaker one
// allows it, and the stronger one does not.
func TestNeighbours(t *testing.T) {
	apart := map[[2]level.Level]bool{}
	for _, tc := range []struct{ name, history, holds, not string }{
		{"a session does not see its own write", "s1: w(x,1)\ns1: r(x,0)", "ser-noso,si-noso,rc,mr,mw,wfr", "si,ra,ryw"},
		{"a session sees a write and then does not", "s1: w(x,1)\ns2: r(x,1)\ns2: r(x,0)", "ra,ryw,mw,wfr", "cc,mr"},
		{"of two writes of a session the second is seen alone", "s1: w(x,1)\ns1: w(y,1)\ns2: r(y,1) r(x,0)", "ra,ryw,mr,wfr", "cc,mw"},
		{"a write is seen without what its transaction read", "s1: w(x,1)\ns2: r(x,1) w(y,1)\ns3: r(y,1) r(x,0)", "ra,ryw,mr,mw", "cc,wfr"},
		{"half a transaction, the old half last", "s1: w(x,1) w(y,1)\ns2: r(x,1) r(y,0)", "session,ru", "rc"},
		{"half a transaction, the new half last", "s1: w(x,1) w(y,1)\ns2: r(y,0) r(x,1)", "rc,session", "ra"},
		{"long fork", "s1: w(x,1)\ns2: w(y,1)\ns3: r(x,1) r(y,0)\ns4: r(y,1) r(x,0)", "cc,psi", "pc,si-noso"},
		{"lost update", "s1: r(x,0) w(x,1)\ns2: r(x,0) w(x,2)", "pc,ru", "psi,si-noso"},
		{"write skew", "s1 T1 [0,9]: r(x,0) r(y,0) w(x,1)\ns2 T2 [0,9]: r(x,0) r(y,0) w(y,1)", "strong-si", "ser-noso"},
		{"an old read", "s1 T1 [0,1]: w(x,1)\ns2 T2 [2,3]: r(x,0)", "ser", "strong-si"},
		{"an aborted read", "s1: w(x,1) abort\ns2: r(x,1)", "ru", "rc,ryw,mr,mw,wfr,si-noso"},
	} {
		h := dsl.MustParse(tc.history)
		list := func(names string) []level.Level {
			levels, err := level.ParseList(names)
			if err != nil {
				t.Fatal(err)
			}
			return levels
		}
		verdicts := map[level.Level]verdict.Verdict{}
		for _, l := range level.All() {
			r, err := checker.Check(context.Background(), h, l, checker.Options{Certify: true})
			if err != nil {
				t.Fatalf("%s at %s: %v", tc.name, l, err)
			}
			verdicts[l] = r.Verdict
		}
		for strong, v := range verdicts {
			for weak, w := range verdicts {
				if v == verdict.Violated && w == verdict.Satisfied {
					apart[[2]level.Level{strong, weak}] = true
				}
			}
		}
		for _, l := range list(tc.holds) {
			if v := verdicts[l]; v != verdict.Satisfied {
				t.Errorf("%s at %s: %s", tc.name, l, v)
			}
		}
		for _, l := range list(tc.not) {
			if v := verdicts[l]; v != verdict.Violated {
				t.Errorf("%s at %s: %s", tc.name, l, v)
			}
		}
	}
	for _, strong := range level.All() {
		for _, weak := range level.All() {
			if !strong.Implies(weak) || strong == weak {
				continue
			}
			if !apart[[2]level.Level{strong, weak}] {
				t.Errorf("no history tells %s from %s", strong, weak)
			}
		}
	}
}
