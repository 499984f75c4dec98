package explain

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// maxDrawn is the largest graph that is drawn, in transactions. People cannot read larger ones.
const maxDrawn = 12

// node is a transaction of the graph. The node with the id folded stands for all transactions that
// there is no room for.
type node struct {
	id    int64
	lines []string // the first is its name
	rect  rect
}

const folded = int64(math.MinInt64)

// arrow is an edge of the graph with its position.
type arrow struct {
	Edge
	context bool
	curve   curve
	label   rect
	lines   []string
}

// layout is a graph with a position for every box and label. No two of them overlap, and no edge
// runs through a box or label that is not its own.
type layout struct {
	ring, extra []*node // the cycle, and the nodes below it
	arrows      []*arrow
	box         rect // around everything
	crowded     bool // there are no such positions
}

// newLayout puts the transactions of the cycle on a ring, in the order of the cycle, and the others
// in a row below. It enlarges the picture until all labels have room.
func newLayout(p *Picture) *layout {
	l := &layout{}
	l.choose(p)
	for scale := 1.0; ; scale *= 1.1 {
		l.place(scale)
		if l.route() {
			break
		}
		if scale > 8 {
			l.crowded = true
			break
		}
	}
	l.bound()
	return l
}

// choose selects what is drawn.
func (l *layout) choose(p *Picture) {
	byID := map[int64]Txn{}
	for _, t := range p.Txns {
		byID[t.ID] = t
	}
	at := map[int64]*node{}
	add := func(list *[]*node, id int64) {
		if at[id] == nil {
			at[id] = newNode(byID[id], id)
			*list = append(*list, at[id])
		}
	}
	for _, e := range p.Cycle {
		add(&l.ring, e.From)
	}
	if len(p.Cycle) == 0 {
		for _, t := range p.Txns {
			add(&l.ring, t.ID)
		}
	}
	if more := len(l.ring) - maxDrawn; more > 0 {
		fold := &node{id: folded, lines: []string{fmt.Sprintf("… %d more", more+1)}}
		fold.size()
		for _, n := range l.ring[maxDrawn-1:] {
			at[n.id] = fold
		}
		l.ring = append(l.ring[:maxDrawn-1:maxDrawn-1], fold)
	}
	for _, e := range p.Context {
		for _, id := range []int64{e.From, e.To} {
			if len(l.ring)+len(l.extra) < maxDrawn {
				add(&l.extra, id)
			}
		}
	}
	between := map[string]bool{}
	for n, e := range slices.Concat(p.Cycle, p.Context) {
		from, to := at[e.From], at[e.To]
		if from == nil || to == nil || from == to {
			continue
		}
		context := n >= len(p.Cycle)
		id := fmt.Sprint(from.id, to.id, e.Kind, e.Key)
		if context && (between[id] || from.id == folded || to.id == folded) {
			continue
		}
		between[id] = true
		e.From, e.To = from.id, to.id
		a := &arrow{Edge: e, context: context, lines: labelLines(e)}
		for _, s := range a.lines {
			a.label.w = math.Max(a.label.w, textWidth(s, labelWidth)+6)
		}
		a.label.h = float64(len(a.lines))*labelHeight + 2
		l.arrows = append(l.arrows, a)
	}
}

// scanWidth is how many letters a line of a label about a statement has.
const scanWidth = 26

// Widths of letters and heights of lines, in pixels.
const (
	labelWidth, labelHeight = 7.3, 15.0
	nameWidth, subWidth     = 9.4, 6.6
	nodeLine                = 15.0
)

func textWidth(s string, each float64) float64 {
	w := 0.0
	for _, r := range s {
		w += each
		if r > 0x2E80 { // ideographs and the like are twice as wide
			w += each
		}
	}
	return w
}

func newNode(t Txn, id int64) *node {
	n := &node{id: id, lines: []string{fmt.Sprintf("T%d", id), fmt.Sprintf("session %d", t.Session)}}
	if t.Node > 0 {
		n.lines[1] += fmt.Sprintf(", node %d", t.Node)
	}
	if t.DBTxn != 0 {
		n.lines = append(n.lines, fmt.Sprintf("db %d", t.DBTxn))
	}
	if t.Status != "committed" && t.Status != "" {
		n.lines = append(n.lines, t.Status)
	}
	n.size()
	return n
}

func (n *node) size() {
	n.rect.w = 60
	for i, s := range n.lines {
		each := subWidth
		if i == 0 {
			each = nameWidth
		}
		n.rect.w = math.Max(n.rect.w, textWidth(s, each)+20)
	}
	n.rect.h = float64(len(n.lines))*nodeLine + 12
}

