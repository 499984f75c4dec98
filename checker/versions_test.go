package checker_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/certify"
	"github.com/isohound/isohound/checker/engine"
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
		if judged := slices.Contains((replay.Engine{}).Levels(), lvl); judged && (replayed < n/50 || lies < n/200) && !randhist.Few(t) || !judged && replayed > 0 {
			t.Errorf("%s: one-sided", lvl)
		}
	}
}

func TestParseVersions(t *testing.T) {
	for _, c := range []struct {
		name string
		with checker.Engine
		ok   bool
	}{{"hint", checker.Auto, true}, {"ignore", checker.Auto, true}, {"hint", checker.Replay, true}, {"ignore", checker.Replay, false}, {"assume", checker.Auto, true}, {"assume", checker.Replay, true}, {"assume", checker.Polygraph, true}, {"assume", checker.Linear, false}, {"assume", checker.Baseline, false}, {"", checker.Auto, false}, {"trust", checker.Auto, false}} {
		if _, err := checker.ParseVersions(c.name, c.with); (err == nil) != c.ok {
			t.Errorf("%q with %s: %v", c.name, c.with, err)
		}
	}
}

// TestAssume: with the order of versions assumed, a history is satisfied exactly if an execution keeps that order, the
// proofs hold, and a violation that is said not to rest on the assumption is one without it.
func TestAssume(t *testing.T) {
	seed := randhist.Seed(t, rand.Uint64())
	rng := rand.New(rand.NewPCG(seed, 4))
	n := randhist.Count(t, 800)
	for _, lvl := range level.All() {
		count, resting, seen, free, replayed := map[verdict.Verdict]int{}, 0, 0, 0, 0
		times := n
		if !engine.CanAssume(lvl) {
			times = 20
		}
		for range times {
			h := randhist.New(rng)
			switch rng.IntN(4) {
			case 0:
				h = randhist.Mini(rng)
			case 1:
				h = randhist.WithClassReads(rng, randhist.Mini(rng))
			}
			if rng.IntN(4) == 0 {
				h = randhist.ClaimedSets(rng, h)
			} else {
				h = randhist.Claimed(rng, h)
			}
			if rng.IntN(2) == 0 {
				h = randhist.Versions(rng, h)
			}
			r, err := checker.Check(t.Context(), h, lvl, checker.Options{Versions: checker.Assume, Certify: true})
			if err != nil {
				t.Fatalf("seed %d: %v\n%s", seed, err, dsl.Format(h))
			}
			count[r.Verdict]++
			if !h.HasClaims() && (!h.HasVisible() || !lvl.Snapshot()) {
				continue
			}
			if !engine.CanAssume(lvl) {
				if r.Verdict != verdict.Unknown || r.Reason == "" {
					t.Fatalf("%s is %s: %s", lvl, r.Verdict, r.Reason)
				}
				continue
			}
			if r.Assumes == nil || r.Assumes.Placed > r.Assumes.Versions {
				t.Fatalf("seed %d: the assumption is %+v", seed, r.Assumes)
			}
			if r.Engine == replay.Name {
				replayed++
			}
			if !h.Closed || r.Verdict == verdict.Unknown {
				continue
			}
			if allowed, decided := certify.Judge(h.AssumeOrder(), lvl, 50_000_000); !decided || allowed != (r.Verdict == verdict.Satisfied) {
				t.Fatalf("seed %d: %s is %s, and the trial of all executions says %v, decided %v\n%s", seed, lvl, r.Verdict, allowed, decided, dsl.Format(h))
			}
			if r.Verdict == verdict.Satisfied {
				continue
			}
			if r.Assumes.Rests {
				if resting++; r.Assumes.OnSnapshots {
					seen++
				}
				if err := certify.Result(t.Context(), h, r); err == nil && r.Anomalies[0].Refutation == nil {
					t.Fatalf("seed %d: a proof that rests on the assumption was accepted without it\n%s", seed, dsl.Format(h))
				}
				continue
			}
			free++
			if allowed, decided := certify.Judge(h, lvl, 50_000_000); allowed || !decided {
				t.Fatalf("seed %d: %s is satisfied without the assumption, on which the violation does not rest\n%s", seed, lvl, dsl.Format(h))
			}
		}
		t.Logf("%s: %v, %d rest on the assumption, %d of them on snapshots, %d do not, %d replayed", lvl, count, resting, seen, free, replayed)
		if engine.CanAssume(lvl) && (resting < n/100 || free < n/20 || replayed < n/50 || (seen > n/100) != lvl.Snapshot()) && !randhist.Few(t) {
			t.Errorf("%s: one-sided", lvl)
		}
	}
}

