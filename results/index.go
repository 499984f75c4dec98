package results

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/generator"
)

// Words used instead of a verdict if there is none.
const (
	// Unfinished: the run was cut off before its verdict, or is still running.
	Unfinished = "unfinished"
	// BrokenFolder: the run's files cannot be read.
	BrokenFolder = "broken"

	noRun = "there is no run in this folder"

	violated = "violated"
)

// Row is a run at one level, in an index of runs. Violated invariants of a run have their own
// row. A run without a verdict has a single row.
type Row struct {
	Folder    string `json:"folder"`
	Driver    string `json:"driver"`
	Server    string `json:"server"`
	Isolation string `json:"isolation"`
	Level     string `json:"level"`
	Workload  string `json:"workload"`
	Seed      int64  `json:"seed"`
	Verdict   string `json:"verdict"`
	// Promised says whether the isolation promises the level, or protects the invariants. It is nil
	// if there is no verdict.
	Promised *bool     `json:"promised,omitempty"`
	Anomaly  string    `json:"anomaly"`
	Commits  int64     `json:"commits"`
	Rate     float64   `json:"commits_per_second"`
	Started  time.Time `json:"started,omitzero"`
	// Early says why the run ended before its time, if it did. The verdict is of what was recorded.
	Early string `json:"ended_early,omitempty"`
	// Reason says why there is no verdict, or why it is unknown or vacuous, and has Early.
	Reason string `json:"reason,omitempty"`
	// Report is the path of the report, if there is one.
	Report string `json:"report,omitempty"`
}

// Index is an index of several runs.
type Index struct {
	Runs int `json:"runs"`
	// Counts counts the runs by the worst word in their rows.
	Counts map[string]int `json:"counts"`
	// NotPromised counts the violated runs that break no promise.
	NotPromised int `json:"not_promised,omitempty"`
	// Early counts the runs with a verdict that ended before their time.
	Early int   `json:"ended_early,omitempty"`
	Rows  []Row `json:"rows"`
}

// indexVerdicts is the order in which verdicts are counted, the worst first.
var indexVerdicts = []string{violated, BrokenFolder, Unfinished, "unknown", "vacuous", "satisfied"}

// NewIndex reads the runs in folders: each is the folder of a run, or has runs somewhere below.
// Runs that cannot be read, or have no verdict, are in the index too. Paths in the result begin
// like the given folders.
func NewIndex(folders []string) (*Index, error) {
	x := &Index{Counts: map[string]int{}, Rows: []Row{}}
	seen := map[string]bool{}
	for _, folder := range folders {
		runs, err := runsBelow(folder)
		if err != nil {
			return nil, err
		}
		if len(runs) == 0 {
			x.add([]Row{{Folder: folder, Verdict: BrokenFolder, Reason: noRun}})
		}
		for _, dir := range runs {
			if !seen[filepath.Clean(dir)] {
				seen[filepath.Clean(dir)] = true
				x.add(rows(dir))
			}
		}
	}
	slices.SortStableFunc(x.Rows, func(a, b Row) int {
		return cmp.Or(strings.Compare(a.Driver, b.Driver), strings.Compare(a.Server, b.Server), strings.Compare(a.Isolation, b.Isolation),
			strings.Compare(a.Workload, b.Workload), a.Started.Compare(b.Started), strings.Compare(a.Folder, b.Folder))
	})
	return x, nil
}

func (x *Index) add(rows []Row) {
	x.Runs++
	for _, v := range indexVerdicts {
		if slices.ContainsFunc(rows, func(r Row) bool { return r.Verdict == v }) {
			x.Counts[v]++
			if v == violated && !slices.ContainsFunc(rows, func(r Row) bool { return r.Verdict == v && !not(r.Promised) }) {
				x.NotPromised++
			}
			break
		}
	}
	if slices.ContainsFunc(rows, func(r Row) bool { return r.Early != "" }) {
		x.Early++
	}
	x.Rows = append(x.Rows, rows...)
}

// runsBelow returns the folders of runs at or below dir. It does not search inside the folder of
// a run.
func runsBelow(dir string) ([]string, error) {
	st, err := os.Stat(dir)
	if err != nil {
		return nil, err
	}
	if !st.IsDir() {
		return nil, errors.Errorf("%s is not a folder", dir)
	}
	if Holds(dir) {
		return []string{dir}, nil
	}
	var runs []string
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil && e != nil && e.IsDir() && path != dir:
			return fs.SkipDir // a folder without read permission holds no run of ours
		case err != nil:
			return err
		case e.IsDir() && Holds(path):
			runs = append(runs, path)
			return fs.SkipDir
		}
		return nil
	})
	return runs, err
}

