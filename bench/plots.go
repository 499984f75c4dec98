package bench

import (
	"github.com/pkg/errors"
	"gonum.org/v1/plot/plotter"

	"github.com/isohound/isohound/checker/verdict"
)

// measures are the quantities that are drawn for a point.
var measures = []struct {
	name, label string
	least       float64
	of          func(m *Measurement) float64
}{
	{"time", "seconds, reading included", 0.01, func(m *Measurement) float64 { return m.WallSeconds }},
	{"memory", "peak memory, MB", 1, func(m *Measurement) float64 { return m.PeakMB }},
}

// plots writes a picture for each level and measure, with one chart for each axis, and returns
// the names of the PNG files. Undecided points are not drawn.
func (g *Growth) plots(dir string) ([]string, error) {
	var names []string
	for _, lvl := range g.Levels {
		for _, of := range measures {
			name := of.name + "-" + lvl.String()
			var charts []chart
			for _, a := range g.Axes {
				c := chart{x: a.Label, y: of.label, ticks: a.Points, log: true, least: of.least}
				for _, k := range g.Contestants {
					line := series{name: k.Name}
					for i := range g.Points {
						if m := &g.Points[i]; m.Axis == a.Name && m.Level == lvl.String() && m.Contestant == k.Name && m.Verdict != verdict.Unknown {
							line.points = append(line.points, plotter.XY{X: m.X, Y: of.of(&m.Measurement)})
						}
					}
					c.series = append(c.series, line)
				}
				charts = append(charts, c)
			}
			if err := picture(dir, name, charts); err != nil {
				return nil, errors.Wrap(err, name)
			}
			names = append(names, name+".png")
		}
	}
	return names, nil
}
