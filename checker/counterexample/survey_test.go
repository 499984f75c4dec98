package counterexample_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/certify"
	"github.com/isohound/isohound/checker/counterexample"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/dsl"
	"github.com/isohound/isohound/internal/randhist"
)

// explained explains a violated history, with a survey if limit is not 0.
func explained(t *testing.T, h *history.History, lvl level.Level, limit time.Duration) *counterexample.Explanation {
	t.Helper()
	judge := func(ctx context.Context, l level.Level, opt checker.Options) (*verdict.Result, error) {
		return checker.Check(ctx, h, l, opt)
	}
	r, err := judge(t.Context(), lvl, checker.Options{})
	if err != nil || r.Verdict != verdict.Violated {
		t.Fatalf("%+v, %v", r, err)
	}
	x, err := counterexample.NewExplainer(h, judge).Explain(t.Context(), r, counterexample.Wishes{Survey: limit})
	if err != nil {
		t.Fatalf("%v\n%s", err, dsl.Format(h))
	}
	return x
}

// TestSurvey: anomalies that were put into a history are counted, also where they are far apart.
func TestSurvey(t *testing.T) {
	for _, tc := range []struct{ lost, skew, between int }{{1, 0, 0}, {3, 2, 0}, {2, 5, 0}, {4, 3, 600}} {
		var lines []string
		txns := 0
		add := func(format string, args ...any) {
			txns++
			lines = append(lines, fmt.Sprintf("s%d: ", txns)+fmt.Sprintf(format, args...))
		}
		for i := range tc.lost {
			add("r(l%d,0) w(l%d,1)", i, i)
			for j := range tc.between {
				add("r(n%d,%d) w(n%d,%d)", i, j, i, j+1)
			}
			add("r(l%d,0) w(l%d,2)", i, i)
		}
		for i := range tc.skew {
			add("r(a%d,0) r(b%d,0) w(a%d,1)", i, i, i)
			add("r(a%d,0) r(b%d,0) w(b%d,1)", i, i, i)
		}
		h, err := dsl.Parse(strings.Join(lines, "\n"), "f")
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]int{}
		for _, c := range explained(t, h, level.SER, time.Minute).Counterexamples {
			if c.Anomaly.AtLeast {
				t.Errorf("%+v: not complete: %+v", tc, c.Anomaly)
			}
			got[c.Anomaly.Name()] += c.Anomaly.Count
		}
		want := map[string]int{"LostUpdate": tc.lost, "WriteSkew": tc.skew}
		for name, n := range want {
			if got[name] != n {
				t.Errorf("%+v: %v", tc, got)
			}
			delete(got, name)
		}
		if len(got) > 0 {
			t.Errorf("%+v: %v", tc, got)
		}
	}
}

// TestSurveyAgainstOracle: every kind that a survey finds in a random history has a counterexample that
// violates the level by the trial of every execution.
func TestSurveyAgainstOracle(t *testing.T) {
	n := randhist.Count(t, 6_000) / 6
	seed := randhist.Seed(t, rand.Uint64())
	for _, lvl := range level.All() {
		if !lvl.Search() {
			continue
		}
		t.Run(lvl.String(), func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(seed, uint64(lvl)))
			violated, several, more := 0, 0, 0
			for range n {
				h := randhist.Of(rng, 3, 4+rng.IntN(4), 6)
				r, err := checker.Check(t.Context(), h, lvl, checker.Options{})
				if err != nil {
					t.Fatal(err)
				}
				if r.Verdict != verdict.Violated {
					continue
				}
				violated++
				x := explained(t, h, lvl, time.Minute)
				kinds, count := map[string]bool{}, 0
				before := len(explained(t, h, lvl, 0).Counterexamples)
				for i, c := range x.Counterexamples {
					if i >= before && kinds[c.Anomaly.Name()] {
						t.Fatalf("seed %d: a second %s\n%s", seed, c.Anomaly.Name(), dsl.Format(h))
					}
					kinds[c.Anomaly.Name()] = true
					count += c.Anomaly.Count
					if allowed, decided := certify.Judge(c.History, c.Weakest, 1<<20); decided && allowed {
						t.Fatalf("seed %d: %s is allowed\n%s\nof\n%s", seed, c.Anomaly.Name(), dsl.Format(c.History), dsl.Format(h))
					}
				}
				if len(kinds) > 1 {
					several++
				}
				if count > len(kinds) {
					more++
				}
			}
			t.Logf("%d violated, %d with several kinds, %d with a kind more than once", violated, several, more)
			if (several < n/1000 || more < n/300) && !randhist.Few(t) { // several are rare without session order: one in a hundred
				t.Errorf("%d violated, %d with several kinds, %d with a kind more than once", violated, several, more)
			}
		})
	}
}

// TestSurveyOfCutOff: T0 read x = 2 before it wrote it, so a missing transaction wrote it, too, and T1 may have read
// from that one. A survey drops the reads that show T0's own violation, and must not take T1's for reads from T0 then.
func TestSurveyOfCutOff(t *testing.T) {
	for _, text := range []string{
		"s1 T0 [1,2]: r(x,0) r(x,2) w(x,2) r(y,1)\ns2 T1 [1,2]: r(x,2) w(y,1)",
		"s1 T0 [1,2]: r(x,2) r(x,0) w(x,2) r(y,1)\ns2 T1 [1,2]: r(x,2) w(y,1)",
		"s1 T0 [1,2]: r(x,0) r(x,2) w(x,2)\ns2 T1 [1,2]: r(x,2) w(y,1)\ns3 T2 [1,2]: r(y,1) r(x,0)",
		"s1 T0 [1,2]: r(x,0) r(x,2) w(x,2)\ns1 T1 [3,4]: r(x,0)",
	} {
		for _, lvl := range []level.Level{level.SER, level.SI} {
			x := explained(t, dsl.MustParse("open\n"+text+"\n"), lvl, time.Minute)
			if c := x.Counterexamples; len(c) != 1 || c[0].Anomaly.Name() != "NonRepeatableReads" {
				t.Errorf("%s at %s:", text, lvl)
				for i := range c {
					t.Errorf("%s\n%s", c[i].Anomaly.Name(), dsl.Format(c[i].History))
				}
			}
		}
	}
}

// TestSurveyLightweight: at lin a transaction stays whole, so that what was dropped of it in one window comes back in the next. It
// is counted once.
func TestSurveyLightweight(t *testing.T) {
	var b strings.Builder
	for i := range 60 { // several windows
		value := i
		if i == 40 {
			value = 1000 // which nobody wrote
		}
		fmt.Fprintf(&b, "s%d [%d,%d]: r(x,%d) w(x,%d)\n", i%3, 10*i, 10*i+5, value, i+1)
	}
	x := explained(t, dsl.MustParse(b.String()), level.LIN, 10*time.Second)
	if len(x.Counterexamples) == 0 {
		t.Fatal("no counterexample")
	}
	for _, c := range x.Counterexamples {
		if c.Anomaly.Name() == "ThinAirRead" && c.Anomaly.Count != 1 {
			t.Errorf("%s was counted %d times", c.Anomaly.Name(), c.Anomaly.Count)
		}
	}
}
