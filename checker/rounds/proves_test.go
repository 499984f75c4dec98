package rounds_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/counterexample"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/rounds"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/dsl"
	"github.com/isohound/isohound/internal/randhist"
)

// TestProves: a run, judged as a whole, is violated at each level at which a counterexample of one of its windows proves it, also
// if the window as a whole leaves that in doubt.
func TestProves(t *testing.T) {
	seed := randhist.Seed(t, rand.Uint64())
	rng := rand.New(rand.NewPCG(seed, 27))
	levels := []level.Level{level.SER, level.SI, level.SSER, level.StrongSI, level.PC, level.PSI, level.CC}
	satisfied := func(*history.History) (verdict.Verdict, error) { return verdict.Satisfied, nil }
	more := map[level.Level]int{} // proved by a counterexample, in doubt for the window
	proved, unknown := 0, 0
	for n := range randhist.Count(t, 30_000) / 30 {
		r := simulate(rng, n%2 == 0)
		whole := r.whole.history(t)
		var state rounds.Run
		for _, w := range r.windows {
			h := w.history(t)
			state.Enter(h)
			res, err := checker.Check(context.Background(), h, level.SSER, checker.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if res.Verdict != verdict.Violated {
				continue
			}
			e := counterexample.NewExplainer(h, func(ctx context.Context, lvl level.Level, opt checker.Options) (*verdict.Result, error) {
				return checker.Check(ctx, h, lvl, opt)
			})
			x, err := e.Explain(context.Background(), res, counterexample.Wishes{})
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range x.Counterexamples {
				for _, lvl := range levels {
					if !state.Proves(h, c.History, lvl) || check(t, c.History, lvl) != verdict.Violated {
						continue
					}
					v := check(t, whole, lvl)
					if v == verdict.Satisfied {
						t.Fatalf("seed %d: at %s the run is satisfied, but a part of it is violated:\n%s\nof\n%s\nof\n%s", seed, lvl, dsl.Format(c.History), dsl.Format(h), dsl.Format(whole))
					}
					if v == verdict.Unknown { // the whole run has no cuts, which order its versions
						unknown++
						continue
					}
					proved++
					if why, _ := state.Doubt(h, lvl, satisfied); why != "" || !rounds.Judges(lvl) {
						more[lvl]++
					}
				}
			}
		}
	}
	t.Logf("%v, %d proved in all, %d unknown", more, proved, unknown)
	if randhist.Few(t) {
		return
	}
	if unknown > proved/4 {
		t.Errorf("seed %d: %d of the runs are unknown, %d violated", seed, unknown, proved)
	}
	for _, lvl := range []level.Level{level.SI, level.PC, level.PSI} {
		if more[lvl] == 0 {
			t.Errorf("seed %d: at %s no counterexample proved more than its window", seed, lvl)
		}
	}
}
