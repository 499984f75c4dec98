package scans_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/certify"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/polygraph"
	"github.com/isohound/isohound/checker/replay"
	"github.com/isohound/isohound/checker/scans"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/internal/randhist"
)

// TestAgainstOracle compares verdicts on histories with scans with the trial of every execution.
// The trial evaluates each scan on the rows that its transaction sees. It knows nothing of reads of
// items or of classes. ISOHOUND_HISTORIES sets five times how many histories per level.
func TestAgainstOracle(t *testing.T) {
	n := randhist.Count(t, 25_000) / 5
	for _, lvl := range (polygraph.Engine{}).Levels() {
		t.Run(lvl.String(), func(t *testing.T) {
			t.Parallel()
			seed := randhist.Seed(t, rand.Uint64())
			rng := rand.New(rand.NewPCG(seed, uint64(lvl)))
			count := map[verdict.Verdict]int{}
			chosen := map[verdict.Verdict]int{} // found by trying choices
			onDemand, settled, guessed, replayed := 0, 0, 0, 0
			byScans := 0 // violated, but satisfied without the judgement of scans
			distinct, byVersions := 0, 0
			twice := map[verdict.Verdict]int{} // of those with a statement that has a row twice
			for range n {
				r := newRun(rng, lvl)
				for lvl == level.PC && r.deletes() {
					r = newRun(rng, lvl)
				}
				h := r.history(t)
				x, rest := settle(t, h, 1<<30, lvl)
				if x.Scans != nil && x.Scans.Judged != x.Scans.Scans {
					t.Fatalf("seed %d: %+v\n%s", seed, x.Scans, r.text(t))
				}
				check := func(x *history.History, rest *scans.Rest) (*verdict.Result, bool) {
					alone, opt := true, checker.Options{Certify: true}
					if rest != nil {
						opt.Agree = func(ctx context.Context, h *history.History, r *verdict.Result) (_ bool, err error) {
							alone, err = rest.Decide(ctx, h, r)
							return alone, err
						}
					}
					res, err := checker.Check(t.Context(), x, lvl, opt)
					if err != nil {
						t.Fatalf("seed %d, %s: %v\n%s", seed, lvl, err, r.text(t))
					}
					return res, alone
				}
				got, alone := check(x, rest)
				if !alone {
					chosen[got.Verdict]++
				}
				if x.Count().Committed == 0 {
					continue // nothing to judge
				}
				count[got.Verdict]++
				if r.twice() {
					twice[got.Verdict]++
				}
				if allowed := r.allowed(lvl); allowed != (got.Verdict == verdict.Satisfied) {
					t.Fatalf("seed %d, %s: engine says %s, oracle says allowed=%v\n%s", seed, lvl, got.Verdict, allowed, r.text(t))
				}
				if guess, rest, err := scans.Execute(t.Context(), h, []level.Level{lvl}, nil); err != nil {
					t.Fatal(err)
				} else if rest != nil {
					guessed++
					if err := certify.Result(t.Context(), guess, rest.Settled(lvl)); err != nil || got.Verdict != verdict.Satisfied {
						t.Fatalf("seed %d, %s: %s, but guessed; %v\n%s", seed, lvl, got.Verdict, err, r.text(t))
					}
				}
				if err := certify.Result(t.Context(), x, got); err != nil || !got.Certified {
					t.Fatalf("seed %d, %s: proof of %s, certified %v: %v\n%s", seed, lvl, got.Verdict, got.Certified, err, r.text(t))
				}
				if alone && lvl.Search() {
					base, err := checker.Check(t.Context(), x, lvl, checker.Options{Engine: "baseline"})
					if err != nil || base.Verdict != got.Verdict {
						t.Fatalf("seed %d, %s: %s, but the baseline engine: %+v, %v\n%s", seed, lvl, got.Verdict, base, err, r.text(t))
					}
				}
				claimed := h
				if rng.IntN(2) == 0 { // the order that a database claims, true or not, changes nothing
					claimed = randhist.Claimed(rng, h)
				}
				lazy, rest := settle(t, claimed, rng.IntN(3), lvl, level.All()[rng.IntN(6)])
				if rest != nil && rest.Settled(lvl) != nil {
					settled++
					if err := certify.Result(t.Context(), lazy, rest.Settled(lvl)); err != nil || got.Verdict != verdict.Satisfied {
						t.Fatalf("seed %d, %s: %s, but settled; %v\n%s", seed, lvl, got.Verdict, err, r.text(t))
					}
				}
				if later, _ := check(lazy, rest); later.Verdict != got.Verdict || !later.Certified {
					t.Fatalf("seed %d, %s: %s, but on demand: %+v\n%s", seed, lvl, got.Verdict, later, r.text(t))
				} else if rest != nil {
					if onDemand++; later.Engine == replay.Name {
						replayed++
					}
					if lazy.Scans.Judged != lazy.Scans.Scans {
						t.Fatalf("seed %d: %+v\n%s", seed, lazy.Scans, r.text(t))
					}
					if later.Verdict == verdict.Satisfied {
						if fits, err := rest.Fits(t.Context(), lazy, later.Witness); err != nil || !fits {
							t.Fatalf("seed %d: %v, %v\n%s", seed, fits, err, r.text(t))
						}
					}
				}
				// Versions of reads can only forbid executions. All ways to judge the scans agree about them.
				if v := randhist.Versions(rng, randhist.Claimed(rng, h)).ByVersion(); v.Distinct() {
					distinct++
					all, rest := settle(t, v, 1<<30, lvl)
					eager, _ := check(all, rest)
					some, rest := settle(t, v, rng.IntN(3), lvl)
					later, _ := check(some, rest)
					if eager.Verdict != later.Verdict || got.Verdict == verdict.Violated && eager.Verdict != verdict.Violated || !eager.Certified || !later.Certified {
						t.Fatalf("seed %d, %s: %s by values, %s by versions, %s on demand\n%s", seed, lvl, got.Verdict, eager.Verdict, later.Verdict, r.text(t))
					}
					if eager.Verdict != got.Verdict {
						byVersions++
					}
				}
				if got.Verdict == verdict.Violated {
					if bare, err := checker.Check(t.Context(), h, lvl, checker.Options{}); err != nil {
						t.Fatal(err)
					} else if bare.Verdict == verdict.Satisfied {
						byScans++
					}
				}
			}
			t.Logf("seed %d: %d with versions of reads, %d of them violated by these alone", seed, distinct, byVersions)
			if (distinct < n/20 || byVersions < n/200) && !randhist.Few(t) {
				t.Error("versions of reads decide nothing")
			}
			t.Logf("seed %d: %v, %d violated by scans alone, %d on demand, %d settled, %d guessed, %d replayed, by choices %v", seed, count, byScans, onDemand, settled, guessed, replayed, chosen)
			if n >= 1000 && (twice[verdict.Violated] < n/80 || n >= 5000 && twice[verdict.Satisfied] == 0) { // what is satisfied did not commit
				t.Errorf("%v with a row twice; the generator tests one side only", twice)
			}
			if n >= 5000 && len(chosen) == 0 {
				t.Errorf("%v by choices; the generator does not test choices", chosen)
			}
			if (count[verdict.Satisfied] < n/10 || count[verdict.Violated] < n/10 || byScans < n/20 || onDemand < n/3 || settled < n/20 || guessed < count[verdict.Satisfied]*3/4 || replayed < n/100) && !randhist.Few(t) {
				t.Errorf("%v of %d histories, %d violated by scans alone; the generator tests one side only", count, n, byScans)
			}
		})
	}
}
