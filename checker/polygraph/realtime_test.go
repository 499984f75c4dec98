package polygraph_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/isohound/isohound/checker/engine"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/polygraph"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/internal/randhist"
)

// TestRealTimeTried checks that a search that stops for a try at the level with real time has the
// same verdict as the trial of every execution, whether the try decides or the search continues,
// and that its proof holds.
func TestRealTimeTried(t *testing.T) {
	defer polygraph.HardAfter(1)()
	rng := rand.New(rand.NewPCG(51, 52))
	e := polygraph.Engine{Config: polygraph.Config{}.Without(polygraph.Pruning)}
	count := map[verdict.Verdict]int{}
	searchedOn := 0
	for range randhist.Count(t, 30_000) {
		h := randhist.New(rng)
		if !h.Timed() {
			continue
		}
		for _, lvl := range []level.Level{level.SER, level.SI, level.SERNoSO} {
			r, err := e.Judge(t.Context(), h, lvl, engine.Options{VerdictOnly: true})
			if err != nil {
				t.Fatal(err)
			}
			stages := []string{}
			for _, s := range r.Stages {
				stages = append(stages, s.Name)
			}
			tried := slices.Index(stages, "real time")
			if tried < 0 {
				continue
			}
			v, _ := compare(t, h, lvl, 51, e)
			count[v]++
			if slices.Contains(stages[tried:], "search") {
				searchedOn++
			}
		}
	}
	t.Logf("%v, %d went on", count, searchedOn)
	if (count[verdict.Satisfied] < 20 || count[verdict.Violated] < 20 || searchedOn < 20 || searchedOn == count[verdict.Satisfied]+count[verdict.Violated]) && !randhist.Few(t) {
		t.Error("too few")
	}
}
