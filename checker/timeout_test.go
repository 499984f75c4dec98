package checker_test

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/polygraph"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/generator/synth"
	"github.com/isohound/isohound/history"
)

// TestTimeLimit checks that a check that is too hard stops in time, at every level, also with
// eager. The bound is generous, because machines are shared.
func TestTimeLimit(t *testing.T) {
	const limit, bound = 400 * time.Millisecond, 10 * time.Second
	hard := func(vars int) *history.History {
		return synth.FromSAT(synth.RandomSAT(rand.New(rand.NewPCG(uint64(vars), 1)), vars, int(4.26*float64(vars))))
	}
	for _, tc := range []struct {
		name string
		h    *history.History
	}{
		{"SAT-400", hard(400)},
		{"hot", synth.General(synth.GeneralConfig{Sessions: 50, Txns: 10_000, Ops: 8, Keys: 20, Reads: 0.5, Duplicates: 0.5, Values: 20, Theta: 0.5, Seed: 1})},
	} {
		for _, lvl := range level.All() {
			if !lvl.Search() || lvl.RealTime() && !tc.h.Timed() {
				continue
			}
			for _, text := range []string{"default", "paper"} {
				cfg, err := polygraph.ParseConfig(text)
				if err != nil {
					t.Fatal(err)
				}
				begun := time.Now()
				r, err := checker.Check(context.Background(), tc.h, lvl, checker.Options{Timeout: limit, Pipeline: cfg})
				took := time.Since(begun)
				if err != nil {
					t.Fatal(err)
				}
				t.Logf("%s at %s, %s: %s after %v", tc.name, lvl, text, r.Verdict, took)
				if took > bound {
					t.Errorf("%s at %s, %s: ended after %v with a limit of %v", tc.name, lvl, text, took, limit)
				}
				if r.Verdict == verdict.Unknown && r.Reason == "" {
					t.Errorf("%s at %s, %s: unknown without a reason", tc.name, lvl, text)
				}
			}
		}
	}
}
