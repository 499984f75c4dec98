package hunt

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/internal/suggest"
	"github.com/isohound/isohound/results"
)

// ComparisonFile is the page of a comparison, in the folder of a hunt.
const ComparisonFile = "compare.html"

// luck is the probability below which a difference is no longer said to be luck, divided by the number of findings that are
// compared (Bonferroni): of twenty findings that differ by chance alone one would be below it.
const luck = 0.05

// Effort is what was tried.
type Effort struct {
	Runs     int   `json:"runs"`
	Judged   int   `json:"judged"`
	Violated int   `json:"violated"`
	Vacuous  int   `json:"vacuous"`
	Early    int   `json:"ended_early"`
	Failed   int   `json:"failed"`
	Commits  int64 `json:"commits"`
}

// Side is a night or a target in a comparison. Its Effort has the runs that count: the repetitions of a violation and the
// runs that shrink one were made because of it, and are left out.
type Side struct {
	Name     string   `json:"name"`
	Servers  []string `json:"servers"`
	Versions []string `json:"versions"` // of isohound
	Nights   []int64  `json:"nights"`
	LeftOut  int      `json:"left_out"`
	Effort
}

// Difference is a finding and how often each side showed it.
type Difference struct {
	// Target is empty if the sides are targets.
	Target    string `json:"target,omitempty"`
	Isolation string `json:"isolation"`
	Level     string `json:"level"`
	Name      string `json:"name"`
	Promised  *bool  `json:"promised,omitempty"`
	// Workloads, with their faults, are those in which either side showed it. K of the N runs of these that could show it did: they
	// were judged at the level, satisfied or violated, and not vacuous. Commits are those of the N runs.
	Workloads []string     `json:"workloads"`
	K         [2]int       `json:"k"`
	N         [2]int       `json:"n"`
	Commits   [2]int64     `json:"commits"`
	Text      [2]string    `json:"-"` // of the smallest run
	Best      [2]ListedRun `json:"-"`
	Run       [2]int64     `json:"run"` // the smallest, 0 if there is none
	// P is the two-sided p-value of Fisher's exact test, 1 if a side has no run. Differs: P is below 0.05, divided by the number of
	// findings that were compared.
	P       float64 `json:"p"`
	Differs bool    `json:"differs"`
	// Sentence says all of this.
	Sentence string `json:"sentence"`
}

// Pair is a cell on both sides.
type Pair struct {
	Target    string    `json:"target,omitempty"`
	Isolation string    `json:"isolation"`
	Workload  string    `json:"workload"`
	Fault     string    `json:"fault"`
	Of        [2]Effort `json:"sides"`
	Changed   bool      `json:"changed"` // what the plan says of it differs
	digest    [2]string
}

// Comparison compares two nights, or two targets.
type Comparison struct {
	What     string        `json:"what"` // nights or targets
	Sides    [2]Side       `json:"sides"`
	Findings []*Difference `json:"findings"`
	Cells    []*Pair       `json:"cells"`
	Notes    []string      `json:"notes"`
	Tested   int           `json:"tested"` // findings for which both sides have runs
}

// CompareNights compares two nights of the index.
func (s *State) CompareNights(a, b int64) (*Comparison, error) {
	all, err := s.Nights(-1)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, ErrNoNight
	}
	var names [2]string
	open := []string{}
	for n, id := range []int64{a, b} {
		at := slices.IndexFunc(all, func(n Night) bool { return n.ID == id })
		if at < 0 {
			return nil, errors.Errorf("there is no night %d; there are 1 to %d", id, all[0].ID)
		}
		names[n] = fmt.Sprintf("night %d (%s)", id, all[at].Began.Format("2006-01-02 15:04"))
		if all[at].Ended.IsZero() {
			open = append(open, fmt.Sprintf("Night %d is not over: it goes on, or was interrupted.", id))
		}
	}
	c, err := s.compareSides("nights", names, [2]string{"night = ?", "night = ?"}, [2][]any{{a}, {b}})
	if err == nil {
		c.Notes = append(open, c.Notes...)
	}
	return c, err
}

