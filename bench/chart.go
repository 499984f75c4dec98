package bench

import (
	"bytes"
	"image/color"
	"io"
	"math"
	"path/filepath"
	"strconv"

	"github.com/pkg/errors"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// styles distinguish contestants by dashes and marks as well as by colour.
var styles = []struct {
	color  color.Color
	dashes []vg.Length
	mark   draw.GlyphDrawer
}{
	{color.RGBA{0x1f, 0x6f, 0xd1, 0xff}, nil, draw.CircleGlyph{}},
	{color.RGBA{0xd9, 0x6a, 0x00, 0xff}, []vg.Length{4, 2}, draw.SquareGlyph{}},
	{color.RGBA{0x60, 0x60, 0x60, 0xff}, []vg.Length{1, 2}, draw.TriangleGlyph{}},
	{color.RGBA{0x2a, 0x8a, 0x3a, 0xff}, []vg.Length{6, 2, 1, 2}, draw.CrossGlyph{}},
	{color.RGBA{0x9a, 0x2f, 0xa8, 0xff}, []vg.Length{8, 2}, draw.RingGlyph{}},
	{color.RGBA{0xb0, 0x1c, 0x2e, 0xff}, []vg.Length{3, 1}, draw.BoxGlyph{}},
	{color.RGBA{0x0b, 0x7a, 0x86, 0xff}, []vg.Length{2, 2}, draw.PyramidGlyph{}},
	{color.RGBA{0x00, 0x00, 0x00, 0xff}, []vg.Length{5, 1, 1, 1}, draw.PlusGlyph{}},
	{color.RGBA{0x8a, 0x6d, 0x00, 0xff}, []vg.Length{1, 1}, draw.CircleGlyph{}},
}

// columns is how many charts are side by side.
const columns = 3

// series is a line of a chart.
type series struct {
	name   string
	points plotter.XYs
}

// chart is the chart of one axis.
type chart struct {
	x, y  string    // labels
	ticks []float64 // the points of the axis, from easy to hard
	// names, if set, replace the numbers at the ticks, and no lines are drawn.
	names []string
	// log selects a logarithmic scale, of which least is the smallest value shown. counts
	// selects values from 0 on. Otherwise values are shares in percent.
	log    bool
	counts bool
	least  float64
	series []series
}

// picture writes charts side by side, or charts with names one below the other, as PNG and SVG.
func picture(dir, name string, all []chart) error {
	cols, wide := min(columns, len(all)), vg.Length(3.6)
	if all[0].names != nil {
		cols, wide = 1, 7.2
	}
	rows := (len(all) + cols - 1) / cols
	charts := make([][]*plot.Plot, rows)
	for n := range rows * cols {
		var p *plot.Plot
		if n < len(all) {
			var err error
			if p, err = all[n].plot(); err != nil {
				return err
			}
		}
		charts[n/cols] = append(charts[n/cols], p)
	}
	width, height := wide*vg.Length(cols)*vg.Inch, vg.Length(2.8*float64(rows))*vg.Inch
	tiles := draw.Tiles{Rows: rows, Cols: cols, PadX: 12, PadY: 12, PadTop: 6, PadBottom: 6, PadLeft: 6, PadRight: 6}
	paint := func(c vg.CanvasSizer) {
		for y, row := range plot.Align(charts, tiles, draw.New(c)) {
			for x, canvas := range row {
				if p := charts[y][x]; p != nil {
					p.Draw(canvas)
				}
			}
		}
	}
	svg := vgsvg.New(width, height)
	paint(svg)
	png := vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(120))}
	paint(png)
	for _, f := range []struct {
		ext string
		c   io.WriterTo
	}{{".svg", svg}, {".png", png}} {
		var b bytes.Buffer
		if _, err := f.c.WriteTo(&b); err != nil {
			return errors.WithStack(err)
		}
		if err := save(filepath.Join(dir, name+f.ext), b.Bytes()); err != nil {
			return err
		}
	}
	return nil
}

