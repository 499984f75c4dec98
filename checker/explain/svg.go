package explain

import (
	"fmt"
	"html"
	"math"
	"slices"
	"strings"
)

// pictureStyle is in every picture. So the picture looks the same in its own file and in a page, in
// light and dark mode, and on paper. Kinds of edges differ by dashes, width and label.
const pictureStyle = `<style>
.isopic{--pi:#1c2126;--pd:#5b6570;--pp:#fff;--pb:#f4f6f8;--pl:#c9d0d7}
@media (prefers-color-scheme:dark){.isopic{--pi:#e4e8ec;--pd:#98a2ad;--pp:#14181c;--pb:#222a31;--pl:#465059}}
@media print{.isopic{--pi:#000;--pd:#444;--pp:#fff;--pb:#fff;--pl:#bbb}}
.isopic text{fill:var(--pi);font:12px system-ui,"Liberation Sans",Arial,sans-serif}
.isopic .mid text,.isopic text.mid{text-anchor:middle}
.isopic text.name{font-size:14px;font-weight:600}
.isopic text.sub,.isopic .faint text,.isopic .legend text{font-size:11px;fill:var(--pd)}
.isopic text.mono{font:12px ui-monospace,"Liberation Mono",monospace}
.isopic rect.box{fill:var(--pb);stroke:var(--pi);stroke-width:1.4}
.isopic rect.aborted,.isopic rect.unknown{stroke-dasharray:5 4}
.isopic .faint rect.box{fill:var(--pp);stroke:var(--pl);stroke-width:1}
.isopic rect.under{fill:var(--pp)}
.isopic path.edge{fill:none;stroke:var(--pi);stroke-width:1.6}
.isopic .context path.edge{stroke:var(--pd);stroke-opacity:.75}
.isopic .context text{fill:var(--pd)}
.isopic path.SO{stroke-dasharray:2 4}
.isopic path.RT{stroke-dasharray:12 4 2 4}
.isopic path.RW{stroke-dasharray:7 5}
.isopic path.WW{stroke-width:3.4}
.isopic path.VO{stroke-width:3.4;stroke-dasharray:9 3}
.isopic path.VS{stroke-dasharray:14 3}
.isopic path.NV{stroke-dasharray:7 3 2 3}
.isopic path.maybe{stroke-width:1;stroke-dasharray:1 5;stroke-linecap:round}
.isopic .tip{fill:var(--pi)}
.isopic line{stroke:var(--pl);stroke-width:1}
</style>`

// kindWords are the meanings of the arrows, in the order of legends.
var kindWords = []struct{ kind, words string }{
	{"WR", "the other read what it wrote"},
	{Maybe, "the other may have read what it wrote"},
	{"WW", "the other overwrote it"},
	{"VO", "the database says that the other overwrote it"},
	{"RW", "it read what the other overwrote"},
	{"VS", "the database says that the other's snapshot has it"},
	{"NV", "the database says that its snapshot lacks the other"},
	{predicateWR, "the other's scan saw the row as it wrote it"},
	{predicateRW, "its scan saw the row before the other wrote it"},
	{"SO", "earlier in the session"},
	{"RT", "it ended before the other began"},
}

