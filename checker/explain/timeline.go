package explain

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// maxSessions bounds the rows of a timeline. maxBars bounds the transactions of the counterexample
// in it.
const (
	maxSessions = 14
	maxBars     = 24
)

// bar is a transaction in a timeline.
type bar struct {
	t     Txn
	faint bool
	lines []string
	// begin and end are moments. If one is not known, the bar reaches to the edge.
	begin, end          int64
	openLeft, openRight bool
	x1, x2              float64
	lane                int
}

// row is a session in a timeline. Transactions of a session can overlap if an outcome was learnt
// late. They are then in different lanes.
type row struct {
	session int64
	node    int16
	bars    []*bar
	lanes   int
	y, h    float64
}

// timeline is a picture of sessions with their transactions from left to right.
type timeline struct {
	rows          []*row
	timed         bool
	moments       []int64
	clock         Clock // for begins and ends of all bars
	x             map[int64]float64
	width, height float64
	hidden        int // transactions of the counterexample that are left out
	letters       int // in one line of operations
}

// TimelineSVG draws the sessions with the transactions of the counterexample, in real time if it is
// known, and faintly what ran at the same time. It keeps the order of all begins and ends.
// Distances are not to scale, so that there is room for the operations.
func TimelineSVG(p *Picture) string { return timelineSVG(p, "timeline", opsWidth) }

// NarrowTimelineSVG draws the same for a phone: only the transactions of the counterexample, with short lines.
func NarrowTimelineSVG(p *Picture) string {
	alone := *p
	alone.Around, alone.More = nil, 0
	return timelineSVG(&alone, "narrow-timeline", narrowWidth)
}

func timelineSVG(p *Picture, name string, letters int) string {
	if len(p.Txns) == 0 {
		return ""
	}
	l := newTimeline(p, letters)
	var body strings.Builder
	l.grid(&body)
	for _, r := range l.rows {
		y := r.y + r.h + rowGap/2
		fmt.Fprintf(&body, `<line x1="0" y1="%.1f" x2="%.1f" y2="%.1f"/>`, y, l.width, y)
		fmt.Fprintf(&body, `<text x="8" y="%.1f">session %d</text>`, r.y+17, r.session)
		if r.node > 0 {
			fmt.Fprintf(&body, `<text class="sub" x="8" y="%.1f">node %d</text>`, r.y+32, r.node)
		}
		for _, bar := range r.bars {
			l.draw(&body, r, bar)
		}
	}
	l.notes(&body, p)
	var b strings.Builder
	open(&b, name, "Timeline: "+p.Title, l.width, l.height)
	return b.String() + body.String() + "</svg>\n"
}

const (
	gutter, margin   = 92.0, 16.0
	barLine, barPad  = 14.0, 8.0
	rowGap, axisRoom = 12.0, 22.0
	opsWidth         = 34 // letters in one line of operations
	narrowWidth      = 18 // the same on a phone
	maxParagraphs    = 4
	statementLines   = 5
	maxNotes         = 8 // lines
)

func newTimeline(p *Picture, letters int) *timeline {
	l := &timeline{letters: letters, timed: slices.ContainsFunc(p.Txns, func(t Txn) bool { return t.Begin != nil && t.End != nil }), x: map[int64]float64{}}
	bars := l.collect(p)
	l.clock = ClockOf(slices.Concat(p.Txns, p.Around)...)
	l.span(bars)
	l.scale(bars)
	l.stack()
	return l
}

// collect makes the bars and their rows.
func (l *timeline) collect(p *Picture) (bars []*bar) {
	rows := map[int64]*row{}
	add := func(t Txn, faint bool) bool {
		r := rows[t.Session]
		if r == nil {
			if len(l.rows) == maxSessions {
				return false
			}
			r = &row{session: t.Session, node: t.Node}
			rows[t.Session] = r
			l.rows = append(l.rows, r)
		}
		b := &bar{t: t, faint: faint}
		r.bars = append(r.bars, b)
		bars = append(bars, b)
		return true
	}
	for _, t := range p.Txns {
		if len(bars) == maxBars || !add(t, false) {
			l.hidden++
		}
	}
	for _, t := range p.Around {
		if l.timed {
			add(t, true)
		}
	}
	slices.SortFunc(l.rows, func(a, b *row) int { return int(min(1, max(-1, a.session-b.session))) })
	return bars
}

