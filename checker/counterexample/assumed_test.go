package counterexample_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/isohound/isohound/checker/certify"
	"github.com/isohound/isohound/checker/counterexample"
	"github.com/isohound/isohound/checker/engine"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/polygraph"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history/dsl"
	"github.com/isohound/isohound/internal/randhist"
)

// TestKeepsClaims: the counterexample of a violation under assumed claims violates the level by itself, with the claims of its
// own history, also when it is written and read again. Some rest on nothing but snapshots.
func TestKeepsClaims(t *testing.T) {
	seed := randhist.Seed(t, rand.Uint64())
	rng := rand.New(rand.NewPCG(seed, 8))
	cut, resting := 0, 0
	for range randhist.Count(t, 600) {
		h := randhist.New(rng)
		if rng.IntN(2) == 0 {
			h = randhist.ClaimedSets(rng, h)
		} else {
			h = randhist.Claimed(rng, h)
		}
		if rng.IntN(2) == 0 {
			h = randhist.Versions(rng, h)
		}
		h = h.AssumeOrder()
		lvl := []level.Level{level.SI, level.SINoSO, level.PC}[rng.IntN(3)]
		r, err := polygraph.Engine{}.Judge(t.Context(), h, lvl, engine.Options{})
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, dsl.Format(h))
		}
		if r.Verdict != verdict.Violated || !h.Closed || r.Anomalies[0].Kind != verdict.Contradiction {
			continue
		}
		c, err := counterexample.Of(t.Context(), h, lvl, &r.Anomalies[0], counterexample.Options{Timeout: time.Minute})
		if err != nil {
			t.Fatalf("seed %d, %s: %v\n%s", seed, lvl, err, dsl.Format(h))
		}
		again := dsl.MustParse(dsl.Format(c.History)).AssumeOrder()
		cut++
		if allowed, decided := certify.Judge(again, c.Weakest, 10_000_000); allowed || !decided {
			t.Fatalf("seed %d, %s: %v, %v: this is no counterexample:\n%sof\n%s", seed, c.Weakest, allowed, decided, dsl.Format(again), dsl.Format(h))
		}
		if allowed, decided := certify.Judge(c.History.WithClaims(nil), c.Weakest, 10_000_000); allowed && decided {
			resting++
		}
	}
	t.Logf("%d counterexamples, %d rest on claims", cut, resting)
	if (cut < 20 || resting < 5) && !randhist.Few(t) {
		t.Error("too few")
	}
}
