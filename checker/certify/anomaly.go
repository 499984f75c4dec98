package certify

import (
	"maps"
	"slices"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// anomaly verifies one anomaly of a violated verdict.
func (f *facts) anomaly(a *verdict.Anomaly) error {
	for n, e := range slices.Concat(a.Context, a.Support) {
		check := f.commitEdge
		if !f.lvl.Weak() {
			check = func(e verdict.Edge) error { return f.edge(f.lvl, e) }
		} else if n >= len(a.Context) {
			check = f.support
		}
		if err := check(e); err != nil {
			return errors.Wrapf(err, "%s from transaction %d to %d", e.Kind, f.id(e.From), f.id(e.To))
		}
	}
	var err error
	switch a.Kind {
	case verdict.Cycle:
		if f.lvl.Weak() {
			err = f.commitCycle(a)
		} else {
			err = f.cycle(a.Cycle)
		}
	case verdict.Divergence:
		if f.lvl.Weak() {
			return errors.Errorf("%s allows lost updates", f.lvl.Title())
		}
		err = f.divergence(a.Cycle)
	case verdict.ImpossibleFailure, verdict.DoubleInsert:
		if f.lvl != level.LIN || len(a.Ops) == 0 || !f.h.Closed {
			return errors.New("only level lin has this anomaly, and only where nothing can be missing")
		}
		return f.rejudge(a, true)
	case verdict.Contradiction:
		return f.contradiction(a)
	case verdict.NoChoice:
		return f.noChoice(a)
	case verdict.DuplicateRow:
		return f.duplicate(a)
	default:
		return f.singleRead(a)
	}
	if err != nil {
		return err
	}
	return f.rejudge(a, false)
}

// cycle verifies that edges form a cycle that the level forbids, and that every dependency graph of
// the history has these edges.
func (f *facts) cycle(edges []verdict.Edge) error {
	if len(edges) < 2 {
		return errors.Errorf("a cycle of %d edges", len(edges))
	}
	if !forbids(f.lvl, edges) {
		return errors.Errorf("%s allows a cycle with these anti-dependencies", f.lvl.Title())
	}
	for n, e := range edges {
		next := edges[(n+1)%len(edges)]
		if e.To != next.From {
			return errors.Errorf("edge %d ends at transaction %d and the next begins at %d", n+1, f.id(e.To), f.id(next.From))
		}
		if err := f.edge(f.lvl, e); err != nil {
			return errors.Wrapf(err, "edge %d, %s from transaction %d to %d", n+1, e.Kind, f.id(e.From), f.id(e.To))
		}
	}
	return nil
}

// forbids reports whether a level forbids a cycle. At snapshot levels an anti-dependency, or a snapshot that lacks a commit, leads from a
// start to a commit, and must not be followed by another one, because that begins at the start again.
// Where writers of one key may overlap, a write dependency leads from a commit to a commit. Parallel
// snapshot isolation allows all cycles with two anti-dependencies or more.
func forbids(lvl level.Level, cycle []verdict.Edge) bool {
	if lvl == level.PSI {
		count := 0
		for _, e := range cycle {
			if e.Kind == verdict.RW {
				count++
			}
		}
		return count < 2
	}
	if !lvl.Snapshot() {
		return true
	}
	for n, e := range cycle {
		next := (n + 1) % len(cycle)
		for e.Kind.Anti() && lvl == level.PC && (cycle[next].Kind == verdict.WW || cycle[next].Kind == verdict.VO) {
			next = (next + 1) % len(cycle)
		}
		if e.Kind.Anti() && cycle[next].Kind.Anti() {
			return false
		}
	}
	return true
}

// precedes verifies an edge of session order or real time.
func (f *facts) precedes(lvl level.Level, e verdict.Edge) bool {
	from, to := &f.h.Txns[e.From], &f.h.Txns[e.To]
	if e.Kind == verdict.SO {
		return lvl.SessionOrder() && from.Session == to.Session && e.From < e.To && from.Status == history.Committed
	}
	return lvl.RealTime() && !f.h.NoCommonClock && from.Status == history.Committed && from.End != history.NoTime && to.Begin != history.NoTime && from.End < to.Begin
}

func (f *facts) edge(lvl level.Level, e verdict.Edge) error {
	if e.From == e.To {
		return errors.New("it leads to itself")
	}
	for _, i := range []int32{e.From, e.To} {
		if ok, err := f.counts(i); err != nil {
			return err
		} else if !ok {
			return errors.New("one end is not known to have committed")
		}
	}
	c := cell{e.Key, e.Value}
	source, unique := f.named.source(c)
	// At level lin a lone write is an insertion, which found the key absent.
	readsTo := f.reads(e.To, c) ||
		lvl == level.LIN && e.Value == history.Absent && f.inserts(e.To, e.Key)
	switch e.Kind {
	case verdict.SO, verdict.RT:
		if !f.precedes(lvl, e) {
			return errors.New("no such order")
		}
	case verdict.WR:
		if !readsTo && f.at(e.To, e.Key).first < 0 {
			return f.classRead(e)
		}
		if !unique || source != e.From || !readsTo {
			return errors.New("the second transaction did not read the first one's write")
		}
	case verdict.WW:
		if !unique || source != e.From || !readsTo || !f.writes(e.To, e.Key) {
			return errors.New("the second transaction did not overwrite the first one's write")
		}
	case verdict.RW:
		if f.at(e.From, e.Key).first < 0 {
			return f.classRead(e)
		}
		if !unique || !f.reads(e.From, c) || !readsTo || !f.writes(e.To, e.Key) {
			return errors.New("the second transaction did not overwrite what the first one read")
		}
	case verdict.VO:
		return f.versionEdge(e)
	case verdict.VS, verdict.NV:
		return f.shownEdge(lvl.Snapshot(), e)
	default:
		return errors.New("unknown kind of edge")
	}
	return nil
}

// inserts reports whether the transaction at i writes k and reads nothing.
func (f *facts) inserts(i int32, k history.Key) bool {
	ops := f.h.Ops(&f.h.Txns[i])
	return f.writes(i, k) && !slices.ContainsFunc(ops, func(op history.Op) bool {
		_, read := f.readFromOutside(i, op.Key)
		return read
	})
}

// divergence verifies that two transactions overwrote one version.
func (f *facts) divergence(edges []verdict.Edge) error {
	if len(edges) != 2 || edges[0].Kind != verdict.RW || edges[1].Kind != verdict.RW ||
		edges[0].From != edges[1].To || edges[0].To != edges[1].From || edges[0].Key != edges[1].Key || edges[0].Value != edges[1].Value {
		return errors.New("not two opposite anti-dependencies on one version")
	}
	if f.lvl == level.PC {
		return errors.Errorf("%s allows lost updates", f.lvl.Title())
	}
	for _, e := range edges {
		if err := f.edge(level.SER, e); err != nil {
			return err
		}
	}
	return nil
}

// singleRead verifies the anomalies of one read.
func (f *facts) singleRead(a *verdict.Anomaly) error {
	if len(a.Ops) == 0 {
		return errors.New("no operation is named")
	}
	ref := a.Ops[len(a.Ops)-1]
	if a.Kind == verdict.FutureRead {
		ref = a.Ops[0]
	}
	ops := f.h.Ops(&f.h.Txns[ref.Txn])
	counts, err := f.counts(ref.Txn)
	if err != nil {
		return err
	}
	if ops[ref.Op].Kind == history.Write || !counts {
		return errors.New("it is not about a read of a transaction that counts")
	}
	read := ops[ref.Op]
	// The transaction's earlier operations on the key: the latest one, and the latest write.
	var before, written *history.Op
	for n := range ops[:ref.Op] {
		if op := &ops[n]; op.Key == read.Key && op.Kind != history.ReadNot {
			before = op
			if op.Kind == history.Write {
				written = op
			}
		}
	}
	switch a.Kind {
	case verdict.NotMyOwnWrite, verdict.NotMyLastWrite:
		switch {
		case written == nil:
			return errors.New("there is no own write before the read")
		case !contradict(*written, read):
			return errors.New("the read returned the latest own write")
		}
		return nil
	case verdict.NonRepeatableReads:
		if written != nil || rereads(f.lvl) && !f.withinStatement(a.Ops[0], ref) || !slices.ContainsFunc(ops[:ref.Op], func(op history.Op) bool { return op.Key == read.Key && contradict(op, read) }) {
			return errors.New("the read repeats the ones before")
		}
		return nil
	}
	if read.Kind != history.Read {
		return errors.New("the read returned no value")
	}
	if rereads(f.lvl) {
		before = written // every read counts
	}
	if f.lvl == level.RU && a.Kind != verdict.ThinAirRead {
		return errors.Errorf("%s allows it", f.lvl.Title())
	}
	if before != nil {
		return errors.New("the key was touched before in the same transaction")
	}
	return f.unexplained(a, ref)
}

// withinStatement reports whether two operations of one statement contradict each other, which no level allows.
func (f *facts) withinStatement(a, b verdict.OpRef) bool {
	ops := f.h.Ops(&f.h.Txns[a.Txn])
	return a.Txn == b.Txn && oneStatement(f.h, a.Txn, a.Op, b.Op) && !returnedTwice(f.h, a.Txn, a.Op, b.Op) && ops[a.Op].Key == ops[b.Op].Key && contradict(ops[a.Op], ops[b.Op])
}

// contradict reports whether two operations on a key disagree on its value. The second one is a read.
func contradict(a, b history.Op) bool {
	return a.Value == b.Value == (a.Kind == history.ReadNot != (b.Kind == history.ReadNot)) &&
		!(a.Kind == history.ReadNot && b.Kind == history.ReadNot)
}

// unexplained verifies the anomalies of a read whose value no other transaction finally wrote.
func (f *facts) unexplained(a *verdict.Anomaly, ref verdict.OpRef) error {
	ops := f.h.Ops(&f.h.Txns[ref.Txn])
	c := cell{ops[ref.Op].Key, ops[ref.Op].Value}
	switch {
	case f.h.Initial(c.key) == c.value:
		return errors.New("it read the initial value")
	case f.named.unsure(c):
		return errors.New("who wrote the value is missing")
	}
	for _, w := range f.named.finals[c] {
		if w != ref.Txn {
			return errors.Errorf("transaction %d has the value as its final write", f.id(w))
		}
	}
	switch a.Kind {
	case verdict.FutureRead:
		if !slices.ContainsFunc(ops[ref.Op:], func(op history.Op) bool { return op.Kind == history.Write && cell{op.Key, op.Value} == c }) {
			return errors.New("the transaction does not write the value later")
		}
	case verdict.ThinAirRead:
		if len(f.named.all[c]) > 0 || !f.h.Closed || f.lvl == level.RU && len(f.h.Schema) > 0 { // a failed statement may have written
			return errors.New("somebody wrote the value, or may have")
		}
	case verdict.AbortedRead, verdict.IntermediateRead:
		w := a.Ops[0].Txn
		if !slices.Contains(f.named.all[c], w) || w == ref.Txn || (f.h.Txns[w].Status == history.Aborted) != (a.Kind == verdict.AbortedRead) {
			return errors.New("the transaction named did not write the value so")
		}
		if !f.h.Closed && f.readBefore(w, c) {
			return errors.New("who wrote the value first is missing")
		}
	default:
		return errors.New("unknown kind of anomaly")
	}
	return nil
}

// wellFormed verifies that a names only transactions, operations and keys that exist.
func wellFormed(h *history.History, a *verdict.Anomaly) error {
	for _, i := range a.Txns {
		if i < 0 || int(i) >= len(h.Txns) {
			return errors.Errorf("it names transaction number %d of %d", i, len(h.Txns))
		}
	}
	for _, r := range append(slices.Collect(maps.Values(a.Forced)), a.Ops...) {
		if r.Txn < 0 || int(r.Txn) >= len(h.Txns) || r.Op < 0 || r.Op >= h.Txns[r.Txn].OpCount() {
			return errors.Errorf("it names operation %d of transaction number %d, which does not exist", r.Op, r.Txn)
		}
	}
	for _, e := range slices.Concat(a.Cycle, a.Context, a.Support) {
		if min(e.From, e.To) < 0 || int(max(e.From, e.To)) >= len(h.Txns) {
			return errors.New("it has an edge between transactions that do not exist")
		}
		if keyed := e.Kind != verdict.SO && e.Kind != verdict.RT; keyed && (e.Key < 0 || int(e.Key) >= h.KeyCount()) {
			return errors.New("it has an edge on a key that does not exist")
		}
	}
	return nil
}
