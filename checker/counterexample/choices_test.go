package counterexample_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/counterexample"
	"github.com/isohound/isohound/checker/explain"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/scans"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/dsl"
)

// ofScans is the counterexample of a violated history with scans, and its anomaly.
func ofScans(t *testing.T, text string, lvl level.Level) *counterexample.Counterexample {
	t.Helper()
	h, rest, err := scans.Expand(t.Context(), dsl.MustParse(text), scans.EagerOps)
	if err != nil {
		t.Fatal(err)
	}
	opt := checker.Options{Certify: true}
	if rest != nil {
		if h, err = rest.Settle(t.Context(), lvl, h, func(h *history.History) (*verdict.Result, error) {
			return checker.Check(t.Context(), h, lvl, checker.Options{Witness: true})
		}); err != nil {
			t.Fatal(err)
		}
		rest.Done()
		opt.Agree = rest.Decide
	}
	r, err := checker.Check(t.Context(), h, lvl, opt)
	if err != nil || r.Verdict != verdict.Violated || !r.Certified {
		t.Fatalf("%s: %+v, %v", text, r, err)
	}
	c, err := counterexample.Of(t.Context(), h, lvl, &r.Anomalies[0], counterexample.Options{Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestOpenNames: where it is open what a scan saw, a counterexample has the names that all possibilities share.
func TestOpenNames(t *testing.T) {
	for _, tc := range []struct {
		name, text   string
		lvl          level.Level
		want         []string
		transactions int
	}{
		{"one version", "initial nil\ns1: w(x,12) w(y,1)\ns2: p(v>10;) r(y,1)", level.SER, []string{"Phantom"}, 2},
		{"not yet or no more", "initial nil\ns1: p(v>10;) w(y,12)\ns2: p(v>10;) w(x,12)\ns3: r(x,12) r(y,12) w(x,nil) w(y,nil)", level.SERNoSO, []string{"G2"}, 3},
		{"a count", "initial nil\ninitial x=12 y=13\ns2: w(z,14)\ns1: w(u,15)\ns4: r(z,14) r(u,15) pc(v>10;3)", level.SER, []string{"NonRepeatableReads", "internal"}, 3},
		{"a count in two cases", "initial nil\ninitial x=12 y=13\ns4: pw(v>10 and v<14; x=12->5, y=13->6)\ns1: pc(v>10; 1)", level.SER, []string{"FracturedRead", "G-single-predicate", "G-single"}, 2},
	} {
		c := ofScans(t, tc.text, tc.lvl)
		if got := c.Anomaly.Names; !slices.Equal(got[:min(len(got), len(tc.want))], tc.want) || len(c.History.Txns) != tc.transactions || !c.Minimal {
			t.Errorf("%s: %v of %d transactions, want %v\n%s", tc.name, got, len(c.History.Txns), tc.want, c.Anomaly.Text)
		}
	}
}

// TestChoicesInWords: a counterexample with choices says which there are, and what each leads to.
func TestChoicesInWords(t *testing.T) {
	c := ofScans(t, "initial nil\ninitial x=12 y=13\ns4: pw(v>10 and v<14; x=12->5, y=13->6)\ns1: pc(v>10; 1)", level.SER)
	for _, part := range []string{
		"T2 (session 1) counted keys with v > 10 and got 1, which does not say which rows these were.",
		"1. If T2 ", "2. If T2 ", "There is no other way, so no execution explains what the statement returned.",
	} {
		if !strings.Contains(c.Anomaly.Text, part) {
			t.Errorf("%q is not in\n%s", part, c.Anomaly.Text)
		}
	}
	steps := explain.Steps(c.History, len(c.History.Txns)-1)
	if len(steps) != 1 || !strings.HasPrefix(steps[0].String(), "count keys where v > 10 -> 1; it ") {
		t.Errorf("%v", steps)
	}
	if choices := c.History.AllChoices(); len(choices) == 0 {
		t.Error("the counterexample has no choices")
	}
}