// ticks are ticks at the points of an axis.
type ticks []float64

func (t ticks) Ticks(_, _ float64) []plot.Tick {
	var out []plot.Tick
	for _, x := range t {
		out = append(out, plot.Tick{Value: x, Label: strconv.FormatFloat(x, 'f', -1, 64)})
	}
	return out
}

// named are ticks with names.
type named struct {
	at    []float64
	names []string
}

func (t named) Ticks(_, _ float64) []plot.Tick {
	var out []plot.Tick
	for i, x := range t.at {
		out = append(out, plot.Tick{Value: x, Label: t.names[i]})
	}
	return out
}

// plot draws a chart.
func (c *chart) plot() (*plot.Plot, error) {
	p := plot.New()
	for _, style := range []*text.Style{&p.X.Label.TextStyle, &p.Y.Label.TextStyle, &p.X.Tick.Label, &p.Y.Tick.Label, &p.Legend.TextStyle} {
		style.Font.Variant, style.Font.Size = "Sans", 9
	}
	p.X.Label.Text, p.Y.Label.Text = c.x, c.y
	p.X.Tick.Marker = ticks(c.ticks)
	if c.names != nil {
		p.X.Tick.Marker = named{c.ticks, c.names}
	}
	p.Legend.Top, p.Legend.Left = true, true
	low, high := math.Inf(1), c.least
	for n, line := range c.series {
		if len(line.points) == 0 {
			continue
		}
		for i := range line.points {
			if c.names != nil { // side by side
				line.points[i].X += (float64(n) - float64(len(c.series)-1)/2) * 0.08
			}
			if y := &line.points[i].Y; c.log {
				*y = max(*y, c.least)
			}
			low, high = min(low, line.points[i].Y), max(high, line.points[i].Y)
		}
		drawn, marks, err := plotter.NewLinePoints(line.points)
		if err != nil {
			return nil, errors.WithStack(err)
		}
		s := &styles[n%len(styles)]
		drawn.Color, drawn.Dashes, drawn.Width = s.color, s.dashes, vg.Points(1.4)
		marks.Color, marks.Shape, marks.Radius = s.color, s.mark, vg.Points(2.4)
		if c.names == nil {
			p.Add(drawn, marks)
			p.Legend.Add(line.name, drawn, marks)
			continue
		}
		p.Add(marks)
		p.Legend.Add(line.name, marks)
	}
	p.Y.Min, p.Y.Max = 0, 130 // leaves room for the legend
	if c.log {
		p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
		// Whole decades, and one more at the top for the legend.
		p.Y.Min, p.Y.Max = math.Pow(10, math.Floor(math.Log10(min(low, high)))), math.Pow(10, math.Ceil(math.Log10(high))+1)
		if c.names != nil { // the legend is beside the chart
			p.Y.Max /= 10
		}
	} else if c.counts {
		p.Y.Max = 1.4 * max(high, 1)
	} else {
		p.Y.Tick.Marker = ticks{0, 20, 40, 60, 80, 100}
	}
	p.X.Min, p.X.Max = c.ticks[0], c.ticks[0]
	for _, x := range c.ticks {
		p.X.Min, p.X.Max = min(p.X.Min, x), max(p.X.Max, x)
	}
	if c.names != nil {
		p.X.Min, p.X.Max, p.Legend.Left = p.X.Min-0.5, p.X.Max+0.5+0.3*float64(len(c.names)), false
		return p, nil
	}
	if p.X.Min == p.X.Max {
		p.X.Max++
	}
	if p.X.Min > 0 && p.X.Max >= 10*p.X.Min {
		p.X.Scale = plot.LogScale{}
	}
	// The axis goes from easy to hard.
	if c.ticks[0] > c.ticks[len(c.ticks)-1] {
		p.X.Scale = plot.InvertedScale{Normalizer: p.X.Scale}
	}
	return p, nil
}
