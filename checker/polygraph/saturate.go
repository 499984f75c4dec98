package polygraph

import (
	"context"

	"github.com/isohound/isohound/checker/verdict"
)

// saturator adds to the known graph the edges that every execution must have
// because of it, until nothing new follows (the pruning of the VeriStrong
// paper, section 6.1.1, as a fixpoint). Of the writers of a key that come
// before or behind something, it looks only at the last or first of each
// chain: the others follow from the chain.
//
// A version matters by its value: a reader is constrained only against writers
// of other values, and which of several writers of its value it read from is
// open until one is left.
type saturator struct {
	m *model
	g *graph
	k *clocks // nil: too many chains, nothing is saturated

	segment []int32 // by write: where its chain's writes of the key begin
	// readers of each write, and behind them of each key's initial value: the
	// latest of each chain will do.
	readers lists
	open    []openRead
	closed  []openRead // the ones resolved, with what ruled the others out

	all     bool // look at everything in the next pass
	started bool
	refuted *refutation
	// pulled has, for transactions of unknown outcome that count, the read that
	// shows it.
	pulled  map[int32]int32
	added   int
	scratch []int32
}

// openRead is a read with several candidates.
type openRead struct {
	read       int32
	candidates []int32 // writes
	initial    bool    // the initial value is a candidate
	ruledOut   []ruledOut
}

// ruledOut says why a candidate is none: the reader comes before it, or
// another value was written between the two.
type ruledOut struct {
	candidate int32 // a write, or fromInitial
	between   int32 // the transaction that wrote another value, or none
	edges     int32 // how many edges were known then
}

// refutation is a contradiction in the known graph other than a cycle.
type refutation struct {
	read int32 // has no candidate left
	from openRead
}

// lists are growing lists of numbers.
type lists struct {
	head, next, item []int32
}

func newLists(n int) lists {
	l := lists{head: make([]int32, n)}
	stamp(l.head)
	return l
}

func (l *lists) push(i, item int32) {
	l.next = append(l.next, l.head[i])
	l.item = append(l.item, item)
	l.head[i] = int32(len(l.item) - 1)
}

func newSaturator(m *model, g *graph, prune bool) *saturator {
	s := &saturator{m: m, g: g, all: true, pulled: map[int32]int32{},
		segment: make([]int32, len(m.writer)), readers: newLists(len(m.writer) + m.h.KeyCount())}
	if prune {
		s.k = newClocks(g, &m.chains)
	}
	for k := range m.h.KeyCount() {
		from := m.keyFrom[k]
		for w := from; w < m.keyFrom[k+1]; w++ {
			if w > from && m.chains.of[m.writer[w]] == m.chains.of[m.writer[w-1]] {
				s.segment[w] = s.segment[w-1]
			} else {
				s.segment[w] = w
			}
		}
	}
	for _, t := range m.chains.members.items {
		if !m.optional[t] {
			s.readsOf(t)
		}
	}
	s.started = true
	return s
}

// readsOf finds the candidates of the reads of a transaction that counts.
func (s *saturator) readsOf(t int32) {
	m := s.m
	for r := m.readFrom[t]; r < m.readFrom[t+1]; r++ {
		rd := &m.reads[r]
		if rd.source == fromNowhere {
			continue
		}
		o := openRead{read: r, initial: m.initially(rd.class)}
		count, one := 0, none
		members := m.classFrom.of(rd.class)
		for _, w := range members {
			if u := m.writer[w]; u != t && !m.broken[u] {
				count++
				one = w
			}
		}
		switch {
		case count == 1 && !o.initial:
			s.resolve(r, one)
			continue
		case count == 0 && o.initial:
			s.resolve(r, fromInitial)
			continue
		}
		for _, w := range members {
			if u := m.writer[w]; u != t && !m.broken[u] {
				o.candidates = append(o.candidates, w)
			}
		}
		if len(o.candidates) == 0 {
			s.refute(&o)
			continue
		}
		s.open = append(s.open, o)
	}
}

func (s *saturator) refute(o *openRead) {
	if s.refuted == nil {
		s.refuted = &refutation{o.read, *o}
	}
}

// resolve settles where r read from.
func (s *saturator) resolve(r, source int32) {
	m, g := s.m, s.g
	rd := &m.reads[r]
	rd.source = source
	list := source
	if source == fromInitial {
		list = int32(len(m.writer)) + int32(rd.key)
	} else {
		t := m.writer[source]
		s.link(g.commit(t), g.start(rd.txn), verdict.WR, given, r)
		s.include(t, r)
	}
	// Reads come chain after chain at first, so that the latest of a chain
	// stands at the head.
	if h := s.readers.head[list]; h != none {
		if last := m.reads[s.readers.item[h]].txn; m.chains.of[last] == m.chains.of[rd.txn] && m.chains.pos[last] < m.chains.pos[rd.txn] {
			s.readers.item[h] = r
			s.all = true
			return
		}
	}
	s.readers.push(list, r)
	s.all = true
}

