package scans

import (
	"slices"
	"sort"

	"github.com/isohound/isohound/history"
)

// past is what a schedule did last, so that it can be undone. If no transaction of the pool fits, one of
// them was executed too late: it does not fit because of a transaction that was executed before it. Then
// the schedule goes back to that transaction, which from now on waits for the other one.
type past struct {
	begun []bool            // by transaction: it has read
	done  []bool            // by transaction: its writes were made
	after map[int32][]int32 // by transaction: it reads when these are done
	late  map[int32][]int32 // by transaction: it writes when these have begun
	log   []written         // of the latest events
	first int               // the number of the first write in log, of all writes
	from  []int             // by event: the number of its first write
	// decisions are the dead ends about which something was decided, far is the most events that the order had at a dead
	// end, stalled counts the dead ends since then, restarts how often all decisions were forgotten since then, draws how often in all,
	// same how often in a row they were forgotten at about event at without undoing anything.
	decisions                               []decision
	far, stalled, restarts, draws, same, at int
}

// mostPast bounds the writes that can be undone.
const mostPast = 1 << 16

// tooEarly reports whether a transaction must wait for one that was not executed yet.
func (p *past) tooEarly(i int32) bool {
	for _, other := range p.after[i] {
		if !p.done[other] {
			return true
		}
	}
	return false
}

// mayWrite reports whether no transaction must read before this one writes.
func (p *past) mayWrite(i int32) bool {
	for _, other := range p.late[i] {
		if !p.begun[other] {
			return false
		}
	}
	return true
}

// add adds an event to the order.
func (s *schedule) add(event int32) {
	s.order = append(s.order, event)
	s.past.from = append(s.past.from, s.past.first+len(s.past.log))
}

// executed notes what the latest event wrote.
func (p *past) executed(i int32, log []written) {
	p.begun[i], p.done[i] = true, true
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

// latest returns the latest event with a write that f accepts among the first ones in log, or -1.
func (s *schedule) latest(first int, f func(*written) bool) int {
	p, last := &s.past, 0
	if s.counting { // there are many dead ends
		if back := s.back(); back > 0 {
			last = max(0, p.from[back]-p.first)
		}
	}
	for i := first - 1; i >= last; i-- {
		if s.looks--; f(&p.log[i]) {
			return sort.SearchInts(p.from, p.first+i+1) - 1
		}
	}
	return -1
}

// precedes reports whether a must come before b, because of the sessions, of real time, of a read, or of what waits
// for what.
func (s *schedule) precedes(a, b int32) bool {
	if s.readsFrom(b, a) {
		return true
	}
	p, list := &s.past, []int32{b}
	s.steps -= len(p.after) + len(p.late)
	for n := 0; n < len(list); n++ {
		c := list[n]
		if c == a || s.earlier(a, c) {
			return true
		}
		more := func(x int32) {
			if !slices.Contains(list, x) {
				list = append(list, x)
			}
		}
		for _, waiting := range []map[int32][]int32{p.after, p.late} {
			for _, x := range waiting[c] {
				more(x)
			}
			for x := range waiting {
				if !p.done[x] && s.earlier(x, c) {
					more(x)
				}
			}
		}
	}
	return false
}

// earlier reports whether a comes before b in a session or in real time.
func (s *schedule) earlier(a, b int32) bool {
	x, y := &s.h.Txns[a], &s.h.Txns[b]
	return x.Session == y.Session && s.rank[a] < s.rank[b] || s.strict && s.ends[a] < y.Begin
}

// readsFrom reports whether a transaction reads a value that another one writes.
func (s *schedule) readsFrom(b, a int32) bool {
	ops := s.h.Ops(&s.h.Txns[a])
	for _, op := range s.h.Ops(&s.h.Txns[b]) {
		if op.Kind == history.Read && op.Value != history.Absent && slices.Contains(ops, history.Op{Kind: history.Write, Key: op.Key, Value: op.Value}) {
			return true
		}
	}
	return false
}

// rewind undoes the events from one on. Their transactions are in the pool again.
func (s *schedule) rewind(to int) {
	s.follower.rewind(to)
	p := &s.past
	for at := len(s.order) - 1; at >= to; at-- {
		event := s.order[at]
		s.order = s.order[:at]
		i := s.txn(event)
		if s.split && event&1 == 0 {
			p.begun[i] = false
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
		p.log, p.from, p.done[i], p.begun[i] = p.log[:from], p.from[:at], false, s.split
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
