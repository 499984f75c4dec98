package hunt

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/results"
)

// Why a run was chosen.
const (
	whyNew     = "new"
	whyChanged = "changed"
	whySame    = "repeat, same seed"
	whyNear    = "repeat, near"
	whyShrink  = "shrink"
	whyConfirm = "shrink, confirm"
	whyFound   = "found something lately"
	whyTonight = "not yet tonight"
	whyAgain   = "again"
)

// choice is the next run.
type choice struct {
	cell    *Cell
	why     string
	repeats *Run      // the run to repeat
	set     *Settings // of a run that shrinks
}

// tally is what a cell has had tonight.
type tally struct {
	runs    int // that count
	cut     int // that were cut short
	away    int // whose server could not be used
	failed  int // in a row
	seconds float64
}

// maxCut is how many runs of a cell that were cut short do not count. It may be the cell that ends isohound each time.
const maxCut = 2

// cutShort reports whether a run ended because isohound was killed or interrupted, or could not go on.
func (r *Run) cutShort() bool {
	return r.State == lost || strings.Contains(r.Early, results.Killed) || strings.Contains(r.Early, results.Stuck) || strings.Contains(r.Early, generator.Interrupted)
}

// chooser chooses runs. It holds what does not change during a night.
type chooser struct {
	plan    *Plan
	cells   []*Cell
	past    map[string]*Past
	version string
	// fixed: every cell has one run, and violations are repeated.
	fixed bool
	// before are runs of earlier nights, for the bandit and the grid.
	before []*Run
	night  *Night
}

// next chooses the next run, nil if there is none. tonight are the runs of the night, servers the latest server of
// each target.
//
// Cells that were never judged come first, then those that changed, then repeats of violations, then cells that found
// something in the last nights, then all others, each once; after that the cell that has had the least time, or under
// the bandit a cell of the row that has had the least. Within one kind cells with fewer failed runs come first, so that one
// that always fails does not stand for its target, and then small cells, so that much is seen soon. Targets that pause or
// are given up have no run.
func (c *chooser) next(tonight []*Run, servers map[string]string) *choice {
	return c.nextAt(tonight, servers, time.Now())
}

// nextAt is next at a time.
func (c *chooser) nextAt(tonight []*Run, servers map[string]string, now time.Time) *choice {
	had := map[string]*tally{}
	for _, cell := range c.cells {
		had[cell.ID()] = &tally{}
	}
	for _, r := range tonight {
		t := had[r.Cell]
		if t == nil {
			continue
		}
		t.seconds += r.Took.Seconds()
		switch r.State {
		case failed: // a cell that fails at once would always have had the least time
			t.failed++
			t.seconds += float64(t.failed) * c.size(c.cell(r.Cell))
		case judged:
			t.failed = 0
		}
		switch {
		case r.cutShort() && t.cut < maxCut:
			t.cut++
		case r.away() && t.away < maxAway:
			t.away++
		default:
			t.runs++
		}
	}
	// Nothing is repeated on a target whose latest run failed: a cell is tried first.
	out, unsure := map[string]bool{}, map[string]bool{}
	for target, a := range failing(tonight) {
		unsure[target] = true
		out[target] = a.until().After(now) || c.plan.Budget.givenUp(a) != ""
	}
	best, rank := (*choice)(nil), 99
	var size float64
	var fails int
	for _, cell := range c.cells {
		if out[cell.Target.Name] {
			continue
		}
		t := had[cell.ID()]
		why, r := c.reason(cell, t, servers)
		s := c.size(cell)
		if why == whyAgain {
			s = t.seconds + s // the least time so far, and small ones among equals
		}
		if r == whenAgain {
			t.failed = 0 // the time of failed runs counts
		}
		if r < rank || r == rank && (t.failed < fails || t.failed == fails && s < size) {
			best, rank, fails, size = &choice{cell: cell, why: why}, r, t.failed, s
		}
	}
	if rank <= 1 {
		return best
	}
	if again := c.repeat(tonight, unsure); again != nil {
		return again
	}
	if rank == whenAgain || best == nil {
		if smaller := c.shrink(tonight, unsure); smaller != nil {
			return smaller
		}
	}
	if rank == whenAgain {
		switch {
		case c.fixed: // no cell is left to try
			if again := c.repeat(tonight, out); again != nil {
				return again
			}
			return c.shrink(tonight, out)
		case c.plan.ChosenBy() == byBandit:
			return c.yielding(best, tonight, had, out)
		}
	}
	return best
}

// whenAgain is the urgency of a cell that had its turn.
const whenAgain = 4

