package scans

import (
	"context"
	"math"
	"slices"

	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// repair changes an execution that explains all reads until it explains the scans, too. A transaction
// whose scan found the wrong rows moves to the nearest moment with the right ones: before the change
// that came too early, or after the next one that makes it right. Everything that it depends on, or
// that depends on it, moves with it. So no read changes its value, and no other scan finds other rows.
// What cannot be mended in this way is left to another check.
type repair struct {
	*Rest
	h   *history.History
	lvl level.Level
	// order has the events: the start 2*i and the commit 2*i+1 of transaction i. At a serial level
	// 2*i+1 stands for both.
	order []int32
	at    []int32 // by event: its position in order
	split bool    // starts and commits are apart
	log   []change
	made  []span         // by transaction: its part of log
	wrong map[*scan]rows // what does not fit in this sweep, -1 for a count
	sets  footprint
	steps int // that are left
}

type span struct{ from, to int32 }

// misfit is a scan that does not fit an execution because of one row, or because of a count.
type misfit struct {
	s     *scan
	row   int32
	want  bool // the row should fulfil the conditions on group g
	g     int  // of want
	count *miscount
}

const (
	// mostDistance bounds how many events away a better moment is looked for.
	mostDistance = 1 << 12
	// leastSteps and stepsPerOp bound the work, in accesses that are looked at.
	leastSteps = 1 << 24
	stepsPerOp = 16
)

// repaired returns an execution of h in which fewer scans do not fit, and whether all fit.
func (r *Rest) repaired(ctx context.Context, h *history.History, lvl level.Level, w *verdict.Witness) (*verdict.Witness, bool, error) {
	x := &repair{Rest: r, h: h, lvl: lvl, split: w.Points != nil, wrong: map[*scan]rows{}, steps: leastSteps + stepsPerOp*len(h.AllOps())}
	x.order = slices.Clone(w.Points)
	for _, t := range w.Order {
		x.order = append(x.order, t<<1|1)
	}
	x.at = make([]int32, 2*len(h.Txns))
	for i, e := range x.order {
		x.at[e] = int32(i)
	}
	x.sets.init(h.KeyCount())
	for last := math.MaxInt; ; {
		wrong, err := x.replayed(ctx)
		if err != nil || len(wrong) == 0 {
			return x.witness(), err == nil && len(r.unmet(x.witness())) == 0, err
		}
		if len(wrong) >= last || x.steps <= 0 || !x.mendAll(wrong) {
			return x.witness(), false, nil
		}
		last = len(wrong)
	}
}

func (x *repair) witness() *verdict.Witness {
	if x.split {
		return &verdict.Witness{Points: x.order}
	}
	w := &verdict.Witness{Order: make([]int32, len(x.order))}
	for i, e := range x.order {
		w.Order[i] = e >> 1
	}
	return w
}

// replayed executes the order, and returns what does not fit.
func (x *repair) replayed(ctx context.Context) (wrong []misfit, err error) {
	var play *replay
	err = x.replay(ctx, x.witness(), x.log == nil, func(s *scan, p *replay) error {
		play = p
		return s.examine(p, visitor{
			absent: func(s *scan, row int32) error { wrong = append(wrong, misfit{s: s, row: row}); return nil },
			either: func(s *scan, row int32) error { wrong = append(wrong, misfit{s: s, row: row}); return nil },
			present: func(s *scan, row int32, g int) error {
				wrong = append(wrong, misfit{s: s, row: row, want: true, g: g})
				return nil
			},
			miscounted: func(s *scan, _ [][]literal) error {
				wrong = append(wrong, misfit{s: s, row: -1, count: &miscount{s: s, seen: p.seen(s)}})
				return nil
			},
		})
	})
	if err != nil || play == nil {
		return nil, err
	}
	if x.log != nil {
		return wrong, nil // what moved changes no order of versions
	}
	x.log, x.made = play.log, make([]span, len(x.h.Txns))
	for i := range x.log {
		m := &x.made[x.log[i].txn]
		if m.to == 0 {
			m.from = int32(i)
		}
		m.to = int32(i + 1)
	}
	return wrong, nil
}

// start is the event at which a transaction reads.
func (x *repair) start(txn int) int32 {
	if x.split {
		return int32(txn) << 1
	}
	return int32(txn)<<1 | 1
}

// changes are what an event commits.
func (x *repair) changes(event int32) []change {
	if event&1 == 0 {
		return nil
	}
	m := x.made[event>>1]
	return x.log[m.from:m.to]
}

// mendAll moves transactions of misfits, each once, and reports whether it moved one.
func (x *repair) mendAll(wrong []misfit) bool {
	clear(x.wrong)
	for i := range wrong {
		m := &wrong[i]
		list := x.wrong[m.s]
		list.add(m.row)
		x.wrong[m.s] = list
	}
	moved := false
	last := -1 // the latest transaction that was moved; misfits are in the order of the execution
	for i := range wrong {
		if m := &wrong[i]; m.s.txn != last && x.mend(m) {
			moved, last = true, m.s.txn
		}
	}
	return moved
}

// mend moves the transaction of a misfit to a better moment, and reports whether it could. Nearer moments
// are tried first.
func (x *repair) mend(m *misfit) bool {
	e := x.start(m.s.txn)
	here := int(x.at[e])
	back, forward := x.look(m, -1), x.look(m, 1)
	for n := 1; n <= mostDistance && x.steps > 0 && (here-n >= 0 || here+n < len(x.order)); n++ {
		if i := here - n; back != nil && i >= 0 && back(i) {
			if x.before(e, i) {
				return true
			}
			back = nil
		}
		if i := here + n; forward != nil && i < len(x.order) && forward(i) {
			if x.behind(e, i) {
				return true
			}
			forward = nil
		}
		if back == nil && forward == nil {
			break
		}
	}
	return m.count != nil && x.mendCount(m.count, e)
}

// mendCount moves another transaction past event e, the start of one whose count is wrong: the nearest one
// that changes the count by what is missing and that can move.
func (x *repair) mendCount(m *miscount, e int32) bool {
	here := int(x.at[e])
	for _, step := range []int{1, -1} {
		w := newWalk(m)
		missing := m.s.count.need - w.count
		for n, i := 0, here+step; n < mostMoves && i >= 0 && i < len(x.order) && x.steps > 0; i += step {
			u, before := x.order[i], w.count
			list := x.changes(u)
			x.steps -= len(list)
			for k := range list {
				c := &list[k]
				if step < 0 {
					c = &list[len(list)-1-k]
				}
				w.apply(c, step < 0)
			}
			if w.count == before {
				continue
			}
			n++
			if w.count-before == missing && (step > 0 && x.before(u, here) || step < 0 && x.behind(u, here)) {
				return true
			}
		}
	}
	return false
}

// mostMoves bounds how many changes of a count are looked at in each direction.
const mostMoves = 64

// look returns a function that is called with the positions in one direction, one after the other. It
// reports whether the scan fits on the far side of the event there.
func (x *repair) look(m *misfit, step int) func(i int) bool {
	var w *walk
	if m.count != nil {
		w = newWalk(m.count)
	}
	return func(i int) bool {
		list := x.changes(x.order[i])
		x.steps -= len(list)
		for k := range list {
			c, v := &list[k], list[k].now
			if step < 0 {
				c = &list[len(list)-1-k]
				v = c.old
			}
			switch {
			case w != nil:
				w.apply(c, step < 0)
			case c.row != m.row:
			case m.want && int(c.group) == m.s.t.first+m.g && m.s.holds(m.g, v), !m.want && m.s.concerns(c) && !m.s.holds(int(c.group)-m.s.t.first, v):
				return true
			}
		}
		return w != nil && w.count == m.s.count.need
	}
}

// concerns reports whether a change is one of the groups of a scan.
func (s *scan) concerns(c *change) bool { return slices.Contains(s.groups, int(c.group)-s.t.first) }

// holds reports whether version i of group g, -1 if the row does not exist, fulfils the conditions on g.
func (s *scan) holds(g int, i int32) bool { return i >= 0 && s.fits(g, i) }

// before moves event e, and what must come before it, right before the event at position to. It returns
// false, and moves nothing, if that event must come before e.
func (x *repair) before(e int32, to int) bool {
	x.sets.reset()
	x.take(e)
	moved, stay := []int32{e}, []int32(nil)
	for i := int(x.at[e]) - 1; i >= to; i-- {
		u := x.order[i]
		if !x.fixed(u, true) {
			stay = append(stay, u)
			continue
		}
		if i == to || x.steps <= 0 {
			return false
		}
		x.take(u)
		moved = append(moved, u)
	}
	slices.Reverse(moved)
	slices.Reverse(stay)
	x.put(to, moved, stay)
	return true
}

// behind moves event e, and what must come after it, right after the event at position to.
func (x *repair) behind(e int32, to int) bool {
	x.sets.reset()
	x.take(e)
	moved, stay := []int32{e}, []int32(nil)
	from := int(x.at[e])
	for i := from + 1; i <= to; i++ {
		u := x.order[i]
		if !x.fixed(u, false) {
			stay = append(stay, u)
			continue
		}
		if i == to || x.steps <= 0 {
			return false
		}
		x.take(u)
		moved = append(moved, u)
	}
	x.put(from, stay, moved)
	return true
}

func (x *repair) put(from int, first, second []int32) {
	for _, list := range [][]int32{first, second} {
		for _, e := range list {
			x.order[from], x.at[e] = e, int32(from)
			from++
		}
	}
}

// take adds an event to those that move.
func (x *repair) take(e int32) {
	t := &x.h.Txns[e>>1]
	f := &x.sets
	f.events = append(f.events, e)
	f.sessions = append(f.sessions, t.Session)
	ops := x.h.Ops(t)
	x.steps -= len(ops)
	for i := range ops {
		if x.reads(e) {
			f.read[ops[i].Key] = f.now
		}
		if e&1 == 1 && ops[i].Kind == history.Write {
			f.written[ops[i].Key] = f.now
		}
	}
	if t.Begin == history.NoTime || t.Begin > f.begin {
		f.begin = t.Begin
		if t.Begin == history.NoTime {
			f.begin = math.MaxInt64
		}
	}
	f.end = min(f.end, t.End) // NoTime is the smallest
}

// reads reports whether a transaction reads at an event.
func (x *repair) reads(e int32) bool { return !x.split || e&1 == 0 }

// fixed reports whether event u must stay on its side of one of those that move. earlier: u comes
// before them.
func (x *repair) fixed(u int32, earlier bool) bool {
	t := &x.h.Txns[u>>1]
	f := &x.sets
	if slices.Contains(f.sessions, t.Session) {
		return true
	}
	if x.lvl.RealTime() && (earlier && t.End < f.begin || !earlier && (t.Begin == history.NoTime || t.Begin > f.end)) {
		return true
	}
	ops := x.h.Ops(t)
	x.steps -= len(ops)
	for i := range ops {
		k, writes := ops[i].Key, u&1 == 1 && ops[i].Kind == history.Write
		// Two that write a key keep their order. (At level pc they may overlap, so that it does not follow
		// from what they read.)
		if writes && (f.read[k] == f.now || f.written[k] == f.now) || x.reads(u) && f.written[k] == f.now {
			return true
		}
	}
	for _, e := range f.events {
		if x.reads(e) && x.sees(e>>1, u) || x.reads(u) && x.sees(u>>1, e) {
			return true
		}
	}
	return false
}

// sees reports whether what an event commits decides whether a scan of a transaction finds a row. What
// does not fit anyway does not count.
func (x *repair) sees(txn, event int32) bool {
	list := x.changes(event)
	if len(list) == 0 {
		return false
	}
	for _, s := range x.effects.scans[txn] {
		x.steps -= len(list)
		for i := range list {
			c := &list[i]
			if !s.concerns(c) {
				continue
			}
			if g := int(c.group) - s.t.first; s.holds(g, c.old) == s.holds(g, c.now) || !s.keyFits(c.row) {
				continue
			}
			if list := x.wrong[s]; !list.has(c.row) && !list.has(-1) {
				return true
			}
		}
	}
	return false
}

// footprint is what the events that move read and write.
type footprint struct {
	now           int32
	read, written []int32 // by key: now if one of them does
	events        []int32
	sessions      []int32
	begin, end    int64 // the latest begin and the earliest end
}

func (f *footprint) init(keys int) { f.read, f.written = make([]int32, keys), make([]int32, keys) }

func (f *footprint) reset() {
	f.now++
	f.events, f.sessions = f.events[:0], f.sessions[:0]
	f.begin, f.end = math.MinInt64, math.MaxInt64
}