// GraphSVG draws the dependency graph: transactions, with arrows from those that must come first.
// If there are more than a dozen, the rest is folded into one box.
func GraphSVG(p *Picture) string {
	if len(p.Txns) == 0 {
		return ""
	}
	l := newLayout(p)
	if l.crowded {
		return ""
	}
	const pad = 12.0
	legend := legendOf(p)
	width := max(l.box.w+2*pad, 300)
	for _, k := range legend {
		width = max(width, pad+50+textWidth(k.kind+": "+k.words, 6)+pad)
	}
	height := l.box.h + 2*pad + float64(len(legend))*17
	var b strings.Builder
	open(&b, "graph", "Dependency graph: "+p.Title, width, height)
	// Each edge has its own arrow head, without a marker: markers of several pictures on one page
	// would have the same names.
	fmt.Fprintf(&b, `<g transform="translate(%.1f %.1f)">`, width/2-l.box.x, pad+l.box.h/2-l.box.y)
	for _, a := range l.arrows {
		drawEdge(&b, a)
	}
	for _, n := range slices.Concat(l.ring, l.extra) {
		drawNode(&b, p, n)
	}
	for _, a := range l.arrows {
		drawLabel(&b, a)
	}
	b.WriteString("</g>")
	for i, k := range legend {
		y := l.box.h + 2*pad + float64(i)*17 + 5
		fmt.Fprintf(&b, `<g class="legend"><path class="edge %s" d="M%.0f,%.1fh40"/><text x="%.0f" y="%.1f">%s: %s</text></g>`,
			kindClass(k.kind), pad, y, pad+50, y+4, k.kind, k.words)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// open begins a picture. --width is its width for the styles of pages, which may scale it.
func open(b *strings.Builder, class, title string, width, height float64) {
	fmt.Fprintf(b, `<svg xmlns="http://www.w3.org/2000/svg" class="isopic" data-shows="%s" role="img" aria-label="%s" style="--width:%.0fpx" width="%.0f" height="%.0f" viewBox="0 0 %.0f %.0f">%s<title>%s</title>`,
		class, escape(title), width, width, height, width, height, pictureStyle, escape(title))
}

func escape(s string) string { return html.EscapeString(Printable(s)) }

func kindClass(kind string) string {
	switch kind {
	case Maybe:
		return "maybe"
	case predicateWR:
		return "WR"
	case predicateRW:
		return "RW"
	}
	return kind
}

func legendOf(p *Picture) (list []struct{ kind, words string }) {
	for _, k := range kindWords {
		if slices.ContainsFunc(slices.Concat(p.Cycle, p.Context), func(e Edge) bool { return e.drawn() == k.kind }) {
			list = append(list, k)
		}
	}
	return list
}

func group(b *strings.Builder, context bool) {
	class := "mid"
	if context {
		class = "mid context"
	}
	fmt.Fprintf(b, `<g class="%s">`, class)
}

func drawEdge(b *strings.Builder, a *arrow) {
	group(b, a.context)
	k := a.curve
	fmt.Fprintf(b, `<path class="edge %s" d="M%.1f,%.1fQ%.1f,%.1f %.1f,%.1f"/>`, kindClass(a.Kind), k.p.x, k.p.y, k.c.x, k.c.y, k.q.x, k.q.y)
	b.WriteString(arrowHead(k))
	fmt.Fprintf(b, `<title>%s</title></g>`, escape(a.Text))
}

func drawLabel(b *strings.Builder, a *arrow) {
	group(b, a.context)
	r := a.label
	fmt.Fprintf(b, `<rect class="under" x="%.1f" y="%.1f" width="%.1f" height="%.1f"/>`, r.x-r.w/2, r.y-r.h/2, r.w, r.h)
	for i, s := range a.lines {
		fmt.Fprintf(b, `<text class="mono" x="%.1f" y="%.1f">%s</text>`, r.x, r.y-r.h/2+float64(i+1)*labelHeight-3, escape(s))
	}
	fmt.Fprintf(b, `<title>%s</title></g>`, escape(a.Text))
}

func drawNode(b *strings.Builder, p *Picture, n *node) {
	r := n.rect
	title, class := n.lines[0], "box"
	for _, t := range p.Txns {
		if t.ID == n.id {
			title += ": " + Join(t.Ops)
			if t.Status != "committed" {
				class += " " + t.Status
			}
		}
	}
	fmt.Fprintf(b, `<g class="mid"><rect class="%s" x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="9"/>`, class, r.x-r.w/2, r.y-r.h/2, r.w, r.h)
	for i, s := range n.lines {
		style := "sub"
		if i == 0 {
			style = "name"
		}
		fmt.Fprintf(b, `<text class="%s" x="%.1f" y="%.1f">%s</text>`, style, r.x, r.y-r.h/2+float64(i+1)*nodeLine+3, escape(s))
	}
	fmt.Fprintf(b, `<title>%s</title></g>`, escape(title))
}

// arrowHead draws the tip at the end of a curve.
func arrowHead(k curve) string {
	back := k.at(.93)
	dx, dy := k.q.x-back.x, k.q.y-back.y
	length := max(math.Hypot(dx, dy), .001)
	ux, uy := dx/length, dy/length
	x, y := k.q.x-9*ux, k.q.y-9*uy
	return fmt.Sprintf(`<path class="tip" d="M%.1f,%.1fL%.1f,%.1fL%.1f,%.1fz"/>`, k.q.x, k.q.y, x-4.5*uy, y+4.5*ux, x+4.5*uy, y-4.5*ux)
}