// reason says why a cell would be next, and how urgent that is; 0 is the most.
func (c *chooser) reason(cell *Cell, t *tally, servers map[string]string) (string, int) {
	p := c.past[cell.ID()]
	switch server := servers[cell.Target.Name]; {
	case t.runs > 0:
		return whyAgain, whenAgain
	case p == nil:
		return whyNew, 0
	case p.digest != cell.digest() || p.version != c.version || p.server != server && server != "":
		return whyChanged, 1
	case p.found:
		return whyFound, 2
	}
	return whyTonight, 3
}

// size is about how long a run of a cell takes, in seconds.
func (c *chooser) size(cell *Cell) float64 {
	if p := c.past[cell.ID()]; p != nil && p.Runs > 0 {
		return p.seconds
	}
	s := cell.Run.Seconds()
	if cell.Target.Server != "" {
		s += 5 // for its start
	}
	return s
}

// repeat chooses the repetition of a violation, nil if there is none: of one that nobody expects, or else of one that the
// plan expects. What is not promised, and what may be or not, is not repeated. The first run of the night that shows an
// anomaly in a cell is repeated, with the same settings and then with settings near them.
func (c *chooser) repeat(tonight []*Run, out map[string]bool) *choice {
	var second *choice
	for _, f := range c.plan.finds(c.cells, tonight) {
		if out[f.run.Target] {
			continue
		}
		ch := c.again(f.cell, f.run, tonight)
		if ch != nil && f.unexpected {
			return ch
		}
		if second == nil {
			second = ch
		}
	}
	return second
}

// find is an anomaly that a run of the night was the first to show in its cell, at a level.
type find struct {
	run         *Run
	cell        *Cell
	level, name string
	unexpected  bool // otherwise the plan expects it
}

// finds are what is repeated. Those of one run stand together.
func (p *Plan) finds(cells []*Cell, tonight []*Run) []find {
	var out []find
	seen := map[string]bool{}
	at := finder(cells)
	for _, r := range tonight {
		cell := at(r.Cell)
		if r.Repeats != 0 || cell == nil {
			continue
		}
		for _, v := range r.Verdicts {
			if v.Verdict != violated {
				continue
			}
			rule, status := p.rule(cell, v.Level), p.judgeLevel(cell, r, v).Status
			if status != Unexpected && (rule == nil || rule.Verdict != violated) {
				continue
			}
			name, _, _ := strings.Cut(v.Anomalies, ",") // the first is the one that is shown first
			if v.Level == invariant {
				name, _, _ = strings.Cut(name, ":") // what follows are numbers
			}
			if key := r.Cell + "\n" + v.Level + "\n" + name; !seen[key] {
				seen[key] = true
				out = append(out, find{r, cell, v.Level, name, status == Unexpected})
			}
		}
	}
	return out
}

// shrunk are the violations that are shrunk: of those that nobody expects, the first of each anomaly at an isolation of a
// target, unless the plan has changed since.
func (p *Plan) shrunk(cells []*Cell, tonight []*Run) []*Shrunk {
	var out []*Shrunk
	if p.Shrink.runs() == 0 {
		return nil
	}
	seen := map[groupKey]bool{}
	for _, f := range p.finds(cells, tonight) {
		key := groupKey{f.run.Target, f.run.Isolation, f.name, ""}
		if !f.unexpected || seen[key] || f.run.Digest != f.cell.digest() || f.run.finding(f.level, f.name) == nil {
			continue
		}
		seen[key] = true
		out = append(out, p.shrink(f.cell, f.run, f.level, f.name, tonight))
	}
	return out
}

// shrink chooses a run that shrinks a violation, nil if there is none.
func (c *chooser) shrink(tonight []*Run, out map[string]bool) *choice {
	for _, s := range c.plan.shrunk(c.cells, tonight) {
		if s.next != nil && !out[s.Of.Target] {
			return &choice{cell: c.cell(s.Of.Cell), why: s.why, repeats: s.Of, set: s.next}
		}
	}
	return nil
}

// again is the next repetition of a run, nil if it had all.
func (c *chooser) again(cell *Cell, r *Run, tonight []*Run) *choice {
	same, near, away := 0, 0, 0
	for _, other := range tonight {
		switch {
		case other.Repeats != r.ID:
		case other.away() && away < maxAway:
			away++
		case other.Why == whySame:
			same++
		case other.Why == whyNear:
			near++
		}
	}
	switch limit := c.plan.repeats(); {
	case same < limit:
		return &choice{cell: cell, why: whySame, repeats: r}
	case near < limit:
		return &choice{cell: cell, why: whyNear, repeats: r}
	}
	return nil
}

func (c *chooser) cell(id string) *Cell {
	for _, cell := range c.cells {
		if cell.ID() == id {
			return cell
		}
	}
	return nil
}

// maxDraws is how often settings are drawn that isohound run does not take together, such as a max-length below the
// min-length.
const maxDraws = 50

