package polygraph_test

import (
	"math/rand/v2"
	"testing"

	"github.com/isohound/isohound/checker/certify"
	"github.com/isohound/isohound/checker/polygraph"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/internal/randhist"
)

// TestMatrix checks that reachability by a matrix, which small histories do not use by default,
// gives the same verdicts as the trial of every execution, and refutations that hold.
func TestMatrix(t *testing.T) {
	e := polygraph.Engine{Accel: polygraph.Acceleration{}.On(with(onBits))}
	rng := rand.New(rand.NewPCG(41, 42))
	count := map[verdict.Verdict]int{}
	for range randhist.Count(t, 6000) {
		for _, lvl := range (polygraph.Engine{}).Levels() {
			h := randhist.New(rng)
			for lvl.RealTime() && !h.Timed() {
				h = randhist.New(rng)
			}
			v, _ := compare(t, h, lvl, 41, e)
			count[v]++
			if v != verdict.Violated || !h.Closed {
				continue
			}
			proof, err := polygraph.Refute(h, lvl, true)
			if err != nil {
				t.Fatal(err)
			}
			if proof != nil {
				if err := certify.Replay(t.Context(), h, lvl, proof); err != nil {
					t.Fatalf("%s: %v", lvl, err)
				}
			}
		}
	}
	if (count[verdict.Satisfied] < 1000 || count[verdict.Violated] < 1000) && !randhist.Few(t) {
		t.Errorf("one-sided: %v", count)
	}
}
