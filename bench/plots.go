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

	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
)

// styles tell contestants apart by dashes and marks as well as by colour.
var styles = []struct {
	color  color.Color
	dashes []vg.Length
	mark   draw.GlyphDrawer
}{
	{color.RGBA{0x1f, 0x6f, 0xd1, 0xff}, nil, draw.CircleGlyph{}},
	{color.RGBA{0xd9, 0x6a, 0x00, 0xff}, []vg.Length{4, 2}, draw.SquareGlyph{}},
	{color.RGBA{0x60, 0x60, 0x60, 0xff}, []vg.Length{1, 2}, draw.TriangleGlyph{}},
	{color.RGBA{0x2a, 0x8a, 0x3a, 0xff}, []vg.Length{6, 2, 1, 2}, draw.CrossGlyph{}},
}

// measures are what is drawn of a point.
var measures = []struct {
	name, label string
	least       float64
	of          func(m *Measurement) float64
}{
	{"time", "seconds, reading included", 0.01, func(m *Measurement) float64 { return m.WallSeconds }},
	{"memory", "peak memory, MB", 1, func(m *Measurement) float64 { return m.PeakMB }},
}

// columns is how many charts stand side by side.
const columns = 3

// plots writes, for each level and measure, a picture of one chart for each
// axis, as PNG and SVG, and returns the names of the PNG files.
func (g *Growth) plots(dir string) ([]string, error) {
	var names []string
	for _, lvl := range g.Levels {
		for n := range measures {
			name := measures[n].name + "-" + lvl.String()
			if err := g.picture(dir, name, lvl, n); err != nil {
				return nil, errors.Wrap(err, name)
			}
			names = append(names, name+".png")
		}
	}
	return names, nil
}

func (g *Growth) picture(dir, name string, lvl level.Level, measure int) error {
	rows := (len(g.Axes) + columns - 1) / columns
	charts := make([][]*plot.Plot, rows)
	for n := range rows * columns {
		var p *plot.Plot
		if n < len(g.Axes) {
			var err error
			if p, err = g.chart(&g.Axes[n], lvl, measure); err != nil {
				return err
			}
		}
		charts[n/columns] = append(charts[n/columns], p)
	}
	width, height := 3.6*columns*vg.Inch, vg.Length(2.8*float64(rows))*vg.Inch
	tiles := draw.Tiles{Rows: rows, Cols: columns, PadX: 12, PadY: 12, PadTop: 6, PadBottom: 6, PadLeft: 6, PadRight: 6}
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

// ticks stand at the points of an axis.
type ticks []float64

func (t ticks) Ticks(_, _ float64) []plot.Tick {
	var out []plot.Tick
	for _, x := range t {
		out = append(out, plot.Tick{Value: x, Label: strconv.FormatFloat(x, 'f', -1, 64)})
	}
	return out
}

// chart draws one axis at a level. What was not decided is not drawn.
func (g *Growth) chart(a *Axis, lvl level.Level, measure int) (*plot.Plot, error) {
	of := &measures[measure]
	p := plot.New()
	for _, style := range []*text.Style{&p.X.Label.TextStyle, &p.Y.Label.TextStyle, &p.X.Tick.Label, &p.Y.Tick.Label, &p.Legend.TextStyle} {
		style.Font.Variant, style.Font.Size = "Sans", 9
	}
	p.X.Label.Text, p.Y.Label.Text = a.Label, of.label
	p.X.Tick.Marker = ticks(a.Points)
	p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	p.Legend.Top, p.Legend.Left = true, true
	low, high := math.Inf(1), of.least
	for n, k := range g.Contestants {
		var pts plotter.XYs
		for i := range g.Points {
			m := &g.Points[i]
			if m.Axis == a.Name && m.Level == lvl.String() && m.Contestant == k.Name && m.Verdict != verdict.Unknown {
				y := max(of.of(&m.Measurement), of.least)
				low, high = min(low, y), max(high, y)
				pts = append(pts, plotter.XY{X: m.X, Y: y})
			}
		}
		if len(pts) == 0 {
			continue
		}
		line, marks, err := plotter.NewLinePoints(pts)
		if err != nil {
			return nil, errors.WithStack(err)
		}
		s := &styles[n%len(styles)]
		line.Color, line.Dashes, line.Width = s.color, s.dashes, vg.Points(1.4)
		marks.Color, marks.Shape, marks.Radius = s.color, s.mark, vg.Points(2.4)
		p.Add(line, marks)
		p.Legend.Add(k.Name, line, marks)
	}
	// Whole decades, with one on top for the legend.
	p.Y.Min, p.Y.Max = math.Pow(10, math.Floor(math.Log10(min(low, high)))), math.Pow(10, math.Ceil(math.Log10(high))+1)
	p.X.Min, p.X.Max = a.Points[0], a.Points[0]
	for _, x := range a.Points {
		p.X.Min, p.X.Max = min(p.X.Min, x), max(p.X.Max, x)
	}
	if p.X.Min == p.X.Max {
		p.X.Max++
	}
	if p.X.Min > 0 && p.X.Max >= 10*p.X.Min {
		p.X.Scale = plot.LogScale{}
	}
	// Charts read from easy to hard.
	if a.Points[0] > a.Points[len(a.Points)-1] {
		p.X.Scale = plot.InvertedScale{Normalizer: p.X.Scale}
	}
	return p, nil
}
