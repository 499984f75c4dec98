package hunt

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/isohound/isohound/checker/nearness"
)

// Status is what a cell, or one run of it, comes to. The order is from the worst.
type Status int

const (
	Unexpected  Status = iota // a violation that nobody expects
	Lacking                   // a violation was expected, and none was found
	Failed                    // no run could be recorded and judged
	Unknown                   // some verdict is unknown, or one that must be unknown is satisfied
	Vacuous                   // some run tested next to nothing
	EndedEarly                // all runs ended early
	Expected                  // a violation, as the plan expects
	NotPromised               // a violation of what is not promised
	Satisfied
	NotRun
)

var statusWords = []string{"violated, unexpected", "not violated, but expected", "failed", "unknown", "vacuous", "ended early", "violated, as expected", "violated, not promised", "satisfied", "not run"}

func (s Status) String() string { return statusWords[s] }

// Verdict is the verdict that a status has, for colours.
func (s Status) Verdict() string {
	switch s {
	case Unexpected:
		return violated
	case Lacking:
		return "lacking"
	case Failed:
		return "failed"
	case Unknown, EndedEarly:
		return unknown
	case Vacuous:
		return vacuous
	case Expected, NotPromised:
		return "known"
	case Satisfied:
		return satisfied
	}
	return "none"
}

// CellRun is what one run means for its cell.
type CellRun struct {
	Status Status
	Text   string // what was found, or why there is no verdict
}

// fits reports whether an expectation is about a cell.
func (e *Expectation) fits(c *Cell) bool {
	return (e.Target == "" || e.Target == c.Target.Name) && (e.Isolation == "" || e.Isolation == c.Isolation) &&
		(e.Workload == "" || e.Workload == c.Workload.Name) && (e.Fault == "" || e.Fault == c.Fault)
}

// rule is the expectation of a cell at a level, nil for the usual one.
func (p *Plan) rule(c *Cell, level string) *Expectation {
	for n := len(p.Expect) - 1; n >= 0; n-- {
		if e := &p.Expect[n]; e.fits(c) && (e.Level == "" || strings.EqualFold(e.Level, level)) {
			return e
		}
	}
	return nil
}

// names reports whether a run has, at a level, an anomaly that an expectation names.
func (e *Expectation) names(r *Run, level string) bool {
	if len(e.Anomaly) == 0 {
		return true
	}
	return slices.ContainsFunc(r.Findings, func(f Finding) bool {
		return f.Level == level && slices.ContainsFunc(f.Names, func(name string) bool {
			return slices.ContainsFunc(e.Anomaly, func(want string) bool { return strings.EqualFold(want, name) })
		})
	})
}

// judgeRun says what a run means for its cell: the worst of its levels.
func (p *Plan) judgeRun(c *Cell, r *Run) CellRun {
	switch r.State {
	case failed:
		return CellRun{Failed, r.Message}
	case lost:
		return CellRun{EndedEarly, r.Message}
	case recording, recorded:
		return CellRun{NotRun, "not judged yet"}
	}
	worst := CellRun{NotRun, ""}
	for _, v := range r.Verdicts {
		if s := p.judgeLevel(c, r, v); s.Status < worst.Status {
			worst = s
		}
	}
	switch {
	case r.Early == "":
	case worst.Status == Satisfied:
		worst = CellRun{EndedEarly, r.Early + "; until then nothing was violated"}
	case worst.Status > Lacking && worst.Status != Expected && worst.Status != NotPromised:
		worst = CellRun{EndedEarly, r.Early + "; until then " + worst.Text}
	default:
		worst.Text += "; " + r.Early
	}
	return worst
}

func (p *Plan) judgeLevel(c *Cell, r *Run, v Verdict) CellRun {
	e := p.rule(c, v.Level)
	text := v.Level + " " + v.Verdict
	if v.Anomalies != "" {
		text = v.Level + ": " + v.Anomalies
	} else if v.Verdict != satisfied && v.Reason != "" {
		text += ": " + v.Reason
	}
	if v.Verdict != violated {
		text = strings.TrimSuffix(text, "; "+r.Early) // it is said once for all levels
	}
	verdict := ""
	if e != nil {
		verdict = e.Verdict
	}
	switch v.Verdict {
	case violated:
		switch {
		case verdict == violated && e.names(r, v.Level):
			return CellRun{Expected, text}
		case verdict == violated:
			return CellRun{Unexpected, text + "; expected: " + strings.Join(e.Anomaly, ", ")}
		case verdict == "any":
			return CellRun{Expected, text}
		case verdict == "" && v.Promised != nil && !*v.Promised:
			return CellRun{NotPromised, text}
		}
		return CellRun{Unexpected, text}
	case unknown:
		if verdict == unknown || verdict == "any" {
			return CellRun{Satisfied, text + ", as expected"}
		}
		return CellRun{Unknown, text}
	case vacuous:
		if verdict == "any" {
			return CellRun{Satisfied, text}
		}
		return CellRun{Vacuous, text}
	}
	return CellRun{Satisfied, ""}
}

