package scans_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/certify"
	"github.com/isohound/isohound/checker/counterexample"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/scans"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/internal/randhist"
)

// TestWeakAgainstOracle compares verdicts at weak levels on histories with scans with the trial of every source of
// each read. The operations that follow from the scans are given to both. Every proof must hold, and every violation must
// have a counterexample. At read uncommitted a read that nobody is known to have written leaves the verdict open.
func TestWeakAgainstOracle(t *testing.T) {
	n := randhist.Count(t, 20_000) / 4
	for _, lvl := range []level.Level{level.RU, level.RC, level.RYW, level.MR, level.MW, level.WFR, level.RA, level.CC} {
		t.Run(lvl.String(), func(t *testing.T) {
			t.Parallel()
			seed := randhist.Seed(t, rand.Uint64())
			rng := rand.New(rand.NewPCG(seed, uint64(lvl)))
			count, twice := map[verdict.Verdict]int{}, map[verdict.Verdict]int{}
			for range n {
				r := newRun(rng, level.SERNoSO)
				x, rest, err := scans.Expand(t.Context(), r.history(t), scans.EagerOps)
				if err != nil {
					t.Fatal(err)
				}
				if rest != nil || x.Count().Committed == 0 { // choices have tests of their own
					continue
				}
				got, err := checker.Check(t.Context(), x, lvl, checker.Options{Certify: true})
				if err != nil {
					t.Fatalf("seed %d: %v\n%s", seed, err, r.text(t))
				}
				allowed, decided := certify.Judge(x, lvl, 10_000_000)
				right := got.Verdict != verdict.Unknown && got.Certified && (!decided || allowed == (got.Verdict == verdict.Satisfied))
				if lvl == level.RU && (!decided || got.Verdict == verdict.Unknown) {
					right = got.Verdict == verdict.Unknown && !(decided && allowed)
				}
				if !right {
					t.Fatalf("seed %d: the engine says %s, certified %v; the trial says %v\n%s", seed, got.Verdict, got.Certified, allowed, r.text(t))
				}
				count[got.Verdict]++
				if returned, changed := r.committedTwice(); returned || changed {
					if twice[got.Verdict]++; got.Verdict == verdict.Satisfied && (changed || lvl.Repeatable()) {
						t.Fatalf("seed %d: a row twice is accepted\n%s", seed, r.text(t))
					}
				}
				if got.Verdict == verdict.Violated {
					if _, err := counterexample.Of(t.Context(), x, lvl, &got.Anomalies[0], counterexample.Options{Timeout: time.Minute}); err != nil {
						t.Fatalf("seed %d: %v\n%s", seed, err, r.text(t))
					}
				}
			}
			t.Logf("seed %d: %v, with a row twice %v", seed, count, twice)
			if n >= 1000 && (twice[verdict.Violated] < n/100 || twice[verdict.Satisfied] < n/200 && !lvl.Repeatable()) {
				t.Errorf("%v with a row twice; the generator tests one side only", twice)
			}
			if (count[verdict.Satisfied] < n/10 || count[verdict.Violated] < n/40) && !randhist.Few(t) {
				t.Errorf("%v of %d histories; the generator tests one side only", count, n)
			}
		})
	}
}

// committedTwice reports whether statements of committed transactions returned, or changed, one row twice.
func (r *run) committedTwice() (returned, changed bool) {
	for _, x := range r.txns {
		for n := range x.statements {
			if s := &x.statements[n]; x.status == history.Committed && s.twice() {
				returned, changed = returned || s.kind == "scan", changed || s.kind != "scan"
			}
		}
	}
	return returned, changed
}