// include has a transaction of unknown outcome count, because of a read.
func (s *saturator) include(t, because int32) {
	if !s.m.optional[t] {
		return
	}
	s.pulled[t] = because
	s.m.optional[t] = false
	s.all = true
	s.readsOf(t)
}

// link adds an edge that no other edge between the same nodes makes needless.
func (s *saturator) link(from, to int32, kind verdict.EdgeKind, by rule, why int32) {
	n := 0
	for e := s.g.in[to]; e != none && n < 32; e = s.g.edges[e].nextIn {
		if s.g.edges[e].from == from {
			return
		}
		n++
	}
	s.g.add(from, to, kind, by, why)
	s.added++
}

// run saturates. The graph then has no order if it returns a shorter one than
// it has nodes; s.refuted is set where a read cannot have got its value.
func (s *saturator) run(ctx context.Context) (order []int32, err error) {
	for {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		order = s.g.topological(order)
		if len(order) < int(s.g.nodes) || s.refuted != nil || s.k == nil {
			return order, nil
		}
		s.k.update(order)
		s.added = 0
		all := s.all
		s.all = false
		n := int32(len(s.m.txns))
		for t := range n {
			if t&0xfff == 0 && ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			if s.m.optional[t] {
				continue
			}
			if all || s.k.changed[s.g.start(t)] {
				for r := s.m.readFrom[t]; r < s.m.readFrom[t+1]; r++ {
					if src := s.m.reads[r].source; src >= fromInitial {
						s.seenWith(r, src)
					}
				}
			}
			if all || s.k.changed[s.g.commit(t)] {
				for _, w := range s.m.writesOf.of(t) {
					s.overwrites(w)
				}
			}
		}
		s.openReads()
		if s.refuted != nil || s.added == 0 && !s.all {
			return order, nil
		}
	}
}

// lastBy returns the last write from lo to hi, which are of one chain, whose
// transaction's position is at most bound, or lo-1.
func (s *saturator) lastBy(lo, hi, bound int32, at func(t int32) int32) int32 {
	for hi-lo > 8 {
		mid := lo + (hi-lo)/2
		if at(s.m.writer[mid]) <= bound {
			lo = mid
		} else {
			hi = mid - 1
		}
	}
	for hi >= lo && at(s.m.writer[hi]) > bound {
		hi--
	}
	return hi
}

// othersBefore calls f for the last writer, in each chain, of another value to
// r's key whose commit comes before r's start.
func (s *saturator) othersBefore(r int32, f func(t int32) bool) {
	m := s.m
	rd := &m.reads[r]
	row := s.k.row(s.g.start(rd.txn))
	from := m.keyFrom[rd.key]
	for hi := m.keyFrom[rd.key+1] - 1; hi >= from; {
		lo := s.segment[hi]
		bound := row[m.chains.of[m.writer[hi]]]
		if bound > 0 {
			for w := s.lastBy(lo, hi, bound, s.k.commitAt); w >= lo; w-- {
				if t := m.writer[w]; m.class[w] != rd.class && t != rd.txn && !m.optional[t] {
					if !f(t) {
						return
					}
					break
				}
			}
		}
		hi = lo - 1
	}
}

// seenWith: what r has seen beside the version that it read was written before
// that version.
func (s *saturator) seenWith(r, source int32) {
	s.othersBefore(r, func(w int32) bool {
		if source == fromInitial {
			o := openRead{read: r, ruledOut: []ruledOut{{fromInitial, w, int32(len(s.g.edges))}}}
			s.refute(&o)
			return false
		}
		t := s.m.writer[source]
		if t != w && !s.k.fromCommit(w, s.g.start(t)) {
			s.link(s.g.commit(w), s.g.start(t), verdict.WW, overTake, r)
		}
		return true
	})
}

// overwrites: the readers of a version come before what follows the version,
// and writers of one key do not overlap.
func (s *saturator) overwrites(w int32) {
	m, g, k := s.m, s.g, s.k
	u := m.writer[w]
	key := m.key[w]
	commit := g.commit(u)
	row := k.row(commit)
	from := m.keyFrom[key]
	for hi := m.keyFrom[key+1] - 1; hi >= from; {
		lo := s.segment[hi]
		if bound := row[m.chains.of[m.writer[hi]]]; bound > 0 {
			v := s.lastBy(lo, hi, bound, k.startAt)
			for v >= lo && (m.writer[v] == u || m.optional[m.writer[v]]) {
				v--
			}
			if v >= lo {
				t := m.writer[v]
				if g.split == 1 && !k.fromCommit(t, g.start(u)) {
					s.link(g.commit(t), g.start(u), verdict.WW, overlap, none)
				}
				if m.class[v] != m.class[w] {
					s.readersBefore(v, u)
				}
			}
		}
		hi = lo - 1
	}
	if m.class[w] != int32(key) {
		// The first of a chain that overwrites the initial value will do.
		if p := w - 1; p < s.segment[w] || m.class[p] == int32(key) || m.optional[m.writer[p]] {
			s.readersBefore(int32(len(m.writer))+int32(key), u)
		}
	}
}