// settings are those of a choice. tonight are the runs of the night.
func (c *chooser) settings(ch *choice, tonight []*Run) Settings {
	switch {
	case ch.set != nil:
		return ch.set.clone()
	case ch.why == whySame:
		return ch.repeats.Settings.clone()
	}
	draw := c.drawing(ch, tonight)
	s := draw()
	for n := 1; n < maxDraws && !c.plan.valid(ch.cell, s); n++ {
		s = draw()
	}
	if ch.repeats == nil && c.scouts(ch.cell, tonight) {
		s.Flags[duration] = ch.cell.scoutTime().String()
	}
	return s
}

// drawing is what draws the settings of a choice, again and again.
func (c *chooser) drawing(ch *choice, tonight []*Run) func() Settings {
	r := rand.New(rand.NewPCG(uint64(c.night.Seed), uint64(len(tonight))))
	switch {
	case ch.why == whyNear:
		return func() Settings { return ch.cell.near(r, ch.repeats.Settings) }
	case c.plan.ChosenBy() == byGrid:
		n := c.drawn(ch.cell, tonight) - 1
		return func() Settings {
			n++
			return ch.cell.grid(r, n)
		}
	case c.plan.ChosenBy() == byBandit:
		all := evidenceOf(c.cells, slices.Concat(c.before, tonight))
		small := !c.plan.Budget.once() && c.drawn(ch.cell, tonight) == 0
		return func() Settings {
			if small { // the first run, unless isohound run refuses that
				small = false
				return ch.cell.grid(r, 0)
			}
			return ch.cell.bandit(r, all)
		}
	}
	return func() Settings { return ch.cell.draw(r) }
}

// drawn is how many runs of a cell had settings that were drawn.
func (c *chooser) drawn(cell *Cell, tonight []*Run) int {
	return c.drawnOf(cell, slices.Concat(c.before, tonight))
}

// drawnOf is how many of some runs are of a cell and had settings that were drawn.
func (c *chooser) drawnOf(cell *Cell, runs []*Run) (n int) {
	digest := cell.digest()
	for _, run := range runs {
		if run.Cell == cell.ID() && run.Digest == digest && run.Repeats == 0 && run.State != lost && !run.away() {
			n++
		}
	}
	return n
}

// yielding replaces a cell that was chosen because it had the least time by the one of its row that the bandit chooses; out are
// the targets that have no run.
func (c *chooser) yielding(ch *choice, tonight []*Run, had map[string]*tally, out map[string]bool) *choice {
	least, row := math.Inf(1), ""
	rows, seconds := map[string][]*Cell{}, map[string]float64{}
	for _, cell := range c.cells {
		if !out[cell.Target.Name] {
			rows[cell.row()] = append(rows[cell.row()], cell)
			seconds[cell.row()] += had[cell.ID()].seconds
		}
	}
	for _, cell := range c.cells {
		if s, has := seconds[cell.row()]; has && s < least {
			least, row = s, cell.row()
		}
	}
	r := rand.New(rand.NewPCG(uint64(c.night.Seed), uint64(len(tonight))^1<<63))
	return &choice{cell: workload(r, rows[row], evidenceOf(c.cells, slices.Concat(c.before, tonight))), why: ch.why}
}

// Next is a cell that would be run, and why.
type Next struct {
	Cell *Cell
	Why  string
	// Command is isohound run with settings drawn as an example.
	Command []string
	Time    time.Duration // of the recording
}

// Order lists the cells in the order in which a new night would run them first. state is nil if there was none.
func Order(p *Plan, cells []*Cell, state *State, version string) ([]Next, error) {
	seed := p.Seed
	if seed == 0 {
		seed = 1
	}
	c := &chooser{plan: p, cells: cells, past: map[string]*Past{}, version: version, fixed: true, night: &Night{Seed: seed}}
	servers := map[string]string{}
	if state != nil {
		last, err := state.latest()
		if err != nil {
			return nil, err
		}
		if last != nil {
			if c.past, err = state.pastOf(last.ID + 1); err == nil {
				c.before, err = state.runsBefore(last.ID + 1)
			}
			if err != nil {
				return nil, err
			}
		}
		if servers, err = state.servers(); err != nil {
			return nil, err
		}
	}
	var out []Next
	var tonight []*Run
	for ch := c.next(tonight, servers); ch != nil; ch = c.next(tonight, servers) {
		s := c.settings(ch, tonight)
		out = append(out, Next{ch.cell, ch.why, ch.cell.arguments(s, false), ch.cell.recorded(s)})
		tonight = append(tonight, &Run{ID: int64(len(tonight) + 1), Cell: ch.cell.ID(), Target: ch.cell.Target.Name, State: judged, Took: time.Second})
	}
	return out, nil
}