// CellNight is what the runs of a night say about a cell.
type CellNight struct {
	Cell   *Cell
	Status Status
	Text   string // of the worst run, and what is lacking
	// Runs were begun. Early of them ended early, Failures failed, Violated found a violation, and Vacuous tested next to
	// nothing. Shrinking runs were begun besides, to make a violated one smaller; nothing else here counts them.
	Runs, Early, Failures, Violated, Vacuous, Shrinking int
	Commits                                             int64
	Seconds                                             float64
	// Levels are the levels that were judged, with the word not promised where they are not.
	Levels []string
	Worst  *Run // the run with the worst status, the first of them
	// Code is the exit code for a cell whose runs failed.
	Code int
	// Past is what was known before the night, nil for a new cell.
	Past *Past
	near *nearness.Nearness // of all runs
}

// judgeCell says what the runs of a night say about a cell.
func (p *Plan) judgeCell(c *Cell, runs []*Run) *CellNight {
	n := &CellNight{Cell: c, Status: NotRun}
	whole := 0              // runs that were judged and did not end early
	var spent time.Duration // for which these were recorded
	tested := slices.ContainsFunc(runs, func(r *Run) bool {
		status := p.judgeRun(c, r).Status
		return r.State == judged && !r.shrinks() && status != Vacuous && status != EndedEarly
	})
	for _, r := range runs {
		if r.shrinks() {
			n.Shrinking++
			continue
		}
		n.Runs++
		n.Commits += r.Commits
		n.Seconds += r.Took.Seconds()
		n.levels(r)
		n.near = nearer(n.near, r.Nearness)
		s := p.judgeRun(c, r)
		if r.Early != "" {
			n.Early++
		}
		if slices.ContainsFunc(r.Verdicts, func(v Verdict) bool { return v.Verdict == violated }) {
			n.Violated++
		}
		if s.Status == Vacuous {
			n.Vacuous++
		}
		switch {
		case s.Status == Failed:
			if n.Failures++; n.Code == 0 || r.Code == 70 {
				n.Code = r.Code
			}
			if n.Text == "" {
				n.Text = s.Text
			}
			continue
		case r.State == judged && r.Early == "":
			whole++
			spent += c.recorded(r.Settings)
		}
		// A run that ended early says less than a whole one. It does not make the cell worse: it is counted besides.
		if s.Status == Vacuous && r.Settings.scout() && tested {
			continue // it was too short to test something, and another run was not
		}
		if s.Status < n.Status && s.Status != EndedEarly || n.Status == EndedEarly && s.Status < NotRun && s.Status != EndedEarly || n.Status == NotRun && s.Status < NotRun {
			n.Status, n.Text, n.Worst = s.Status, s.Text, r
		}
	}
	if n.Status == NotRun && n.Failures > 0 {
		n.Status = Failed
	}
	if whole > 0 {
		p.lacking(n, runs, whole, spent >= c.Run)
	}
	return n
}

// levels adds the levels of a run.
func (n *CellNight) levels(r *Run) {
	for _, v := range r.Verdicts {
		if v.Level == invariant {
			continue
		}
		text := v.Level
		if v.Promised != nil && !*v.Promised {
			text += " (not promised)"
		}
		if !slices.Contains(n.Levels, text) {
			n.Levels = append(n.Levels, text)
		}
	}
}

// lacking looks for violations that are expected and were not found, and for levels that are expected to stay unknown
// and did not. If the runs that did not end early are not long enough, being scouts, the cell counts as one whose runs did.
func (p *Plan) lacking(n *CellNight, runs []*Run, whole int, long bool) {
	for at := range p.Expect {
		e := &p.Expect[at]
		if !e.fits(n.Cell) || e.Verdict != violated && e.Verdict != unknown || p.overruled(at, n.Cell) {
			continue
		}
		found := slices.ContainsFunc(runs, func(r *Run) bool {
			return slices.ContainsFunc(r.Verdicts, func(v Verdict) bool {
				return v.Verdict == e.Verdict && (e.Level == "" || strings.EqualFold(e.Level, v.Level)) && (e.Verdict == unknown || e.names(r, v.Level))
			})
		})
		if found || n.Status < Lacking {
			continue
		}
		what := e.Verdict
		if e.Level != "" {
			what = e.Level + " " + what
		}
		if len(e.Anomaly) > 0 {
			what += " by " + strings.Join(e.Anomaly, " or ")
		}
		text := fmt.Sprintf("expected: %s; not found in %s", what, count(whole, "run"))
		switch {
		case long:
			n.Status, n.Text = Lacking, text
		case n.Status > EndedEarly:
			n.Status, n.Text = EndedEarly, text+" of part of the time"
		}
	}
}

// overruled reports whether a later expectation takes the place of one in a cell.
func (p *Plan) overruled(at int, c *Cell) bool {
	return slices.ContainsFunc(p.Expect[at+1:], func(e Expectation) bool {
		return e.fits(c) && (e.Level == "" || strings.EqualFold(e.Level, p.Expect[at].Level))
	})
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
