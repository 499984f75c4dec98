package polygraph

import (
	"fmt"
	"slices"

	"github.com/isohound/isohound/checker/radix"
	"github.com/isohound/isohound/checker/verdict"
)

// placed is the claimed order of versions, if it is assumed (history.AssumeOrder). Its edges belong to the known
// graph, as in King Cobra (Clark, Rigger, Wickerson and Donaldson, section 7.2): an edge from each writer of a key to
// the next one, and one from the readers of a version to the next writer of another value. Saturation and search
// see to the rest. If the order is complete and each read has one possible source, there is no rest: the
// history is satisfied exactly if the graph has no cycle (Emme, section 4).
//
// A transaction of unknown outcome has a place only if it counts. The search adds a clause if it puts one that counts
// at another place.
type placed struct {
	at     []int64 // by transaction: the position of its versions, or 0
	writes csr     // by key: its writes with a position, by position
	index  []int32 // by write: its index in writes.items, or none
	// pairs is the number of edges between writers whose positions follow each other.
	pairs int64
}

// mostPairs bounds the edges between writers. There are more of them than writers only where many transactions
// wrote one key at one position.
const mostPairs = 1 << 22

func newPlaced(m *model) *placed {
	p := &placed{at: make([]int64, len(m.txns)), index: make([]int32, len(m.writer))}
	stamp(p.index)
	var txns []int32
	for t, i := range m.txns {
		if p.at[t] = m.h.Place(int(i)); p.at[t] != 0 {
			txns = append(txns, int32(t))
		}
	}
	txns = radix.SortBy(txns, func(t int32) int64 { return p.at[t] })
	var sorted []int32 // writes
	for _, t := range txns {
		sorted = append(sorted, m.writesOf.of(t)...)
	}
	p.writes = makeCSR(m.h.KeyCount(), len(sorted), func(i int32) int32 { return m.key[sorted[i]] })
	for n, i := range p.writes.items {
		p.writes.items[n] = sorted[i]
		p.index[sorted[i]] = int32(n)
	}
	for k := range int32(m.h.KeyCount()) {
		p.eachPair(m, p.writes.of(k), nil, func(before, now []int32) { p.pairs += int64(len(before)) * int64(len(now)) })
	}
	return p
}

// eachPair calls f for each two successive groups of writes that have one position each. It leaves out the writes of
// transactions in optional, which may be nil.
func (p *placed) eachPair(m *model, list []int32, optional []bool, f func(before, now []int32)) {
	var before, now []int32
	flush := func() {
		if len(before) > 0 && len(now) > 0 {
			f(before, now)
		}
	}
	for _, w := range list {
		t := m.writer[w]
		if optional != nil && optional[t] {
			continue
		}
		if len(now) > 0 && p.at[m.writer[now[0]]] != p.at[t] {
			flush()
			before, now = now, before[:0]
		}
		now = append(now, w)
	}
	flush()
}

// link adds the edges between the writers that count.
func (p *placed) link(m *model, g *graph) {
	if p.pairs > mostPairs {
		return
	}
	for k := range int32(m.h.KeyCount()) {
		p.eachPair(m, p.writes.of(k), m.optional, func(before, now []int32) {
			for _, v := range before {
				for _, w := range now {
					g.add(g.commit(m.writer[v]), g.turn(m.writer[w]), verdict.VO, placedFirst, none)
				}
			}
		})
	}
}

