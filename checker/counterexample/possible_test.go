package counterexample_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/counterexample"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/settled"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/dsl"
	"github.com/isohound/isohound/internal/randhist"
)

// forbidding are names of anomalies and a level that forbids them, by the definitions: who has the anomaly violates the level.
var forbidding = map[string]level.Level{
	"LostUpdate": level.PSI, "lost-update": level.PSI, "G-single": level.PSI, "G-single-process": level.PSI, "G-single-predicate": level.PSI,
	"LongFork": level.PC, "long-fork": level.PC, "G-nonadjacent": level.SI, "G-nonadjacent-process": level.SI, "Phantom": level.SI,
	"CausalityViolation": level.CC, "SessionGuaranteeViolation": level.Session, "FracturedRead": level.RA, "NonMonotonicRead": level.RC,
	"G0": level.RU, "G1c": level.RC, "WriteSkew": level.SER,
}

// TestNamesPossible: no counterexample has a name that is forbidden by a level which it, or the whole history, satisfies.
func TestNamesPossible(t *testing.T) {
	n := randhist.Count(t, 10_000)
	seed := randhist.Seed(t, rand.Uint64())
	for _, lvl := range level.All() {
		if lvl == level.LIN {
			continue // it is about other transactions
		}
		t.Run(lvl.String(), func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(seed, uint64(lvl)))
			for compared := 0; compared < n/20; {
				h := randhist.Of(rng, 3, 4+rng.IntN(5), 6)
				switch rng.IntN(4) {
				case 0:
					h = randhist.New(rng)
				case 1:
					h = randhist.Mini(rng)
				case 2:
					h = randhist.WithClassReads(rng, randhist.Mini(rng))
				}
				compared += namesPossible(t, h, lvl)
			}
		})
	}
}

// TestOrderOfFirstCommitter: the order of some writes follows from the rule that the first committer wins, so that reads
// look like a long fork. Without that rule there is an execution.
func TestOrderOfFirstCommitter(t *testing.T) {
	h := dsl.MustParse(orderOfFirstCommitter)
	if namesPossible(t, h, level.SI) != 1 {
		t.Error("no counterexample at si")
	}
	for _, c := range counterexamples(t, h, level.SI) {
		if c.Anomaly.Name() != "G-nonadjacent-process" || !c.Known.Holds(h, level.PC) {
			t.Errorf("%v; %s", c.Anomaly.Names, c.Standing)
		}
	}
}

// TestNamesOfEachSource: whoever wrote a value that several wrote, another transaction that read it, too, read it from one of them.
func TestNamesOfEachSource(t *testing.T) {
	for _, tc := range []struct{ text, name string }{
		{"initial nil\ninitial 1=nil\ns1 T1: pw(v is not null; 1=->0)\ns3 T2: r(1,0)\ns3 T3: w(1,0)\n", "G1c-process"},
		{"initial 0\ninitial 1=0 2=0\ns2 T1: pw(v is not null; 1=0->2, 2=->5)\ns2 T2: r(1,2) w(1,2)\ns1 T3: r(1,2) r(2,0)\n", "G-single-process"},
		{"initial nil\ns1: w(x,20) abort\ns2: pw(v is not null; x=->16)\ns3: r(x,16) w(x,22)\n", "G1c"},
		{"initial nil\ns1: r(b,nil) w(a,11) w(b,10)\ns2: r(b,nil) r(a,11) w(c,16)\ns3: r(c,16) r(b,10)\ns4: r(b,10) w(b,nil)\n", "G-single"},
	} {
		x, err := settled.Of(t.Context(), dsl.MustParse(tc.text), level.SER, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		list := counterexamples(t, x.History, level.SER)
		if len(list) == 0 {
			t.Errorf("no counterexample of\n%s", tc.text)
		}
		for _, c := range list {
			if c.Anomaly.Name() != tc.name || strings.Contains(c.Anomaly.Text, "anomaly of the kind") && !strings.Contains(c.Anomaly.Text, "of the kind "+tc.name+".") {
				t.Errorf("%v, want %s:\n%s\n%s", c.Anomaly.Names, tc.name, c.Anomaly.Text, tc.text)
			}
		}
	}
}

// namesPossible returns the number of counterexamples that an explanation of h has.
func namesPossible(t *testing.T, h *history.History, lvl level.Level) int {
	t.Helper()
	r, err := checker.Check(t.Context(), h, lvl, checker.Options{})
	if err != nil || r.Verdict != verdict.Violated {
		return 0
	}
	x := counterexample.NewExplainer(h, func(ctx context.Context, l level.Level, opt checker.Options) (*verdict.Result, error) {
		return checker.Check(ctx, h, l, opt)
	})
	e, err := x.Explain(t.Context(), r, counterexample.Wishes{Timeout: counterexample.MinimizeFor, Survey: counterexample.MinimizeFor})
	if err != nil {
		t.Fatalf("%v\n%s", err, dsl.Format(h))
	}
	whole := checker.Known{}
	whole.Learn(e.Standing)
	for _, c := range e.Counterexamples {
		for _, name := range c.Anomaly.Names {
			if name == "Phantom" && slices.ContainsFunc(c.Anomaly.Names, func(n string) bool { return strings.HasSuffix(n, "-realtime") }) {
				continue // of a scan of old rows
			}
			if by := forbidding[name]; by != 0 && (c.Known.Holds(h, by) || whole.Holds(h, by)) {
				t.Errorf("%s is forbidden by %s: %v; %s; the whole %s\n%sof\n%s", name, by, c.Anomaly.Names, c.Standing, e.Standing, dsl.Format(c.History), dsl.Format(h))
			}
		}
	}
	return len(e.Counterexamples)
}

const orderOfFirstCommitter = `s1 T1: w(a,1)
s2 T2: r(a,1) w(a,2) w(b,2)
s3 T3: r(a,1) w(b,3)
s4 T4: w(c,4)
s5 T5: r(c,4) w(c,5)
s2 T6: r(c,4)
s5 T7: r(b,3)
`
