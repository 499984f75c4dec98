package scans

import (
	"math/rand/v2"
	"slices"

	"github.com/isohound/isohound/history"
)

// way is a way out of a dead end: all events from at on are undone, and moves say who waits from then on.
type way struct {
	at    int
	moves []move
}

// move says that transaction x waits for another one, to read, or to write if late is set.
type move struct {
	x, other int32
	late     bool
}

// effort bounds the search for ways out of dead ends where statements count. A wide search finds what a few decisions that depend on
// each other can mend, a narrow one is soon begun again at random. Ways out for a wrong count are found in two
// manners. Which of these helps differs, so they take turns.
type effort struct {
	ways    int  // out of a dead end
	undone  int  // events that a way may undo; those far back have most likely nothing to do with the dead end
	stalled int  // dead ends without progress, until all is forgotten
	byRow   bool // what a count can become is derived from the writes of single rows, not from the events one after the other
}

var efforts = []effort{
	{ways: 8, undone: 128, stalled: 24},
	{ways: 3, undone: 64, stalled: 12},
	{ways: 8, undone: 128, stalled: 24, byRow: true},
	{ways: 3, undone: 64, stalled: 12, byRow: true},
}

// undonePerSession is how many events a way may undo at least for each session.
const undonePerSession = 4

func (p *past) effort() *effort { return &efforts[p.restarts%len(efforts)] }

// mostWays bounds the ways out of a dead end where nothing counts.
const mostWays = 3

// ways returns the ways out of a dead end, those that are likely first. A transaction of the pool may not fit because of events
// that should come after it. If such an event must come before it, the one that the event overwrote may have to come between
// them. The transactions that ended first are looked at first: real time forces them.
func (s *schedule) ways(r *rand.Rand) (out []way) {
	most, back := mostWays, 0
	if s.counting {
		most, back = s.past.effort().ways, s.back()
	}
	// add reports whether there are enough ways, with those of a transaction.
	add := func(n int32, swaps ...bool) bool {
		e := &s.entries[n]
		if e.started || s.counting && s.looks <= 0 {
			return false
		}
		s.looks--
		if e.wait == waitCount && s.past.effort().byRow {
			for _, w := range s.recounts(e, r) {
				if w.at >= back {
					if out = append(out, w); len(out) == most {
						return true
					}
				}
			}
			return false
		}
		lists := s.suspects(e, r)
		for _, swap := range swaps {
			for _, events := range lists {
				if w, ok := s.wayOf(e, events, swap); ok && w.at >= back {
					if out = append(out, w); len(out) == most {
						return true
					}
				}
			}
		}
		return false
	}
	if s.counting { // the transaction that ended first must fit, and there are many ways for others
		for _, n := range s.pool {
			if add(n, false, true) {
				return out
			}
		}
	} else {
		for _, swap := range []bool{false, true} {
			for _, n := range s.pool {
				if add(n, swap) {
					return out
				}
			}
		}
	}
	if w, ok := s.yield(); ok && w.at >= back {
		out = append(out, w)
	}
	return out
}

// back is the first event that a way may undo where statements count.
func (s *schedule) back() int {
	return max(0, len(s.order)-max(s.past.effort().undone, undonePerSession*len(s.placed)))
}

// suspects returns events because of which a transaction may not fit, those that have to be moved together as one list.
func (s *schedule) suspects(e *entry, r *rand.Rand) [][]int {
	p, at := &s.past, -1
	switch e.wait {
	case waitKey:
		at = s.latest(len(p.log), func(w *written) bool { return w.key == e.key && w.old == e.value })
	case waitRow:
		at = s.latest(len(p.log), func(w *written) bool { return s.concerns(e, w.key) })
	case waitCount:
		return s.miscounted(e, r)
	}
	if at < 0 {
		return nil
	}
	return [][]int{{at}}
}

// concerns reports whether a key matters for that a transaction does not fit.
func (s *schedule) concerns(e *entry, k history.Key) bool {
	if e.wait == waitKey {
		return k == e.key
	}
	x, q := &s.places[k], &e.queries[e.query]
	return x.t == q.t.table && (x.row == e.row || e.wait == waitCount) && holds(q.groups, s.groups[x.t.first+int(x.group)])
}

// wayOf makes the transactions of events come after that of an entry. If swap is set, it makes the one that the
// event overwrote come after the event. It returns false if it cannot.
func (s *schedule) wayOf(e *entry, events []int, swap bool) (w way, ok bool) {
	if swap {
		if len(events) > 1 {
			return w, false
		}
		return s.swap(e, events[0])
	}
	w.at = len(s.order)
	for _, at := range events {
		m, from, ok := s.behind(e, at)
		if !ok {
			return w, false
		}
		w.at, w.moves = min(w.at, from), append(w.moves, m)
	}
	return w, true
}

// behind makes the transaction of an event come after that of an entry. from is the event that has to be undone for that. It
// returns false if it cannot.
func (s *schedule) behind(e *entry, at int) (m move, from int, ok bool) {
	p, x := &s.past, s.txn(s.order[at])
	switch {
	case p.from[at] < p.first || x == e.txn || s.precedes(x, e.txn):
		return m, 0, false
	case s.split && !s.competes(x, e.txn):
		return move{x, e.txn, true}, at, true
	}
	at = s.start(at)
	return move{x, e.txn, false}, at, p.from[at] >= p.first
}

// yield makes a transaction that has begun, and cannot write yet, come after one that writes the same key.
func (s *schedule) yield() (w way, ok bool) {
	for _, n := range s.pool {
		e := &s.entries[n]
		if e.wait != waitEnd || s.entries[e.other].number != e.known {
			continue
		}
		x := s.entries[e.other].txn
		for at := len(s.order) - 1; at >= 0 && s.past.from[at] >= s.past.first; at-- {
			if s.order[at] != x<<1 {
				continue
			}
			if s.precedes(x, e.txn) {
				break
			}
			return way{at: at, moves: []move{{x, e.txn, false}}}, true
		}
	}
	return w, false
}

// start returns the event in which the transaction of an event reads.
func (s *schedule) start(at int) int {
	for event := s.order[at] &^ 1; s.split && s.order[at] != event; {
		at--
	}
	return at
}

// competes reports whether two transactions write the same key: then one of them is done before the other begins.
func (s *schedule) competes(a, b int32) bool {
	ops := s.h.Ops(&s.h.Txns[a])
	for _, op := range s.h.Ops(&s.h.Txns[b]) {
		if op.Kind == history.Write && slices.ContainsFunc(ops, func(x history.Op) bool { return x.Kind == history.Write && x.Key == op.Key }) {
			return true
		}
	}
	return false
}

// swap makes the transaction whose write the event at overwrote come after that of the event. It returns false
// if it cannot.
func (s *schedule) swap(e *entry, at int) (w way, ok bool) {
	p := &s.past
	if p.from[at] < p.first || s.txn(s.order[at]) == e.txn {
		return w, false
	}
	end := len(p.log)
	if at+1 < len(p.from) {
		end = p.from[at+1] - p.first
	}
	x := s.txn(s.order[at])
	for k := p.from[at] - p.first; k < end; k++ {
		key := p.log[k].key
		if !s.concerns(e, key) {
			continue
		}
		before := s.latest(p.from[at]-p.first, func(w *written) bool { return w.key == key })
		if before < 0 || p.from[before] < p.first {
			continue
		}
		y := s.txn(s.order[before])
		before = s.start(before)
		if y != x && p.from[before] >= p.first && !s.precedes(y, x) {
			return way{at: before, moves: []move{{y, x, false}}}, true
		}
	}
	return w, false
}
