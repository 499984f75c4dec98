package hunt

import (
	"context"
	"slices"

	"github.com/isohound/isohound/checker/nearness"
)

// Try is what a run of a trial came to.
type Try struct {
	Near     *nearness.Nearness
	Txns     int // attempts
	Violated bool
}

// Tried is what a trial came to: the runs and transactions until the first violation, or in all if Found is not set.
type Tried struct {
	Chooser string `json:"chooser"`
	Seed    int64  `json:"seed"`
	Runs    int    `json:"runs"`
	Txns    int    `json:"txns"`
	Found   bool   `json:"found"`
}

// Choosers are the values of the key chooser.
func Choosers() []string { return []string{byBandit, byRandom, byGrid} }

// Trial measures a chooser. It has runs of the cells recorded as a night would choose them, until one is violated or
// limit transactions were run. A run is taken to have lasted as long as it was to be recorded, so that the load of the
// machine has no effect on the choice. record is told which share of a run's length a run has.
func Trial(ctx context.Context, p *Plan, cells []*Cell, by string, seed int64, limit int, record func(c *Cell, s Settings, share float64) (Try, error)) (Tried, error) {
	plan := *p
	plan.Chooser = by
	c := &chooser{plan: &plan, cells: cells, past: map[string]*Past{}, night: &Night{Seed: seed}}
	out := Tried{Chooser: by, Seed: seed}
	var tonight []*Run
	for out.Txns < limit && ctx.Err() == nil {
		ch := c.next(tonight, nil)
		s := c.settings(ch, tonight)
		share := ch.cell.recorded(s).Seconds() / ch.cell.Run.Seconds()
		try, err := record(ch.cell, s, share)
		if err != nil {
			return out, err
		}
		out.Runs++
		out.Txns += try.Txns
		if try.Violated {
			out.Found = true
			return out, nil
		}
		tonight = append(tonight, &Run{
			ID: int64(len(tonight) + 1), Cell: ch.cell.ID(), Target: ch.cell.Target.Name, Isolation: ch.cell.Isolation, Digest: ch.cell.digest(), Settings: s, Why: ch.why,
			State: judged, Took: ch.cell.recorded(s), Nearness: try.Near,
		})
	}
	return out, ctx.Err()
}

// Median is the median number of transactions of trials. One that found nothing counts as more than any other.
func Median(all []Tried) (txns int, found bool) {
	sorted := slices.Clone(all)
	slices.SortFunc(sorted, func(a, b Tried) int {
		switch {
		case a.Found != b.Found && a.Found:
			return -1
		case a.Found != b.Found:
			return 1
		}
		return a.Txns - b.Txns
	})
	m := sorted[(len(sorted)-1)/2]
	return m.Txns, m.Found
}
