package checker_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/certify"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history/dsl"
	"github.com/isohound/isohound/internal/randhist"
)

// TestStanding checks that a level that is decided by the verdict on another is not judged, and
// that every level has its correct verdict.
func TestStanding(t *testing.T) {
	const timed, untimed = " [0,9]", ""
	levels := func(names string) []level.Level {
		list, err := level.ParseList(names)
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	for _, tc := range []struct {
		history, known string
		judged         []level.Level
		want           string
	}{
		{"s1%[1]s: r(x,0) r(y,0) w(x,1)\ns2%[1]s: r(x,0) r(y,0) w(y,1)", timed, []level.Level{level.StrongSI, level.SERNoSO}, "violates ser-noso, and so every stronger level; satisfies strong-si"},
		{"s1%[1]s: r(x,0) r(y,0) w(x,1)\ns2%[1]s: r(x,0) r(y,0) w(y,1)", untimed, []level.Level{level.SI, level.SERNoSO}, "violates ser-noso, and so every stronger level; satisfies si"},
		{"s1%[1]s: r(x,7)", untimed, levels("si,ser-noso,si-noso,pc,psi,cc,ra,session,rc,ryw,mr,mw,wfr,ru"), "violates ru, and so every stronger level"},
		{"s1 T1%[1]s: w(x,1)\ns1 T2 [10,11]: r(x,0)", timed, levels("strong-si,si,ser-noso,pc,psi,cc,ra,session,rc,ryw,mr,mw,wfr"), "violates ryw, and so every stronger level; satisfies ser-noso, rc, mr, mw and wfr"},
		{"s1%[1]s: w(x,1) w(y,1)\ns2%[1]s: w(x,2) w(y,2)\ns3%[1]s: r(x,1) r(y,2)", untimed, levels("si,ser-noso,si-noso,pc,psi,cc,ra,session,rc"), "violates si-noso and ra, and so every stronger level; satisfies rc and session"},
	} {
		h := dsl.MustParse(fmt.Sprintf(tc.history, tc.known))
		var judged []level.Level
		known := checker.Known{level.SER: verdict.Violated}
		if err := known.Judge(h, nil, func(l level.Level) (*verdict.Result, error) {
			judged = append(judged, l)
			return checker.Check(context.Background(), h, l, checker.Options{Certify: true})
		}); err != nil {
			t.Fatal(err)
		}
		if got := known.Standing(h).String(); got != tc.want || !slices.Equal(judged, tc.judged) {
			t.Errorf("%s: %s, judged %v; want %s, %v", dsl.Format(h), got, judged, tc.want, tc.judged)
		}
	}
}

// TestStandingUndecided checks that a level on which the check fails is undecided and is not judged
// again, except for a proof that does not hold.
func TestStandingUndecided(t *testing.T) {
	h := dsl.MustParse("s1: r(x,0)")
	known := checker.Known{level.SER: verdict.Violated, level.SI: verdict.Unknown}
	calls := 0
	if err := known.Judge(h, []level.Level{level.SERNoSO}, func(l level.Level) (*verdict.Result, error) {
		if calls++; l == level.SI || calls == 1 && l != level.SERNoSO {
			t.Errorf("%s is judged", l)
		}
		return nil, errors.New("no time")
	}); err != nil {
		t.Fatal(err)
	}
	if got := known.Standing(h).String(); got != "violates ser, and so every stronger level; si, ser-noso, si-noso, pc, psi, cc, ra, rc, session, ryw, mr, mw, wfr and ru are undecided" || calls != 13 {
		t.Errorf("%s after %d calls", got, calls)
	}
	broken := &checker.ProofError{Level: level.SERNoSO}
	err := checker.Known{level.SER: verdict.Violated}.Judge(h, nil, func(level.Level) (*verdict.Result, error) { return nil, broken })
	if !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
}

// TestOrderOfLevels checks, by the trial of every execution, that a history that a level allows is
// allowed by every level that it implies.
func TestOrderOfLevels(t *testing.T) {
	seed := randhist.Seed(t, rand.Uint64())
	rng := rand.New(rand.NewPCG(seed, 1))
	apart := map[[2]level.Level]bool{} // a history is allowed by the first and not by the second
	var want [][2]level.Level
	for _, strong := range level.All() {
		for _, weak := range level.All() {
			if strong != level.LIN && weak != level.LIN && strong != level.PSI && weak != level.PSI && !strong.Implies(weak) {
				want = append(want, [2]level.Level{strong, weak})
			}
		}
	}
	more := func() bool { return slices.ContainsFunc(want, func(p [2]level.Level) bool { return !apart[p] }) }
	// Write skew is rare.
	for n, count := 0, randhist.Count(t, 4000); n < count || n < 1_000_000 && more(); n++ {
		h := randhist.New(rng)
		allowed := map[level.Level]bool{}
		for _, l := range level.All() {
			if l != level.LIN && l != level.PSI && (h.Timed() || !l.RealTime()) {
				allowed[l], _ = certify.Judge(h, l, 10_000_000)
			}
		}
		for strong, a := range allowed {
			for weak, b := range allowed {
				if a && !b && strong.Implies(weak) {
					t.Fatalf("seed %d: %s allows and %s does not:\n%s", seed, strong, weak, dsl.Format(h))
				}
				apart[[2]level.Level{strong, weak}] = apart[[2]level.Level{strong, weak}] || a && !b
			}
		}
	}
	// No other level is implied.
	for _, p := range want {
		if !apart[p] {
			t.Errorf("no history tells %s from %s", p[0], p[1])
		}
	}
}