// CompareTargets compares two targets of a night, or of all nights if night is 0.
func (s *State) CompareTargets(a, b string, night int64) (*Comparison, error) {
	rows, err := s.db.Query("SELECT DISTINCT target FROM runs ORDER BY target")
	if err != nil {
		return nil, err
	}
	var known []string
	err = each(rows, func() error {
		known = append(known, "")
		return rows.Scan(&known[len(known)-1])
	})
	if err != nil {
		return nil, err
	}
	for _, name := range []string{a, b} {
		if !slices.Contains(known, name) {
			return nil, errors.Errorf("no run is of a target %q%s; there are runs of %s", name, suggest.Meant(name, known), strings.Join(known, ", "))
		}
	}
	condition, args := "target = ?", [2][]any{{a}, {b}}
	if night != 0 {
		condition += " AND night = ?"
		for n := range args {
			args[n] = append(args[n], night)
		}
	}
	return s.compareSides("targets", [2]string{a, b}, [2]string{condition, condition}, args)
}

// Nightly are the last two nights, the earlier first.
func (s *State) Nightly() (a, b int64, err error) {
	last, err := s.Nights(2)
	switch {
	case err != nil:
		return 0, 0, err
	case len(last) == 0:
		return 0, 0, ErrNoNight
	case len(last) == 1:
		return 0, 0, errors.New("there is one night only; --targets compares two targets of it")
	}
	return last[1].ID, last[0].ID, nil
}

// compareSides compares the runs that two conditions select.
func (s *State) compareSides(what string, names, conditions [2]string, args [2][]any) (*Comparison, error) {
	c := &Comparison{What: what, Findings: []*Difference{}, Cells: []*Pair{}, Notes: []string{}}
	var sides [2][]*Run
	for n := range sides {
		runs, err := s.runs(true, conditions[n], args[n]...)
		if err != nil {
			return nil, err
		}
		c.Sides[n].Name = names[n]
		sides[n] = c.side(n, runs)
	}
	c.cells(sides)
	c.differences(s, sides)
	c.notes()
	return c, nil
}

// side sums up a side, and returns the runs that count.
func (c *Comparison) side(n int, runs []*Run) []*Run {
	s := &c.Sides[n]
	s.Servers, s.Versions, s.Nights = []string{}, []string{}, []int64{}
	var out []*Run
	for _, r := range runs {
		for _, w := range []struct {
			list *[]string
			word string
		}{{&s.Servers, r.Server}, {&s.Versions, r.Version}} {
			if w.word != "" && !slices.Contains(*w.list, w.word) {
				*w.list = append(*w.list, w.word)
			}
		}
		if !slices.Contains(s.Nights, r.Night) {
			s.Nights = append(s.Nights, r.Night)
		}
		if r.Repeats != 0 {
			s.LeftOut++
			continue
		}
		s.Effort.add(r)
		out = append(out, r)
	}
	slices.Sort(s.Servers) // runs end in any order
	slices.Sort(s.Versions)
	return out
}

func (e *Effort) add(r *Run) {
	e.Runs++
	e.Commits += r.Commits
	if r.Early != "" {
		e.Early++
	}
	switch r.State {
	case judged:
		e.Judged++
	case failed:
		e.Failed++
	}
	has := func(verdict string) bool {
		return slices.ContainsFunc(r.Verdicts, func(v Verdict) bool { return v.Verdict == verdict })
	}
	switch {
	case has(violated):
		e.Violated++
	case has(vacuous):
		e.Vacuous++
	}
}

// scope is the target of a run where that is not what the sides are.
func (c *Comparison) scope(r *Run) string {
	if c.What == "targets" {
		return ""
	}
	return r.Target
}

