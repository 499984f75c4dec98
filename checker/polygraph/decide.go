package polygraph

import (
	"cmp"
	"slices"

	"github.com/isohound/isohound/checker/sat"
)

// mend has the search decide only what its order gets wrong. A clause that the
// order satisfies needs no decision: what nobody has asserted binds no later
// choice, and after a conflict little is to be decided again, for the order is
// kept. (Section 6.2 of the VeriStrong paper has the solver give every variable
// the value that the order has.) Where that meets many conflicts the search takes
// turns with decisions about all variables, by recent conflicts, which refute sooner
// what is hard to refute, and may take for ever where much is possible.
type mend struct {
	on bool
	// wrong are clauses that the order did not satisfy when it was last looked at.
	wrong [][]sat.Lit
	// undo are decisions that were taken back, the earliest one last. The order
	// still has what they say, which is decided again before anything is mended:
	// what is not asserted the next mending may break. Behind them come those that
	// took part in conflicts, that of the latest one at the end, which is first here:
	// the next conflict is likely about them, and takes back what was decided later.
	undo, conflicting []sat.Lit
	sorted            bool // conflicting is
	// clauses are those there are, by what they are about; nil where all variables
	// are decided all the time.
	clauses map[clauseID][]sat.Lit
	// until is after how many conflicts the turn ends, turn how many conflicts
	// the latest one of mending was to have.
	until, turn int64
	// idle: nothing was decided since the order was last looked at.
	idle bool
}

// clauseID says what a clause is about: a read, its source, and a write that does
// not come between; or two transactions that write a key.
type clauseID [3]int32

// No read, and no write, has these numbers.
const (
	overlapping int32 = -1 << 31 // in the place of a read
	sourceLate  int32 = -1 << 31 // in the place of a write: the source does not come before the reader
)

// firstTurn is how many conflicts decisions about what is wrong have at first, with
// so many transactions; tests have other numbers.
var firstTurn = func(txns int) int64 { return 1024 + int64(txns) }

func newMend(txns int) mend {
	first := firstTurn(txns)
	return mend{on: true, clauses: map[clauseID][]sat.Lit{}, until: first, turn: max(first, 2)}
}

// expect makes room for so many clauses.
func (m *mend) expect(clauses int) {
	if m.clauses != nil && len(m.clauses) == 0 {
		m.clauses = make(map[clauseID][]sat.Lit, clauses)
	}
	m.wrong = slices.Grow(m.wrong, clauses)
}

// stop has all variables decided from now on.
func (m *mend) stop() { *m = mend{} }

// due reports whether the other kind of decisions has its turn.
func (m *mend) due(conflicts int64) bool { return m.clauses != nil && conflicts > m.until }

// rest has all variables decided for half as many conflicts as mending has had.
func (m *mend) rest(conflicts int64) {
	m.on, m.wrong, m.undo, m.conflicting = false, nil, nil, nil
	m.until = conflicts + m.turn/2
}

// resume has what is wrong decided again, for twice as many conflicts as before.
func (m *mend) resume(conflicts int64) {
	m.on, m.idle = true, false
	m.turn *= 2
	m.until = conflicts + m.turn
}

// made keeps a clause that is added.
func (m *mend) made(id clauseID, lits []sat.Lit) {
	if m.clauses != nil {
		m.clauses[id] = lits
	}
}

// again notes the clause about something as wrong, if there is one. Where all
// variables have values the order satisfies every clause that there is.
func (m *mend) again(id clauseID) bool {
	lits, ok := m.clauses[id]
	if ok {
		m.note(lits)
	}
	return ok
}

// note has a clause mended if the order does not satisfy it.
func (m *mend) note(lits []sat.Lit) {
	if m.on {
		m.wrong = append(m.wrong, lits)
	}
}

// vain reports whether nothing was decided although the order was wrong and
// nothing new is known about it.
func (m *mend) vain() bool {
	was := m.idle || !m.on
	m.idle = true
	return was
}

// Decide implements sat.Theory.
func (x *search) Decide() sat.Lit {
	if conflicts := x.s.Stats.Conflicts; x.mend.due(conflicts) {
		if !x.mend.on {
			x.s.Restart() // what is decided now need not be decided again
			x.mend.resume(conflicts)
			return sat.None
		}
		x.mend.rest(conflicts)
	}
	if x.mend.on {
		if l := x.redo(); l != sat.None {
			return l
		}
		for last := len(x.mend.wrong) - 1; last >= 0; last-- {
			lits := x.mend.wrong[last]
			x.mend.wrong = x.mend.wrong[:last]
			if l := x.toMend(lits); l != sat.None {
				x.mend.idle = false
				return l
			}
		}
		return sat.None
	}
	v := x.s.Unassigned()
	if v < 0 {
		return sat.None
	}
	l := sat.Pos(v)
	if !x.phase(v) {
		l = l.Not()
	}
	return l
}