// span sets the begin and end of every bar. Without times it numbers the transactions of a session.
func (l *timeline) span(bars []*bar) {
	if !l.timed {
		for _, r := range l.rows {
			for n, b := range r.bars {
				b.begin, b.end = int64(2*n), int64(2*n+1)
				b.lines = b.text(l.letters)
			}
		}
		return
	}
	lo, hi := int64(math.MaxInt64), int64(math.MinInt64)
	for _, b := range bars {
		if !b.faint && b.t.Begin != nil {
			lo, hi = min(lo, *b.t.Begin), max(hi, *b.t.Begin)
		}
		if !b.faint && b.t.End != nil {
			lo, hi = min(lo, *b.t.End), max(hi, *b.t.End)
		}
	}
	for _, b := range bars {
		b.begin, b.end = lo, hi
		b.openLeft, b.openRight = b.t.Begin == nil || *b.t.Begin < lo, b.t.End == nil || *b.t.End > hi
		if !b.openLeft {
			b.begin = *b.t.Begin
		}
		if !b.openRight {
			b.end = *b.t.End
		}
		b.end = max(b.end, b.begin)
		b.lines = b.text(l.letters)
	}
}

// text returns the lines of text in a bar.
func (b *bar) text(letters int) []string {
	name := fmt.Sprintf("T%d", b.t.ID)
	if b.faint {
		return []string{name}
	}
	switch b.t.Status {
	case "aborted":
		name += " aborted"
	case "unknown":
		name += " outcome unknown"
	}
	lines := []string{name}
	shown := b.t.Shown()
	list := paragraphs(shown, letters)
	if len(list) > maxParagraphs {
		list = list[:maxParagraphs-1]
	}
	rest := len(shown)
	for _, p := range list {
		lines = append(lines, p.lines...)
		rest -= p.ops
	}
	if rest > 0 {
		lines = append(lines, fmt.Sprintf("… %d more", rest))
	}
	return lines
}

// paragraph is a line with operations, or the lines of a statement.
type paragraph struct {
	lines []string
	ops   int
}

func paragraphs(ops []Op, letters int) (list []*paragraph) {
	var open *paragraph // the last one, if it has room
	for _, o := range ops {
		if o.Statement() {
			list = append(list, &paragraph{wrap(o.String(), letters, statementLines*opsWidth/letters), 1})
			open = nil
			continue
		}
		op := clip(o.String(), letters)
		if open != nil && len([]rune(open.lines[0]))+1+len([]rune(op)) <= letters {
			open.lines[0] += " " + op
			open.ops++
			continue
		}
		open = &paragraph{[]string{op}, 1}
		list = append(list, open)
	}
	return list
}

func (b *bar) need() float64 {
	w := 0.0
	for i, s := range b.lines {
		each := 7.4
		switch {
		case b.faint:
			each = subWidth
		case i == 0:
			each = nameWidth
		}
		w = math.Max(w, textWidth(s, each))
	}
	return w + 14
}

// scale sets the positions of the moments from left to right, in their order. They are a little
// further apart if more time passed, and every bar has room for its text.
func (l *timeline) scale(bars []*bar) {
	for _, b := range bars {
		l.moments = append(l.moments, b.begin, b.end)
	}
	slices.Sort(l.moments)
	l.moments = slices.Compact(l.moments)
	widest := int64(1)
	for i := 1; i < len(l.moments); i++ {
		widest = max(widest, l.moments[i]-l.moments[i-1])
	}
	x := gutter
	for i, m := range l.moments {
		if i > 0 {
			x += 8 + 40*math.Sqrt(float64(m-l.moments[i-1])/float64(widest))
		}
		for _, b := range bars {
			if b.end == m && b.begin < m {
				x = math.Max(x, l.x[b.begin]+b.need())
			}
		}
		l.x[m] = x
	}
	// Bars without length, and those that touch the next one, get extra room after their moment.
	for i, m := range l.moments {
		extra := 0.0
		for _, b := range bars {
			if b.begin == m && b.end == m {
				extra = math.Max(extra, b.need())
			}
		}
		if extra > 0 {
			for _, later := range l.moments[i+1:] {
				l.x[later] += extra + 6
			}
		}
	}
	right := gutter
	for _, b := range bars {
		b.x1, b.x2 = l.x[b.begin]+1.5, l.x[b.end]-1.5
		if b.begin == b.end {
			b.x2 = b.x1 + b.need()
		}
		right = math.Max(right, b.x2)
	}
	l.width = right + margin
}