// placeBetween adds the edges between a transaction that has begun to count and the writers next to it.
func (s *saturator) placeBetween(t int32) {
	m, g := s.m, s.g
	p := m.placed
	if p == nil || p.at[t] == 0 || p.pairs > mostPairs {
		return
	}
	for _, w := range m.writesOf.of(t) {
		k := m.key[w]
		from, to := int(p.writes.from[k]), int(p.writes.from[k+1])
		for _, step := range []int{-1, 1} {
			group := int64(0) // the position of the nearest writers that count
			for i := int(p.index[w]) + step; i >= from && i < to; i += step {
				u := m.writer[p.writes.items[i]]
				if m.optional[u] || p.at[u] == p.at[t] {
					continue
				}
				if group == 0 {
					group = p.at[u]
				}
				if p.at[u] != group {
					break
				}
				if step < 0 {
					s.link(g.commit(u), g.turn(t), placedFirst, none)
				} else {
					s.link(g.commit(t), g.turn(u), placedFirst, none)
				}
			}
		}
	}
}

// overwrittenNext adds edges from the readers of a version to the next writer of another value.
func (s *saturator) overwrittenNext() {
	m, g := s.m, s.g
	p := m.placed
	if p == nil || p.pairs > mostPairs {
		return
	}
	next := make([]int32, len(p.writes.items)) // by index in items: the index of the next write of another value
	first := make([]int32, m.h.KeyCount())     // by key: the first write of another value than the initial one
	stamp(first)
	for k := range int32(m.h.KeyCount()) {
		later := none
		for i := p.writes.from[k+1] - 1; i >= p.writes.from[k]; i-- {
			next[i] = none
			w := p.writes.items[i]
			if m.optional[m.writer[w]] {
				continue
			}
			if m.class[w] != k {
				first[k] = i
			}
			switch {
			case later == none:
			case m.class[p.writes.items[later]] == m.class[w]:
				next[i] = next[later]
			case p.at[m.writer[p.writes.items[later]]] > p.at[m.writer[w]]:
				next[i] = later
			}
			later = i
		}
	}
	for r := range m.reads {
		rd := &m.reads[r]
		if m.optional[rd.txn] || rd.class >= m.values() {
			continue
		}
		to := none
		switch {
		case rd.source == fromInitial:
			to = first[rd.key]
		case rd.source >= 0 && p.index[rd.source] != none && !m.optional[m.writer[rd.source]]:
			to = next[p.index[rd.source]]
		}
		if to == none {
			continue
		}
		if u := m.writer[p.writes.items[to]]; u != rd.txn {
			g.add(g.start(rd.txn), g.commit(u), rules[overWrite].kind, overWrite, int32(r))
		}
	}
}

// sharedKey returns a key that both transactions write, or none.
func (m *model) sharedKey(t, u int32) int32 {
	for _, w := range m.writesOf.of(t) {
		for _, v := range m.writesOf.of(u) {
			if m.key[w] == m.key[v] {
				return m.key[w]
			}
		}
	}
	return none
}

// complete reports whether the known graph has all dependencies: the order of versions is assumed of all of them,
// and each read has one source.
func (s *saturator) complete() bool {
	m := s.m
	return m.placed != nil && len(m.placed.writes.items) == len(m.writer) && m.placed.pairs <= mostPairs && s.refuted == nil &&
		len(s.open) == 0 && len(s.pending) == 0 && !slices.Contains(m.optional, true)
}

// decideCycle decides a history of which the known graph has all dependencies. It reports whether it did: not where
// several transactions wrote a key at one position.
func (c *check) decideCycle(s *saturator) (bool, error) {
	c.stages.Begin("cycle")
	defer c.stages.Done("cycle")
	order := s.g.topological(nil)
	if len(order) < int(s.g.nodes) {
		used := newEvidence(s)
		s.cycle(order, used)
		return true, c.counterexample(used)
	}
	e := &execution{s.m, s.g, order, s.m.counted()}
	if !e.readsRight() {
		return false, nil
	}
	c.satisfied(e)
	return true, nil
}

// tooManyTies says why the assumed order cannot be used.
func (p *placed) tooManyTies() string {
	if p == nil || p.pairs <= mostPairs {
		return ""
	}
	return fmt.Sprintf("too many transactions wrote a key at one claimed position: there are %d pairs of neighbours in the order of versions", p.pairs)
}
