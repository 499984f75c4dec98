package hunt

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// Group is a violation, shown once: an anomaly with the same kinds of edges at one isolation of a target.
type Group struct {
	Target, Isolation, Name, Edges string
	Levels                         []string // that it violates, each with a word on the promise
	Status                         Status   // the worst of its runs
	Others                         []string
	Workloads                      []string
	Text                           string
	// Runs of the night show it, Of were judged in the cells that show it. Repetitions and shrinking runs do not count:
	// they were chosen because they may show it.
	Runs, Of, Shrinking int
	// Same and Near say how often a repetition showed it again.
	Same, OfSame, Near, OfNear int
	// Besides is how many repetitions of a run that does not show it show it.
	Besides         int
	Before          int // runs of earlier nights that showed it
	Since           int64
	Best            *ListedRun // the smallest of its runs
	first           *ListedRun // the smallest of those that show it before anything else, at firstLevel
	firstLevel      string
	Shrunk          *Shrunk // nil if it was not shrunk
	Scenario        string  // the file of a scenario that shows it, from the folder of the hunt, "" if there is none
	best, bestFirst int
}

type groupKey struct{ target, isolation, name, edges string }

// groups collects the violations of the night.
func (m *Morning) groups(s *State, p *Plan, cells []*Cell, tonight []*Run) error {
	before, err := s.findingsBefore(m.Night.ID)
	if err != nil {
		return err
	}
	find := finder(cells)
	all := map[groupKey]*Group{}
	shows := map[groupKey]map[int64]bool{}
	where := map[groupKey]map[string]bool{}
	for _, r := range tonight {
		for n, f := range r.Findings {
			k := groupKey{r.Target, r.Isolation, f.Name, f.Edges}
			g := all[k]
			if g == nil {
				g = &Group{Target: k.target, Isolation: k.isolation, Name: k.name, Edges: k.edges, Status: NotRun, Since: m.Night.ID, best: 1 << 30, bestFirst: 1 << 30}
				if b := before[k]; b != nil {
					g.Before, g.Since = b.runs, b.first
				}
				all[k], shows[k], where[k] = g, map[int64]bool{}, map[string]bool{}
				m.Groups = append(m.Groups, g)
			}
			shows[k][r.ID], where[k][r.Cell] = true, true
			if level := f.Level + " (" + promise(f.Promised) + ")"; !slices.Contains(g.Levels, level) {
				g.Levels = append(g.Levels, level)
			}
			if !slices.Contains(g.Workloads, r.Workload) {
				g.Workloads = append(g.Workloads, r.Workload)
			}
			if c := find(r.Cell); c != nil {
				g.Status = min(g.Status, p.judgeLevel(c, r, Verdict{Level: f.Level, Verdict: violated, Promised: f.Promised, Anomalies: f.Name}).Status)
			}
			if len(f.Names) > 1 && len(g.Others) == 0 {
				g.Others = f.Names[1:]
			}
			if f.Txns < g.best {
				best := s.listed(p, find, r)
				g.best, g.Text, g.Best = f.Txns, shortened(f.Text), &best
			}
			if first := !slices.ContainsFunc(r.Findings[:n], func(o Finding) bool { return o.Level == f.Level }); first && f.Txns < g.bestFirst {
				best := s.listed(p, find, r)
				g.bestFirst, g.first, g.firstLevel = f.Txns, &best, f.Level
			}
		}
	}
	for k, g := range all {
		for _, r := range tonight {
			if r.shrinks() {
				if shows[k][r.ID] {
					g.Shrinking++
				}
				continue
			}
			shown := 0
			if shows[k][r.ID] {
				shown = 1
			}
			switch {
			case r.Repeats == 0:
				g.Runs += shown
				if where[k][r.Cell] && r.State == judged {
					g.Of++
				}
			case !shows[k][r.Repeats]:
				g.Besides += shown
			case r.State != judged:
			case r.Why == whySame:
				g.Same, g.OfSame = g.Same+shown, g.OfSame+1
			default:
				g.Near, g.OfNear = g.Near+shown, g.OfNear+1
			}
		}
		slices.Sort(g.Workloads)
	}
	for _, x := range p.shrunk(cells, tonight) {
		k := groupKey{x.Of.Target, x.Of.Isolation, x.Name, x.Of.finding(x.Level, x.Name).Edges}
		if all[k].Shrunk == nil {
			all[k].Shrunk = x
		}
		if x.Best != nil {
			best := s.listed(p, find, x.Best)
			x.Listed = &best
		}
	}
	slices.SortStableFunc(m.Groups, func(a, b *Group) int {
		return cmp.Or(cmp.Compare(a.Status, b.Status), cmp.Compare(min(a.Before, 1), min(b.Before, 1)), strings.Compare(a.Target, b.Target), strings.Compare(a.Isolation, b.Isolation), cmp.Compare(b.Runs, a.Runs), strings.Compare(a.Name, b.Name))
	})
	return nil
}

// endless is a word that is longer than a line, such as a list of values.
var endless = regexp.MustCompile(`\S{80,}`)

// shortened leaves out the middle of such words. The report of the run has all of them.
func shortened(text string) string {
	return endless.ReplaceAllStringFunc(text, func(word string) string {
		all := []rune(word)
		return string(all[:30]) + " … " + string(all[len(all)-30:])
	})
}
