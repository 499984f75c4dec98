package polygraph

import (
	"cmp"
	"slices"

	"github.com/isohound/isohound/checker/sat"
)

// mend makes decisions only on clauses that the order violates. A clause that the order satisfies
// needs no decision: unassigned variables impose nothing on later decisions. After a conflict few
// decisions have to be repeated, because the order is kept. (In section 6.2 of the VeriStrong
// paper, the solver decides every variable, with the phase of the order.) After many conflicts the
// search alternates between mending and decisions on all variables, by recent conflicts. These
// refute sooner what is hard to refute, but can take forever if much is possible.
type mend struct {
	on bool
	// wrong are the clauses that the order violated when Final last ran.
	wrong [][]sat.Lit
	// undo are decisions that backtracking has removed, the earliest one last. The order still
	// satisfies them. They are made again, with the phase of the order, before any clause is
	// mended, because mending may break what is not asserted. conflicting are such decisions that
	// took part in conflicts. They are made again after those of undo, the one with the latest
	// conflict last, so it is the first in the slice. The next conflict probably involves it, and
	// backtracking then removes only the decisions after it.
	undo, conflicting []sat.Lit
	sorted            bool // whether conflicting is sorted
	// clauses are the clauses added so far, by their subject. It is nil if all variables are always
	// decided.
	clauses map[clauseID][]sat.Lit
	// until is the number of conflicts at which the current turn ends. turn is the length of the
	// latest turn of mending, in conflicts.
	until, turn int64
	// idle: nothing was decided since Final last ran.
	idle bool
}

// clauseID is the subject of a clause: a read, its source, and a write that does not come between
// them; or two transactions that write a key.
type clauseID [3]int32

// These differ from the numbers of all reads and writes.
const (
	overlapping int32 = -1 << 31 // in place of a read
	misplaced   int32 = overlapping + 1
	isShown     int32 = overlapping + 2
	isHidden    int32 = overlapping + 3
	sourceLate  int32 = -1 << 31 // in place of a write: the clause says that the source comes before the reader
)

// firstTurn is the number of conflicts in the first turn of mending. Tests change it.
var firstTurn = func(txns int) int64 { return 1024 + int64(txns) }

func newMend(txns int) mend {
	first := firstTurn(txns)
	return mend{on: true, clauses: map[clauseID][]sat.Lit{}, until: first, turn: max(first, 2)}
}

// expect allocates memory for the given number of clauses.
func (m *mend) expect(clauses int) {
	if m.clauses != nil && len(m.clauses) == 0 {
		m.clauses = make(map[clauseID][]sat.Lit, clauses)
	}
	m.wrong = slices.Grow(m.wrong, clauses)
}

// stop ends mending for good: all variables are decided.
func (m *mend) stop() { *m = mend{} }

// due reports whether the current turn is over.
func (m *mend) due(conflicts int64) bool { return m.clauses != nil && conflicts > m.until }

// rest starts a turn of decisions on all variables, with half as many conflicts as the last turn of
// mending.
func (m *mend) rest(conflicts int64) {
	m.on, m.wrong, m.undo, m.conflicting = false, nil, nil, nil
	m.until = conflicts + m.turn/2
}

// resume starts a turn of mending, with twice as many conflicts as the one before.
func (m *mend) resume(conflicts int64) {
	m.on, m.idle = true, false
	m.turn *= 2
	m.until = conflicts + m.turn
}

// made remembers a clause that was added.
func (m *mend) made(id clauseID, lits []sat.Lit) {
	if m.clauses != nil {
		m.clauses[id] = lits
	}
}

// again notes the clause with an id as wrong. It reports whether there is such a clause. If all
// variables are assigned, the order satisfies every clause, so there is none.
func (m *mend) again(id clauseID) bool {
	lits, ok := m.clauses[id]
	if ok {
		m.note(lits)
	}
	return ok
}

// note records that the order violates a clause.
func (m *mend) note(lits []sat.Lit) {
	if m.on {
		m.wrong = append(m.wrong, lits)
	}
}

// vain reports whether another call of Final is in vain: nothing was decided since its last call,
// or all variables are assigned. Final calls it when the order is wrong and no clause was added.
func (m *mend) vain() bool {
	was := m.idle || !m.on
	m.idle = true
	return was
}

// Decide implements sat.Theory.
func (x *search) Decide() sat.Lit {
	if !x.encoded && x.s.Stats.Conflicts >= hardAfter && x.encodeHard() {
		return sat.None
	}
	if conflicts := x.s.Stats.Conflicts; x.mend.due(conflicts) {
		if !x.mend.on {
			x.s.Restart() // removes decisions that mending does not need
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

// undone remembers a literal about the order of two nodes that backtracking removed, if it was a
// decision.
func (x *search) undone(l sat.Lit) {
	switch m := &x.mend; {
	case !m.on || !x.s.Decided(l):
	case x.lastConflict[l.Var()] == 0:
		m.undo = append(m.undo, l)
	default:
		m.conflicting, m.sorted = append(m.conflicting, l), false
	}
}

// redo returns the next removed decision to make again, or None.
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

// toMend returns the literal of a clause to decide: the one that is nearest to true in the order.
// Estimated positions count half as much. It returns None if the order or the assignment satisfies
// the clause.
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

// distance returns how far an unassigned literal is from true in the order. It is negative if the
// order satisfies the literal. A negative literal about a source or about counting needs no
// decision.
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

// astray is the same by the estimated positions of the nodes. It is negative if these satisfy the
// literal.
func (x *search) astray(l sat.Lit) int32 {
	if x.belongs == nil || x.vars[l.Var()].kind != isBefore {
		return 0
	}
	from, to := x.edgeOf(l)
	return x.belongs[from] - x.belongs[to]
}

// sourceAt returns the position of a source of a read in the order, or -1 for the initial value.
func (x *search) sourceAt(r, i int32) int32 {
	if w := x.sources[r].list[i].write; w != fromInitial {
		return x.o.pos[x.g.commit(x.m.writer[w])]
	}
	return -1
}

// phase returns the phase for a decision on v. Two nodes are ordered as in the current order. A
// read gets its nearest source. A transaction of unknown outcome does not count.
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

// nearest returns the index of the last source before the read in the current order, or none.
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
