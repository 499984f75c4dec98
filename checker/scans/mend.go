package scans

import (
	"slices"

	"github.com/isohound/isohound/history"
)

// way is a way out of a dead end: transaction x, which has the event at, waits for another one, to read, or to write if late is
// set.
type way struct {
	at       int
	x, other int32
	late     bool
}

// mostWays bounds the ways out of a dead end that are tried.
const mostWays = 3

// ways returns the ways out of a dead end, those that are likely first. A transaction of the pool may not fit because of an event
// that should come after it. If that event must come before it, the one that the event overwrote may have to come between
// them. The transactions that ended first are looked at first: real time forces them.
func (s *schedule) ways() (out []way) {
	for _, swap := range []bool{false, true} {
		for _, n := range s.pool {
			e := &s.entries[n]
			if e.started {
				continue
			}
			s.looks--
			for _, at := range s.suspects(e) {
				if w, ok := s.wayOf(e, at, swap); ok {
					if out = append(out, w); len(out) == mostWays {
						return out
					}
				}
			}
		}
	}
	if w, ok := s.yield(); ok {
		out = append(out, w)
	}
	return out
}

// suspects returns events because of which a transaction may not fit.
func (s *schedule) suspects(e *entry) []int {
	p, at := &s.past, -1
	switch e.wait {
	case waitKey:
		at = s.latest(len(p.log), func(w *written) bool { return w.key == e.key && w.old == e.value })
	case waitRow:
		at = s.latest(len(p.log), func(w *written) bool { return s.concerns(e, w.key) })
	case waitCount:
		return s.miscounted(e)
	}
	if at < 0 {
		return nil
	}
	return []int{at}
}

// concerns reports whether a key matters for that a transaction does not fit.
func (s *schedule) concerns(e *entry, k history.Key) bool {
	if e.wait == waitKey {
		return k == e.key
	}
	x, q := &s.places[k], &e.queries[e.query]
	return x.t == q.t.table && (x.row == e.row || e.wait == waitCount) && holds(q.groups, s.groups[x.t.first+int(x.group)])
}

// wayOf makes the transaction of an event come after that of an entry. If swap is set, it makes the one that the
// event overwrote come after the event. It returns false if it cannot.
func (s *schedule) wayOf(e *entry, at int, swap bool) (w way, ok bool) {
	p, x := &s.past, s.txn(s.order[at])
	switch {
	case p.from[at] < p.first || x == e.txn:
		return w, false
	case swap:
		return s.swap(e, at)
	case s.precedes(x, e.txn):
		return w, false
	case s.split && !s.competes(x, e.txn):
		return way{at: at, x: x, other: e.txn, late: true}, true
	}
	at = s.start(at)
	return way{at: at, x: x, other: e.txn}, p.from[at] >= p.first
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
			return way{at: at, x: x, other: e.txn}, true
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
			return way{at: before, x: y, other: x}, true
		}
	}
	return w, false
}

// mostUndone bounds the events that are undone to find out what they changed.
const mostUndone = 1 << 9

// miscounted returns the events, the latest first, that changed the number of rows that a statement counts away from
// the number that it counted. Those without which the number is right come first.
func (s *schedule) miscounted(e *entry) (events []int) {
	p, q := &s.past, &e.queries[e.query]
	missing, after, exact := s.missing(e, q), q.count(), 0
	rows := 1 + after // what a count looks at
	redo := make([]history.Value, 0, 4*mostUndone)
	for at := len(s.order) - 1; at >= max(0, len(s.order)-mostUndone); at-- {
		from, to := p.from[at]-p.first, len(p.log)-len(redo)
		if from < 0 {
			break
		}
		if from == to {
			continue
		}
		for k := to - 1; k >= from; k-- {
			redo = append(redo, s.values[p.log[k].key])
			s.write(p.log[k].key, p.log[k].old)
		}
		before := q.count()
		s.looks -= rows + to - from
		if undone := before - after; undone == missing {
			events = slices.Insert(events, exact, at)
			exact++
		} else if undone*missing > 0 {
			events = append(events, at)
		}
		after = before
	}
	for n := len(redo) - 1; n >= 0; n-- {
		s.write(p.log[len(p.log)-1-n].key, redo[n])
	}
	return events
}

// missing returns how many rows a statement that counts misses in the current state, with the writes of its
// transaction before it.
func (s *schedule) missing(e *entry, q *query) int {
	s.log = s.log[:0]
	for _, op := range s.h.Ops(&s.h.Txns[e.txn])[:q.p.Ops[0]] {
		if op.Kind == history.Write {
			s.put(&op)
		}
	}
	n := q.p.Count - q.count()
	s.undo()
	return n
}