// undone notes the order of two nodes that is taken back, if it was decided.
func (x *search) undone(l sat.Lit) {
	switch m := &x.mend; {
	case !m.on || !x.s.Decided(l):
	case x.lastConflict[l.Var()] == 0:
		m.undo = append(m.undo, l)
	default:
		m.conflicting, m.sorted = append(m.conflicting, l), false
	}
}

// redo returns the next decision to be made again, or None.
func (x *search) redo() sat.Lit {
	m := &x.mend
	if !m.sorted {
		slices.SortFunc(m.conflicting, func(a, b sat.Lit) int {
			return cmp.Compare(x.lastConflict[b.Var()], x.lastConflict[a.Var()])
		})
		m.sorted = true
	}
	for _, list := range []*[]sat.Lit{&m.undo, &m.conflicting} {
		for last := len(*list) - 1; last >= 0; last-- {
			l := (*list)[last]
			*list = (*list)[:last]
			if !x.s.True(l) && !x.s.False(l) && x.distance(l) < 0 {
				m.idle = false
				return l
			}
		}
	}
	return sat.None
}

// toMend returns the literal of a clause that the order comes nearest to, where the
// nodes belong counting half as much, or None if the order or the assignment
// satisfies the clause.
func (x *search) toMend(lits []sat.Lit) sat.Lit {
	best, least := sat.None, int32(0)
	for _, l := range lits {
		if x.s.False(l) {
			continue
		}
		far := x.distance(l)
		if x.s.True(l) || far < 0 {
			return sat.None
		}
		if far += x.astray(l) / 2; best == sat.None || far < least {
			best, least = l, far
		}
	}
	return best
}

// distance is how far the order is from satisfying a literal without a value:
// less than 0 where it does. A transaction of unknown outcome need not count, and
// a read need not have any one source.
func (x *search) distance(l sat.Lit) int32 {
	const far = 1 << 30
	switch v := x.vars[l.Var()]; {
	case v.kind == isBefore || v.kind == isWriteChains:
		from, to := x.edgeOf(l)
		return x.o.pos[from] - x.o.pos[to]
	case !l.Positive():
		return -1
	case v.kind == isSource:
		reader, source := x.o.pos[x.g.start(x.m.reads[v.a].txn)], x.sourceAt(v.a, v.b)
		if source > reader {
			return far + (source - reader)
		}
		return reader - source
	}
	return far
}

// astray is how far the nodes that a literal is about belong the other way round,
// and less than 0 where they do not.
func (x *search) astray(l sat.Lit) int32 {
	if x.belongs == nil || x.vars[l.Var()].kind != isBefore {
		return 0
	}
	from, to := x.edgeOf(l)
	return x.belongs[from] - x.belongs[to]
}

// sourceAt returns the place of a source of a read, -1 for the initial value.
func (x *search) sourceAt(r, i int32) int32 {
	if w := x.sources[r].list[i].write; w != fromInitial {
		return x.o.pos[x.g.commit(x.m.writer[w])]
	}
	return -1
}

// phase says what to try first: what the order has, the nearest source, and
// no transaction of unknown outcome that need not count.
func (x *search) phase(v int32) bool {
	if x.pipe != nil && !x.pipe.cfg.Has(Order) {
		return x.pipe.latest(v)
	}
	switch d := x.vars[v]; d.kind {
	case isBefore:
		return x.o.pos[d.a] < x.o.pos[d.b]
	case isWriteChains:
		p := &x.pipe.combine.pairs[d.a]
		return x.o.pos[p.head] < x.o.pos[p.otherHead]
	case isSource:
		return x.nearest(d.a) == d.b
	case isTruth:
		return true
	}
	return false
}

// nearest returns the index of the source of a read that comes last before it.
func (x *search) nearest(r int32) int32 {
	best, at := none, int32(-2)
	reader := x.o.pos[x.g.start(x.m.reads[r].txn)]
	for i := range int32(len(x.sources[r].list)) {
		if p := x.sourceAt(r, i); p < reader && p > at {
			best, at = i, p
		}
	}
	return best
}
