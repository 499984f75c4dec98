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
// real time, if the transactions have times, and the order of the sessions. If there is no such order and no
// level asks for real time, the guess is made again without it.
//
// At a snapshot level a transaction that fits, but whose writes must wait, starts and commits later. Until
// then no other transaction that writes one of its keys starts.
type schedule struct {
	*store
	follower *follower
	split    bool
	order    []int32 // the witness: transactions, or events if starts and commits are apart
	steps    int     // accesses that may still be looked at
	looks    int     // the same, at dead ends
	patience *patience
	log      []written
	clock    int32   // counts executed and started transactions
	changed  []int32 // by key: the clock when it was changed
	rank     []int32 // by transaction: how many committed ones of its session come before it
	placed   []int32 // by session
	waiting  []int32 // transactions that are not in the pool yet, the next one first
	timed    bool    // all transactions have times: they enter the pool as in real time
	strict   bool    // the order keeps real time
	ends     []int64 // by transaction
	turns    []int64 // by transaction: the order of the pool, the ends at first

	entries []entry
	free    []int32 // of entries
	pool    []int32 // entries, by turn
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
	query   int32         // of waitRow and waitCount
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
	waitCount        // another transaction is executed, because the statement of the query counts otherwise
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
	// triesPerOp bounds how often a transaction is tried, on average, where no statement counts.
	triesPerOp = 32
)

// patience bounds a guess where statements count. Without progress it is begun again leastRestarts times, and once more for every txns
// transactions, but at most restarts times.
type patience struct {
	tries          int // of a transaction, on average
	txns, restarts int
}

var (
	// hasty is for guesses before anything else was tried: other reasons may decide the history. Most serial ones that fail cannot succeed.
	hasty       = patience{tries: 128, txns: 10, restarts: 200}
	hastySerial = patience{tries: 128, txns: 50, restarts: 100}
	// patient is for histories whose reads have an execution, but where a count leaves a choice.
	patient = patience{tries: 1024, txns: 5, restarts: 1600}
)

// guess returns an execution that explains all reads and scans of a history, or nil if it found none.
// realTime says that it keeps real time. It need not if free is set. split is for snapshot levels. f may be nil.
func guess(ctx context.Context, x *index, split, free bool, p *patience, f *follower) (w *verdict.Witness, realTime bool, err error) {
	s := newSchedule(x, split, p)
	if s == nil {
		return nil, false, nil
	}
	s.follower = f
	if x.h.NoCommonClock { // times are good for a guess, and show nothing
		s.strict = false
		if free {
			w, err = s.execute(ctx)
		}
		return w, false, err
	}
	w, err = s.execute(ctx)
	if w != nil || err != nil || !s.timed || !free {
		return w, s.timed, err
	}
	f.stop()
	s = newSchedule(x, split, p)
	s.strict = false
	w, err = s.execute(ctx)
	return w, false, err
}

// newSchedule returns a schedule without transactions, or nil if the history has values that do not fit their
// columns.
func newSchedule(x *index, split bool, p *patience) *schedule {
	store := newStore(x)
	if store == nil {
		return nil
	}
	s := &schedule{store: store, split: split, patience: p, steps: 1<<20 + triesPerOp*len(x.h.AllOps()), clock: 1,
		changed: make([]int32, len(store.values)), own: make([]int32, len(store.values)), readers: make([]int32, len(store.values)), placed: make([]int32, x.h.SessionCount())}
	if split {
		s.holder = make([]int32, len(store.values))
	}
	s.past.begun, s.past.done = make([]bool, len(x.h.Txns)), make([]bool, len(x.h.Txns))
	s.past.log = make([]written, 0, min(2*mostPast, len(x.h.AllOps())))
	s.arrange(takePart(x.h))
	s.strict = s.timed
	s.looks = leastLooks + looksPerOp*len(x.h.AllOps())
	if s.counting {
		s.steps = 1<<20 + p.tries*len(x.h.AllOps())
	}
	return s
}

// execute returns nil if the guess failed.
func (s *schedule) execute(ctx context.Context) (*verdict.Witness, error) {
	for tries := 0; s.feed(); tries++ {
		if tries&1023 == 0 && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		s.follower.follow(s.order)
		if s.steps <= 0 {
			return nil, nil
		}
		if s.advance(false) || s.advance(true) {
			continue
		}
		if ctx.Err() != nil { // a dead end may take long
			return nil, context.Cause(ctx)
		}
		if !s.mend() {
			return nil, nil
		}
	}
	if s.split {
		return &verdict.Witness{Points: s.order}, nil
	}
	return &verdict.Witness{Order: s.order}, nil
}

// advance executes a transaction of the pool, or starts one. force: it may change what others find. It
// returns false if there is none.
func (s *schedule) advance(force bool) bool {
	latest := s.firstEnd()
	for _, n := range s.pool {
		e := &s.entries[n]
		if s.strict && s.h.Txns[e.txn].Begin > latest {
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

// firstEnd is the earliest end in the pool. What begins later cannot be executed before the transaction that ended then.
func (s *schedule) firstEnd() int64 {
	first := s.ends[s.entries[s.pool[0]].txn]
	if s.past.draws > 0 {
		for _, n := range s.pool {
			first = min(first, s.ends[s.entries[n].txn])
		}
	}
	return first
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
	case waitCount, waitAny:
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
		if !s.past.mayWrite(e.txn) {
			e.waitFor(waitAny, s.clock)
			return false
		}
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
	mayWrite := s.past.mayWrite(e.txn)
	switch {
	case mayWrite && (other < 0 || force):
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
		s.past.begun[e.txn] = true
		if s.clock++; other < 0 {
			e.waitFor(waitAny, s.clock)
		} else {
			s.waitFor(e, waitStart, other)
		}
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
			e.row, e.query = row, int32(next)
			if q.p.Kind == history.ScanCount {
				s.sharper(e, ops)
				row = e.row
			}
			switch {
			case row >= 0:
				e.waitFor(waitRow, s.clock)
			case q.p.Kind == history.ScanCount:
				e.waitFor(waitCount, s.clock)
			default:
				e.waitFor(waitAny, s.clock)
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

// sharper looks for a statement that says which row does not fit, after one that only counts.
func (s *schedule) sharper(e *entry, ops []history.Op) {
	at := e.queries[e.query].p.Ops[0]
	for k := int(e.query) + 1; k < len(e.queries); k++ {
		q := &e.queries[k]
		for ; at < q.p.Ops[0]; at++ {
			if ops[at].Kind == history.Write {
				s.put(&ops[at])
			}
		}
		if q.p.Kind == history.ScanCount {
			continue
		}
		if row, fits := s.evaluate(q); !fits && row >= 0 {
			e.row, e.query = row, int32(k)
			return
		}
	}
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
