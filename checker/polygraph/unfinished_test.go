package polygraph_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/isohound/isohound/checker/engine"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/polygraph"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/generator/synth"
)

// TestUnfinished checks that a check that is stopped reports its progress.
func TestUnfinished(t *testing.T) {
	h := synth.FromSAT(synth.RandomSAT(rand.New(rand.NewPCG(1, 2)), 300, 1278))
	why := errors.New("enough")
	for _, cfg := range []polygraph.Config{{}, polygraph.Paper()} {
		ctx, cancel := context.WithTimeoutCause(context.Background(), 2*time.Second, why)
		_, err := polygraph.Engine{Config: cfg}.Judge(ctx, h, level.SERNoSO, engine.Options{})
		cancel()
		var u *engine.Unfinished
		if !errors.As(err, &u) || !errors.Is(err, why) {
			t.Fatalf("%s: %v", cfg, err)
		}
		t.Log(err)
		r := u.Result
		if r.Verdict != verdict.Unknown || r.Anomalies != nil || r.Witness != nil || len(r.Stages) == 0 {
			t.Errorf("%s: %+v", cfg, r)
		}
		if r.Search == nil || r.Search.Clauses == 0 { // a slow machine
			t.Logf("%s: not yet in the search", cfg)
			continue
		}
		for _, part := range []string{"0 of 0 reads", "variables", "clauses", "conflicts", "the largest component", "transactions on", "key"} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %q does not tell of %s", cfg, err, part)
			}
		}
		if (r.Search.ConstraintsBefore > 0) != cfg.Has(polygraph.Eager) {
			t.Errorf("%s: %+v", cfg, r.Search)
		}
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(why)
	if _, err := (polygraph.Engine{}).Judge(ctx, h, level.SER, engine.Options{}); !errors.Is(err, why) || !strings.Contains(err.Error(), "saturation: 0 passes") {
		t.Error(err)
	}
}
