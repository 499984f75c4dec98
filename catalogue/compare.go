package catalogue

import (
	"slices"
	"strings"

	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/results"
)

// Status is the result of a scenario.
type Status string

const (
	// Met: everything was as expected.
	Met Status = "met"
	// Unmet: something was not as expected. An expected anomaly that is not found is as bad as
	// an unexpected one that is found.
	Unmet Status = "not met"
	// Undecided: a verdict was unknown or vacuous.
	Undecided Status = "undecided"
	// Failed: the target did not start, or the run ended in an error.
	Failed Status = "failed"
	// NotRun: it cannot run here.
	NotRun Status = "not run"
)

// Finding compares one expectation with the result.
type Finding struct {
	// What names what was compared: a level, with the engine if there were several, or an
	// invariant.
	What   string `json:"what"`
	Want   string `json:"want"`
	Got    string `json:"got"`
	Status Status `json:"status"` // met, not met or undecided
}

// Judged is a verdict of a run.
type Judged struct {
	Level  string `json:"level"`
	Engine string `json:"engine"`
	// Second marks a second opinion: another engine may report another anomaly of the same
	// history, but its verdict must be the same.
	Second    bool            `json:"second,omitempty"`
	Verdict   verdict.Verdict `json:"verdict"`
	Reason    string          `json:"reason,omitempty"`
	Anomalies []string        `json:"anomalies"` // all names
	Refuted   []string        `json:"refuted,omitempty"`
}

func judged(o *results.Outcome) Judged {
	j := Judged{Level: o.Level, Engine: o.Engine, Verdict: o.Verdict, Reason: o.Reason, Anomalies: []string{}}
	for _, a := range o.Anomalies {
		for _, n := range a.Names {
			if !slices.Contains(j.Anomalies, n) {
				j.Anomalies = append(j.Anomalies, n)
			}
		}
	}
	j.Refuted = refuted(o)
	return j
}

// compare compares each expectation with every verdict on its level. There may be one from each
// engine.
func compare(expect []Expectation, all []Judged, invariants []generator.InvariantResult) []Finding {
	var out []Finding
	for n := range expect {
		e := &expect[n]
		if e.Invariant != "" {
			out = append(out, compareInvariant(e, invariants))
			continue
		}
		found := false
		for i := range all {
			if all[i].Level == e.Level {
				found = true
				out = append(out, compareLevel(e, &all[i]))
			}
		}
		if !found {
			out = append(out, Finding{e.Level, e.outcome(), "no verdict", Undecided})
		}
	}
	return out
}

func compareLevel(e *Expectation, j *Judged) Finding {
	f := Finding{What: e.Level, Want: e.outcome(), Got: j.Verdict.String(), Status: Unmet}
	if j.Second {
		f.What, f.Want = e.Level+" by engine "+j.Engine, e.Verdict
	}
	if len(j.Anomalies) > 0 {
		f.Got += ": " + strings.Join(j.Anomalies, ", ")
	}
	if len(e.Refuted) > 0 && len(j.Refuted) > 0 {
		f.Got += ", refuting " + strings.Join(j.Refuted, " and ")
	}
	if j.Reason != "" {
		f.Got += ": " + j.Reason
	}
	switch {
	case j.Verdict.String() != e.Verdict && (j.Verdict == verdict.Unknown || j.Verdict == verdict.Vacuous):
		f.Status = Undecided
	case j.Verdict.String() != e.Verdict:
	case j.Second:
		f.Status = Met
	case e.Anomaly != "" && !slices.Contains(j.Anomalies, e.Anomaly):
	case len(e.Refuted) > 0 && j.Refuted == nil:
		f.Status = Undecided
		f.Got += "; which levels that refutes was not told"
	case len(e.Refuted) > 0 && !sameSet(e.Refuted, j.Refuted):
	default:
		f.Status = Met
	}
	return f
}

func sameSet(a, b []string) bool {
	a, b = slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))
	return slices.Equal(slices.Compact(a), slices.Compact(b))
}

func compareInvariant(e *Expectation, all []generator.InvariantResult) Finding {
	f := Finding{What: "invariant " + e.Invariant, Want: "holds", Got: "not looked at", Status: Undecided}
	if !*e.Holds {
		f.Want = "broken"
	}
	for _, i := range all {
		if i.Name != e.Invariant {
			continue
		}
		if i.Error != "" {
			f.Got += ": " + i.Error
			return f
		}
		f.Got, f.Status = "holds", Unmet
		if i.Problem != "" {
			f.Got = "broken: " + i.Problem
		}
		if (i.Problem == "") == *e.Holds {
			f.Status = Met
		}
	}
	return f
}

// sum combines findings: not met outweighs undecided. No findings are undecided.
func sum(findings []Finding) Status {
	out := Met
	if len(findings) == 0 {
		out = Undecided
	}
	for _, f := range findings {
		if f.Status == Unmet || out == Met {
			out = f.Status
		}
	}
	return out
}
