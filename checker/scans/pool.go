package scans

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/isohound/isohound/history"
)

// reader is a read of a transaction in the pool that has not been executed.
type reader struct {
	entry        int32
	next, before int32 // of the key, plus 1
	key          history.Key
	value        history.Value
}

// pending is a statement of a transaction in the pool that has not been executed.
type pending struct {
	from, to     int32 // ranks, or positions in the order of the key
	entry, query int32
	demand       int32 // the one with the ranks, or -1
}

// takePart says which transactions an execution has: those that committed, and of those of unknown
// outcome the ones that another one certainly read from.
func takePart(h *history.History) []bool {
	type version struct {
		k history.Key
		v history.Value
	}
	included := make([]bool, len(h.Txns))
	writers := map[version]int32{} // of unknown outcome; -1 if others may have written it
	for i := range h.Txns {
		t := &h.Txns[i]
		included[i] = t.Status == history.Committed
		if t.Status != history.Unknown {
			continue
		}
		for _, op := range h.Ops(t) {
			if op.Kind == history.Write {
				writers[version{op.Key, op.Value}] = int32(i)
			}
		}
	}
	if len(writers) == 0 {
		return included
	}
	for i := range h.Txns {
		for _, op := range h.Ops(&h.Txns[i]) {
			if v := (version{op.Key, op.Value}); op.Kind == history.Write && included[i] {
				delete(writers, v)
			}
		}
	}
	for v := range writers {
		if h.Initial(v.k) == v.v {
			delete(writers, v)
		}
	}
	var list []int32
	for i := range h.Txns {
		if included[i] {
			list = append(list, int32(i))
		}
	}
	for len(list) > 0 {
		i := list[len(list)-1]
		list = list[:len(list)-1]
		for _, op := range h.Ops(&h.Txns[i]) {
			if op.Kind != history.Read {
				continue
			}
			if w, known := writers[version{op.Key, op.Value}]; known && !included[w] {
				included[w] = true
				list = append(list, w)
			}
		}
	}
	return included
}

// arrange sets in which order transactions enter the pool and are tried in it.
func (s *schedule) arrange(included []bool) {
	s.rank, s.ends, s.turns = make([]int32, len(s.h.Txns)), make([]int64, len(s.h.Txns)), make([]int64, len(s.h.Txns))
	count := make([]int32, s.h.SessionCount())
	s.timed = true
	for i := range s.h.Txns {
		t := &s.h.Txns[i]
		s.rank[i] = count[t.Session]
		if t.Status == history.Committed {
			count[t.Session]++
		}
		if !included[i] {
			continue
		}
		s.waiting = append(s.waiting, int32(i))
		s.timed = s.timed && t.Begin != history.NoTime && (t.End != history.NoTime || t.Status == history.Unknown)
		if s.ends[i] = t.End; t.End == history.NoTime || t.Status == history.Unknown {
			s.ends[i] = math.MaxInt64
		}
	}
	if !s.timed {
		for i := range s.ends {
			s.ends[i] = int64(i)
		}
		return
	}
	slices.SortStableFunc(s.waiting, func(a, b int32) int { return cmp.Compare(s.h.Txns[a].Begin, s.h.Txns[b].Begin) })
}

// feed adds transactions to the pool, and reports whether one is left.
func (s *schedule) feed() bool {
	most := mostPool
	if !s.timed {
		most = min(most, leastPool+mostAhead*len(s.placed))
	}
	for len(s.waiting) > 0 && len(s.pool) < most {
		i := s.waiting[0]
		if s.timed && len(s.pool) > 0 && s.h.Txns[i].Begin > s.firstEnd() {
			break
		}
		s.waiting = s.waiting[1:]
		if s.enter(i) < 0 {
			return true // the guess will fail
		}
	}
	return len(s.pool) > 0
}

