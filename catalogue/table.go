package catalogue

import (
	"context"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/explain"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history/dsl"
	"github.com/isohound/isohound/scenarios"
)

// Table has a row for each engine and isolation and a column for each anomaly, like Hermitage's
// table.
type Table struct {
	Columns []string // names for display
	Rows    []TableRow
}

// TableRow is the results of one engine at one isolation.
type TableRow struct {
	Engine string
	Cells  []Cell
}

// Seen is the result for an anomaly.
type Seen string

const (
	// NotTried: no run could have shown it.
	NotTried Seen = "not tried"
	// Prevented: runs were judged satisfied at a level that forbids it.
	Prevented Seen = "prevented"
	// Shown: a run has the anomaly.
	Shown Seen = "shown"
)

// Cell is the result for an anomaly, with links.
type Cell struct {
	Seen Seen
	// Unexpected says that the opposite was expected.
	Unexpected bool
	Links      []string
}

// Text returns the cell in words.
func (c Cell) Text() string {
	switch {
	case c.Unexpected && c.Seen == Shown:
		return "shown, must not be"
	case c.Unexpected:
		return "not shown, must be"
	}
	return string(c.Seen)
}

// Tabulate makes the table of results. Recorded histories have no row.
func Tabulate(all ...*Results) *Table {
	t := &tabulation{cells: map[string]map[string]*Cell{}}
	for _, name := range explain.Figure5 {
		t.columns = append(t.columns, words(name))
	}
	for _, r := range all {
		for n := range r.Scenarios {
			t.add(r, &r.Scenarios[n])
		}
	}
	out := &Table{Columns: t.columns}
	for _, engine := range t.rows {
		row := TableRow{Engine: engine}
		for _, column := range t.columns {
			cell := Cell{Seen: NotTried}
			if c := t.cells[engine][column]; c != nil {
				cell = *c
			}
			row.Cells = append(row.Cells, cell)
		}
		out.Rows = append(out.Rows, row)
	}
	return out
}

type tabulation struct {
	rows, columns []string
	cells         map[string]map[string]*Cell
}

// add adds the result of one scenario.
func (t *tabulation) add(r *Results, s *Result) {
	if len(s.Judged) == 0 || s.Isolation == "" {
		return
	}
	engine := s.Row.Engine
	if engine == "" {
		if engine = s.Server; engine == "" {
			engine = s.Engine
		}
		engine += ", " + s.Isolation
	} else if s.Target == Local && s.Server != "" && !strings.Contains(engine, s.Server) {
		engine += " (" + s.Server + ")"
	}
	link := r.link(s)
	for n := range s.Judged {
		j := &s.Judged[n]
		for _, name := range explain.Figure5 {
			switch {
			case j.Verdict == verdict.Violated && slices.Contains(j.Anomalies, name):
				t.enter(engine, words(name), Shown, expects(s, j.Level, "satisfied", ""), link)
			case j.Verdict == verdict.Satisfied && forbids(j.Level, name):
				t.enter(engine, words(name), Prevented, expects(s, j.Level, "violated", name), link)
			}
		}
	}
	if own := words(s.Row.Anomaly); own != "" && !slices.ContainsFunc(explain.Figure5, func(n string) bool { return words(n) == own }) {
		for _, f := range s.Findings {
			if !strings.HasPrefix(f.What, "invariant ") || f.Status == Undecided {
				continue
			}
			seen := Prevented
			if strings.HasPrefix(f.Got, "broken") {
				seen = Shown
			}
			t.enter(engine, own, seen, f.Status == Unmet, link)
		}
	}
}

// expects reports whether a scenario expects a verdict at a level, with a given
// anomaly if one is named.
func expects(s *Result, lvl, verdict, anomaly string) bool {
	for _, f := range s.Findings {
		want, name, _ := strings.Cut(f.Want, ": ")
		name, _, _ = strings.Cut(name, ", ")
		if f.What == lvl && want == verdict && (anomaly == "" || anomaly == name) {
			return true
		}
	}
	return false
}

// enter records a result. An anomaly that was shown once does not count as prevented.
func (t *tabulation) enter(engine, column string, seen Seen, unexpected bool, link string) {
	if !slices.Contains(t.columns, column) {
		t.columns = append(t.columns, column)
	}
	if t.cells[engine] == nil {
		t.rows = append(t.rows, engine)
		t.cells[engine] = map[string]*Cell{}
	}
	c := t.cells[engine][column]
	if c == nil || c.Seen == Prevented && seen == Shown {
		c = &Cell{Seen: seen}
		t.cells[engine][column] = c
	}
	if c.Seen != seen {
		return
	}
	c.Unexpected = c.Unexpected || unexpected
	if link != "" && !slices.Contains(c.Links, link) {
		c.Links = append(c.Links, link)
	}
}

// words splits the name of an anomaly into words: LostUpdate becomes lost update.
func words(name string) string {
	var b strings.Builder
	for i, r := range strings.TrimSpace(name) {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte(' ')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return strings.Join(strings.Fields(strings.ReplaceAll(b.String(), "-", " ")), " ")
}

// forbids reports whether a level forbids an anomaly of Figure 5, that is, whether the figure's
// history violates the level, and so does every other history with an anomaly of that name.
func forbids(lvl, anomaly string) bool {
	return forbidden()[lvl+" "+anomaly] && !partly[lvl+" "+anomaly]
}

// partly are the levels that forbid an anomaly of a name in the shape of the figure, but not in every shape:
// RC allows a fractured read if the old value was read first, and the session guarantees allow causality
// violations over longer paths.
var partly = map[string]bool{"rc FracturedRead": true, "wfr CausalityViolation": true, "session CausalityViolation": true}

var forbidden = sync.OnceValue(func() map[string]bool {
	out := map[string]bool{}
	figure, err := fs.Sub(scenarios.Files, "figure5")
	if err != nil {
		return out
	}
	c, err := Load(figure)
	if err != nil {
		return out
	}
	for _, s := range c.Scenarios {
		h, err := dsl.Parse(s.History, s.File)
		if err != nil {
			continue
		}
		for _, lvl := range level.All() {
			r, err := checker.Check(context.Background(), h, lvl, checker.Options{VerdictOnly: true})
			if err == nil && r.Verdict == verdict.Violated {
				out[lvl.String()+" "+s.anomaly()] = true
			}
		}
	}
	return out
})

// anomaly is the expected anomaly, "" if there is none.
func (s *Scenario) anomaly() string {
	for _, e := range s.Expect {
		if e.Anomaly != "" {
			return e.Anomaly
		}
	}
	return ""
}
