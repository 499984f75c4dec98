package hunt

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/isohound/isohound/results"
)

// maxListed bounds the runs that the page lists. The rest are satisfied ones; the index has all.
const maxListed = 300

// maxNights bounds the nights of the trend.
const maxNights = 30

// Morning is what a night found, for the page and the summaries.
type Morning struct {
	Plan  string
	Night Night
	Code  int
	// Over: the night is over. Otherwise it goes on, or was interrupted.
	Over    bool
	Cells   []*CellNight
	Columns []string // names of workloads
	Rows    []MatrixRow
	Groups  []*Group
	New     []string // what differs from the night before, in sentences
	First   bool     // there is no night before
	Early   []ListedRun
	Runs    []ListedRun
	More    int // runs that are not listed
	Trend   []TrendNight
	LeftOut []LeftOut
	Away    []Away // targets whose runs failed
	Total   Total
	// Elsewhere are runs of cells that the plan no longer has.
	Elsewhere int
}

// Total sums up a night, with the runs that shrink.
type Total struct {
	Runs, Judged, Early, Failed, Violated int
	Shrinking                             int
	Commits                               int64
	ByStatus                              map[Status]int // cells
}

// MatrixRow is a target, an isolation and faults.
type MatrixRow struct {
	Target, Server, Isolation, Fault string
	Squares                          []Square
}

// Square is a cell in the matrix; Night is nil where there is none.
type Square struct {
	Workload string
	Night    *CellNight
}

// ListedRun is a run in a list, with links.
type ListedRun struct {
	*Run
	Status             Status
	Text               string
	Report, Repro, Log string // paths from the folder of the hunt, "" if not there
	scenario           string
}

// TrendNight is a night of the trend.
type TrendNight struct {
	Night
	Runs, Broken, Known, Early, Failed int
	Commits                            int64
	Share                              float64 // of the most runs of a night, in percent
	// AsExpected: no violation of the night is unexpected, broken promises included, by the plan as it is now.
	AsExpected bool
}

// LeftTogether is LeftOut with one entry for each reason.
func (m *Morning) LeftTogether() []LeftOut { return Together(m.LeftOut) }

