package hunt

import (
	"fmt"
	"strings"

	"github.com/isohound/isohound/checker/nearness"
	"github.com/isohound/isohound/results"
)

// evidence is what a run of a cell yielded, for the bandit.
type evidence struct {
	cell     string
	row      string
	settings Settings
	rates    []float64 // of each kind of nearness.Kinds, per second
}

// row names what has the same time under the bandit: the cells that differ in their workload only.
func (c *Cell) row() string { return c.Target.Name + "\n" + c.Isolation + "\n" + c.Fault }

// evidenceOf are the runs that were judged, whose cell is as it was, with their yields.
func evidenceOf(cells []*Cell, runs []*Run) []evidence {
	find, digests := finder(cells), map[*Cell]string{}
	same := func(c *Cell, digest string) bool {
		if digests[c] == "" {
			digests[c] = c.digest()
		}
		return digests[c] == digest
	}
	var out []evidence
	for _, r := range runs {
		c := find(r.Cell)
		if c == nil || r.shrinks() || r.Nearness == nil || r.State != judged || r.Took <= 0 || !same(c, r.Digest) {
			continue
		}
		e := evidence{cell: r.Cell, row: c.row(), settings: r.Settings}
		whole := max(1, float64(r.Commits)/float64(max(r.Nearness.Txns, 1))) // of a long run a stretch was measured
		for _, n := range r.Nearness.Values() {
			e.rates = append(e.rates, c.perSecond(float64(n)*whole, r))
		}
		out = append(out, e)
	}
	return out
}

// yields are the yields of runs between 0 and 1: for each kind that occurred in any of them, the rate as a share of the
// highest rate; the mean of all kinds. So a kind that is rare by nature counts as much as a frequent one.
func yields(all []evidence) []float64 {
	best := make([]float64, len(nearness.Kinds))
	kinds := 0
	for _, e := range all {
		for k, v := range e.rates {
			if best[k] == 0 && v > 0 {
				kinds++
			}
			best[k] = max(best[k], v)
		}
	}
	out := make([]float64, len(all))
	for n, e := range all {
		for k, v := range e.rates {
			if best[k] > 0 {
				out[n] += v / best[k] / float64(kinds)
			}
		}
	}
	return out
}

// Distance says how near the runs of a cell came, in words: the least distance, and what makes it.
func (n *CellNight) Distance() string { return distanceOf(n.near) }

func distanceOf(n *nearness.Nearness) string {
	if n == nil || n.Txns == 0 {
		return ""
	}
	d := n.Distance()
	share := func(count int, what string) string {
		return fmt.Sprintf("distance %d: %s of %s transactions %s", d, results.Thousands(int64(count)), results.Thousands(int64(n.Txns)), what)
	}
	switch d {
	case nearness.Cycle:
		return share(n.Cyclic, "on cycles")
	case nearness.Pivot:
		return share(n.Pivots, "are pivots")
	case nearness.Conflict:
		var parts []string
		for _, k := range []struct {
			n    int
			what string
		}{{n.WR, "WR"}, {n.WW, "WW"}, {n.RW, "RW"}, {n.Refused, "refused"}} {
			if k.n > 0 {
				parts = append(parts, results.Thousands(int64(k.n))+" "+k.what)
			}
		}
		return fmt.Sprintf("distance %d: %s", d, strings.Join(parts, ", "))
	case nearness.Overlap:
		return share(n.Overlapping, "overlapped")
	}
	return fmt.Sprintf("distance %d: nothing overlapped", d)
}

// nearer adds what another run did.
func nearer(to, n *nearness.Nearness) *nearness.Nearness {
	if n == nil {
		return to
	}
	if to == nil {
		to = &nearness.Nearness{}
	}
	to.Add(n)
	return to
}
