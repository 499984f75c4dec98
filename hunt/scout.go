package hunt

import "time"

// Scouts are short runs, the first ones that a cell has in a night. Under the bandit the time of one run goes to four
// settings: what shows in every run is seen sooner, all cells have a turn sooner, and the bandit learns what yields from
// four runs in place of one. Successive halving gives short tries to many settings, too, before it gives long ones to few (Karnin, Koren
// and Somekh, ICML 2013).
const (
	scouts    = 4 // how many of the first runs of a cell are scouts
	scoutPart = 4 // a scout has one of so many parts of a run's time
)

// A scout must be long beside what a run needs to start.
const (
	leastScout       = time.Second
	leastServerScout = 5 * time.Second // where isohound starts a server for each run
)

// scoutTime is how long a scout of a cell is recorded, 0 if the cell has none: where scripts of faults need the whole
// time, or a run ends after some transactions.
func (c *Cell) scoutTime() time.Duration {
	least := leastScout
	if c.Target.Server != "" {
		least = leastServerScout
	}
	d := c.Run / scoutPart
	if d < least || c.Fault != noFault || c.Workload.Txns.set() {
		return 0
	}
	return d
}

// scouts reports whether the next run of a cell is a scout. A plan that counts runs, or has one for each cell, means whole ones; and
// a night must have the time for scouts and a whole run of every cell.
func (c *chooser) scouts(cell *Cell, tonight []*Run) bool {
	b := &c.plan.Budget
	return c.plan.ChosenBy() == byBandit && !b.once() && b.Runs == 0 && (b.Time == 0 || time.Duration(b.Time) >= twiceAll(c.cells)) && cell.scoutTime() > 0 && c.drawnOf(cell, tonight) < scouts
}

// twiceAll is the time of two whole runs of every cell.
func twiceAll(cells []*Cell) (d time.Duration) {
	for _, cell := range cells {
		d += 2 * cell.Run
	}
	return d
}

// length is how long the run of a choice is to be recorded.
func (c *chooser) length(ch *choice, tonight []*Run) time.Duration {
	switch {
	case ch.set != nil:
		return ch.cell.recorded(*ch.set)
	case ch.repeats != nil:
		return ch.cell.recorded(ch.repeats.Settings)
	case c.scouts(ch.cell, tonight):
		return ch.cell.scoutTime()
	}
	return ch.cell.Run
}

// duration is the flag of a run that is not recorded for the time of its cell.
const duration = "duration"

// scout reports whether a run was a scout, or repeats one.
func (s *Settings) scout() bool { return s.Flags[duration] != "" }

// recorded is how long a run with these settings is recorded.
func (c *Cell) recorded(s Settings) time.Duration {
	if d, err := time.ParseDuration(s.Flags[duration]); err == nil {
		return d
	}
	return c.Run
}

// perSecond is what a run yields in a second, if it did something n times. The start of a run weighs more in a scout, so
// it is taken for the run of whole length that it would have been.
func (c *Cell) perSecond(n float64, r *Run) float64 {
	d := c.recorded(r.Settings)
	return n * c.Run.Seconds() / d.Seconds() / (r.Took + c.Run - d).Seconds()
}