// stack sets the heights of the rows, and the lanes of bars that overlap.
func (l *timeline) stack() {
	y := 8.0
	for _, r := range l.rows {
		slices.SortStableFunc(r.bars, func(a, b *bar) int { return int(min(1, max(-1, a.x1-b.x1))) })
		var until []float64
		lines := 1
		for _, b := range r.bars {
			b.lane = slices.IndexFunc(until, func(x float64) bool { return x <= b.x1 })
			if b.lane < 0 {
				b.lane = len(until)
				until = append(until, 0)
			}
			until[b.lane] = b.x2
			lines = max(lines, len(b.lines))
		}
		r.lanes = len(until)
		r.y = y
		r.h = float64(r.lanes)*(float64(lines)*barLine+barPad+4) - 4
		if r.node > 0 {
			r.h = math.Max(r.h, 36)
		}
		y += r.h + rowGap
	}
	l.height = y
}

func (l *timeline) draw(b *strings.Builder, r *row, bar *bar) {
	h := (r.h+4)/float64(r.lanes) - 4
	y := r.y + float64(bar.lane)*(h+4)
	class, group := "box", ""
	if bar.t.Status != "committed" {
		class += " " + bar.t.Status
	}
	if bar.faint {
		group = "faint"
	}
	fmt.Fprintf(b, `<g class="%s"><rect class="%s" x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="4"/>`, group, class, bar.x1, y, max(bar.x2-bar.x1, 3), h)
	for i, s := range bar.lines {
		style := "mono"
		switch {
		case bar.faint:
			style = "sub"
		case i == 0:
			style = "name"
		}
		fmt.Fprintf(b, `<text class="%s" x="%.1f" y="%.1f">%s</text>`, style, bar.x1+6, y+float64(i+1)*barLine+1, escape(s))
	}
	fmt.Fprintf(b, `<title>%s</title></g>`, escape(fmt.Sprintf("T%d, %s, %s: %s", bar.t.ID, bar.t.Status, l.clock.span(bar.t.Begin, bar.t.End), Join(bar.t.Ops))))
}

// grid draws the begins and ends of the counterexample as lines.
func (l *timeline) grid(b *strings.Builder) {
	if !l.timed {
		return
	}
	for _, r := range l.rows {
		for _, bar := range r.bars {
			if !bar.faint {
				fmt.Fprintf(b, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`, l.x[bar.begin], 0.0, l.x[bar.begin], l.height)
			}
		}
	}
}

// notes explains the axis and what is left out.
func (l *timeline) notes(b *strings.Builder, p *Picture) {
	var notes []string
	if l.timed {
		l.axis(b)
		notes = append(notes, "Time runs from left to right; the order of begins and ends is exact, distances are not to scale.")
	} else {
		notes = append(notes, "No times of one clock are known: columns show the order only within a session.")
	}
	if l.hidden > 0 {
		notes = append(notes, fmt.Sprintf("… %d more transactions of the counterexample.", l.hidden))
	}
	if len(p.Around) > 0 && l.timed {
		s := "Faint: others that ran at the same time"
		if p.More > 0 {
			s += fmt.Sprintf(" (… %d more)", p.More)
		}
		notes = append(notes, s+".")
	}
	if l.letters < opsWidth {
		notes = wrap(strings.Join(notes, " "), 2*l.letters+20, maxNotes)
	}
	for _, n := range notes {
		l.height += 16
		fmt.Fprintf(b, `<text class="sub" x="8" y="%.1f">%s</text>`, l.height-6, escape(n))
		l.width = max(l.width, textWidth(n, 6)+16)
	}
}

// axis writes the times of begins and ends below, as far as there is room.
func (l *timeline) axis(b *strings.Builder) {
	l.height += axisRoom
	free := gutter - 1
	for n, text := range l.times() {
		m := l.moments[n]
		if x := l.x[m]; x >= free {
			fmt.Fprintf(b, `<text class="sub" x="%.1f" y="%.1f">%s</text>`, x, l.height-6, text)
			free = x + textWidth(text, subWidth) + 10
			l.width = max(l.width, free)
		}
	}
}

// times writes the moments: the first one, and the others as differences from it, with so many digits that no two are
// the same.
func (l *timeline) times() []string {
	first := l.moments[0]
	texts := make([]string, len(l.moments))
	texts[0] = l.clock.Seconds(first)
	for digits, same := 4, true; same && digits < 20; digits++ {
		same = false
		for n := 1; n < len(texts); n++ {
			texts[n] = "+" + duration(l.moments[n]-first, digits)
			same = same || texts[n] == texts[n-1]
		}
	}
	return texts
}

// duration writes a time in a suitable unit, rounded to so many digits.
func duration(ns int64, digits int) string {
	switch {
	case ns < 1_000_000:
		return fmt.Sprintf("%.*g µs", digits, float64(ns)/1e3)
	case ns < 1_000_000_000:
		return fmt.Sprintf("%.*g ms", digits, float64(ns)/1e6)
	}
	return fmt.Sprintf("%.*g s", digits, float64(ns)/1e9)
}
