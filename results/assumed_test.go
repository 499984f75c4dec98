package results

import (
	"testing"

	"github.com/isohound/isohound/checker/verdict"
)

// TestAssumedInWindows: the violation of a run rests on the assumed order if that of every violated window does.
func TestAssumedInWindows(t *testing.T) {
	window := func(v verdict.Verdict, rests bool) *Outcome {
		return &Outcome{Verdict: v, Stages: map[string]float64{}, Assumes: &AssumedOrder{Versions: 10, Placed: 7, Rests: rests}}
	}
	sat, rests, free := window(verdict.Satisfied, false), window(verdict.Violated, true), window(verdict.Violated, false)
	for _, c := range []struct {
		windows []*Outcome
		want    bool
	}{
		{[]*Outcome{sat, sat}, false},
		{[]*Outcome{sat, rests, sat}, true},
		{[]*Outcome{rests, sat, rests}, true},
		{[]*Outcome{rests, free}, false},
		{[]*Outcome{free, rests}, false},
	} {
		var sum Outcome
		for n, w := range c.windows {
			sum.AddWindow(n+1, w)
		}
		if a := sum.Assumes; a == nil || a.Rests != c.want || a.Versions != 10*len(c.windows) || a.Placed != 7*len(c.windows) {
			t.Errorf("%d windows, want %v: %+v", len(c.windows), c.want, a)
		}
	}
	if a := sat.Assumes; a.Versions != 10 {
		t.Errorf("the outcome of a window changed: %+v", a)
	}
}
