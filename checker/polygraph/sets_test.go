package polygraph_test

import (
	"math/rand/v2"
	"testing"

	"github.com/isohound/isohound/checker/polygraph"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/internal/randhist"
)

// TestWithoutValue compares verdicts on reads that returned no value, but only say which one they
// did not find, with the trial of every execution.
func TestWithoutValue(t *testing.T) {
	n := randhist.Count(t, 20_000)
	for _, lvl := range (polygraph.Engine{}).Levels() {
		t.Run(lvl.String(), func(t *testing.T) {
			t.Parallel()
			seed := randhist.Seed(t, rand.Uint64())
			rng := rand.New(rand.NewPCG(seed, uint64(lvl)))
			count := map[verdict.Verdict]int{}
			for range n {
				h := randhist.New(rng)
				for !h.Closed || lvl.RealTime() && !h.Timed() {
					h = randhist.New(rng)
				}
				h = randhist.WithoutValues(rng, h)
				for _, e := range []polygraph.Engine{{}, {Config: randomConfig(rng)}} {
					v, _ := compare(t, h, lvl, seed, e)
					count[v]++
				}
			}
			t.Logf("seed %d: %v", seed, count)
			for _, v := range []verdict.Verdict{verdict.Satisfied, verdict.Violated} {
				if count[v] < n/10 && !randhist.Few(t) {
					t.Errorf("only %d of %d histories are %s; the generator tests one side only", count[v], n, v)
				}
			}
		})
	}
}