// labelLines breaks a long label into lines.
func labelLines(e Edge) []string {
	if e.Key == "" {
		return []string{e.Kind}
	}
	if e.Scan != "" {
		table, where, some := strings.Cut(e.Scan, " where ")
		lines := wrap(e.drawn()+" "+table, scanWidth, 2)
		if some {
			lines = append(lines, wrap("where "+where, scanWidth, 3)...)
		}
		return append(lines, wrap(e.sought(), scanWidth, 2)...)
	}
	if label := e.label(); len([]rune(label)) <= 18 {
		return []string{clip(label, 18)}
	}
	return []string{e.Kind + " " + clip(e.Key, 18), "= " + clip(e.Value, 18)}
}

// place sets the positions of the boxes.
func (l *layout) place(scale float64) {
	widest, tallest := 0.0, 0.0
	for _, n := range slices.Concat(l.ring, l.extra) {
		widest, tallest = math.Max(widest, n.rect.w), math.Max(tallest, n.rect.h)
	}
	count := float64(len(l.ring))
	rx := math.Max(widest+20, count*widest/4.2) * scale
	ry := math.Max(tallest*1.3, count*tallest/3) * scale
	for i, n := range l.ring {
		angle := 2*math.Pi*float64(i)/count - math.Pi/2
		if len(l.ring) == 2 {
			angle += 3 * math.Pi / 2 // side by side, the first on the left
		}
		n.rect.x, n.rect.y = rx*math.Cos(angle), ry*math.Sin(angle)
	}
	below := ry + tallest*1.1*scale + 20
	if len(l.ring) <= 2 {
		below = (tallest + 40) * scale
	}
	for i, n := range l.extra {
		n.rect.x = (float64(i) - float64(len(l.extra)-1)/2) * (widest + 30) * scale
		n.rect.y = below
	}
}

// headRoom and tailRoom are how much of an edge must be visible beside its label.
const headRoom, tailRoom = 20, 10

var (
	ringBends    = []float64{.25, .12, .4, .55, 0, -.12, -.25, -.4}
	contextBends = []float64{0, .1, -.1, .2, -.2, .32, -.32, .45, -.45, .6, -.6}
	labelPlaces  = []float64{.5, .42, .58, .35, .65, .28, .72}
)

// route sets the positions of edges and labels. It reports whether all have one.
func (l *layout) route() bool {
	for i, a := range l.arrows {
		bends := ringBends
		if a.context {
			bends = contextBends
		}
		found := false
		for _, bend := range bends {
			if a.curve = bent(l.node(a.From).rect, l.node(a.To).rect, bend); l.free(a, l.arrows[:i]) && l.putLabel(a, l.arrows[:i]) {
				found = true
				break
			}
		}
		if !found {
			return false
		}
	}
	return true
}

func (l *layout) node(id int64) *node {
	for _, n := range slices.Concat(l.ring, l.extra) {
		if n.id == id {
			return n
		}
	}
	return nil
}

// free reports whether a's curve runs through no other box or label.
func (l *layout) free(a *arrow, placed []*arrow) bool {
	for _, n := range slices.Concat(l.ring, l.extra) {
		if n.id != a.From && n.id != a.To && a.curve.crosses(n.rect, 6) {
			return false
		}
	}
	return !slices.ContainsFunc(placed, func(o *arrow) bool { return a.curve.crosses(o.label, 3) })
}

// putLabel sets the position of a's label on its curve.
func (l *layout) putLabel(a *arrow, placed []*arrow) bool {
	for _, t := range labelPlaces {
		at := a.curve.at(t)
		a.label.x, a.label.y = at.x, at.y
		clear := !slices.ContainsFunc(slices.Concat(l.ring, l.extra), func(n *node) bool { return a.label.meets(n.rect, 5) }) &&
			!slices.ContainsFunc(placed, func(o *arrow) bool { return a.label.meets(o.label, 4) || o.curve.crosses(a.label, 2) }) &&
			!a.label.holds(a.curve.q, headRoom) && !a.label.holds(a.curve.p, tailRoom)
		if clear {
			return true
		}
	}
	return false
}

// bound finds the rectangle around everything.
func (l *layout) bound() {
	left, right, top, bottom := math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)
	take := func(r rect) {
		left, right = math.Min(left, r.x-r.w/2), math.Max(right, r.x+r.w/2)
		top, bottom = math.Min(top, r.y-r.h/2), math.Max(bottom, r.y+r.h/2)
	}
	for _, n := range slices.Concat(l.ring, l.extra) {
		take(n.rect)
	}
	for _, a := range l.arrows {
		take(a.label)
		for n := range curveSteps {
			p := a.curve.at(float64(n) / curveSteps)
			take(rect{p.x, p.y, 2, 2})
		}
	}
	l.box = rect{(left + right) / 2, (top + bottom) / 2, right - left, bottom - top}
}
