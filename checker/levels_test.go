package checker_test

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/certify"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/generator/synth"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/dsl"
	"github.com/isohound/isohound/internal/randhist"
)

// TestLevelsAgree checks that judging several levels together gives the same verdicts as judging
// each alone, and that the proofs hold at the levels that the results name.
func TestLevelsAgree(t *testing.T) {
	seed := randhist.Seed(t, rand.Uint64())
	rng := rand.New(rand.NewPCG(seed, 2))
	followed, untimed := map[level.Level]int{}, map[verdict.Verdict]int{}
	for n := range randhist.Count(t, 1500) {
		h := randhist.New(rng)
		if n%4 == 0 {
			for i := range h.Txns {
				h.Txns[i].Begin, h.Txns[i].End = history.NoTime, history.NoTime
			}
		}
		s := checker.NewLevels(h)
		for _, l := range level.Descending(level.All()) {
			if l == level.LIN {
				continue
			}
			got, err := s.Check(context.Background(), l, checker.Options{Certify: true})
			if err != nil {
				t.Fatalf("seed %d, %s: %v\n%s", seed, l, err, dsl.Format(h))
			}
			if l.RealTime() && !h.Timed() {
				want, err := checker.Check(context.Background(), h, l.WithoutRealTime(), checker.Options{})
				if err != nil || (got.Verdict == verdict.Violated) != (want.Verdict == verdict.Violated) || got.Verdict == verdict.Satisfied ||
					got.Certified != (got.Verdict == verdict.Violated) {
					t.Fatalf("seed %d, %s without times: %+v, %v\n%s", seed, l, got, err, dsl.Format(h))
				}
				untimed[got.Verdict]++
				continue
			}
			want, err := checker.Check(context.Background(), h, l, checker.Options{})
			// The engine may refuse values that are not unique. Where a history was cut off, it may stop at an execution
			// with a transaction of unknown outcome whose reads nobody is known to have written.
			if (l.Weak() || !h.Closed && got.FollowsFrom != 0) && want.Verdict == verdict.Unknown {
				want.Verdict = got.Verdict
			}
			if err != nil || got.Level != l || got.Verdict != want.Verdict || got.Certified != (got.Verdict != verdict.Unknown) {
				t.Fatalf("seed %d, %s: %+v, but by itself %+v, %v\n%s", seed, l, got, want, err, dsl.Format(h))
			}
			if got.FollowsFrom != 0 && got.Verdict == verdict.Satisfied {
				followed[l]++
				if err := certify.Witness(t.Context(), h, l, got.Witness); err != nil {
					t.Fatalf("seed %d, %s from %s: %v\n%s", seed, l, got.FollowsFrom, err, dsl.Format(h))
				}
			}
		}
	}
	for _, l := range []level.Level{level.SER, level.SI, level.StrongSI, level.SERNoSO, level.SINoSO} {
		if followed[l] == 0 && !randhist.Few(t) {
			t.Errorf("%s never followed from another level", l)
		}
	}
	if (untimed[verdict.Violated] == 0 || untimed[verdict.Unknown] == 0) && !randhist.Few(t) {
		t.Errorf("histories without times: %v", untimed)
	}
}

// TestSettle checks that a level that no engine decides gets its verdict from another level that
// decides it.
func TestSettle(t *testing.T) {
	timed := synth.Mini(synth.MiniConfig{Sessions: 3, Txns: 100, Keys: 5, Seed: 1})
	lists, dirty := dsl.MustParse("s1: r(x,0) w(x,1)\ns2: r(x,1) w(x,2)"), dsl.MustParse("s1: r(x,0) w(x,1) abort\ns2: r(x,1) w(x,2)")
	lists.Lists, dirty.Lists = true, true // no engine judges appends at pc
	for _, tc := range []struct {
		h           *history.History
		lvl, other  level.Level
		first, want verdict.Verdict
	}{
		{dirty, level.PC, level.RC, verdict.Unknown, verdict.Violated},
		{lists, level.PC, level.SI, verdict.Unknown, verdict.Satisfied},
		{dsl.MustParse("s1: r(x,0) w(x,1)"), level.SSER, level.SI, verdict.Unknown, verdict.Unknown}, // it has no times
		{timed, level.SINoSO, level.SSER, verdict.Satisfied, verdict.Satisfied},
	} {
		opt := checker.Options{Certify: true}
		s := checker.NewLevels(tc.h)
		r, err := s.Check(t.Context(), tc.lvl, opt)
		if err != nil || r.Verdict != tc.first {
			t.Fatalf("%s: %+v, %v", tc.lvl, r, err)
		}
		other, err := checker.Check(t.Context(), tc.h, tc.other, opt)
		if err != nil {
			t.Fatal(err)
		}
		r, err = s.Settle(t.Context(), tc.lvl, checker.Known{tc.other: other.Verdict}, opt)
		if err != nil || r.Level != tc.lvl || r.Verdict != tc.want || r.Certified != (tc.want != verdict.Unknown) {
			t.Errorf("%s by %s: %+v, %v", tc.lvl, tc.other, r, err)
		}
		if (r.FollowsFrom == tc.other) != (tc.first != tc.want) || tc.want == verdict.Violated && r.ProofLevel() != tc.other {
			t.Errorf("%s by %s: follows from %v, proved at %v", tc.lvl, tc.other, r.FollowsFrom, r.ProofLevel())
		}
		if again, err := s.Check(t.Context(), tc.lvl, opt); err != nil || again != r {
			t.Errorf("%s is judged again: %+v, %v", tc.lvl, again, err)
		}
	}
}

// TestFollowInTime checks that a verdict that follows from another one is kept if time runs out for
// its proof, and is not called certified.
func TestFollowInTime(t *testing.T) {
	s := checker.NewLevels(synth.Mini(synth.MiniConfig{Sessions: 10, Txns: 10_000, Keys: 100, Seed: 1}))
	if r, err := s.Check(t.Context(), level.SSER, checker.Options{Certify: true}); err != nil || !r.Certified {
		t.Fatalf("%+v, %v", r, err)
	}
	r, err := s.Check(t.Context(), level.SER, checker.Options{Certify: true, Timeout: time.Nanosecond})
	if err != nil || r.Verdict != verdict.Satisfied || r.Certified || !strings.Contains(r.Reason, "follows from sser; the proof of the verdict satisfied was not verified: the time") {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestWitnessOfWeaker: T3 read from T0 both times, which read atomic says once. At read committed the second read
// could have another source.
func TestWitnessOfWeaker(t *testing.T) {
	h := dsl.MustParse("initial nil\ns1 T0: w(k1,2) w(k0,3)\ns0 T1: r(k0,1)\ns1 T2: w(k1,1) w(k0,nil) w(k1,3) w(k0,1) w(k1,2)\ns0 T3: r(k1,2) r(k1,2) r(k0,3) r(k1,2)\n")
	s := checker.NewLevels(h)
	for _, l := range []level.Level{level.RA, level.RC} {
		r, err := s.Check(t.Context(), l, checker.Options{Certify: true})
		if err != nil || r.Verdict != verdict.Satisfied || !r.Certified || l == level.RC && r.FollowsFrom != level.RA {
			t.Errorf("%s: %+v, %v", l, r, err)
		}
	}
}
