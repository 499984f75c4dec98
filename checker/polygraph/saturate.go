package polygraph

import (
	"context"
	"sync"
	"sync/atomic"

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

	places []place // by write
	// readers of each write, and behind them of each key's initial value: the
	// latest of each chain will do.
	readers lists[reader]
	open    []openRead
	closed  []openRead // the ones resolved, with what ruled the others out

	all     bool // look at everything in the next pass
	started bool
	late    []int32 // reads resolved since the first pass began
	refuted *refutation
	// pulled has, for transactions of unknown outcome that count, the read that
	// shows it.
	pulled map[int32]int32
	added  int
	passes int
}

// place is where a write stands: its transaction's chain and position there,
// its class, and where its chain's writes of the key begin.
type place struct{ chain, pos, class, segment int32 }

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

// reader is a read with the place of its transaction.
type reader struct{ chain, pos, read int32 }

// lists are growing lists.
type lists[T any] struct {
	head, next []int32
	item       []T
}

func newLists[T any](n int) lists[T] {
	l := lists[T]{head: make([]int32, n)}
	stamp(l.head)
	return l
}

func (l *lists[T]) push(i int32, item T) {
	l.next = append(l.next, l.head[i])
	l.item = append(l.item, item)
	l.head[i] = int32(len(l.item) - 1)
}

