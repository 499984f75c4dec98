package checker_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/replay"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history/dsl"
	"github.com/isohound/isohound/internal/randhist"
)

// TestHint: what the database claims never changes a verdict, and every proof holds. ISOHOUND_HISTORIES sets how many
// histories there are for each level.
func TestHint(t *testing.T) {
	seed := randhist.Seed(t, rand.Uint64())
	rng := rand.New(rand.NewPCG(seed, 3))
	n := randhist.Count(t, 600)
	for _, lvl := range level.All() {
		count, replayed, lies := map[verdict.Verdict]int{}, 0, 0
		for range n {
			h := randhist.New(rng)
			if rng.IntN(2) == 0 {
				h = randhist.Mini(rng)
			}
			h = randhist.Claimed(rng, h)
			ignored, err := checker.Check(t.Context(), h, lvl, checker.Options{Versions: checker.Ignore})
			if err != nil {
				t.Fatal(err)
			}
			if ignored.Claim != nil || ignored.Engine == replay.Name {
				t.Fatalf("seed %d: the claims were not ignored: %+v", seed, ignored)
			}
			hinted, err := checker.Check(t.Context(), h, lvl, checker.Options{Certify: true})
			if err != nil {
				t.Fatalf("seed %d: %v\n%s", seed, err, dsl.Format(h))
			}
			// The claim may decide what was unknown, and never contradicts what was known.
			if hinted.Verdict != ignored.Verdict && hinted.Verdict != verdict.Unknown && ignored.Verdict != verdict.Unknown {
				t.Fatalf("seed %d: %s: %s with the claims, %s without\n%s", seed, lvl, hinted.Verdict, ignored.Verdict, dsl.Format(h))
			}
			if hinted.Verdict == verdict.Unknown && ignored.Verdict == verdict.Satisfied {
				t.Fatalf("seed %d: %s: the claims made a verdict unknown: %s\n%s", seed, lvl, hinted.Reason, dsl.Format(h))
			}
			count[hinted.Verdict]++
			if hinted.Engine == replay.Name {
				replayed++
			}
			if hinted.Claim != nil && !hinted.Claim.Fits && hinted.Verdict == verdict.Satisfied {
				lies++
			}
		}
		t.Logf("%s: %v, %d replayed, %d satisfied although the claim does not fit", lvl, count, replayed, lies)
		if judged := slices.Contains((replay.Engine{}).Levels(), lvl); judged && (replayed < n/50 || lies < n/200) || !judged && replayed > 0 {
			t.Errorf("%s: one-sided", lvl)
		}
	}
}

func TestParseVersions(t *testing.T) {
	for _, c := range []struct {
		name string
		with checker.Engine
		ok   bool
	}{{"hint", checker.Auto, true}, {"ignore", checker.Auto, true}, {"hint", checker.Replay, true}, {"ignore", checker.Replay, false}, {"", checker.Auto, false}, {"trust", checker.Auto, false}} {
		if _, err := checker.ParseVersions(c.name, c.with); (err == nil) != c.ok {
			t.Errorf("%q with %s: %v", c.name, c.with, err)
		}
	}
}
