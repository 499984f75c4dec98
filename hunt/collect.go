package hunt

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/results"
)

// Verdicts, as package results spells them.
const (
	violated  = "violated"
	unknown   = "unknown"
	vacuous   = "vacuous"
	satisfied = "satisfied"
	// invariant is the level of a broken invariant of the workload.
	invariant = "invariant"
)

// collect fills in what the folder of a judged run says.
func (r *Run) collect(dir string) error {
	run, err := results.Load(dir)
	if err != nil {
		return err
	}
	x, err := results.NewIndex([]string{dir})
	if err != nil {
		return err
	}
	c := &run.Config
	r.Server, r.Command, r.Commits, r.Aborts, r.Early = c.Server, c.Repeat, run.Stats.Committed, run.Stats.Aborted, c.Early()
	r.Verdicts, r.Findings = nil, nil
	for _, row := range x.Rows {
		if row.Verdict == results.BrokenFolder || row.Verdict == results.Unfinished {
			return errors.Errorf("%s: %s", dir, row.Reason)
		}
		if r.Commits == 0 {
			r.Commits = committed(run)
		}
		r.Verdicts = append(r.Verdicts, Verdict{row.Level, row.Verdict, row.Promised, row.Anomaly, row.Reason})
		if row.Level == invariant {
			name, text, _ := strings.Cut(row.Anomaly, ":")
			r.Findings = append(r.Findings, Finding{Level: invariant, Promised: row.Promised, Name: name, Names: []string{name}, Text: strings.TrimSpace(text)})
		}
	}
	for _, o := range run.Outcomes {
		r.Nearness = o.Nearness // the same at all levels
		for _, a := range o.Anomalies {
			r.Findings = append(r.Findings, Finding{o.Level, o.Promised, a.Name, a.Names, edges(a.Cycle), a.Text, len(a.Txns)})
		}
		if o.Verdict.String() == violated && len(o.Anomalies) == 0 {
			r.Findings = append(r.Findings, Finding{Level: o.Level, Promised: o.Promised, Name: "unexplained", Names: []string{"unexplained"}, Text: o.Reason})
		}
	}
	return nil
}

// committed is what the history has, of a run that was killed before its figures were written.
func committed(run *results.Run) int64 {
	for _, o := range run.Outcomes {
		return int64(o.Committed)
	}
	return 0
}

// edges are the kinds of the edges of a cycle, in the rotation that is the smallest word: the same cycle has the same
// word wherever it begins.
func edges(cycle []results.Edge) string {
	var kinds []string
	for _, e := range cycle {
		kinds = append(kinds, e.Kind)
	}
	best := ""
	for n := range kinds {
		word := strings.Join(slices.Concat(kinds[n:], kinds[:n]), " ")
		if n == 0 || word < best {
			best = word
		}
	}
	return best
}

// clean reports whether all that a run says is that its levels are satisfied, and it ended in good order.
func (r *Run) clean() bool {
	return r.State == judged && r.Early == "" && len(r.Verdicts) > 0 && !slices.ContainsFunc(r.Verdicts, func(v Verdict) bool { return v.Verdict != satisfied })
}

// tidy removes what is not kept of a clean run. The index is told first, so that it never points at what is gone.
func (s *State) tidy(r *Run, keep string) error {
	if !r.clean() || keep == keepAll {
		return nil
	}
	dir := filepath.Join(s.dir, filepath.FromSlash(r.Folder))
	if keep == keepReports {
		run, err := results.Load(dir)
		if err != nil {
			return err
		}
		return os.Remove(filepath.Join(dir, run.Config.History))
	}
	r.Kept = false
	if err := s.set(r); err != nil {
		return err
	}
	return os.RemoveAll(dir)
}