// enter adds a transaction to the pool, and returns its entry. It returns -1, and the guess fails, if the
// transaction has statements that cannot be evaluated.
func (s *schedule) enter(i int32) int32 {
	n := int32(len(s.entries))
	if last := len(s.free) - 1; last >= 0 {
		n, s.free = s.free[last], s.free[:last]
	} else {
		s.entries = append(s.entries, entry{})
	}
	e := &s.entries[n]
	*e = entry{txn: i, number: e.number + 1, queries: e.queries, nodes: e.nodes[:0]}
	t := &s.h.Txns[i]
	ops := s.h.Ops(t)
	list := s.h.Predicates(int(i))
	if cap(e.queries) < len(list) {
		e.queries = append(e.queries[:cap(e.queries)], make([]query, len(list)-cap(e.queries))...)
	}
	e.queries = e.queries[:len(list)]
	done := 0
	for k := range list {
		if list[k].Ops[0] < done || !s.prepare(&e.queries[k], &list[k], ops) {
			s.steps = 0
			return -1
		}
		done = list[k].Ops[1]
		s.expect(n, int32(k), true)
	}
	for k := range ops { // reads of what other transactions wrote
		switch op := &ops[k]; {
		case op.Kind == history.Write:
			s.own[op.Key] = i + 1
		case op.Kind == history.Read && s.own[op.Key] != i+1:
			s.addReader(n, op)
		}
	}
	s.turns[i] = s.turn(i)
	at, _ := slices.BinarySearchFunc(s.pool, i, func(m, i int32) int { return s.sooner(s.entries[m].txn, i) })
	s.pool = slices.Insert(s.pool, at, n)
	return n
}

// sooner compares the turns of two transactions.
func (s *schedule) sooner(a, b int32) int {
	if c := cmp.Compare(s.turns[a], s.turns[b]); c != 0 {
		return c
	}
	return cmp.Compare(a, b)
}

// turn is when a transaction is tried: when it ended, since most are recorded soon after their commit. After a restart, until there is
// progress, it is a moment that is drawn at random: between its begin and its end, in the last half, or in the last quarter. After every
// fourth restart it is the same share of the time between them for all: where there are many sessions, their ends are recorded late.
func (s *schedule) turn(i int32) int64 {
	end := s.ends[i]
	if s.past.restarts == 0 || !s.timed || end == math.MaxInt64 {
		return end
	}
	if s.past.draws%4 == 3 {
		r := rand.New(rand.NewPCG(uint64(s.past.draws), math.MaxUint64))
		return end - int64(r.Float64()*float64(end-s.h.Txns[i].Begin))
	}
	r := rand.New(rand.NewPCG(uint64(s.past.draws), uint64(i)))
	share := r.Float64() / float64(int(1)<<(s.past.draws%3))
	return end - int64(share*float64(end-s.h.Txns[i].Begin))
}

func (s *schedule) addReader(n int32, op *history.Op) {
	at := int32(len(s.nodes))
	if last := len(s.spare) - 1; last >= 0 {
		at, s.spare = s.spare[last], s.spare[:last]
	} else {
		s.nodes = append(s.nodes, reader{})
	}
	first := s.readers[op.Key]
	s.nodes[at] = reader{entry: n, next: first, key: op.Key, value: op.Value}
	if first > 0 {
		s.nodes[first-1].before = at + 1
	}
	s.readers[op.Key] = at + 1
	e := &s.entries[n]
	e.nodes = append(e.nodes, at)
}

// expect adds statement k of an entry to those that wait, or removes it.
func (s *schedule) expect(n, k int32, add bool) {
	q := &s.entries[n].queries[k]
	put := func(list *[]pending, p pending) {
		if add {
			*list = append(*list, p)
			return
		}
		for i := range *list {
			if x := &(*list)[i]; x.entry == n && x.query == k && x.demand == p.demand {
				last := len(*list) - 1
				(*list)[i] = (*list)[last]
				*list = (*list)[:last]
				return
			}
		}
	}
	if len(q.demands) == 0 {
		put(&q.groups[0].pending, pending{q.from, q.to, n, k, -1})
	}
	for i := range q.demands {
		x := &q.demands[i]
		put(&x.c.pending, pending{x.from, x.to, n, k, int32(i)})
	}
}

// forget removes the reads and statements of a transaction that has read.
func (s *schedule) forget(n int32) {
	e := &s.entries[n]
	for k := range e.queries {
		s.expect(n, int32(k), false)
	}
	for _, at := range e.nodes {
		r := &s.nodes[at]
		if r.before > 0 {
			s.nodes[r.before-1].next = r.next
		} else {
			s.readers[r.key] = r.next
		}
		if r.next > 0 {
			s.nodes[r.next-1].before = r.before
		}
		s.spare = append(s.spare, at)
	}
	e.nodes = e.nodes[:0]
}

// leave removes a transaction from the pool.
func (s *schedule) leave(n int32) {
	e := &s.entries[n]
	e.number++
	s.free = append(s.free, n)
	s.pool = slices.DeleteFunc(s.pool, func(m int32) bool { return m == n })
}
