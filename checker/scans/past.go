package scans

import (
	"sort"

	"github.com/isohound/isohound/history"
)

// past is what a schedule did last, so that it can be undone. If no transaction of the pool fits, one of
// them was executed too late: it does not fit because of a transaction that was executed before it. Then
// the schedule goes back to that transaction, which from now on waits for the other one.
type past struct {
	done  []bool            // by transaction
	after map[int32][]int32 // by transaction: those that must be executed before it
	log   []written         // of the latest events
	first int               // the number of the first write in log, of all writes
	from  []int             // by event: the number of its first write
	mends int
}

const (
	// mostPast bounds the writes that can be undone.
	mostPast = 1 << 16
	// leastMends and txnsPerMend bound how often a schedule goes back: leastMends times, and once more for
	// every txnsPerMend transactions.
	leastMends  = 64
	txnsPerMend = 4
)

// tooEarly reports whether a transaction must wait for one that was not executed yet.
func (p *past) tooEarly(i int32) bool {
	for _, other := range p.after[i] {
		if !p.done[other] {
			return true
		}
	}
	return false
}

// add adds an event to the order.
func (s *schedule) add(event int32) {
	s.order = append(s.order, event)
	s.past.from = append(s.past.from, s.past.first+len(s.past.log))
}

// executed notes what the latest event wrote.
func (p *past) executed(i int32, log []written) {
	p.done[i] = true
	if len(p.log) > 2*mostPast {
		gone := len(p.log) - mostPast
		p.first += gone
		p.log = p.log[:copy(p.log, p.log[gone:])]
	}
	p.log = append(p.log, log...)
}

// txn returns the transaction of an event.
func (s *schedule) txn(event int32) int32 {
	if s.split {
		return event >> 1
	}
	return event
}

// mend finds a transaction of the pool that does not fit because of an event that should come after it, and
// goes back to that event. Reads tell this with more certainty than scans.
func (s *schedule) mend() bool {
	p := &s.past
	if p.mends++; p.mends > leastMends+len(s.h.Txns)/txnsPerMend {
		return false
	}
	for _, what := range []wait{waitKey, waitRow} {
		for _, n := range s.pool {
			e := &s.entries[n]
			if e.wait != what || e.started {
				continue
			}
			at := -1
			if what == waitKey {
				at = p.latest(func(w *written) bool { return w.key == e.key && w.old == e.value })
			} else {
				q := &e.queries[e.query]
				at = p.latest(func(w *written) bool {
					x := &s.places[w.key]
					return x.t == q.t.table && x.row == e.row && holds(q.groups, s.groups[x.t.first+int(x.group)])
				})
			}
			if at < 0 || p.from[at] < p.first {
				continue
			}
			x := s.txn(s.order[at])
			if x == e.txn || s.precedes(x, e.txn) {
				continue
			}
			if p.after == nil {
				p.after = map[int32][]int32{}
			}
			p.after[x] = append(p.after[x], e.txn)
			s.rewind(at)
			return true
		}
	}
	return false
}

// latest returns the latest event with a write that f accepts, or -1.
func (p *past) latest(f func(*written) bool) int {
	for i := len(p.log) - 1; i >= 0; i-- {
		if f(&p.log[i]) {
			return sort.SearchInts(p.from, p.first+i+1) - 1
		}
	}
	return -1
}

// precedes reports whether a must come before b.
func (s *schedule) precedes(a, b int32) bool {
	x, y := &s.h.Txns[a], &s.h.Txns[b]
	if x.Session == y.Session && s.rank[a] < s.rank[b] || s.timed && s.ends[a] < y.Begin {
		return true
	}
	for _, other := range s.past.after[b] {
		if other == a {
			return true
		}
	}
	return false
}

// rewind undoes the events from one on. Their transactions are in the pool again.
func (s *schedule) rewind(to int) {
	p := &s.past
	for at := len(s.order) - 1; at >= to; at-- {
		event := s.order[at]
		s.order = s.order[:at]
		i := s.txn(event)
		if s.split && event&1 == 0 {
			for _, n := range s.pool {
				if s.entries[n].txn == i {
					s.hold(i, 0)
					s.leave(n)
					break
				}
			}
			s.enter(i)
			p.from = p.from[:at]
			continue
		}
		from := p.from[at] - p.first
		for k := len(p.log) - 1; k >= from; k-- {
			s.write(p.log[k].key, p.log[k].old)
		}
		p.log, p.from, p.done[i] = p.log[:from], p.from[:at], false
		t := &s.h.Txns[i]
		if t.Status == history.Committed {
			s.placed[t.Session]--
		}
		n := s.enter(i)
		if s.split && n >= 0 { // it has started
			s.forget(n)
			s.entries[n].started = true
			s.hold(i, n+1)
		}
		s.steps -= t.OpCount()
	}
	s.clock++
	for _, n := range s.pool {
		s.entries[n].wait = waitNothing
	}
}

// hold sets the holder of the keys that a transaction writes.
func (s *schedule) hold(i, holder int32) {
	for _, op := range s.h.Ops(&s.h.Txns[i]) {
		if op.Kind == history.Write {
			s.holder[op.Key] = holder
		}
	}
}