func newSaturator(m *model, g *graph, prune bool) *saturator {
	s := &saturator{m: m, g: g, all: true, pulled: map[int32]int32{},
		places: make([]place, len(m.writer)), readers: newLists[reader](len(m.writer) + m.h.KeyCount())}
	if prune {
		s.k = newClocks(g, &m.chains)
	}
	for k := range m.h.KeyCount() {
		from := m.keyFrom[k]
		for w := from; w < m.keyFrom[k+1]; w++ {
			t := m.writer[w]
			s.places[w] = place{m.chains.of[t], m.chains.pos[t], m.class[w], w}
			if w > from && s.places[w].chain == s.places[w-1].chain {
				s.places[w].segment = s.places[w-1].segment
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
	reader := reader{m.chains.of[rd.txn], m.chains.pos[rd.txn], r}
	// Reads come chain after chain at first, so that the latest of a chain
	// stands at the head.
	if h := s.readers.head[list]; h != none && s.readers.item[h].chain == reader.chain && s.readers.item[h].pos < reader.pos {
		s.readers.item[h] = reader
	} else {
		s.readers.push(list, reader)
	}
	if s.started {
		s.late = append(s.late, r)
	}
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

// enough is the share of the transactions below which the edges that a pass has
// added are too few for another one: the search settles the rest sooner.
const enough = 1.0 / 500

// run saturates. The graph then has no order if it returns a shorter one than
// it has nodes; s.refuted is set where a read cannot have got its value.
func (s *saturator) run(ctx context.Context) (order []int32, err error) {
	s.all = true
	for {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		order = s.g.topological(order)
		if len(order) < int(s.g.nodes) || s.refuted != nil || s.k == nil {
			return order, nil
		}
		if err := s.k.update(ctx, order); err != nil {
			return nil, err
		}
		if s.passes > 0 && !s.all && float64(s.added) <= enough*float64(len(s.m.txns)) {
			return order, nil
		}
		s.passes++
		s.added = 0
		all := s.all
		s.all = false
		if err := s.everyTxn(ctx, all); err != nil {
			return nil, err
		}
		if err := s.openReads(ctx); err != nil {
			return nil, err
		}
		w := &worker{saturator: s}
		for _, r := range s.late {
			src := s.m.reads[r].source
			w.seenWith(r, src, everything)
			w.precedesOthers(r, src)
		}
		s.merge(w)
		s.late = s.late[:0]
		if s.refuted != nil {
			return order, nil
		}
	}
}

// worker looks at some of the transactions, or reads. It changes nothing but
// what is its own; merge does that.
type worker struct {
	*saturator
	links   []link
	refutes *openRead
	scratch []int32
}

// link is an edge to be.
type link struct {
	from, to, why int32
	kind          verdict.EdgeKind
	rule          rule
}

func (w *worker) link(from, to int32, kind verdict.EdgeKind, by rule, why int32) {
	w.links = append(w.links, link{from, to, why, kind, by})
}

// merge adds what a worker has found.
func (s *saturator) merge(w *worker) {
	for _, l := range w.links {
		s.link(l.from, l.to, l.kind, l.rule, l.why)
	}
	if w.refutes != nil {
		s.refute(w.refutes)
	}
}

// parallel has workers share the numbers from 0 to n-1 in runs of some length,
// and merges what they find in the order of the numbers.
func (s *saturator) parallel(ctx context.Context, n, run int, do func(w *worker, from, to int)) error {
	if n <= run { // not worth a goroutine
		w := &worker{saturator: s}
		do(w, 0, n)
		s.merge(w)
		return nil
	}
	runs := (n + run - 1) / run
	results := make([]*worker, runs)
	var next atomic.Int64
	var wg sync.WaitGroup
	for range workers() {
		wg.Add(1)
		go func() {
			defer wg.Done()
			var scratch []int32
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= runs {
					return
				}
				w := &worker{saturator: s, scratch: scratch}
				do(w, i*run, min((i+1)*run, n))
				scratch, results[i] = w.scratch, w
			}
		}()
	}
	wg.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	for _, w := range results {
		s.merge(w)
	}
	return nil
}

// everyTxn looks at the transactions that have news.
func (s *saturator) everyTxn(ctx context.Context, all bool) error {
	return s.parallel(ctx, len(s.m.txns), 4096, func(w *worker, from, to int) {
		for t := int32(from); t < int32(to); t++ {
			if s.m.optional[t] {
				continue
			}
			if mask := s.k.news(s.g.start(t), all); mask != 0 {
				for r := s.m.readFrom[t]; r < s.m.readFrom[t+1]; r++ {
					if src := s.m.reads[r].source; src >= fromInitial {
						w.seenWith(r, src, mask)
					}
				}
			}
			if mask := s.k.news(s.g.commit(t), all); mask != 0 {
				for _, wr := range s.m.writesOf.of(t) {
					w.overwrites(wr, mask)
				}
			}
		}
	})
}

// lastBy returns the last write from lo to hi, which are of one chain, whose
// transaction's place in it is at most pos, or lo-1.
func (s *saturator) lastBy(lo, hi, pos int32) int32 {
	for hi-lo > 8 {
		mid := lo + (hi-lo)/2
		if s.places[mid].pos <= pos {
			lo = mid
		} else {
			hi = mid - 1
		}
	}
	for hi >= lo && s.places[hi].pos > pos {
		hi--
	}
	return hi
}

// othersBefore calls f for the last writer, in each chain of mask, of another
// value to r's key whose commit comes before r's start.
func (s *worker) othersBefore(r int32, mask uint64, f func(t int32) bool) {
	m, split := s.m, s.g.split
	rd := &m.reads[r]
	row := s.k.row(s.g.start(rd.txn))
	from := m.keyFrom[rd.key]
	for hi := m.keyFrom[rd.key+1] - 1; hi >= from; {
		p := &s.places[hi]
		lo := p.segment
		// The last commit that the row has stands at this place of the chain.
		last := (row[p.chain] - 1 - split) >> split
		if mask&chainBit(p.chain) != 0 && last >= 0 {
			for w := s.lastBy(lo, hi, last); w >= lo; w-- {
				if s.places[w].class == rd.class {
					continue
				}
				if t := m.writer[w]; t != rd.txn && !m.optional[t] {
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
func (s *worker) seenWith(r, source int32, mask uint64) {
	s.othersBefore(r, mask, func(w int32) bool {
		if source == fromInitial {
			o := openRead{read: r, ruledOut: []ruledOut{{fromInitial, w, int32(len(s.g.edges))}}}
			if s.refutes == nil {
				s.refutes = &o
			}
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
// and writers of one key do not overlap. Of the versions that w follows, the
// readers of one that another such version of another value follows come before
// that one already.
func (s *worker) overwrites(w int32, mask uint64) {
	m, g, k := s.m, s.g, s.k
	u := m.writer[w]
	key := m.key[w]
	row := k.row(g.commit(u))
	class := s.places[w].class
	from := m.keyFrom[key]
	before := s.scratch[:0]
	latest, overwritten := none, false
	for hi := m.keyFrom[key+1] - 1; hi >= from; {
		p := &s.places[hi]
		lo := p.segment
		if bound := row[p.chain]; bound > 0 && mask&chainBit(p.chain) != 0 {
			v := s.lastBy(lo, hi, (bound-1)>>g.split)
			for v >= lo && (v == w || m.optional[m.writer[v]]) {
				v--
			}
			if v >= lo {
				t := m.writer[v]
				if g.split == 1 && !k.fromCommit(t, g.start(u)) {
					s.link(g.commit(t), g.start(u), verdict.WW, overlap, none)
				}
				overwritten = overwritten || s.places[v].class != key
				if s.places[v].class != class {
					before = append(before, v)
					if latest == none || k.rank[g.commit(t)] > k.rank[g.commit(m.writer[latest])] {
						latest = v
					}
				}
			}
		}
		hi = lo - 1
	}
	s.scratch = before
	if latest != none {
		last := k.row(g.commit(m.writer[latest]))
		for _, v := range before {
			p := &s.places[v]
			if v != latest && p.class != s.places[latest].class && last[p.chain] >= p.pos<<g.split+1 {
				continue
			}
			s.readersBefore(v, u, row)
		}
	}
	if class != key && !overwritten {
		s.readersBefore(int32(len(m.writer))+key, u, row)
	}
}

// readersBefore has the readers of a list come before the commit of u, whose
// row is given.
func (s *worker) readersBefore(list, u int32, row []int32) {
	split := s.g.split
	for h := s.readers.head[list]; h != none; h = s.readers.next[h] {
		r := &s.readers.item[h]
		if row[r.chain] < r.pos<<split+1 {
			if t := s.m.reads[r.read].txn; t != u {
				s.link(s.g.start(t), s.g.commit(u), verdict.RW, overWrite, r.read)
			}
		}
	}
}

// precedesOthers: a read comes before what follows the version that it read.
func (s *worker) precedesOthers(r, source int32) {
	m, g, k := s.m, s.g, s.k
	rd := &m.reads[r]
	s.firstBehind(rd, func(u int32) bool {
		return source == fromInitial || m.writer[source] != u && k.fromStart(m.writer[source], g.commit(u))
	},
		func(u int32) {
			if !k.fromStart(rd.txn, g.commit(u)) {
				s.link(g.start(rd.txn), g.commit(u), verdict.RW, overWrite, r)
			}
		})
}

// firstBehind calls f for the first writer in each chain, of another value to
// the key of rd, of which behind holds; what holds of one holds of all that
// follow it in its chain.
func (s *worker) firstBehind(rd *read, behind func(u int32) bool, f func(u int32)) {
	m := s.m
	from, to := m.keyFrom[rd.key], m.keyFrom[rd.key+1]
	for hi := to - 1; hi >= from; {
		lo := s.places[hi].segment
		next := lo - 1
		if behind(m.writer[hi]) {
			first, last := lo, hi
			for first < last {
				if mid := first + (last-first)/2; behind(m.writer[mid]) {
					last = mid
				} else {
					first = mid + 1
				}
			}
			for ; first <= hi; first++ {
				if u := m.writer[first]; s.places[first].class != rd.class && u != rd.txn && !m.optional[u] {
					f(u)
					break
				}
			}
		}
		hi = next
	}
}

// openReads drops candidates that are impossible and draws what follows from
// all that are left.
func (s *saturator) openReads(ctx context.Context) error {
	work := s.open
	if err := s.parallel(ctx, len(work), 256, func(w *worker, from, to int) {
		for i := from; i < to; i++ {
			o := &work[i]
			w.ruleOut(o)
			if len(o.candidates) > 1 || len(o.candidates) == 1 && o.initial {
				w.afterAll(o)
				w.beforeWhatFollowsAll(o)
			}
		}
	}); err != nil {
		return err
	}
	s.open = make([]openRead, 0, len(work)) // what counts anew adds its own
	for i := range work {
		o := work[i]
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
			s.open = append(s.open, o)
		}
	}
	return nil
}

// ruleOut drops the candidates that come behind the reader, and those with
// another value between them and the reader.
func (s *worker) ruleOut(o *openRead) {
	m, g, k := s.m, s.g, s.k
	rd := &m.reads[o.read]
	others := s.scratch[:0]
	s.othersBefore(o.read, everything, func(w int32) bool {
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
func (s *worker) afterAll(o *openRead) {
	if o.initial {
		return
	}
	m, g, k := s.m, s.g, s.k
	reader := m.reads[o.read].txn
	row := k.row(g.start(reader))
	first := s.scratch[:0] // of each chain, the first candidate, which the others follow
	for i, w := range o.candidates {
		if i == 0 || s.places[w].chain != s.places[o.candidates[i-1]].chain {
			first = append(first, w)
		}
	}
	s.scratch = first
	for c := range k.width {
		least := row[c]
		for n, w := range first {
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
func (s *worker) beforeWhatFollowsAll(o *openRead) {
	m, g, k := s.m, s.g, s.k
	rd := &m.reads[o.read]
	s.firstBehind(rd, func(u int32) bool {
		for i, c := range o.candidates {
			if i+1 < len(o.candidates) && s.places[c].chain == s.places[o.candidates[i+1]].chain {
				continue // a later one of its chain is among them
			}
			if t := m.writer[c]; t == u || !k.fromStart(t, g.commit(u)) {
				return false
			}
		}
		return true
	}, func(u int32) {
		if !k.fromStart(rd.txn, g.commit(u)) {
			s.link(g.start(rd.txn), g.commit(u), verdict.RW, allOver, o.read)
		}
	})
}
