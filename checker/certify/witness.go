package certify

import (
	"context"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// Witness replays w: a serial execution (at snapshot levels an execution by starts and commits) of
// all committed transactions and some of those of unknown outcome. Every read must return what was
// recorded, every judged scan must have found the rows that fulfil its conditions, and the level's
// orders and the order of versions, if it is assumed, must be kept. At a weak level and at PSI the witness is an order of the commits, or an execution of one of the
// other two kinds: every weak level allows these.
func Witness(ctx context.Context, h *history.History, lvl level.Level, w *verdict.Witness) error {
	asked := lvl
	if lvl == level.PSI && w.Points != nil {
		lvl = level.SI // no engine judges psi: it is satisfied where si is, with the execution of si
	}
	r, err := newExecution(newStop(ctx), h, lvl)
	if err != nil {
		return err
	}
	weak := lvl.Weak() || lvl == level.PSI
	if weak {
		r.byPoints = w.Points != nil
	}
	switch {
	case weak && !r.byPoints && leavesChoices(h):
		return r.execution(w.Order) // an order of commits does not say what a choice was
	case weak && !r.byPoints:
		return r.commits(w)
	case r.byPoints:
		err = r.execution(w.Points)
	default:
		err = r.execution(w.Order)
	}
	if err == nil {
		err = Agrees(h, asked, w)
	}
	return err
}

// replay is a single-version store that executes transactions one by one.
type replay struct {
	stop *stop
	h    *history.History
	lvl  level.Level
	// byPoints: the events are starts and commits, else transactions.
	byPoints bool
	state    []history.Value // by key
	undo     []history.Value // memory for execute, by write
	// placed is, by session, how many of its committed transactions were placed. rank is, by
	// transaction, how many committed transactions precede it in its session.
	placed []int
	rank   []int32
	seen   []uint8 // by transaction: events so far
	// newest is the latest begin of the transactions placed so far, at LIN by key.
	newest []int64
	scans  *scans // nil if there are none
	// now counts starts and commits, from 1. startedAt is, by transaction, its start, and writtenAt, by key, the
	// latest commit that wrote it, or 0. They are nil in a serial execution.
	now                  int32
	startedAt, writtenAt []int32
}

// newExecution returns a replay that verifies the scans of h, too.
func newExecution(stop *stop, h *history.History, lvl level.Level) (*replay, error) {
	if h.NoCommonClock && lvl.RealTime() {
		return nil, errors.Errorf("no execution shows %s without a common clock", lvl)
	}
	scans, err := newScans(stop, h)
	if err != nil {
		return nil, err
	}
	r := newReplay(stop, h, lvl)
	r.scans = scans
	return r, nil
}

func newReplay(stop *stop, h *history.History, lvl level.Level) *replay {
	r := &replay{stop: stop, h: h, lvl: lvl, byPoints: lvl.Snapshot(),
		state: make([]history.Value, h.KeyCount()), placed: make([]int, h.SessionCount()),
		rank: make([]int32, len(h.Txns)), seen: make([]uint8, len(h.Txns)), newest: make([]int64, 1)}
	for k := range r.state {
		r.state[k] = h.Initial(history.Key(k))
	}
	if lvl == level.LIN {
		r.newest = make([]int64, h.KeyCount())
	}
	for n := range r.newest {
		r.newest[n] = history.NoTime
	}
	count := make([]int32, h.SessionCount())
	for i := range h.Txns {
		t := &h.Txns[i]
		r.rank[i] = count[t.Session]
		if t.Status == history.Committed {
			count[t.Session]++
		}
	}
	return r
}

// admit checks that the transaction at index i may take part at all.
func (r *replay) admit(i int32) (*history.Txn, error) {
	if i < 0 || int(i) >= len(r.h.Txns) {
		return nil, errors.Errorf("the witness names transaction number %d of %d", i, len(r.h.Txns))
	}
	t := &r.h.Txns[i]
	if t.Status == history.Aborted {
		return nil, errors.Errorf("the witness contains transaction %d, which aborted", t.ID)
	}
	return t, r.stop.after(1 + t.OpCount())
}

// sessionOrder checks that all committed transactions before i in its session were placed.
func (r *replay) sessionOrder(i int32, t *history.Txn) error {
	if r.lvl.SessionOrder() && r.placed[t.Session] < int(r.rank[i]) {
		return errors.Errorf("transaction %d comes too early for session %d", t.ID, r.h.SessionName(t.Session))
	}
	return nil
}

// realTimeBegin and realTimeEnd check that no transaction is placed after T that ended before T
// began. realTimeBegin records T.Begin when T takes effect. realTimeEnd compares it with the ends
// of later transactions.
func (r *replay) realTimeBegin(slot int, t *history.Txn) {
	if t.Begin != history.NoTime {
		r.newest[slot] = max(r.newest[slot], t.Begin)
	}
}

func (r *replay) realTimeEnd(slot int, t *history.Txn) error {
	if r.lvl.RealTime() && t.Status == history.Committed && t.End != history.NoTime && t.End < r.newest[slot] {
		return errors.Errorf("transaction %d ended before another one began that the witness places first", t.ID)
	}
	return nil
}

// execute runs the operations of t on the state and returns an error for the first read that does
// not match, or the first scan that does not fit. Its own reads see its writes. The writes are undone
// unless commit is set.
func (r *replay) execute(i int32, t *history.Txn, commit bool) error {
	ops := r.h.Ops(t)
	statements, next := []history.Predicate(nil), 0
	if r.scans != nil {
		statements = r.h.Predicates(int(i))
	}
	scan := func(n int) error {
		for ; next < len(statements) && statements[next].Ops[0] <= n; next++ {
			if err := r.scans.fits(r.lvl, int(i), next, n); err != nil {
				return err
			}
			if err := r.met(int(i), next); err != nil {
				return err
			}
		}
		return nil
	}
	r.undo = r.undo[:0]
	if r.scans != nil {
		r.scans.begin(i)
	}
	for n, op := range ops {
		if err := scan(n); err != nil {
			return err
		}
		current := r.state[op.Key]
		bad := op.Kind == history.Read && current != op.Value ||
			op.Kind == history.ReadNot && current == op.Value ||
			r.lvl == level.LIN && op.Kind == history.Write && n == 0 && current != history.Absent
		if bad {
			return errors.Errorf("transaction %d: operation %d on key %s does not match: the witness has %s there",
				t.ID, n+1, r.h.KeyName(op.Key), r.h.ValueText(current))
		}
		if op.Kind == history.Write {
			r.undo = append(r.undo, current)
			r.state[op.Key] = op.Value
			if r.scans != nil && (commit || next < len(statements)) {
				r.scans.writeRow(op.Key)
			}
		}
	}
	if err := scan(len(ops)); err != nil {
		return err
	}
	r.scans.keep(commit)
	if commit {
		return nil
	}
	for n := len(ops) - 1; n >= 0; n-- {
		if ops[n].Kind == history.Write {
			last := len(r.undo) - 1
			r.state[ops[n].Key] = r.undo[last]
			r.undo = r.undo[:last]
		}
	}
	return nil
}

// execution replays a whole execution.
func (r *replay) execution(events []int32) error {
	if err := r.events(events); err != nil {
		return err
	}
	return r.complete()
}

// events replays the next events of an execution.
func (r *replay) events(list []int32) error {
	next := r.transaction
	if r.byPoints {
		next = r.point
	}
	for _, e := range list {
		if err := next(e); err != nil {
			return err
		}
	}
	return nil
}

// transaction executes the next transaction of a serial execution.
func (r *replay) transaction(i int32) error {
	t, err := r.admit(i)
	if err != nil {
		return err
	}
	if r.seen[i]++; r.seen[i] > 1 {
		return errors.Errorf("the witness contains transaction %d twice", t.ID)
	}
	if err := r.sessionOrder(i, t); err != nil {
		return err
	}
	slot := 0
	if ops := r.h.Ops(t); r.lvl == level.LIN && len(ops) > 0 {
		slot = int(ops[0].Key)
		for _, op := range ops {
			if int(op.Key) != slot {
				return errors.Errorf("transaction %d touches several keys, which is no single operation", t.ID)
			}
		}
	}
	// Linearizability is local, so a transaction without a key has no order at LIN.
	if r.lvl != level.LIN || t.OpCount() > 0 {
		if err := r.realTimeEnd(slot, t); err != nil {
			return err
		}
		r.realTimeBegin(slot, t)
	}
	if err := r.execute(i, t, true); err != nil {
		return err
	}
	if t.Status == history.Committed {
		r.placed[t.Session]++
	}
	return nil
}

// point executes the next start or commit. A transaction reads at its start. Unless the level allows lost
// updates, it may commit only if no other transaction has committed a write to one of its written keys
// since (first committer wins).
func (r *replay) point(p int32) error {
	if r.startedAt == nil {
		r.startedAt, r.writtenAt = make([]int32, len(r.h.Txns)), make([]int32, r.h.KeyCount())
	}
	r.now++
	i := p >> 1
	t, err := r.admit(i)
	if err != nil {
		return err
	}
	commit := p&1 == 1
	if r.seen[i] != uint8(p&1) {
		return errors.Errorf("the witness does not start and then commit transaction %d exactly once", t.ID)
	}
	r.seen[i]++
	if !commit {
		if err := r.sessionOrder(i, t); err != nil {
			return err
		}
		r.realTimeBegin(0, t)
		r.startedAt[i] = r.now
		return r.execute(i, t, false)
	}
	if err := r.realTimeEnd(0, t); err != nil {
		return err
	}
	if r.scans != nil {
		r.scans.begin(i)
	}
	for _, op := range r.h.Ops(t) {
		if op.Kind != history.Write {
			continue
		}
		if (r.lvl.FirstCommitterWins() || r.lvl == level.PSI) && r.writtenAt[op.Key] > r.startedAt[i] && r.writtenAt[op.Key] != r.now {
			return errors.Errorf("transaction %d commits a write to key %s, which another one wrote since it started", t.ID, r.h.KeyName(op.Key))
		}
		r.writtenAt[op.Key] = r.now
		r.state[op.Key] = op.Value
		if r.scans != nil {
			r.scans.writeRow(op.Key)
		}
	}
	r.scans.keep(true)
	if t.Status == history.Committed {
		r.placed[t.Session]++
	}
	return nil
}

// complete checks that every committed transaction had its events, that no other transaction had only
// some of them, and that all scans were verified.
func (r *replay) complete() error {
	events := uint8(1)
	if r.byPoints {
		events = 2
	}
	for i := range r.h.Txns {
		t := &r.h.Txns[i]
		if r.seen[i] != events && (t.Status == history.Committed || r.seen[i] != 0) {
			return errors.Errorf("the witness leaves out transaction %d, or a part of it", t.ID)
		}
		if r.seen[i] == 0 && r.scans != nil {
			r.scans.leftOut(i)
		}
	}
	return r.scans.complete()
}
