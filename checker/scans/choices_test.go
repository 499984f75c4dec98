package scans_test

import (
	"testing"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/scans"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/dsl"
)

// judged is the verdict at a level, as isohound check reaches it.
func judged(t *testing.T, h *history.History, lvl level.Level) (*verdict.Result, *history.History) {
	t.Helper()
	h, rest := settle(t, h, scans.EagerOps, lvl)
	opt := checker.Options{Certify: true}
	if rest != nil {
		opt.Agree = rest.Decide
	}
	r, err := checker.Check(t.Context(), h, lvl, opt)
	if err != nil {
		t.Fatal(err)
	}
	return r, h
}

// TestChoices: a count does not say which rows it counted, and a row of several groups not why it is
// missing. All choices are tried.
func TestChoices(t *testing.T) {
	const writers = "initial nil\ninitial x=12 y=13\ns2: w(z,14)\ns3: r(z,nil) w(u,15)\ns4: pw(v>10 and v<14; x=12->5, y=13->6)\n"
	for text, want := range map[string]verdict.Verdict{
		"s1: pc(v>10; 3)":                        verdict.Satisfied, // x, y and one of u and z
		"s1: r(z,14) r(u,15) pc(v>10; 3)":        verdict.Violated,  // two rows or four
		"s1: r(z,14) pc(v>10; 1) r(u,nil)":       verdict.Violated,  // T3 did not see z
		"s1: r(u,15) pc(v>10; 1) r(z,nil)":       verdict.Satisfied,
		"s1: r(u,15) pc(v>10; 3) r(x,5)":         verdict.Violated,
		"s1: w(a,20) pc(v>10; 3)":                verdict.Satisfied, // its own row and two others
		"s1: w(a,20) r(z,14) r(u,15) pc(v>10;4)": verdict.Violated,
		"s1: pc(v>10; 3) pc(v=12; 0)":            verdict.Violated,
		"s1: pc(v>10; 2) pc(v=12; 0)":            verdict.Satisfied,
	} {
		r, h := judged(t, dsl.MustParse(writers+text), level.SER)
		if r.Verdict != want || h.Scans.Judged != h.Scans.Scans {
			t.Errorf("%s: %s %s, %+v", text, r.Verdict, r.Reason, h.Scans)
		}
		if !r.Certified {
			t.Errorf("%s: %s without a proof: %s", text, r.Verdict, r.Reason)
		}
	}
}
