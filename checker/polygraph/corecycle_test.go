package polygraph_test

import (
	"math/rand/v2"
	"testing"

	"github.com/isohound/isohound/checker/certify"
	"github.com/isohound/isohound/checker/engine"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/polygraph"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/internal/randhist"
)

// TestFirstCycle: a cycle for which no shorter one was looked for is a counterexample, too.
func TestFirstCycle(t *testing.T) {
	defer polygraph.MostSteps(0)()
	seed := randhist.Seed(t, rand.Uint64())
	rng := rand.New(rand.NewPCG(seed, 7))
	cycles := 0
	for range 1000 {
		h := randhist.New(rng)
		for _, lvl := range []level.Level{level.SER, level.SI} {
			r, err := polygraph.Engine{}.Judge(t.Context(), h, lvl, engine.Options{Proof: true})
			if err != nil {
				continue // a refusal
			}
			if err := certify.Result(t.Context(), h, r); err != nil {
				t.Fatalf("seed %d, %s: %v", seed, lvl, err)
			}
			if r.Verdict == verdict.Violated && len(r.Anomalies[0].Cycle) > 0 {
				cycles++
			}
		}
	}
	if cycles < 50 {
		t.Errorf("only %d cycles", cycles)
	}
}
