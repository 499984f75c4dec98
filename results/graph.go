package results

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"strings"
)

// maxDrawn is the largest graph that a person can look at, in transactions.
const maxDrawn = 12

// minScale is how small a picture may become before it scrolls.
const minScale = 0.75

// graph draws the transactions of an anomaly and the edges between them: on a
// circle, in the order of the cycle, each edge bent outwards so that the two
// of a pair do not cover each other. The kinds of edges differ in their dashes
// and by their labels, not in colour.
func graph(a *Anomaly) template.HTML {
	if len(a.Cycle) == 0 {
		return ""
	}
	g := layout(a)
	if len(g.nodes) > maxDrawn {
		return template.HTML(fmt.Sprintf("<p>The cycle has %d transactions, too many for a picture; it is listed below.</p>", len(g.nodes)))
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="graph" role="img" aria-label="%s" style="min-width:%.0fpx" viewBox="0 0 %.0f %.0f">`, html.EscapeString(a.Name), g.width*minScale, g.width, g.height)
	b.WriteString(`<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto-start-reverse"><path d="M0,0L8,4L0,8z"/></marker></defs>`)
	for _, e := range append(append([]Edge{}, a.Cycle...), a.Context...) {
		g.edge(&b, e)
	}
	sessions := map[int64]int64{}
	for _, t := range a.Transactions {
		sessions[t.ID] = t.Session
	}
	for _, id := range g.order {
		p := g.nodes[id]
		fmt.Fprintf(&b, `<g class="node"><rect x="%.1f" y="%.1f" width="%d" height="%d" rx="9"/><text x="%.1f" y="%.1f">T%d</text><text class="sub" x="%.1f" y="%.1f">session %d</text></g>`,
			p.x-nodeW/2, p.y-nodeH/2, nodeW, nodeH, p.x, p.y-3, id, p.x, p.y+12, sessions[id])
	}
	b.WriteString(`</svg>`)
	return template.HTML(b.String())
}

const nodeW, nodeH = 92, 42

type point struct{ x, y float64 }

type drawing struct {
	nodes         map[int64]point
	order         []int64
	center        point
	width, height float64
}

// layout places the transactions of the cycle on a circle, and others below.
func layout(a *Anomaly) *drawing {
	var ring []int64
	seen := map[int64]bool{}
	for _, e := range a.Cycle {
		if !seen[e.From] {
			seen[e.From] = true
			ring = append(ring, e.From)
		}
	}
	var extra []int64
	for _, e := range a.Context {
		for _, id := range []int64{e.From, e.To} {
			if !seen[id] {
				seen[id] = true
				extra = append(extra, id)
			}
		}
	}
	n := float64(len(ring))
	radius := math.Max(120, n*46)
	g := &drawing{nodes: map[int64]point{}, order: append(ring, extra...), width: 2*radius + 300, height: 2*radius + 130}
	if len(ring) == 2 {
		g.height = 170
	}
	g.center = point{g.width / 2, g.height / 2}
	for i, id := range ring {
		angle := 2*math.Pi*float64(i)/n - math.Pi/2
		if len(ring) == 2 {
			angle += math.Pi / 2 * 3 // side by side, the first on the left
		}
		g.nodes[id] = point{g.center.x + radius*math.Cos(angle), g.center.y + radius*math.Sin(angle)}
	}
	for i, id := range extra {
		g.nodes[id] = point{g.width * float64(i+1) / float64(len(extra)+1), g.height + 40}
	}
	if len(extra) > 0 {
		g.height += 80
	}
	return g
}

var dashes = map[string]string{"SO": "2 4", "RT": "12 4 2 4", "WR": "", "WW": "", "RW": "7 5"}

// edge draws a curve that leaves and enters the boxes at their borders.
func (g *drawing) edge(b *strings.Builder, e Edge) {
	p, q := g.nodes[e.From], g.nodes[e.To]
	mid := point{(p.x + q.x) / 2, (p.y + q.y) / 2}
	dx, dy := q.x-p.x, q.y-p.y
	length := math.Hypot(dx, dy)
	// Bent to the left of its direction, which is outwards on a clockwise ring.
	bend := math.Min(length*0.28, 70)
	c := point{mid.x + dy/length*bend, mid.y - dx/length*bend}
	from, to := border(p, c), border(q, c)
	width := 1.6
	if e.Kind == "WW" {
		width = 3.2
	}
	fmt.Fprintf(b, `<path class="edge" d="M%.1f,%.1fQ%.1f,%.1f %.1f,%.1f" stroke-width="%.1f" stroke-dasharray="%s" marker-end="url(#tip)"/>`,
		from.x, from.y, c.x, c.y, to.x, to.y, width, dashes[e.Kind])
	label := e.Kind
	if e.Key != "" {
		label += " " + e.Key + " = " + e.Value
	}
	at := point{(from.x + 2*c.x + to.x) / 4, (from.y + 2*c.y + to.y) / 4}
	fmt.Fprintf(b, `<text class="label" x="%.1f" y="%.1f">%s</text>`, at.x, at.y-6, html.EscapeString(label))
}

// border returns where the line from the middle of a box to c leaves the box.
func border(p, c point) point {
	dx, dy := c.x-p.x, c.y-p.y
	scale := math.Inf(1)
	if dx != 0 {
		scale = math.Abs((nodeW/2 + 3) / dx)
	}
	if dy != 0 {
		scale = math.Min(scale, math.Abs((nodeH/2+3)/dy))
	}
	return point{p.x + dx*scale, p.y + dy*scale}
}
