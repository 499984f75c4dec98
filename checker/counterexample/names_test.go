package counterexample_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/counterexample"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/dsl"
	"github.com/isohound/isohound/internal/randhist"
)

// TestNamesOfMinimal: a check of the minimal history, written and read again, gives its anomaly the name that the anomaly has in
// the whole history, or that name beside another one. It also is so where claimed versions are assumed.
func TestNamesOfMinimal(t *testing.T) {
	n := randhist.Count(t, 10_000)
	seed := randhist.Seed(t, rand.Uint64())
	for _, lvl := range level.All() {
		t.Run(lvl.String(), func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(seed, uint64(lvl)))
			compared, differ := 0, 0
			for compared < n/20 {
				h := randhist.Of(rng, 3, 4+rng.IntN(3), 6)
				again := func(h *history.History) *history.History { return dsl.MustParse(dsl.Format(h)) }
				switch {
				case lvl == level.LIN:
					h = lightweight(rng)
				case rng.IntN(3) == 0:
					h = randhist.New(rng)
				case rng.IntN(3) == 0:
					h = randhist.WithoutValues(rng, h)
				case rng.IntN(3) == 0:
					h = randhist.WithClassReads(rng, randhist.Mini(rng))
				case rng.IntN(2) == 0:
					h = randhist.Versions(rng, randhist.Claimed(rng, h)).AssumeOrder()
					again = func(h *history.History) *history.History { return dsl.MustParse(dsl.Format(h)).AssumeOrder() }
				}
				for _, c := range counterexamples(t, h, lvl) {
					compared++
					var names []string
					for _, m := range counterexamples(t, again(c.History), lvl) {
						names = append(names, m.Anomaly.Names...)
					}
					if len(names) > 0 && !slices.Contains(names, c.Anomaly.Name()) {
						if differ++; differ < 5 {
							t.Logf("seed %d: %v is %v in\n%sof\n%s", seed, c.Anomaly.Names, names, dsl.Format(c.History), dsl.Format(h))
						}
					}
				}
			}
			// A part may have several anomalies, of which one becomes another when it is made minimal alone. Those of one
			// history often do so together. It is rare: of 200,000 one did.
			if differ > 5+compared/1000 {
				t.Errorf("%d of %d differ", differ, compared)
			}
		})
	}
}

// TestKeepsName: what a name stands on stays in the minimal history, although no edge needs it.
func TestKeepsName(t *testing.T) {
	for _, tc := range []struct {
		text, minimal string
		names         []string
		levels        []level.Level
	}{
		{"initial x=1\ns1: r(x,2)\ns1: w(x,2) w(x,5)", "initial x=1\ns1 T1: r(x,2)\ns1 T2: w(x,2) w(x,5)\n", []string{"IntermediateRead", "G1b"},
			[]level.Level{level.MW, level.RC, level.CC, level.RA}},
		{"s1 T1 [0,1]: r(x,1) r(y,0) w(x,2)\ns2 T2 [2,3]: r(x,0) w(x,1)", "s1 T1 [0,1]: r(x,1) w(x,2)\ns2 T2 [2,3]: w(x,1)\n", []string{"G0-realtime", "G1c-realtime"},
			[]level.Level{level.SSER, level.StrongSI}},
	} {
		for _, lvl := range tc.levels {
			list := counterexamples(t, dsl.MustParse(tc.text), lvl)
			if len(list) != 1 || !slices.Equal(list[0].Anomaly.Names, tc.names) || dsl.Format(list[0].History) != tc.minimal || !list[0].ForName || !list[0].Minimal {
				for _, c := range list {
					t.Errorf("%s: %v, for its name: %v, in\n%s", lvl, c.Anomaly.Names, c.ForName, dsl.Format(c.History))
				}
				t.Errorf("%s: %d counterexamples of\n%s", lvl, len(list), tc.text)
			}
		}
	}
}

// counterexamples are those of what a check finds.
func counterexamples(t *testing.T, h *history.History, lvl level.Level) (list []*counterexample.Counterexample) {
	t.Helper()
	r, err := checker.Check(t.Context(), h, lvl, checker.Options{})
	if err != nil || r.Verdict != verdict.Violated {
		return nil
	}
	for i := range r.Anomalies {
		c, err := counterexample.Of(t.Context(), h, lvl, &r.Anomalies[i], counterexample.Options{Timeout: counterexample.MinimizeFor})
		if err != nil {
			t.Fatalf("%v\n%s", err, dsl.Format(h))
		}
		list = append(list, c)
	}
	return list
}
