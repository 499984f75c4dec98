package certify_test

import (
	"math/rand/v2"
	"testing"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/checker/certify"
	"github.com/isohound/isohound/checker/engine"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/polygraph"
	"github.com/isohound/isohound/checker/psi"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history/dsl"
	"github.com/isohound/isohound/internal/randhist"
)

// TestClaims checks that no anomaly is ever accepted against a history that has an execution. The
// claims are random, or hold for a history that differs a little.
func TestClaims(t *testing.T) {
	seed := randhist.Seed(t, rand.Uint64())
	rng := rand.New(rand.NewPCG(seed, 5))
	tried, right, borrowed, open, assumed := 0, 0, 0, 0, 0
	for range randhist.Count(t, 4_000) {
		h := randhist.New(rng)
		levels := append(polygraph.Engine{}.Levels(), level.PSI)
		lvl := levels[rng.IntN(len(levels))]
		if lvl.RealTime() && !h.Timed() {
			continue
		}
		if lvl != level.PSI && rng.IntN(2) == 0 {
			if rng.IntN(3) == 0 {
				h = randhist.ClaimedSets(rng, h).AssumeOrder()
			} else {
				h = randhist.Claimed(rng, h).AssumeOrder()
			}
		}
		possible := h
		if !h.Closed {
			possible = randhist.Completed(h)
			open++
		}
		if h.OrderAssumed() || h.SnapshotsAssumed() {
			possible = possible.AssumeOrder()
			assumed++
		}
		allowed, decided := certify.Judge(possible, lvl, 5_000_000)
		if !decided {
			continue
		}
		accepted := func(a verdict.Anomaly) bool {
			return certify.Result(t.Context(), h, &verdict.Result{Level: lvl, Verdict: verdict.Violated, Anomalies: []verdict.Anomaly{a}}) == nil
		}
		if !allowed {
			for range 40 {
				if accepted(randhist.Claim(rng, h)) {
					right++
				}
			}
			continue
		}
		refused := func(a verdict.Anomaly) {
			t.Helper()
			if tried++; accepted(a) {
				t.Errorf("seed %d, %s, closed %v: accepted %+v\n%s", seed, lvl, h.Closed, a, dsl.Format(h))
			}
		}
		for range 40 {
			refused(randhist.Claim(rng, h))
		}
		judge := polygraph.Engine{}.Judge
		if lvl == level.PSI {
			judge = psi.Engine{}.Judge
		}
		other, err := judge(t.Context(), randhist.Damage(rng, h, 2), lvl, engine.Options{Proof: true})
		if errors.As(err, new(*engine.Refusal)) || err == nil && other.FollowsFrom != 0 {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range other.Anomalies {
			if !h.Closed && a.Kind != verdict.Contradiction {
				continue // see randhist.Claim
			}
			borrowed++
			refused(a)
			if len(a.Txns) > 0 {
				a.Txns = a.Txns[:len(a.Txns)-1] // but not its operations
				refused(a)
			}
		}
	}
	t.Logf("%d false claims, %d of them of other histories; %d histories cut off; %d with an assumed order of versions; %d right claims", tried, borrowed, open, assumed, right)
	if (tried < 1000 || right < 20 || borrowed < 20 || open < 20 || assumed < 20) && !randhist.Few(t) {
		t.Error("too few")
	}
}
