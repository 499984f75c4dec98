package polygraph_test

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/isohound/isohound/checker/certify"
	"github.com/isohound/isohound/checker/engine"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/polygraph"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/generator/synth"
)

// TestLarge checks that histories large enough for several goroutines in every step, with so many
// sessions that the search has to mend many clauses, have the execution that the engine returns.
func TestLarge(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	for _, tc := range []struct {
		name string
		cfg  synth.GeneralConfig
	}{
		{"sessions", synth.GeneralConfig{Sessions: 1_000, Txns: 8_000, Ops: 10, Keys: 4_000, Reads: 0.5}},
		{"each its own session", synth.GeneralConfig{Sessions: 20_000, Txns: 20_000, Ops: 10, Keys: 20_000, Reads: 0.5}},
		{"hot", synth.GeneralConfig{Sessions: 20, Txns: 8_000, Ops: 4, Keys: 20, Reads: 0.5}},
	} {
		tc.cfg.Duplicates, tc.cfg.Theta, tc.cfg.Values, tc.cfg.Seed = 0.5, 0.5, 100, 1
		for _, lvl := range []level.Level{level.SER, level.SI} {
			t.Run(tc.name+"/"+lvl.String(), func(t *testing.T) {
				tc.cfg.Snapshot = lvl == level.SI
				h := synth.General(tc.cfg)
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
				defer cancel()
				r, err := polygraph.Engine{}.Judge(ctx, h, lvl, engine.Options{Proof: true})
				if err != nil {
					t.Fatal(err)
				}
				if r.Verdict != verdict.Satisfied {
					t.Fatalf("%s, want satisfied", r.Verdict)
				}
				if r.Search.Conflicts == 0 {
					t.Error("the search had nothing to mend")
				}
				if err := certify.Result(t.Context(), h, r); err != nil {
					t.Error(err)
				}
			})
		}
	}
}
