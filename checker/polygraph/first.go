package polygraph

import (
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// Before saturation an execution is guessed from the given edges alone, if that is likely to end
// the check. Recorded times of a database nearly give the order of its transactions, and often the
// order of the record does, too. If reads have many candidates, or many sessions write a key often,
// saturation costs more than a guess that fails.

// worthGuessing reports whether a history without times should be scheduled before saturation.
func (s *saturator) worthGuessing() bool {
	m := s.m
	const (
		manyCandidates = 16 // for each read
		manySessions   = 256
		manyWrites     = 64 // for each key
	)
	return s.choices > manyCandidates*len(m.reads) || m.chains.count > manySessions && len(m.writer) > manyWrites*m.h.KeyCount()
}

// asRecorded returns the order in which the transactions were recorded if that is an execution,
// else nil. Transactions are numbered in that order. There must be no time points.
func (s *saturator) asRecorded() *execution {
	for i := range s.g.edges {
		if e := &s.g.edges[i]; e.from >= e.to {
			return nil
		}
	}
	e := &execution{s.m, s.g, make([]int32, s.g.nodes), s.m.counted()}
	for v := range e.nodes {
		e.nodes[v] = int32(v)
	}
	if !e.readsRight() {
		return nil
	}
	return e
}

// recordedInOrder reports whether the transactions were probably recorded in nearly the order in
// which they ran. The record must go from session to session (many formats have one session after
// another), and known edges must hardly run against it.
func (s *saturator) recordedInOrder() bool {
	const (
		near    = 256     // on average an edge may run back by this share of the record
		sampled = 1 << 14 // about how many edges are examined
	)
	m := s.m
	changes := 0
	for t := 1; t < len(m.txns); t++ {
		if m.txn(int32(t)).Session != m.txn(int32(t-1)).Session {
			changes++
		}
	}
	if changes < len(m.txns)/2 {
		return false
	}
	back, edges := int64(0), int64(0)
	for i := 0; i < len(s.g.edges); i += 1 + len(s.g.edges)/sampled {
		e := &s.g.edges[i]
		back += int64(max(0, s.g.txnOf(e.from)-s.g.txnOf(e.to)))
		edges++
	}
	return back <= edges*int64(len(m.txns)/near)
}

// alongSessions adds the WW edges that one session implies: if it reads or writes one version of a
// key and then reads a version of another value, the first was written before the second.
// Saturation would find these edges and more, but this is a single pass.
func (s *saturator) alongSessions() {
	m, g := s.m, s.g
	latest := make([]int32, m.h.KeyCount()) // by key: the write last seen in chain mark
	mark := make([]int32, m.h.KeyCount())
	stamp(mark)
	for c := range m.chains.count {
		for _, t := range m.chains.members.of(c) {
			for r := m.readFrom[t]; r < m.readFrom[t+1]; r++ {
				rd := &m.reads[r]
				if rd.source < 0 || m.optional[t] {
					continue
				}
				if k := rd.key; mark[k] != c {
					mark[k] = c
				} else if seen := latest[k]; !m.accepts(rd.class, m.class[seen]) {
					s.link(g.commit(m.writer[seen]), g.turn(m.writer[rd.source]), overTake, r)
				}
				latest[rd.key] = rd.source
			}
			for _, w := range m.writesOf.of(t) {
				mark[m.key[w]], latest[m.key[w]] = c, w
			}
		}
	}
}

// execution is an order of nodes. included are the transactions that count in it.
type execution struct {
	m        *model
	g        *graph
	nodes    []int32
	included []bool // by transaction
}

// readsRight reports whether every read returns its value, at snapshot isolation no two writers of a key
// overlap, and the snapshots are right, if they are assumed. It is linear in the number of accesses.
func (e *execution) readsRight() bool {
	m, g := e.m, e.g
	keys := m.h.KeyCount()
	current := make([]int32, keys) // by key: the class of its value
	for k := range current {
		current[k] = int32(k)
	}
	var writing []bool // by key: whether a transaction that writes it has started and not committed
	if g.apart {
		writing = make([]bool, keys)
	}
	limit := int32(len(m.txns)) << g.split
	for _, v := range e.nodes {
		if v >= limit || !e.included[g.txnOf(v)] {
			continue
		}
		t := g.txnOf(v)
		if v == g.start(t) {
			for _, r := range m.reads[m.readFrom[t]:m.readFrom[t+1]] {
				if r.source != fromNowhere && !m.accepts(r.class, current[r.key]) {
					return false
				}
			}
			if writing != nil {
				for _, w := range m.writesOf.of(t) {
					if k := m.key[w]; writing[k] {
						return false
					}
					writing[m.key[w]] = true
				}
			}
		}
		if v == g.commit(t) {
			for _, w := range m.writesOf.of(t) {
				k := m.key[w]
				current[k] = m.class[w]
				if writing != nil {
					writing[k] = false
				}
			}
		}
	}
	return m.visible == nil || m.visible.agrees(e)
}

// witness converts the execution into a witness, with the transactions of the history.
func (e *execution) witness() *verdict.Witness {
	w := &verdict.Witness{}
	g := e.g
	limit := int32(len(e.m.txns)) << g.split
	for _, v := range e.nodes {
		if v >= limit || !e.included[g.txnOf(v)] {
			continue
		}
		if i := e.m.txns[g.txnOf(v)]; g.split == 0 {
			w.Order = append(w.Order, i)
		} else {
			w.Points = append(w.Points, i<<1|v&1)
		}
	}
	return w
}

// eachOrphan calls f for each read without a known writer in the transactions of unknown outcome
// that count in e. txn is the index of the transaction in the history.
func (e *execution) eachOrphan(f func(txn int32)) {
	m := e.m
	for t, in := range e.included {
		if i := m.txns[t]; in && m.h.Txns[i].Status == history.Unknown {
			for r := m.readFrom[t]; r < m.readFrom[t+1]; r++ {
				if m.reads[r].source == fromNowhere {
					f(i)
				}
			}
		}
	}
}