// Morning evaluates the latest night.
func (s *State) Morning(p *Plan, cells []*Cell, left []LeftOut) (*Morning, error) {
	nights, err := s.Nights(maxNights)
	if err != nil {
		return nil, err
	}
	if len(nights) == 0 {
		return nil, ErrNoNight
	}
	m := &Morning{Plan: p.Name, Night: nights[0], Over: !nights[0].Ended.IsZero(), First: len(nights) == 1, LeftOut: left}
	m.Total.ByStatus = map[Status]int{}
	tonight, err := s.ofNight(m.Night.ID)
	if err != nil {
		return nil, err
	}
	past, err := s.pastOf(m.Night.ID)
	if err != nil {
		return nil, err
	}
	by := byCell(tonight)
	m.Away = p.away(tonight, m.Over)
	for _, c := range cells {
		n := p.judgeCell(c, by[c.ID()])
		if n.Status == NotRun && slices.ContainsFunc(m.Away, func(a Away) bool { return a.Open && a.Target == c.Target.Name }) {
			n.Text = c.Target.Name + " could not be tested when it was last tried"
		}
		n.Past = past[c.ID()]
		m.Cells = append(m.Cells, n)
		m.Total.ByStatus[n.Status]++
	}
	m.matrix(p, tonight)
	if err := m.groups(s, p, cells, tonight); err != nil {
		return nil, err
	}
	m.list(s, p, cells, tonight)
	if m.Trend, err = s.trend(p, cells, nights); err != nil {
		return nil, err
	}
	if !m.First {
		if err := m.compare(s, p, cells, nights[1]); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// ErrNoNight says that nothing was hunted yet.
var ErrNoNight = fmt.Errorf("there is no night yet; isohound hunt PLAN begins one")

func byCell(runs []*Run) map[string][]*Run {
	out := map[string][]*Run{}
	for _, r := range runs {
		out[r.Cell] = append(out[r.Cell], r)
	}
	return out
}

// matrix puts the cells into rows and columns.
func (m *Morning) matrix(p *Plan, tonight []*Run) {
	servers := map[string]string{}
	for _, r := range tonight {
		if r.Server != "" {
			servers[r.Target] = r.Server
		}
	}
	for _, w := range p.Workloads {
		m.Columns = append(m.Columns, w.Name)
	}
	for _, n := range m.Cells {
		c := n.Cell
		at := slices.IndexFunc(m.Rows, func(r MatrixRow) bool {
			return r.Target == c.Target.Name && r.Isolation == c.Isolation && r.Fault == c.Fault
		})
		if at < 0 {
			at = len(m.Rows)
			row := MatrixRow{Target: c.Target.Name, Server: servers[c.Target.Name], Isolation: c.Isolation, Fault: c.Fault}
			for _, name := range m.Columns {
				row.Squares = append(row.Squares, Square{Workload: name})
			}
			m.Rows = append(m.Rows, row)
		}
		m.Rows[at].Squares[slices.Index(m.Columns, c.Workload.Name)].Night = n
	}
	order := map[string]int{}
	for n, t := range p.Targets {
		order[t.Name] = n
	}
	slices.SortStableFunc(m.Rows, func(a, b MatrixRow) int { return order[a.Target] - order[b.Target] })
}

// finder finds cells by id.
func finder(cells []*Cell) func(string) *Cell {
	by := map[string]*Cell{}
	for _, c := range cells {
		by[c.ID()] = c
	}
	return func(id string) *Cell { return by[id] }
}

// listed makes a run ready for a list.
func (s *State) listed(p *Plan, find func(string) *Cell, r *Run) ListedRun {
	l := ListedRun{Run: r, Status: NotRun}
	if c := find(r.Cell); c != nil {
		j := p.judgeRun(c, r)
		l.Status, l.Text = j.Status, j.Text
	}
	if r.Folder == "" || !r.Kept {
		return l
	}
	link := func(name string) string {
		if _, err := os.Stat(filepath.Join(s.dir, filepath.FromSlash(r.Folder), name)); err != nil {
			return ""
		}
		return r.Folder + "/" + name
	}
	l.Report, l.Repro, l.Log = link("report.html"), link("repro/README.md"), link(LogFile)
	if found, err := os.ReadDir(filepath.Join(s.dir, filepath.FromSlash(r.Folder), results.ReproFolder, results.ScenarioFolder)); err == nil && len(found) == 1 {
		l.scenario = link(results.ReproFolder + "/" + results.ScenarioFolder + "/" + found[0].Name())
	}
	return l
}

// list lists runs, the worst first.
func (m *Morning) list(s *State, p *Plan, cells []*Cell, tonight []*Run) {
	find := finder(cells)
	type weighed struct {
		r *Run
		s Status
	}
	var all []weighed
	for _, r := range tonight {
		w := weighed{r, NotRun}
		if c := find(r.Cell); c != nil {
			w.s = p.judgeRun(c, r).Status
		} else {
			m.Elsewhere++
		}
		all = append(all, w)
		t := &m.Total
		t.Runs++
		t.Commits += r.Commits
		if r.State == judged {
			t.Judged++
		}
		if r.Early != "" {
			t.Early++
		}
		if r.State == failed {
			t.Failed++
		}
		if r.shrinks() {
			t.Shrinking++
		}
		if slices.ContainsFunc(r.Verdicts, func(v Verdict) bool { return v.Verdict == violated }) {
			t.Violated++
		}
	}
	slices.SortStableFunc(all, func(a, b weighed) int { return cmp.Or(cmp.Compare(a.s, b.s), cmp.Compare(b.r.ID, a.r.ID)) })
	for n, w := range all {
		if n >= maxListed {
			m.More = len(all) - n
			break
		}
		m.Runs = append(m.Runs, s.listed(p, find, w.r))
	}
	for _, l := range m.Runs {
		if l.Run.Early != "" || l.State == failed {
			m.Early = append(m.Early, l)
		}
	}
}

// compare says what differs from the night before.
func (m *Morning) compare(s *State, p *Plan, cells []*Cell, last Night) error {
	runs, err := s.ofNight(last.ID)
	if err != nil {
		return err
	}
	add := func(format string, args ...any) { m.New = append(m.New, fmt.Sprintf(format, args...)) }
	for _, g := range m.Groups {
		if g.Before == 0 {
			add("New: %s%s violates %s on %s, %s: %s.", g.Name, inBrackets(g.Edges), strings.Join(g.Levels, ", "), g.Target, g.Isolation, g.Status)
		}
	}
	was := byCell(runs)
	servers := [2]map[string]string{latestServers(runs), {}}
	for _, row := range m.Rows {
		servers[1][row.Target] = row.Server
	}
	for _, t := range p.Targets {
		if a, b := servers[0][t.Name], servers[1][t.Name]; a != "" && b != "" && a != b {
			add("%s was %s and is %s.", t.Name, a, b)
		}
	}
	fresh := 0
	for _, n := range m.Cells {
		if n.Status == NotRun {
			continue
		}
		if len(was[n.Cell.ID()]) == 0 {
			if n.Past == nil {
				fresh++
			}
			continue
		}
		if before := p.judgeCell(n.Cell, was[n.Cell.ID()]); before.Status != n.Status {
			add("%s was %s and is %s.", n.Cell.ID(), before.Status, n.Status)
		}
	}
	if fresh > 0 {
		add("%s never run before tonight.", were(fresh, "cell"))
	}
	return nil
}

func were(n int, what string) string {
	if n == 1 {
		return "1 " + what + " was"
	}
	return count(n, what) + " were"
}

func inBrackets(text string) string {
	if text == "" {
		return ""
	}
	return " (" + text + ")"
}

func latestServers(runs []*Run) map[string]string {
	out := map[string]string{}
	for _, r := range runs {
		if r.Server != "" {
			out[r.Target] = r.Server
		}
	}
	return out
}

// ExitCodes are the exit codes of the cells, for the precedence of the command. A night without any run tested nothing.
func (m *Morning) ExitCodes() []int {
	var out []int
	if !slices.ContainsFunc(m.Cells, func(n *CellNight) bool { return n.Status != NotRun }) {
		out = append(out, 3)
	}
	for _, n := range m.Cells {
		switch n.Status {
		case Unexpected, Lacking:
			out = append(out, 1)
		case Failed:
			out = append(out, failure(n.Code))
		case Unknown, EndedEarly:
			out = append(out, 2)
		case Vacuous:
			out = append(out, 3)
		}
	}
	return out
}

// failure is the exit code for a run that failed with a code. A usage error of a run is an error in the plan.
func failure(code int) int {
	switch code {
	case 69, 70, 74, 65:
		return code
	case 64:
		return 65
	case -1: // the process was killed, as for want of memory
		return 2
	}
	return 70
}

// Lasted is how long the night lasted.
func (n *Night) Lasted() string { return n.Spent.Round(time.Second).String() }