// TestAssumedFollows: a verdict that follows from another level keeps what it rests on, and its proof holds.
func TestAssumedFollows(t *testing.T) {
	h := dsl.MustParse(`
		s0 T0 @1: w(x,1)
		s1 T1 @2: w(x,2)
		s2 T2: r(x,2)
		s2 T3: r(x,1)`)
	levels := checker.NewLevels(h)
	opt := checker.Options{Versions: checker.Assume, Certify: true}
	si, err := levels.Check(t.Context(), level.SI, opt)
	if err != nil || si.Verdict != verdict.Violated || !si.Assumes.Rests || !si.Certified {
		t.Fatalf("%+v, %v", si, err)
	}
	if free, err := levels.Check(t.Context(), level.SINoSO, opt); err != nil || free.Verdict != verdict.Satisfied {
		t.Fatalf("%+v, %v", free, err)
	}
	if got, err := checker.Check(t.Context(), h, level.SI, checker.Options{Certify: true}); err != nil || got.Verdict != verdict.Satisfied || got.Assumes != nil {
		t.Fatalf("as a hint: %+v, %v", got, err)
	}
}

// TestAssumedCutOff: a read of a version that nobody is known to have written proves nothing in a history that was cut off. A
// violation that does not need it has a proof without it.
func TestAssumedCutOff(t *testing.T) {
	h := dsl.MustParse(`
		open
		s2 T0 [0,0] @<3: r(k0,0)@0
		s1 T1 [0,0] @4<3: r(k1,0)@4 w(k1,0) w(k1,0)
		s3 T2 [1,1] @<2: r(k1,0)@4 r(k2,0)@4
		s0 T3 [3,3] @4: w(k0,2) r(k1,0)@4 w(k1,0)
		s3 T4 [5,5] @<9: r(k1,0) r(k1,0)@2 r(k0,0) r(k0,0)@0`)
	r, err := checker.Check(t.Context(), h, level.StrongSI, checker.Options{Versions: checker.Assume, Certify: true})
	if err != nil || r.Verdict != verdict.Violated || !r.Certified {
		t.Fatalf("%+v, %v", r, err)
	}
}

// TestAssumedImplies: a serial execution need not have the snapshots that the database claims. So neither verdict follows
// from the other there, whichever level is judged first, and both have proofs.
func TestAssumedImplies(t *testing.T) {
	h := dsl.MustParse(`
		s0 T0 @5<4: w(x,1)
		s0 T1 @9<4: r(y,0) w(z,1)`)
	opt := checker.Options{Versions: checker.Assume, Certify: true}
	want := map[level.Level]verdict.Verdict{level.SER: verdict.Satisfied, level.SI: verdict.Violated}
	for _, order := range [][]level.Level{{level.SER, level.SI}, {level.SI, level.SER}} {
		levels := checker.NewLevels(h)
		known := checker.Known{}
		for _, lvl := range order {
			r, err := levels.Settle(t.Context(), lvl, known, opt)
			if err != nil || r.Verdict != want[lvl] || !r.Certified || r.FollowsFrom != 0 {
				t.Fatalf("%v, %s: %+v, %v", order, lvl, r, err)
			}
			known[lvl] = r.Verdict
		}
		if err := known.Judge(h.AssumeOrder(), nil, func(lvl level.Level) (*verdict.Result, error) { return levels.Check(t.Context(), lvl, opt) }); err != nil {
			t.Fatal(err)
		}
		if got, want := known.Standing(h.AssumeOrder()).String(), "violates pc, si and strong-si; satisfies ser"; got != want {
			t.Errorf("%v: %s, want %s", order, got, want)
		}
	}
}
