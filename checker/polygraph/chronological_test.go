package polygraph_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/isohound/isohound/checker/certify"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/polygraph"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/generator/synth"
	"github.com/isohound/isohound/internal/randhist"
)

// TestChronological checks that chronological backtracking, which is normally used only in deep
// searches, is correct: small histories against the trial of every execution, formulas against the
// trial of every assignment, and the replay of refutations.
func TestChronological(t *testing.T) {
	defer polygraph.GiveUpLevels(0)()
	rng := rand.New(rand.NewPCG(31, 32))
	searched := 0
	noPruning := polygraph.Config{}.Without(polygraph.Pruning)
	for range randhist.Count(t, 6000) {
		h := randhist.New(rng)
		for _, lvl := range []level.Level{level.SER, level.SI} {
			if _, s := compare(t, h, lvl, 31, polygraph.Engine{Config: noPruning}); s {
				searched++
			}
		}
	}
	if searched < 300 && !randhist.Few(t) {
		t.Errorf("only %d with conflicts", searched)
	}
	count := map[bool]int{}
	for n := range 200 {
		vars := 6 + n%7
		clauses := synth.RandomSAT(rng, vars, int(float64(vars)*(3.6+2.8*rng.Float64())))
		want := satisfiable(vars, clauses)
		count[want]++
		h := synth.FromSAT(clauses)
		for _, lvl := range []level.Level{level.SER, level.SI} {
			r, err := polygraph.Decide(context.Background(), h, lvl, polygraph.Engine{Config: randomConfig(rng)})
			if err != nil || r.Verdict == verdict.Unknown || (r.Verdict == verdict.Satisfied) != want {
				t.Fatalf("formula %d at %s: %s, %v; satisfiable: %v", n, lvl, r.Verdict, err, want)
			}
			proof, err := polygraph.Refute(h, lvl, n%2 == 0)
			if err != nil || (proof == nil) != want {
				t.Fatalf("formula %d at %s: a refutation: %v, %v; satisfiable: %v", n, lvl, proof != nil, err, want)
			}
			if proof != nil {
				if err := certify.Replay(t.Context(), h, lvl, proof); err != nil {
					t.Fatalf("formula %d at %s: %v", n, lvl, err)
				}
			}
		}
	}
	if count[true] < 50 || count[false] < 50 {
		t.Errorf("one-sided: %v", count)
	}
}