// rows returns the rows of a run.
func rows(dir string) []Row {
	r, err := Load(dir)
	if err != nil {
		return []Row{{Folder: dir, Verdict: BrokenFolder, Reason: err.Error()}}
	}
	c := &r.Config
	base := Row{
		Folder: dir, Driver: c.Driver, Server: c.Server, Isolation: c.Isolation, Workload: c.Workload, Seed: c.Seed,
		Commits: r.Stats.Committed, Rate: r.Stats.CommitsPerSec, Started: c.Started,
	}
	if report := filepath.Join(dir, reportFile); exists(report) {
		base.Report = report
	}
	var out []Row
	for _, o := range r.Outcomes {
		row := base
		row.Level, row.Verdict, row.Promised, row.Reason = o.Level, o.Verdict.String(), o.Promised, o.Reason
		var names []string
		for _, a := range o.Anomalies {
			if !slices.Contains(names, a.Name) {
				names = append(names, a.Name)
			}
		}
		row.Anomaly = strings.Join(names, ", ")
		if early := c.Early(); early != "" {
			row.Early = early
			if row.Reason != "" {
				row.Reason += "; "
			}
			row.Reason += early
		}
		out = append(out, row)
	}
	for _, i := range r.Broken() {
		row := base
		row.Level, row.Verdict, row.Promised, row.Anomaly = "invariant", violated, c.protects(), i.Name+": "+i.Problem
		out = append(out, row)
	}
	if len(r.Outcomes) == 0 {
		row := base
		row.Level, row.Verdict, row.Reason = strings.Join(c.Levels, ", "), Unfinished, "there is no verdict; "+ended(c)
		out = append(out, row)
	}
	return out
}

func ended(c *Config) string {
	switch c.Ended {
	case generator.Complete, generator.DurationReached:
		return "the history was not judged"
	case NotYet, "":
		return "the run goes on, or was cut off"
	}
	return "the run ended: " + c.EndedWords()
}

// Early says why a run ended before its time, "" if it did not.
func (c *Config) Early() string {
	switch c.Ended {
	case generator.Complete, generator.DurationReached, generator.ViolationFound:
		return ""
	case NotYet, "":
		return "the run goes on, or was cut off"
	}
	return "the run ended early: " + c.EndedWords()
}

// EndedWords says why the run ended, with the error that ended it.
func (c *Config) EndedWords() string {
	if c.Cause == "" {
		return c.Ended
	}
	return c.Ended + " (" + c.Cause + ")"
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// Empty reports whether there is no run.
func (x *Index) Empty() bool {
	return !slices.ContainsFunc(x.Rows, func(r Row) bool { return r.Reason != noRun })
}

// Problems lists the runs that are unfinished or cannot be read.
func (x *Index) Problems() []string {
	var all []string
	for _, r := range x.Rows {
		if r.Verdict == Unfinished || r.Verdict == BrokenFolder {
			all = append(all, r.Folder+": "+r.Reason)
		}
	}
	return all
}

// Total returns the counts in words.
func (x *Index) Total() string {
	parts := []string{}
	for _, v := range indexVerdicts {
		if n := x.Counts[v]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, v))
			if v == violated && x.NotPromised > 0 {
				parts[len(parts)-1] += fmt.Sprintf(" (%d not promised)", x.NotPromised)
			}
		}
	}
	runs := "runs"
	if x.Runs == 1 {
		runs = "run"
	}
	total := fmt.Sprintf("%d %s: %s", x.Runs, runs, strings.Join(parts, ", "))
	if x.Early > 0 {
		total += fmt.Sprintf("; %d ended early", x.Early)
	}
	return total
}

// relative returns path as a link from a page in folder.
func relative(folder, path string) string {
	from, err1 := filepath.Abs(folder)
	to, err2 := filepath.Abs(path)
	rel, err3 := filepath.Rel(from, to)
	if err1 != nil || err2 != nil || err3 != nil {
		return filepath.ToSlash(path)
	}
	return filepath.ToSlash(rel)
}

// linked returns the index with its paths relative to a page in folder.
func (x *Index) linked(folder string) *Index {
	out := *x
	out.Rows = slices.Clone(x.Rows)
	for n := range out.Rows {
		r := &out.Rows[n]
		r.Folder = relative(folder, r.Folder)
		if r.Report != "" {
			r.Report = relative(folder, r.Report)
		}
	}
	return &out
}

// JSON renders the index. Paths are relative to folder.
func (x *Index) JSON(folder string) ([]byte, error) {
	b, err := json.MarshalIndent(x.linked(folder), "", "  ")
	return append(b, '\n'), errors.WithStack(err)
}
