package polygraph_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/isohound/isohound/checker/certify"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/polygraph"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/dsl"
)

// replay has the refutation of each contradiction replayed, whether or not the
// counterexample is small enough to be judged without.
func replay(t *testing.T, h *history.History, r *verdict.Result) {
	t.Helper()
	for n := range r.Anomalies {
		a := &r.Anomalies[n]
		if a.Kind != verdict.Contradiction {
			continue
		}
		if a.Refutation == nil {
			t.Fatalf("%s: no refutation\n%s", r.Level, dsl.Format(h))
		}
		if err := certify.Replay(h, r.Level, a.Refutation); err != nil {
			t.Fatalf("%s: %v\n%s\n%+v", r.Level, err, dsl.Format(h), a.Refutation)
		}
	}
}

// TestReplayHard: refutations of histories in which much is open.
func TestReplayHard(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	violated := 0
	for n := range 60 {
		vars := 4 + n%9
		h := fromClauses(randomClauses(rng, vars, 4*vars+rng.IntN(2*vars)))
		for _, lvl := range []level.Level{level.SER, level.SI} {
			r, err := polygraph.Check(context.Background(), h, lvl, polygraph.Options{Witness: true, NoPruning: n%3 == 0})
			if err != nil {
				t.Fatal(err)
			}
			if r.Verdict == verdict.Violated {
				violated++
				replay(t, h, r)
			}
		}
	}
	if violated < 20 {
		t.Errorf("only %d violated", violated)
	}
}