func (c *Comparison) cells(sides [2][]*Run) {
	by := map[[4]string]*Pair{}
	for n, runs := range sides {
		for _, r := range runs {
			k := [4]string{c.scope(r), r.Isolation, r.Workload, r.Fault}
			p := by[k]
			if p == nil {
				p = &Pair{Target: k[0], Isolation: k[1], Workload: k[2], Fault: k[3]}
				by[k] = p
				c.Cells = append(c.Cells, p)
			}
			p.Of[n].add(r)
			p.digest[n] = r.Digest
		}
	}
	for _, p := range c.Cells {
		p.Changed = c.What == "nights" && p.Of[0].Runs > 0 && p.Of[1].Runs > 0 && p.digest[0] != p.digest[1]
	}
	slices.SortStableFunc(c.Cells, func(a, b *Pair) int {
		return cmp.Or(strings.Compare(a.Target, b.Target), strings.Compare(a.Isolation, b.Isolation), strings.Compare(a.Workload, b.Workload), strings.Compare(a.Fault, b.Fault))
	})
}

// place is where a run looks for something: its workload and its faults.
func (r *Run) place() string {
	if r.Fault == noFault {
		return r.Workload
	}
	return r.Workload + ", " + r.Fault
}

// could reports whether a run could have shown a finding at a level.
func (r *Run) could(level string) bool {
	return r.State == judged && slices.ContainsFunc(r.Verdicts, func(v Verdict) bool {
		return (v.Level == level || level == invariant) && (v.Verdict == satisfied || v.Verdict == violated)
	})
}

func (c *Comparison) differences(s *State, sides [2][]*Run) {
	by := map[[4]string]*Difference{}
	for n, runs := range sides {
		for _, r := range runs {
			for _, f := range r.Findings {
				k := [4]string{c.scope(r), r.Isolation, f.Level, f.Name}
				d := by[k]
				if d == nil {
					d = &Difference{Target: k[0], Isolation: k[1], Level: k[2], Name: k[3], Promised: f.Promised}
					by[k] = d
					c.Findings = append(c.Findings, d)
				}
				if w := r.place(); !slices.Contains(d.Workloads, w) {
					d.Workloads = append(d.Workloads, w)
				}
				if d.Best[n].Run == nil || f.Txns < d.Best[n].finding(f.Level, f.Name).Txns {
					d.Best[n], d.Text[n], d.Run[n] = s.listed(nil, func(string) *Cell { return nil }, r), shortened(f.Text), r.ID
				}
			}
		}
	}
	for _, d := range c.Findings {
		slices.Sort(d.Workloads)
		for n, runs := range sides {
			for _, r := range runs {
				if c.scope(r) != d.Target || r.Isolation != d.Isolation || !slices.Contains(d.Workloads, r.place()) || !r.could(d.Level) {
					continue
				}
				d.N[n]++
				d.Commits[n] += r.Commits
				if r.finding(d.Level, d.Name) != nil {
					d.K[n]++
				}
			}
		}
		if d.P = 1; d.compared() {
			c.Tested++
			d.P = fisher(d.K[0], d.N[0], d.K[1], d.N[1])
		}
	}
	for _, d := range c.Findings {
		d.Differs = d.compared() && d.P*float64(c.Tested) < luck
		d.Sentence = c.sentence(d)
	}
	slices.SortStableFunc(c.Findings, func(a, b *Difference) int {
		return cmp.Or(cmp.Compare(a.P, b.P), cmp.Compare(a.sides(), b.sides()), strings.Compare(a.Target, b.Target), strings.Compare(a.Isolation, b.Isolation), strings.Compare(a.Name, b.Name), strings.Compare(a.Level, b.Level))
	})
}

// sides is on how many sides a finding was seen.
func (d *Difference) sides() int { return min(d.K[0], 1) + min(d.K[1], 1) }

// compared reports whether both sides could show the finding.
func (d *Difference) compared() bool { return d.N[0] > 0 && d.N[1] > 0 }

// Rate is how often a side showed the finding.
func (d *Difference) Rate(side int) string {
	return fmt.Sprintf("%s (%s commits)", Rate{d.K[side], d.N[side]}, results.Thousands(d.Commits[side]))
}
