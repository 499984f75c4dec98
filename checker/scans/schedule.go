package scans

import (
	"context"

	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// schedule guesses an execution that explains all reads and all scans. It executes transactions one after
// the other, the earliest recorded end first. A transaction waits while one of its reads or scans does not
// fit the state, and while its writes would change what a transaction reads or finds now that runs beside
// it. If no transaction fits, the guess has failed, which says nothing about the history.
//
// Transactions that are not executed yet and that real time allows are in the pool. So the order keeps
// real time, if the transactions have times, and the order of the sessions.
//
// At a snapshot level a transaction that fits, but whose writes must wait, starts and commits later. Until
// then no other transaction that writes one of its keys starts.
type schedule struct {
	*store
	split   bool
	order   []int32 // the witness: transactions, or events if starts and commits are apart
	steps   int     // accesses that may still be looked at
	log     []written
	clock   int32   // counts executed and started transactions
	changed []int32 // by key: the clock when it was changed
	rank    []int32 // by transaction: how many committed ones of its session come before it
	placed  []int32 // by session
	waiting []int32 // transactions that are not in the pool yet, the next one first
	timed   bool
	ends    []int64 // by transaction: the order of the pool

	entries []entry
	free    []int32 // of entries
	pool    []int32 // entries, by end
	past    past
	holder  []int32 // by key: the entry that started and writes it, plus 1
	own     []int32 // by key: the latest transaction that entered the pool and writes it, plus 1
	readers []int32 // by key: the first of nodes, plus 1
	nodes   []reader
	spare   []int32 // of nodes
}

// entry is a transaction in the pool.
type entry struct {
	txn     int32
	number  int32 // differs between transactions that use the entry one after the other
	queries []query
	nodes   []int32 // its reads
	started bool
	wait    wait
	at      int32 // the clock when it began to wait
	key     history.Key
	value   history.Value // that it read of key
	query   int32         // of waitRow
	row     int32
	other   int32 // of waitStart and waitEnd: the entry, and its number
	known   int32
}

// wait is what must happen before a transaction is tried again.
type wait uint8

const (
	waitNothing wait = iota
	waitKey          // the key changes
	waitRow          // the row changes
	waitAny          // another transaction is executed
	waitStart        // the other transaction has read
	waitEnd          // the other transaction has been executed
)

type written struct {
	key history.Key
	old history.Value
}

const (
	// mostPool bounds the pool. Without times it has leastPool transactions and mostAhead for each session.
	mostPool  = 1 << 10
	leastPool = 16
	mostAhead = 4
	// triesPerOp bounds how often a transaction is tried, on average.
	triesPerOp = 32
)

// guess returns an execution that explains all reads and scans of a history, or nil if it found none.
// realTime says that it keeps real time. split is for snapshot levels.
func guess(ctx context.Context, x *index, split bool) (w *verdict.Witness, realTime bool, err error) {
	store := newStore(x)
	if store == nil {
		return nil, false, nil
	}
	s := &schedule{store: store, split: split, steps: 1<<20 + triesPerOp*len(x.h.AllOps()), clock: 1,
		changed: make([]int32, len(store.values)), own: make([]int32, len(store.values)), readers: make([]int32, len(store.values)), placed: make([]int32, x.h.SessionCount())}
	if split {
		s.holder = make([]int32, len(store.values))
	}
	s.past.done = make([]bool, len(x.h.Txns))
	s.arrange(takePart(x.h))
	for tries := 0; s.feed(); tries++ {
		if tries&1023 == 0 && ctx.Err() != nil {
			return nil, false, context.Cause(ctx)
		}
		if s.steps <= 0 || !s.advance(false) && !s.advance(true) && !s.mend() {
			return nil, false, nil
		}
	}
	if split {
		w = &verdict.Witness{Points: s.order}
	} else {
		w = &verdict.Witness{Order: s.order}
	}
	return w, s.timed, nil
}

// advance executes a transaction of the pool, or starts one. force: it may change what others find. It
// returns false if there is none.
func (s *schedule) advance(force bool) bool {
	latest := s.ends[s.entries[s.pool[0]].txn]
	for _, n := range s.pool {
		e := &s.entries[n]
		if s.timed && s.h.Txns[e.txn].Begin > latest {
			continue // another one ended before
		}
		if force && e.wait == waitStart || !force && s.ready(e) {
			if s.try(n, force) {
				return true
			}
		}
	}
	return false
}

// ready reports whether what a transaction waited for has happened.
func (s *schedule) ready(e *entry) bool {
	switch e.wait {
	case waitKey:
		return s.changed[e.key] >= e.at
	case waitRow:
		for _, g := range e.queries[e.query].groups {
			if k := g.t.rows[e.row].items[g.g]; k >= 0 && s.changed[k] >= e.at {
				return true
			}
		}
		return false
	case waitAny:
		return s.clock > e.at
	case waitStart:
		other := &s.entries[e.other]
		return other.number != e.known || other.started
	case waitEnd:
		return s.entries[e.other].number != e.known
	}
	return true
}

func (e *entry) waitFor(what wait, clock int32) { e.wait, e.at = what, clock }

func (s *schedule) waitFor(e *entry, what wait, other int32) {
	e.wait, e.other, e.known = what, other, s.entries[other].number
}

// try executes a transaction, or starts it, if it fits.
func (s *schedule) try(n int32, force bool) bool {
	e := &s.entries[n]
	t := &s.h.Txns[e.txn]
	ops := s.h.Ops(t)
	s.steps -= 1 + len(ops)
	if e.started {
		s.log = s.log[:0]
		for i := range ops {
			if ops[i].Kind == history.Write {
				s.put(&ops[i])
			}
		}
		if other := s.disturbed(n); other >= 0 && !force {
			s.undo()
			s.waitFor(e, waitStart, other)
			return false
		}
		s.commit(n)
		return true
	}
	if s.placed[t.Session] < s.rank[e.txn] || s.past.tooEarly(e.txn) {
		e.waitFor(waitAny, s.clock)
		return false
	}
	if !s.run(e, ops) {
		s.undo()
		return false
	}
	if s.split {
		for i := range s.log {
			if h := s.holder[s.log[i].key]; h > 0 {
				s.undo()
				s.waitFor(e, waitEnd, h-1)
				return false
			}
		}
	}
	other := s.disturbed(n)
	switch {
	case other < 0 || force:
		if s.split {
			s.add(e.txn << 1)
		}
		s.forget(n)
		s.commit(n)
	case s.split:
		s.hold(e.txn, n+1)
		s.undo()
		s.forget(n)
		e.started = true
		s.add(e.txn << 1)
		s.clock++
		s.waitFor(e, waitStart, other)
	default:
		s.undo()
		s.waitFor(e, waitStart, other)
		return false
	}
	return true
}

// run executes the operations of a transaction. If a read or a statement does not fit, it returns false,
// and what the transaction waits for.
func (s *schedule) run(e *entry, ops []history.Op) bool {
	s.log = s.log[:0]
	for _, n := range e.nodes {
		if r := &s.nodes[n]; s.values[r.key] != r.value {
			e.key, e.value = r.key, r.value
			e.waitFor(waitKey, s.clock)
			return false
		}
	}
	next := 0
	for i := 0; i <= len(ops); i++ {
		for ; next < len(e.queries) && e.queries[next].p.Ops[0] == i; next++ {
			q := &e.queries[next]
			row, fits := s.evaluate(q)
			if fits {
				continue
			}
			if e.row, e.query = row, int32(next); row < 0 {
				e.waitFor(waitAny, s.clock)
			} else {
				e.waitFor(waitRow, s.clock)
			}
			return false
		}
		if i == len(ops) {
			break
		}
		switch op := &ops[i]; op.Kind {
		case history.Write:
			s.put(op)
		case history.Read, history.ReadNot:
			if (s.values[op.Key] == op.Value) != (op.Kind == history.Read) {
				e.key, e.value = op.Key, op.Value
				e.waitFor(waitKey, s.clock)
				return false
			}
		}
	}
	return true
}

func (s *schedule) put(op *history.Op) {
	s.log = append(s.log, written{op.Key, s.values[op.Key]})
	s.write(op.Key, op.Value)
}

func (s *schedule) undo() {
	for i := len(s.log) - 1; i >= 0; i-- {
		s.write(s.log[i].key, s.log[i].old)
	}
}

// disturbed returns an entry whose transaction reads, or finds, what the writes in the log have just
// changed, or -1.
func (s *schedule) disturbed(n int32) int32 {
	for i := range s.log {
		k, old := s.log[i].key, s.log[i].old
		now := s.values[k]
		if now == old {
			continue
		}
		for at := s.readers[k]; at > 0; at = s.nodes[at-1].next {
			if r := &s.nodes[at-1]; r.entry != n && r.value == old {
				return r.entry
			}
		}
		p := &s.places[k]
		if p.t == nil {
			continue
		}
		if g := s.groups[p.t.first+int(p.group)]; g != nil {
			if other := s.found(g, n, p.row, g.of(old), g.now[p.row]); other >= 0 {
				return other
			}
		}
	}
	return -1
}

// found is disturbed for a row that changed in a group.
func (s *schedule) found(g *stored, n, row, old, now int32) int32 {
	for _, c := range g.columns {
		was, is := int32(-1), int32(-1)
		if old >= 0 {
			was = c.rank[old]
		}
		if now >= 0 {
			is = c.rank[now]
		}
		if was == is {
			continue
		}
		for i := range c.pending {
			p := &c.pending[i]
			before, after := was >= p.from && was < p.to, is >= p.from && is < p.to
			if !before && !after || p.entry == n {
				continue
			}
			q := &s.entries[p.entry].queries[p.query]
			if x := &q.demands[p.demand]; len(x.conditions) > 0 {
				before, after = x.has(old), x.has(now)
			}
			if before != after && q.matches(row, int(p.demand)) && (q.p.Kind == history.ScanCount || s.returned(q, row) == before) {
				return p.entry
			}
		}
	}
	if (old < 0) != (now < 0) {
		at := g.t.keyAt[row]
		for i := range g.pending {
			p := &g.pending[i]
			if p.entry == n || at < p.from || at >= p.to {
				continue
			}
			if q := &s.entries[p.entry].queries[p.query]; q.matches(row, 0) && (q.p.Kind == history.ScanCount || s.returned(q, row) == (old >= 0)) {
				return p.entry
			}
		}
	}
	return -1
}

// returned reports whether a statement found a row.
func (s *schedule) returned(q *query, row int32) bool {
	for i := range q.ops {
		if s.places[q.ops[i].Key].row == row {
			return true
		}
	}
	return false
}

// commit makes the writes in the log permanent, and removes the transaction from the pool.
func (s *schedule) commit(n int32) {
	e := &s.entries[n]
	for i := range s.log {
		k := s.log[i].key
		s.changed[k] = s.clock
		if s.split && s.holder[k] == n+1 {
			s.holder[k] = 0
		}
	}
	s.clock++
	if t := &s.h.Txns[e.txn]; t.Status == history.Committed {
		s.placed[t.Session]++
	}
	if s.split {
		s.add(e.txn<<1 | 1)
	} else {
		s.add(e.txn)
	}
	s.past.executed(e.txn, s.log)
	s.leave(n)
}
