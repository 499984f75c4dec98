package bench

import (
	"context"
	"fmt"
	"strconv"

	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/generator/synth"
)

// Axis is one way in which histories grow, as in Figure 10 of the VeriStrong paper. Its points
// become harder from the first to the last.
type Axis struct {
	Name, Label string
	Points      []float64
	set         func(s *shape, x float64)
}

// shape is the parameters that the axes vary.
type shape struct {
	sessions, txnsEach, ops, keys int
	reads, duplicates             float64
}

// The defaults of the paper's section 7.1.
var usual = shape{sessions: 20, txnsEach: 100, ops: 20, keys: 5000, reads: 0.5, duplicates: 0.5}

// The paper's text does not give the ranges of its Figure 10. These begin below its defaults and
// end where contestants give up.
var axes = []Axis{
	{"sessions", "sessions, 100 transactions each", []float64{5, 10, 20, 30, 40, 50}, func(s *shape, x float64) { s.sessions = int(x) }},
	{"txns", "transactions per session", []float64{50, 100, 200, 400, 800, 1600}, func(s *shape, x float64) { s.txnsEach = int(x) }},
	{"ops", "operations per transaction", []float64{5, 10, 20, 30, 40, 50}, func(s *shape, x float64) { s.ops = int(x) }},
	{"keys", "keys", []float64{10000, 5000, 4000, 3000, 2000, 1000}, func(s *shape, x float64) { s.keys = int(x) }},
	{"reads", "share of reads, %", []float64{90, 70, 50, 30, 10}, func(s *shape, x float64) { s.reads = x / 100 }},
	{"duplicates", "share of keys with duplicate values, %", []float64{0, 25, 50, 75, 100}, func(s *shape, x float64) { s.duplicates = x / 100 }},
}

// Axes returns the axes with only their first points; points 0 means all.
func Axes(points int) []Axis {
	out := make([]Axis, len(axes))
	for n, a := range axes {
		if points > 0 {
			a.Points = a.Points[:min(points, len(a.Points))]
		}
		out[n] = a
	}
	return out
}

// Growth is the results of contestants as histories grow.
type Growth struct {
	Axes        []Axis
	Levels      []level.Level
	Contestants []Contestant
	Scale       float64
	Seed        uint64
	Points      []Point
	Wrong       []string
}

// Open counts the axes along which no contestant decided any point, for each level.
func (g *Growth) Open() int {
	decided := map[[2]string]bool{}
	for i := range g.Points {
		at := [2]string{g.Points[i].Axis, g.Points[i].Level}
		decided[at] = decided[at] || g.Points[i].Verdict != verdict.Unknown
	}
	n := 0
	for _, yes := range decided {
		if !yes {
			n++
		}
	}
	return n
}

// Point is one measurement on an axis.
type Point struct {
	Axis   string
	X      float64
	Config synth.GeneralConfig
	Measurement
}

// config returns the configuration of the history of an axis at x.
func (g *Growth) config(axis, point int) synth.GeneralConfig {
	a, s := &g.Axes[axis], usual
	a.set(&s, a.Points[point])
	return synth.GeneralConfig{
		Sessions: s.sessions, Txns: scaled(s.sessions*s.txnsEach, g.Scale), Ops: s.ops, Keys: scaled(s.keys, g.Scale), Reads: s.reads,
		Duplicates: s.duplicates, Theta: 0.5, Values: 100, Seed: g.Seed + uint64(axis*1000+point),
	}
}

// MeasureGrowth measures every point. After a point that a contestant did not decide, it does
// not measure the harder points of that axis and level for it.
func (c *Checker) MeasureGrowth(ctx context.Context, g *Growth) error {
	dir, err := newFolder()
	if err != nil {
		return err
	}
	defer dir.remove()
	for n := range g.Axes {
		for _, lvl := range g.Levels {
			left := g.Contestants
			for p, x := range g.Axes[n].Points {
				if len(left) == 0 {
					break
				}
				cfg := g.config(n, p)
				path, err := dir.make(cfg, lvl)
				if err != nil {
					return err
				}
				name := fmt.Sprintf("%s = %s", g.Axes[n].Name, strconv.FormatFloat(x, 'g', -1, 64))
				ms, err := c.measure(ctx, name, path, lvl, left)
				if err != nil {
					return err
				}
				var able []Contestant
				for i, m := range ms {
					g.Points = append(g.Points, Point{g.Axes[n].Name, x, cfg, m})
					if m.Verdict != verdict.Unknown {
						able = append(able, left[i])
					}
				}
				left = able
				g.Wrong = append(g.Wrong, Wrong(ms, verdict.Satisfied)...)
			}
		}
	}
	return nil
}
