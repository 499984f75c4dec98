package certify

import (
	"context"
	"encoding/binary"

	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/history"
)

// MaxJudged is the largest history that Judge takes, in transactions.
const MaxJudged = 64

// Judge decides whether h is allowed at lvl by trying every execution: every serial order (at
// snapshot levels every order of starts and commits, at weak levels every source of each read) of the
// committed transactions and any of those of unknown outcome. It gives up after budget steps and returns decided false. It is for small
// histories. It implements the definitions of the levels as directly as possible.
//
// At level LIN a lone write is an insertion, which finds its key absent. If h assumes the claimed order of
// versions, or snapshots, only executions count that agree with them; with the order Judge decides only levels that engine.CanAssume names.
func Judge(h *history.History, lvl level.Level, budget int) (allowed, decided bool) {
	allowed, decided, _ = JudgeContext(context.Background(), h, lvl, budget)
	return allowed, decided
}

// JudgeContext is Judge until ctx ends; the error is the cause.
func JudgeContext(ctx context.Context, h *history.History, lvl level.Level, budget int) (allowed, decided bool, err error) {
	return try(newStop(ctx), h, lvl, budget, lvl == level.LIN)
}

// try is Judge with a context; the error is the cause of its end. If insertions is set, a write
// that is the first operation of its transaction finds its key absent.
func try(stop *stop, h *history.History, lvl level.Level, budget int, insertions bool) (allowed, decided bool, err error) {
	if len(h.Txns) > MaxJudged {
		return false, false, nil
	}
	if h.OrderAssumed() && !lvl.Search() && lvl != level.PC {
		return false, false, nil
	}
	if len(h.AllChoices()) > 0 {
		return tryChoices(stop, h, lvl, budget, insertions)
	}
	if lvl.Weak() || lvl == level.PSI {
		return tryCommits(stop, h, lvl, budget)
	}
	j := &judge{stop: stop, budget: budget, snapshot: lvl.Snapshot(), overlap: lvl == level.PC, dead: map[string]bool{}, room: maxDead}
	if !j.prepare(h, lvl, insertions) {
		return false, true, nil
	}
	allowed = j.search()
	return allowed, allowed || j.budget > 0 && j.err == nil, j.err
}

// judge searches for an execution. A set of transactions is a bit mask of their indices in txns.
type judge struct {
	stop     *stop
	err      error
	budget   int
	snapshot bool
	overlap  bool // writers of one key may overlap

	txns []judged
	must uint64 // the committed transactions

	state              []uint8   // by slot, a number for each key that is both read and written: the number of its value
	about              [][]about // by slot and number of the value
	started, committed uint64
	undo               []uint8 // the values that commits overwrote
	// dead are the situations from which no execution was found, as far as there is room for them.
	// A situation is the sets of started and of committed transactions, and the state.
	dead map[string]bool
	room int
	key  []byte // scratch
}

// maxDead bounds the memory of dead, in bytes.
const maxDead = 32 << 20

// judged is a transaction that may have committed.
type judged struct {
	finds  []expectation
	leaves []assignment
	before uint64 // which transactions must have committed before its start
	rivals uint64 // the other transactions that write a key that it writes
	behind uint64 // those of them that must commit after it, because the order of versions is assumed
	// has and lacks are the transactions that must have committed before its start, and those that must not, because
	// snapshots are assumed. hidden are those whose snapshots lack it.
	has, lacks, hidden uint64
}

// about has three sets of transactions: those that write a value to a key, those that read that
// value, and those whose failed compare-and-set denies another value.
type about struct{ give, find, accept uint64 }

// expectation: the key of a slot has a value or, if not is set, any other value.
type expectation struct {
	slot  int
	value uint8
	not   bool
}

// assignment writes a value to the key of a slot.
type assignment struct {
	slot  int
	value uint8
}

func (j *judge) search() bool {
	if j.committed&j.must == j.must {
		return true
	}
	for i := range j.txns {
		switch bit := uint64(1) << i; {
		case j.committed&bit != 0:
		// A started transaction may commit now if no other transaction still has to read a value
		// that it overwrites, no snapshot of another one that has not started lacks it, and no other one can write these
		// keys before it commits.
		case j.started&bit != 0 && (!j.overlap || j.alone(i)) && !j.wanted(i) && !j.hidden(i):
			return j.commit(i)
		// A transaction that can start may start now if that keeps no other one from writing: no
		// other one still has to write a key that it writes, or they may overlap. If its start is
		// also its commit, the condition above must hold, too. No other one that its snapshot has is left.
		case j.started&bit == 0 && j.must&bit != 0 && (j.overlap || j.alone(i)) && j.mayStart(i) && (j.snapshot || !j.wanted(i)) && j.txns[i].has&^j.committed == 0:
			return j.start(i)
		}
	}
	if j.isDead() {
		return false
	}
	for i := range j.txns {
		bit := uint64(1) << i
		if j.spent(1 + len(j.txns[i].finds)/8) {
			return false
		}
		if j.committed&bit == 0 && (j.started&bit != 0 && j.commit(i) || j.started&bit == 0 && j.mayStart(i) && j.start(i)) {
			return true
		}
	}
	if j.budget > 0 && j.err == nil {
		j.die()
	}
	return false
}

