package pages

import (
	"bytes"
	"html/template"
	"image/color"

	"github.com/dustin/go-humanize"
	"github.com/pkg/errors"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/isohound/isohound/generator"
)

// series is one line of a chart. Lines differ in colour and in their dashes.
type series struct {
	name   string
	color  color.Color
	dashes []vg.Length
	at     func(v generator.IntervalStats) float64
}

var (
	// style.css names these colours and replaces them in dark mode.
	blue   = color.RGBA{0x1a, 0x5f, 0xb4, 0xff}
	orange = color.RGBA{0xb3, 0x59, 0x00, 0xff}
	grey   = color.RGBA{0x6b, 0x72, 0x80, 0xff}
)

// rates shows commits, aborts and unknown outcomes per second over time.
func rates(s generator.Stats) (template.HTML, error) {
	per := 1 / s.IntervalSeconds
	return chart(&s, "transactions per second", []series{
		{"committed", blue, nil, func(v generator.IntervalStats) float64 { return float64(v.Committed) * per }},
		{"aborted", orange, []vg.Length{4, 2}, func(v generator.IntervalStats) float64 { return float64(v.Aborted) * per }},
		{"unknown", grey, []vg.Length{1, 2}, func(v generator.IntervalStats) float64 { return float64(v.Unknown) * per }},
	})
}

// latencies shows the latency of commits over time.
func latencies(s generator.Stats) (template.HTML, error) {
	return chart(&s, "latency of commits in ms", []series{
		{"99%", orange, []vg.Length{4, 2}, func(v generator.IntervalStats) float64 { return v.LatencyMS.P99 }},
		{"90%", grey, []vg.Length{1, 2}, func(v generator.IntervalStats) float64 { return v.LatencyMS.P90 }},
		{"50%", blue, nil, func(v generator.IntervalStats) float64 { return v.LatencyMS.P50 }},
	})
}

func chart(s *generator.Stats, title string, lines []series) (template.HTML, error) {
	if len(s.Intervals) <= 2 || s.IntervalSeconds <= 0 { // a line needs two points
		return "", nil
	}
	p := plot.New()
	// Arial and its relatives, which the page requests, are as wide as the font that the library
	// measures.
	for _, style := range []*text.Style{&p.Title.TextStyle, &p.X.Label.TextStyle, &p.X.Tick.Label, &p.Y.Tick.Label} {
		style.Font.Variant = "Sans"
	}
	p.BackgroundColor = color.Transparent
	p.Title.Text = title
	p.Title.TextStyle.Font.Size = 12
	p.X.Label.Text = "seconds since the start"
	p.X.Label.TextStyle.Font.Size = 10
	p.X.Tick.Label.Font.Size, p.Y.Tick.Label.Font.Size = 10, 10
	p.X.Min, p.Y.Min = 0, 0
	p.X.Tick.Marker, p.Y.Tick.Marker = ticks{}, ticks{}
	var legend []plot.Legend
	if len(s.Faults) > 0 {
		p.Add(shades(s.Faults))
		legend = append(legend, entry("fault", shades(s.Faults)))
	}
	for _, l := range lines {
		pts := plotter.XYs{}
		for n, v := range s.Intervals {
			// A point is drawn in the middle of its interval. The last interval is rarely
			// complete, so its rate would be misleading.
			if n == len(s.Intervals)-1 && n > 0 {
				break
			}
			pts = append(pts, plotter.XY{X: (float64(n) + 0.5) * s.IntervalSeconds, Y: l.at(v)})
		}
		line, err := plotter.NewLine(pts)
		if err != nil {
			return "", errors.Wrap(err, title)
		}
		line.Color, line.Dashes, line.Width = l.color, l.dashes, vg.Points(1.4)
		p.Add(line)
		legend = append(legend, entry(l.name, line))
	}
	p.Y.Max *= 1.05 // keeps the highest point away from the title
	grid := plotter.NewGrid()
	grid.Vertical.Width = 0
	grid.Horizontal.Color = color.NRGBA{0x80, 0x80, 0x80, 0x40}
	p.Add(grid)
	canvas := vgsvg.New(5.2*vg.Inch, 2.5*vg.Inch+legendHeight)
	all := draw.New(canvas)
	p.Draw(draw.Crop(all, 0, 0, legendHeight, -vg.Points(5))) // without the last, the title's first pixels are cut off
	below(legend, draw.Crop(all, 0, 0, vg.Points(3), 0))
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil {
		return "", errors.Wrap(err, title)
	}
	return scalable(b.Bytes())
}

// legendHeight is the height of the row below a chart that has its legend. In the chart it could lie on a line.
const legendHeight = vg.Length(20)

// entry is a legend of one entry.
func entry(name string, t plot.Thumbnailer) plot.Legend {
	l := plot.NewLegend()
	l.Left = true
	l.ThumbnailWidth = 24
	l.TextStyle.Font.Variant = "Sans"
	l.TextStyle.Font.Size = 10
	l.Add(name, t)
	return l
}

// below draws legends side by side at the bottom of c, in its middle.
func below(legends []plot.Legend, c draw.Canvas) {
	const gap = vg.Length(14)
	width := -gap
	for n := range legends {
		width += legends[n].Rectangle(c).Size().X + gap
	}
	x := (c.Size().X - width) / 2
	for n := range legends {
		l := &legends[n]
		l.XOffs = x
		l.Draw(c)
		x += l.Rectangle(c).Size().X + gap
	}
}

// ticks are the library's ticks with the shortest labels.
type ticks struct{}

func (ticks) Ticks(low, high float64) []plot.Tick {
	out := plot.DefaultTicks{}.Ticks(low, high)
	for n := range out {
		if out[n].Label != "" {
			out[n].Label = humanize.Ftoa(out[n].Value)
		}
	}
	return out
}

// scalable makes a chart fit the width of the page: it removes the size, so that only the view
// box remains, and the XML header, which is not allowed in HTML.
func scalable(svg []byte) (template.HTML, error) {
	at := bytes.Index(svg, []byte("<svg"))
	end := bytes.IndexByte(svg[max(at, 0):], '>')
	box := bytes.Index(svg, []byte(`viewBox="`))
	if at < 0 || end < 0 || box < 0 || box > at+end {
		return "", errors.New("the chart library wrote no view box")
	}
	view := svg[box:]
	view = view[:bytes.IndexByte(view[len(`viewBox="`):], '"')+len(`viewBox="`)+1]
	return template.HTML(`<svg class="chart" role="img" xmlns="http://www.w3.org/2000/svg" ` + string(view) + string(svg[at+end:])), nil
}
