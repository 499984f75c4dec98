package pages

import (
	"fmt"
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/isohound/isohound/generator"
)

// shades are the times of faults in a chart over time. They do not change the chart's range.
type shades []generator.Fault

// leastShade keeps the shade of a short fault visible.
const leastShade = vg.Length(1)

var shade = color.NRGBA{0x80, 0x80, 0x80, 0x40}

// Plot implements plot.Plotter. Shades that touch are drawn as one, because two on one another are darker.
func (s shades) Plot(c draw.Canvas, p *plot.Plot) {
	x, _ := p.Transforms(&c)
	last := c.Min.X
	for _, f := range s {
		from, to := max(x(f.From), last), min(max(x(f.To), x(f.From)+leastShade), c.Max.X)
		if from < to {
			c.FillPolygon(shade, box(from, c.Min.Y, to, c.Max.Y))
			last = to
		}
	}
}

// Thumbnail implements plot.Thumbnailer.
func (s shades) Thumbnail(c *draw.Canvas) {
	c.FillPolygon(shade, box(c.Min.X, c.Min.Y, c.Max.X, c.Max.Y))
}

func box(left, bottom, right, top vg.Length) []vg.Point {
	return []vg.Point{{X: left, Y: bottom}, {X: left, Y: top}, {X: right, Y: top}, {X: right, Y: bottom}}
}

// shownFaults is how many times of faults are listed.
const shownFaults = 12

// faultLines lists the times of faults in words.
func faultLines(list []generator.Fault) []string {
	var out []string
	for n, f := range list {
		if n == shownFaults {
			return append(out, fmt.Sprintf("%d more", len(list)-n))
		}
		when := fmt.Sprintf("%.1f s", f.From)
		if f.To-f.From >= 0.05 {
			when = fmt.Sprintf("%.1f to %.1f s", f.From, f.To)
		}
		out = append(out, when+": "+f.What)
	}
	return out
}