// spent takes steps from the budget and reports whether the search has to end.
func (j *judge) spent(steps int) bool {
	if j.err == nil {
		j.err = j.stop.after(steps)
	}
	j.budget -= steps
	return j.budget <= 0 || j.err != nil
}

// alone reports whether no other transaction that may still commit writes a key that i writes.
func (j *judge) alone(i int) bool { return j.txns[i].rivals&^j.committed == 0 }

// mayStart reports whether i would read its recorded values. Where two writers of a key must not
// overlap, the one that commits first wins. So a start can wait for the commits of those that started.
func (j *judge) mayStart(i int) bool {
	t := &j.txns[i]
	if t.has&j.must&^j.committed != 0 || t.lacks&j.committed != 0 {
		return false
	}
	if j.committed&t.before != t.before || !j.overlap && j.started&^j.committed&t.rivals != 0 {
		return false
	}
	for _, e := range t.finds {
		if (j.state[e.slot] == e.value) == e.not {
			return false
		}
	}
	return true
}

// start starts i, continues the search, and undoes the start. In a serial execution a transaction
// starts when it commits.
func (j *judge) start(i int) bool {
	j.started |= 1 << i
	ok := j.snapshot && j.search() || !j.snapshot && j.commit(i)
	j.started &^= 1 << i
	return ok
}

// wanted reports whether another transaction still has to read a value that i overwrites.
func (j *judge) wanted(i int) bool {
	for _, a := range j.txns[i].leaves {
		v := j.state[a.slot]
		if x := &j.about[a.slot][v]; v != a.value && (x.find|x.accept)&^j.started&^(1<<i) != 0 {
			return true
		}
	}
	return false
}

// hidden reports whether the snapshot of a transaction that has not started lacks i.
func (j *judge) hidden(i int) bool { return j.txns[i].hidden&^j.started != 0 }

// shown reports whether the snapshot of a transaction that has started has i.
func (j *judge) shown(i int) bool {
	for s := range j.txns {
		if j.started&(1<<s) != 0 && s != i && j.txns[s].has&(1<<i) != 0 {
			return true
		}
	}
	return false
}

// lost reports whether a committed transaction still has to read a value that i overwrites and that
// no remaining transaction writes.
func (j *judge) lost(i int) bool {
	for _, a := range j.txns[i].leaves {
		v := j.state[a.slot]
		if x := &j.about[a.slot][v]; v != a.value && x.find&j.must&^j.started != 0 && x.give&^j.committed == 0 {
			return true
		}
	}
	return false
}

// commit applies i's writes, continues the search, and undoes the writes.
func (j *judge) commit(i int) bool {
	if j.lost(i) || j.committed&j.txns[i].behind != 0 || j.shown(i) {
		return false
	}
	leaves, mark := j.txns[i].leaves, len(j.undo)
	for _, a := range leaves {
		j.undo = append(j.undo, j.state[a.slot])
		j.state[a.slot] = a.value
	}
	j.committed |= 1 << i
	ok := j.search()
	j.committed &^= 1 << i
	for n, a := range leaves {
		j.state[a.slot] = j.undo[mark+n]
	}
	j.undo = j.undo[:mark]
	return ok
}

func (j *judge) isDead() bool {
	j.key = binary.LittleEndian.AppendUint64(j.key[:0], j.started)
	j.key = binary.LittleEndian.AppendUint64(j.key, j.committed)
	j.key = append(j.key, j.state...)
	return j.dead[string(j.key)]
}

// die records the current situation as dead.
func (j *judge) die() {
	if j.isDead(); j.room > 0 { // isDead has set key
		j.room -= len(j.key) + 32
		j.dead[string(j.key)] = true
	}
}

