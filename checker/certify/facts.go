package certify

import (
	"slices"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// facts are what a counterexample is checked against, derived from the history
// alone, but only as far as the anomalies at hand need it: a history may be
// large and its counterexamples are small.
type facts struct {
	h   *history.History
	lvl level.Level
	// finals are the transactions that can have committed, by the key and
	// value of their final writes; all are all writes of all transactions.
	finals map[cell][]int32
	all    map[cell][]int32
	// pulled are the transactions of unknown outcome that must have committed,
	// because one that counts read from them, with that one and what it read;
	// nil until asked for.
	pulled map[int32]pull
}

type cell struct {
	key   history.Key
	value history.Value
}

type pull struct {
	by   int32
	read cell
}

func newFacts(h *history.History, lvl level.Level, anomalies []verdict.Anomaly) *facts {
	f := &facts{h: h, lvl: lvl, finals: map[cell][]int32{}, all: map[cell][]int32{}}
	wanted := map[cell]bool{}
	want := func(i int32) {
		for _, op := range h.Ops(&h.Txns[i]) {
			wanted[cell{op.Key, op.Value}] = true
		}
	}
	for n := range anomalies {
		a := &anomalies[n]
		for _, i := range a.Txns {
			want(i)
		}
		for _, r := range a.Ops {
			want(r.Txn)
		}
		for _, e := range slices.Concat(a.Cycle, a.Context, a.Support) {
			want(e.From)
			if e.Kind != verdict.SO && e.Kind != verdict.RT {
				wanted[cell{e.Key, e.Value}] = true
			}
		}
	}
	f.collect(wanted)
	return f
}

// collect finds all writers of the wanted cells.
func (f *facts) collect(wanted map[cell]bool) {
	keys := make([]bool, f.h.KeyCount()) // a quick first test
	for c := range wanted {
		keys[c.key] = true
	}
	for i := range f.h.Txns {
		t := &f.h.Txns[i]
		ops := f.h.Ops(t)
		for n, op := range ops {
			c := cell{op.Key, op.Value}
			if op.Kind != history.Write || !keys[op.Key] || !wanted[c] {
				continue
			}
			f.all[c] = append(f.all[c], int32(i))
			if t.Status != history.Aborted && isFinal(ops, n) {
				f.finals[c] = append(f.finals[c], int32(i))
			}
		}
	}
}

func isFinal(ops []history.Op, n int) bool {
	for _, later := range ops[n+1:] {
		if later.Kind == history.Write && later.Key == ops[n].Key {
			return false
		}
	}
	return true
}

// counts reports whether the transaction at i committed for certain, or must
// have because one that counts read from it.
func (f *facts) counts(i int32) bool {
	if f.h.Txns[i].Status != history.Unknown {
		return f.h.Txns[i].Status == history.Committed
	}
	if f.pulled == nil {
		f.pull()
	}
	_, ok := f.pulled[i]
	return ok
}

// pull follows the reads from transactions of unknown outcome to a fixpoint.
func (f *facts) pull() {
	f.pulled = map[int32]pull{}
	wanted := map[cell]bool{} // what unknown transactions wrote
	for i := range f.h.Txns {
		if t := &f.h.Txns[i]; t.Status == history.Unknown {
			for _, op := range f.h.Ops(t) {
				if op.Kind == history.Write {
					wanted[cell{op.Key, op.Value}] = true
				}
			}
		}
	}
	u := &facts{h: f.h, finals: map[cell][]int32{}, all: map[cell][]int32{}}
	u.collect(wanted)
	var work []int32
	follow := func(i int32) {
		rs := u.reads(i)
		if ops := f.h.Ops(&f.h.Txns[i]); f.lvl == level.LIN && len(ops) == 1 && ops[0].Kind == history.Write {
			rs = append(rs, cell{ops[0].Key, history.Absent})
		}
		for _, c := range rs {
			w, unique := u.source(c)
			if !wanted[c] || !unique || w < 0 || w == i || f.h.Txns[w].Status != history.Unknown {
				continue
			}
			if _, ok := f.pulled[w]; !ok {
				f.pulled[w] = pull{i, c}
				work = append(work, w)
			}
		}
	}
	for i := range f.h.Txns {
		if f.h.Txns[i].Status == history.Committed {
			follow(int32(i))
		}
	}
	for len(work) > 0 {
		i := work[len(work)-1]
		work = work[:len(work)-1]
		follow(i)
	}
}

// reads returns what the transaction at i reads from outside: the first
// operation on each key, if it is a read. An insertion, a lone write at level
// lin, is not among them.
func (f *facts) reads(i int32) []cell {
	var out []cell
	ops := f.h.Ops(&f.h.Txns[i])
	for n, op := range ops {
		first := op.Kind == history.Read
		for _, before := range ops[:n] {
			first = first && before.Key != op.Key
		}
		if first {
			out = append(out, cell{op.Key, op.Value})
		}
	}
	return out
}

func (f *facts) readsFromOutside(i int32, c cell) bool {
	for _, r := range f.reads(i) {
		if r == c {
			return true
		}
	}
	return false
}

// source returns the only transaction from which c can have been read, -1 for
// the initial state, and whether there is exactly one such.
func (f *facts) source(c cell) (int32, bool) {
	from := f.finals[c]
	initial := f.h.Initial(c.key) == c.value
	switch {
	case f.unsure(c):
	case initial && len(from) == 0:
		return -1, true
	case !initial && len(from) == 1:
		return from[0], true
	}
	return -1, false
}

// unsure reports whether somebody wrote c who is missing: in a history that was
// cut off, where the only one that is known to have written it for good had read
// it before. Then nobody need have read it from that transaction. The writers of c
// must have been collected.
func (f *facts) unsure(c cell) bool {
	if f.h.Closed || f.h.Initial(c.key) == c.value {
		return false
	}
	return slices.ContainsFunc(f.all[c], func(w int32) bool {
		return f.h.Txns[w].Status != history.Aborted && f.readsFromOutside(w, c) &&
			!slices.ContainsFunc(f.finals[c], func(other int32) bool { return other != w })
	})
}

func (f *facts) writes(i int32, k history.Key) bool {
	for _, op := range f.h.Ops(&f.h.Txns[i]) {
		if op.Kind == history.Write && op.Key == k {
			return true
		}
	}
	return false
}

func (f *facts) id(i int32) int64 { return f.h.Txns[i].ID }

// anomaly verifies one reason of a violated verdict.
func (f *facts) anomaly(lvl level.Level, a *verdict.Anomaly) error {
	for _, e := range append(slices.Clone(a.Context), a.Support...) {
		if err := f.edge(lvl, e); err != nil {
			return errors.Wrapf(err, "%s from transaction %d to %d", e.Kind, f.id(e.From), f.id(e.To))
		}
	}
	switch a.Kind {
	case verdict.Cycle:
		if err := f.cycle(lvl, a.Cycle); err != nil {
			return err
		}
	case verdict.Divergence:
		if err := f.divergence(a.Cycle); err != nil {
			return err
		}
	case verdict.ImpossibleFailure, verdict.DoubleInsert:
		if lvl != level.LIN || len(a.Ops) == 0 || !f.h.Closed {
			return errors.New("only level lin has this anomaly, and only where nothing can be missing")
		}
		return f.rejudge(lvl, a, true)
	case verdict.Contradiction:
		return f.contradiction(lvl, a)
	default:
		return f.singleRead(a)
	}
	return f.rejudge(lvl, a, false)
}

// cycle verifies that edges form a cycle that lvl forbids and that each must
// be in every dependency graph of the history.
func (f *facts) cycle(lvl level.Level, edges []verdict.Edge) error {
	if len(edges) < 2 {
		return errors.Errorf("a cycle of %d edges", len(edges))
	}
	for n, e := range edges {
		next := edges[(n+1)%len(edges)]
		if e.To != next.From {
			return errors.Errorf("edge %d ends at transaction %d and the next begins at %d", n+1, f.id(e.To), f.id(next.From))
		}
		if lvl.Snapshot() && e.Kind == verdict.RW && next.Kind == verdict.RW {
			return errors.New("two anti-dependencies follow each other, which snapshot isolation allows")
		}
		if err := f.edge(lvl, e); err != nil {
			return errors.Wrapf(err, "edge %d, %s from transaction %d to %d", n+1, e.Kind, f.id(e.From), f.id(e.To))
		}
	}
	return nil
}

// precedes verifies an edge of session order or real time.
func (f *facts) precedes(lvl level.Level, e verdict.Edge) bool {
	from, to := &f.h.Txns[e.From], &f.h.Txns[e.To]
	if e.Kind == verdict.SO {
		return lvl.SessionOrder() && from.Session == to.Session && e.From < e.To && from.Status == history.Committed
	}
	return lvl.RealTime() && from.Status == history.Committed && from.End != history.NoTime && to.Begin != history.NoTime && from.End < to.Begin
}

func (f *facts) edge(lvl level.Level, e verdict.Edge) error {
	if e.From == e.To {
		return errors.New("it leads to itself")
	}
	if !f.counts(e.From) || !f.counts(e.To) {
		return errors.New("one end is not known to have committed")
	}
	c := cell{e.Key, e.Value}
	source, unique := f.source(c)
	// At level lin a lone write is an insertion, which found the key absent.
	readsTo := f.readsFromOutside(e.To, c) ||
		lvl == level.LIN && e.Value == history.Absent && len(f.reads(e.To)) == 0 && f.writes(e.To, e.Key)
	switch e.Kind {
	case verdict.SO, verdict.RT:
		if !f.precedes(lvl, e) {
			return errors.New("no such order")
		}
	case verdict.WR:
		if !unique || source != e.From || !readsTo {
			return errors.New("no read of the one's write by the other")
		}
	case verdict.WW:
		if !unique || source != e.From || !readsTo || !f.writes(e.To, e.Key) {
			return errors.New("no overwriting of the one's write by the other")
		}
	case verdict.RW:
		if !unique || !f.readsFromOutside(e.From, c) || !readsTo || !f.writes(e.To, e.Key) {
			return errors.New("no overwriting of what the first one read")
		}
	default:
		return errors.New("unknown kind of edge")
	}
	return nil
}

// divergence verifies that two transactions overwrote one version.
func (f *facts) divergence(edges []verdict.Edge) error {
	if len(edges) != 2 || edges[0].Kind != verdict.RW || edges[1].Kind != verdict.RW ||
		edges[0].From != edges[1].To || edges[0].To != edges[1].From || edges[0].Key != edges[1].Key || edges[0].Value != edges[1].Value {
		return errors.New("not two opposite anti-dependencies on one version")
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
	if ref.Op < 0 || ref.Op >= len(ops) || ops[ref.Op].Kind != history.Read || !f.counts(ref.Txn) {
		return errors.New("it is not about a read of a transaction that counts")
	}
	read := ops[ref.Op]
	c := cell{read.Key, read.Value}
	var before []history.Op // earlier operations on the key
	ownWrites, ownBefore := 0, 0
	for n, op := range ops {
		if op.Key != read.Key || n == ref.Op {
			continue
		}
		if n < ref.Op {
			before = append(before, op)
			if op.Kind == history.Write {
				ownBefore++
			}
		}
		if op.Kind == history.Write && op.Value == read.Value && n > ref.Op {
			ownWrites++
		}
	}
	switch a.Kind {
	case verdict.NotMyOwnWrite, verdict.NotMyLastWrite:
		if ownBefore == 0 {
			return errors.New("there is no own write before the read")
		}
		for n := len(before) - 1; n >= 0; n-- {
			if before[n].Kind == history.Write {
				if before[n].Value == read.Value {
					return errors.New("the read returned the latest own write")
				}
				return nil
			}
		}
	case verdict.NonRepeatableReads:
		if ownBefore > 0 || len(before) == 0 || before[len(before)-1].Value == read.Value {
			return errors.New("the read repeats the one before")
		}
		return nil
	}
	if len(before) > 0 {
		return errors.New("the key was touched before in the same transaction")
	}
	if f.h.Initial(read.Key) == read.Value {
		return errors.New("it read the initial value")
	}
	if f.unsure(c) {
		return errors.New("who wrote the value is missing")
	}
	for _, w := range f.finals[c] {
		if w != ref.Txn {
			return errors.Errorf("transaction %d has the value as its final write", f.id(w))
		}
	}
	switch a.Kind {
	case verdict.FutureRead:
		if ownWrites == 0 {
			return errors.New("the transaction does not write the value later")
		}
	case verdict.ThinAirRead:
		if len(f.all[c]) > 0 || !f.h.Closed {
			return errors.New("somebody wrote the value, or may have")
		}
	case verdict.AbortedRead, verdict.IntermediateRead:
		w := a.Ops[0].Txn
		ok := false
		for _, writer := range f.all[c] {
			ok = ok || writer == w
		}
		if !ok || w == ref.Txn || (f.h.Txns[w].Status == history.Aborted) != (a.Kind == verdict.AbortedRead) {
			return errors.New("the transaction named did not write the value so")
		}
		if !f.h.Closed && f.readsFromOutside(w, c) {
			return errors.New("who wrote the value first is missing")
		}
	default:
		return errors.New("unknown kind of anomaly")
	}
	return nil
}

// wellFormed verifies that a names only what the history has.
func wellFormed(h *history.History, a *verdict.Anomaly) error {
	for _, i := range a.Txns {
		if i < 0 || int(i) >= len(h.Txns) {
			return errors.Errorf("it names transaction number %d of %d", i, len(h.Txns))
		}
	}
	for _, r := range a.Ops {
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
