package hunt

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
)

// Choosers of a plan.
const (
	byGrid   = "grid"
	byRandom = "random"
	byBandit = "bandit"
)

// maxArms is into how many parts a range is divided.
const maxArms = 5

// exploring: one run of so many is drawn at random, whatever runs yielded. The yield is no certain guide to a defect.
const exploring = 4

// leastSpread is the least standard deviation of yields that is assumed: two runs that yield the same by chance must
// not end the search.
const leastSpread = 0.05

// firstSpread is the spread that is assumed before there are runs.
const firstSpread = 0.3

// leaning is by how many spreads above the mean one end of a range is taken to yield, and the other end below.
const leaning = 1

// arms divides values into parts: each value of a list, once even if it is there twice, or parts of a range that a draw
// finds equally often.
func (v *Values) arms() []Values {
	if !v.Range {
		var out []Values
		for _, one := range v.Of {
			if !slices.ContainsFunc(out, func(v Values) bool { return v.Of[0] == one }) {
				out = append(out, Values{Of: []string{one}})
			}
		}
		return out
	}
	n := min(int64(maxArms), v.High-v.Low+1)
	var out []Values
	low := v.Low
	for i := int64(1); i <= n && low <= v.High; i++ {
		high := v.Low + int64(float64(v.High-v.Low+1)*float64(i)/float64(n)) - 1
		if v.Low >= 1 {
			high = int64(float64(v.Low)*math.Pow((float64(v.High)+1)/float64(v.Low), float64(i)/float64(n))) - 1
		}
		if high = max(high, low); i == n {
			high = v.High
		}
		high = min(high, v.High)
		out = append(out, Values{Range: true, Low: low, High: high})
		low = high + 1
	}
	return out
}

// has reports whether a value is in a part.
func (v *Values) has(text string) bool {
	if !v.Range {
		return slices.Contains(v.Of, text)
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return err == nil && v.Low <= n && n <= v.High
}

// middle is the value of a part in a grid: the geometric middle of a range above 0.
func (v *Values) middle() string {
	switch {
	case !v.Range:
		return v.Of[0]
	case v.Low >= 1:
		return strconv.FormatInt(min(max(int64(math.Round(math.Sqrt(float64(v.Low)*float64(v.High)))), v.Low), v.High), 10)
	}
	return strconv.FormatInt(v.Low+(v.High-v.Low)/2, 10)
}

// grid are the settings of the nth run of a cell by grid: all combinations of parts, one after the other.
func (c *Cell) grid(r *rand.Rand, n int) Settings {
	s := Settings{Flags: map[string]string{}, Params: map[string]string{}, Seed: seed(r)}
	for _, v := range c.Workload.all() {
		arms := v.values.arms()
		s.set(v.name, v.param, arms[n%len(arms)].middle())
		n /= len(arms)
	}
	return s
}

// thompson chooses an arm: of each arm's mean a value is drawn from its posterior, normal with the spread of the
// yields, and the highest wins (Thompson 1933; Russo and others, A Tutorial on Thompson Sampling, 2018). Before its
// runs an arm has one that nobody made, which yielded the mean of all runs and its lean, in spreads. So an arm without a
// run may be chosen, and need not be.
func thompson(r *rand.Rand, lean []float64, of []int, yield []float64) int {
	n, sum := make([]float64, len(lean)), make([]float64, len(lean))
	total, all := 0.0, 0.0
	for i, a := range of {
		if a >= 0 {
			n[a]++
			sum[a] += yield[i]
			total++
			all += yield[i]
		}
	}
	mean := all / max(total, 1)
	squares := firstSpread * firstSpread
	for i, a := range of {
		if a >= 0 {
			squares += (yield[i] - mean) * (yield[i] - mean)
		}
	}
	spread := max(leastSpread, math.Sqrt(squares/(total+1)))
	best, highest := 0, math.Inf(-1)
	for a, by := range lean {
		if v := (mean+by*spread+sum[a])/(n[a]+1) + r.NormFloat64()*spread/math.Sqrt(n[a]+1); v > highest {
			best, highest = a, v
		}
	}
	return best
}

// lean is by how many spreads each part of a setting is taken to yield more than the mean before it has runs: few keys,
// many sessions and a high rate make transactions meet. Of other settings nothing is assumed.
func (v *named) lean(parts int) []float64 {
	out := make([]float64, parts)
	toward := 0.0
	switch {
	case !v.values.Range || v.param:
	case v.name == "keys":
		toward = -leaning
	case v.name == "sessions", v.name == "rate":
		toward = leaning
	}
	for i := range out {
		out[i] = toward * float64(2*i-parts+1) / float64(max(parts-1, 1))
	}
	return out
}

// bandit draws the settings of a run of a cell by what earlier runs yielded. Each parameter is a bandit of its own: that
// their effects add up is assumed, which keeps the number of arms small.
func (c *Cell) bandit(r *rand.Rand, all []evidence) Settings {
	var mine []evidence
	for _, e := range all {
		if e.cell == c.ID() {
			mine = append(mine, e)
		}
	}
	if len(mine) > 0 && r.IntN(exploring) == 0 {
		return c.draw(r)
	}
	yield := yields(mine)
	s := Settings{Flags: map[string]string{}, Params: map[string]string{}, Seed: seed(r)}
	for _, v := range c.Workload.all() {
		arms := v.values.arms()
		of := make([]int, len(mine))
		for n, e := range mine {
			was := e.settings.get(v.name, v.param)
			of[n] = slices.IndexFunc(arms, func(a Values) bool { return a.has(was) })
		}
		s.set(v.name, v.param, arms[thompson(r, v.lean(len(arms)), of, yield)].draw(r))
	}
	return s
}

// workload chooses one of the cells of a row by what their runs yielded.
func workload(r *rand.Rand, cells []*Cell, all []evidence) *Cell {
	if len(cells) == 1 || r.IntN(exploring) == 0 {
		return cells[r.IntN(len(cells))]
	}
	var mine []evidence
	var of []int
	for _, e := range all {
		if e.row == cells[0].row() {
			mine = append(mine, e)
			of = append(of, slices.IndexFunc(cells, func(c *Cell) bool { return c.ID() == e.cell }))
		}
	}
	return cells[thompson(r, make([]float64, len(cells)), of, yields(mine))]
}