// prepare sets up the search. It returns false if a committed transaction contradicts itself or
// read a value that nobody wrote.
func (j *judge) prepare(h *history.History, lvl level.Level, insertions bool) bool {
	var list []account
	for i := range h.Txns {
		t := &h.Txns[i]
		if t.Status == history.Aborted {
			continue
		}
		a, ok := accountOf(h.Ops(t), insertions)
		ok = ok && !twice(h, lvl, i)
		switch {
		case t.Status == history.Committed && !ok:
			return false
		case t.Status != history.Committed && (!ok || len(a.leaves) == 0):
			continue // it did not commit, or makes no difference
		}
		a.txn = i
		list = append(list, a)
	}
	v := number(h, list)
	j.state = make([]uint8, len(v.slots))
	j.about = v.table()
	kept := list[:0]
	for _, a := range list {
		committed := h.Txns[a.txn].Status == history.Committed
		t, ok := v.judged(&a)
		switch {
		case committed && !ok:
			return false
		case !ok:
			continue
		case committed:
			j.must |= 1 << len(kept)
		}
		bit := uint64(1) << len(kept)
		for _, e := range t.finds {
			for v := range j.about[e.slot] {
				switch x := &j.about[e.slot][v]; {
				case e.not && v != int(e.value):
					x.accept |= bit
				case !e.not && v == int(e.value):
					x.find |= bit
				}
			}
		}
		for _, a := range t.leaves {
			j.about[a.slot][a.value].give |= bit
		}
		kept = append(kept, a)
		j.txns = append(j.txns, t)
	}
	for b := range kept {
		for a := range kept {
			if precedes(h, lvl, kept[a].txn, kept[b].txn) {
				j.txns[b].before |= 1 << a
			}
		}
	}
	writers := map[history.Key]uint64{}
	for n := range kept {
		for _, c := range kept[n].leaves {
			writers[c.key] |= 1 << n
		}
	}
	for n := range kept {
		for _, c := range kept[n].leaves {
			j.txns[n].rivals |= writers[c.key] &^ (1 << n)
		}
	}
	if lvl.Snapshot() {
		j.visibility(h, kept)
	}
	for n := range kept {
		for u := range kept {
			if j.txns[n].rivals&(1<<u) != 0 && placedBefore(h, int32(kept[n].txn), int32(kept[u].txn)) {
				j.txns[n].behind |= 1 << u
			}
		}
	}
	return true
}

// precedes reports whether a must come before b in every execution.
func precedes(h *history.History, lvl level.Level, a, b int) bool {
	if a == b || h.Txns[a].Status != history.Committed {
		return false
	}
	ta, tb := &h.Txns[a], &h.Txns[b]
	if lvl.SessionOrder() && ta.Session == tb.Session && a < b {
		return true
	}
	if !lvl.RealTime() || h.NoCommonClock || ta.End == history.NoTime || tb.Begin == history.NoTime || ta.End >= tb.Begin {
		return false
	}
	if lvl != level.LIN {
		return true
	}
	// Linearizability is local, so only transactions on the same key are ordered.
	x, y := h.Ops(ta), h.Ops(tb)
	return len(x) > 0 && len(y) > 0 && x[0].Key == y[0].Key
}

// account is what a transaction read from others and what it finally wrote.
type account struct {
	txn    int
	finds  []found
	leaves []cell
}

// found is a cell that a transaction read, or one that it did not find.
type found struct {
	cell
	not bool
}

// accountOf returns the account of operations. It returns false if they contradict each other.
func accountOf(ops []history.Op, insertions bool) (a account, ok bool) {
	own := map[history.Key]history.Value{}
	for n, op := range ops {
		v, wrote := own[op.Key]
		switch {
		case op.Kind == history.Write && n == 0 && insertions:
			a.finds = append(a.finds, found{cell{op.Key, history.Absent}, false})
		case op.Kind == history.Write:
		case !wrote:
			a.finds = append(a.finds, found{cell{op.Key, op.Value}, op.Kind == history.ReadNot})
		case (v == op.Value) == (op.Kind == history.ReadNot):
			return a, false
		}
		if op.Kind == history.Write {
			own[op.Key] = op.Value
		}
	}
	for k, v := range own {
		a.leaves = append(a.leaves, cell{k, v})
	}
	return a, true
}

// numbers numbers the keys that are both read and written, and their values. Value 0 is the initial
// one.
type numbers struct {
	h       *history.History
	slots   map[history.Key]int
	values  map[cell]uint8
	written map[history.Key]uint8 // how many values it has beside the initial one
}

func number(h *history.History, list []account) numbers {
	v := numbers{h, map[history.Key]int{}, map[cell]uint8{}, map[history.Key]uint8{}}
	for i := range list {
		for _, c := range list[i].leaves {
			if _, known := v.values[c]; known {
				continue
			}
			if c.value == h.Initial(c.key) {
				v.written[c.key] += 0
				v.values[c] = 0
				continue
			}
			v.written[c.key]++
			v.values[c] = v.written[c.key]
		}
	}
	for i := range list {
		for _, f := range list[i].finds {
			_, changes := v.written[f.key]
			if _, known := v.slots[f.key]; changes && !known {
				v.slots[f.key] = len(v.slots)
			}
		}
	}
	return v
}

// table allocates the about of each value of each key.
func (v *numbers) table() [][]about {
	out := make([][]about, len(v.slots))
	for k, slot := range v.slots {
		out[slot] = make([]about, v.written[k]+1)
	}
	return out
}

// judged returns false if the transaction read a value that the key never has.
func (v *numbers) judged(a *account) (t judged, ok bool) {
	for _, f := range a.finds {
		slot, changes := v.slots[f.key]
		n, known := v.values[f.cell]
		if f.value == v.h.Initial(f.key) {
			n, known = 0, true
		}
		switch {
		case !known && !f.not:
			return t, false
		case !known: // the key never has that value
		case changes:
			t.finds = append(t.finds, expectation{slot, n, f.not})
		case f.not: // the key always has its initial value
			return t, false
		}
	}
	for _, c := range a.leaves {
		if slot, read := v.slots[c.key]; read {
			t.leaves = append(t.leaves, assignment{slot, v.values[c]})
		}
	}
	return t, true
}