func (s *saturator) readersBefore(list, u int32) {
	for h := s.readers.head[list]; h != none; h = s.readers.next[h] {
		r := s.readers.item[h]
		if t := s.m.reads[r].txn; t != u && !s.k.fromStart(t, s.g.commit(u)) {
			s.link(s.g.start(t), s.g.commit(u), verdict.RW, overWrite, r)
		}
	}
}

// openReads drops candidates that are impossible and draws what follows from
// all that are left.
func (s *saturator) openReads() {
	work := s.open
	s.open = make([]openRead, 0, len(work)) // what counts anew adds its own
	for i := range work {
		o := work[i]
		s.ruleOut(&o)
		switch {
		case len(o.candidates) == 0 && !o.initial:
			s.refute(&o)
		case len(o.candidates) == 0:
			s.closed = append(s.closed, o)
			s.resolve(o.read, fromInitial)
		case len(o.candidates) == 1 && !o.initial:
			s.closed = append(s.closed, o)
			s.resolve(o.read, o.candidates[0])
		default:
			s.afterAll(&o)
			s.beforeWhatFollowsAll(&o)
			s.open = append(s.open, o)
		}
	}
}

// ruleOut drops the candidates that come behind the reader, and those with
// another value between them and the reader.
func (s *saturator) ruleOut(o *openRead) {
	m, g, k := s.m, s.g, s.k
	rd := &m.reads[o.read]
	others := s.scratch[:0]
	s.othersBefore(o.read, func(w int32) bool {
		others = append(others, w)
		return true
	})
	s.scratch = others
	known := int32(len(g.edges))
	if o.initial && len(others) > 0 {
		o.initial = false
		o.ruledOut = append(o.ruledOut, ruledOut{fromInitial, others[0], known})
	}
	left := o.candidates[:0]
candidates:
	for _, w := range o.candidates {
		t := m.writer[w]
		if k.fromStart(rd.txn, g.commit(t)) {
			o.ruledOut = append(o.ruledOut, ruledOut{w, none, known})
			continue
		}
		for _, u := range others {
			if u != t && k.fromStart(t, g.commit(u)) {
				o.ruledOut = append(o.ruledOut, ruledOut{w, u, known})
				continue candidates
			}
		}
		left = append(left, w)
	}
	o.candidates = left
}

// afterAll: a read follows whatever all its candidates follow.
func (s *saturator) afterAll(o *openRead) {
	if o.initial {
		return
	}
	m, g, k := s.m, s.g, s.k
	reader := m.reads[o.read].txn
	row := k.row(g.start(reader))
	for c := range k.width {
		least := row[c]
		for n, w := range o.candidates {
			p := k.row(g.commit(m.writer[w]))[c]
			if p <= row[c] {
				least = row[c]
				break
			}
			if n == 0 || p < least {
				least = p
			}
		}
		if least > row[c] {
			t := m.chains.members.of(c)[(least-1)>>g.split]
			from := g.start(t)
			if least == k.commitAt(t) {
				from = g.commit(t)
			}
			s.link(from, g.start(reader), verdict.WR, allAfter, o.read)
		}
	}
}

// beforeWhatFollowsAll: a read comes before the writers of other values that
// follow all its candidates.
func (s *saturator) beforeWhatFollowsAll(o *openRead) {
	m, g, k := s.m, s.g, s.k
	rd := &m.reads[o.read]
	from, to := m.keyFrom[rd.key], m.keyFrom[rd.key+1]
	for w := from; w < to; w++ {
		u := m.writer[w]
		if m.class[w] == rd.class || u == rd.txn || m.optional[u] {
			continue
		}
		follows := true
		for _, c := range o.candidates {
			if t := m.writer[c]; t == u || !k.fromStart(t, g.commit(u)) {
				follows = false
				break
			}
		}
		if !follows {
			continue
		}
		if !k.fromStart(rd.txn, g.commit(u)) {
			s.link(g.start(rd.txn), g.commit(u), verdict.RW, allOver, o.read)
		}
		// The rest of the chain follows from the first.
		for w+1 < to && s.segment[w+1] == s.segment[w] {
			w++
		}
	}
}
