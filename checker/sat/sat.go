// Package sat is a CDCL(T) solver: conflict-driven clause learning over Boolean variables, with a
// theory that excludes assignments (Algorithm 1 of the VeriStrong paper, SATSOLVE and THEORYSOLVE).
// It has unit propagation with two watched literals, first-UIP learning with local clause
// minimization, Luby restarts, and deletion of learnt clauses by activity. It backtracks
// chronologically if a backjump would be long. The theory makes the decisions. For these it may use
// the solver's VMTF queue of variables. Clauses and variables may be added during the search.
package sat

import (
	"context"
	"slices"

	"github.com/pkg/errors"
)

// Lit is a literal: 2v for variable v, 2v+1 for its negation.
type Lit int32

// None is no literal.
const None Lit = -1

// Pos returns the literal that v is true.
func Pos(v int32) Lit { return Lit(2 * v) }

// Not negates l.
func (l Lit) Not() Lit { return l ^ 1 }

// Var returns the variable of l.
func (l Lit) Var() int32 { return int32(l >> 1) }

// Positive reports whether l is not negated.
func (l Lit) Positive() bool { return l&1 == 0 }

// Theory decides which assignments are possible beyond the clauses.
type Theory interface {
	// Assert records that l has become true. If that contradicts earlier assertions, Assert records
	// nothing and returns a theory conflict: a clause that the theory implies and whose literals
	// are all false.
	Assert(l Lit) (conflict []Lit)
	// Retract undoes the latest recorded assertion, which was of l.
	Retract(l Lit)
	// Decide returns an unassigned literal as the next decision, or None if nothing needs to be
	// decided.
	Decide() Lit
	// Final is called when Decide has returned None. It may add variables, and clauses that the
	// assignment violates. It reports whether it has added any, or whether there is something to
	// decide after all. If not, the assignment is a solution and the search ends.
	Final() (more bool, err error)
}

// value of a variable or literal.
type value int8

const (
	unassigned value = iota
	isTrue
	isFalse
)

type clause struct {
	lits    []Lit
	learnt  bool
	removed bool
	id      int32 // the number that Learnt returned
	// activity counts, with decay, how often the clause took part in conflicts.
	activity float64
}

type watch struct {
	c       *clause
	blocker Lit
	two     bool // a binary clause: its literals are the watched one and the blocker
}

// Stats count what a search did.
type Stats struct {
	Variables       int
	Clauses         int
	Decisions       int64
	Propagations    int64
	Conflicts       int64
	TheoryConflicts int64
	Restarts        int64
}

// Solver holds clauses and the state of a search.
type Solver struct {
	Stats Stats
	// Learnt, if set, is called with each learnt clause, in order, and returns a number for it.
	// Forgot, if set, is called with the numbers of the learnt clauses that are deleted.
	Learnt func(lits []Lit) (id int32)
	Forgot func(id int32)

	// Chronological is how many levels a backjump may undo. If it would undo more, the solver
	// backtracks chronologically, by one level (Nadel and Ryvchin, Chronological Backtracking, SAT
	// 2018). The trail is then not sorted by level. Set it before the search.
	Chronological int32

	// PauseAt, if not 0, is the total number of conflicts at which Solve returns ErrPaused. The
	// next call of Solve continues the search.
	PauseAt int64

	theory  Theory
	clauses []*clause
	learnts []*clause
	watches [][]watch // by literal: the clauses that watch it
	lists   []watch   // memory for the watches of new literals

	values   []value // by literal
	level    []int32 // by variable
	reason   []*clause
	trail    []Lit
	limits   []int // by level: the length of the trail before its decision
	head     int   // trail[:head] has been propagated through clauses
	asserted int   // trail[:asserted] has been asserted in the theory

	queue  varQueue
	bumped []int32 // variables that took part in the current conflict
	seen   []bool

	clauseBump float64
	maxLearnts int
	// dead: the clauses are unsatisfiable.
	dead bool
	// restarted: Restart was called, and nothing has been decided since.
	restarted bool
	// ctx ends the search. Propagation may take long, so it also stops then.
	ctx   context.Context
	steps int
}

// Chronological is the default of Solver.Chronological.
const Chronological = 100

// New returns a solver without clauses.
func New(t Theory) *Solver {
	return &Solver{theory: t, Chronological: Chronological, queue: newVarQueue(), clauseBump: 1, maxLearnts: 4000}
}

// watched is how many watches memory is allocated for with each new literal. It is allocated for as
// many literals as there are already, between fewestLists and mostLists.
const (
	watched     = 2
	fewestLists = 1 << 4
	mostLists   = 1 << 9
)

// Reserve allocates memory for vars more variables.
func (s *Solver) Reserve(vars int) {
	s.level, s.reason, s.seen = slices.Grow(s.level, vars), slices.Grow(s.reason, vars), slices.Grow(s.seen, vars)
	s.values, s.watches = slices.Grow(s.values, 2*vars), slices.Grow(s.watches, 2*vars)
	s.queue.reserve(vars)
}

// NewVar adds a variable and returns its number.
func (s *Solver) NewVar() int32 {
	v := int32(len(s.level))
	if len(s.lists) < 2*watched {
		s.lists = make([]watch, watched*min(max(len(s.watches), fewestLists), mostLists))
	}
	s.level = append(s.level, 0)
	s.reason = append(s.reason, nil)
	s.values = append(s.values, unassigned, unassigned)
	s.watches = append(s.watches, s.lists[:0:watched], s.lists[watched:watched:2*watched])
	s.lists = s.lists[2*watched:]
	s.seen = append(s.seen, false)
	s.queue.add()
	s.Stats.Variables++
	return v
}

// True and False report the value of l. Both are false if l is unassigned.
func (s *Solver) True(l Lit) bool  { return s.values[l] == isTrue }
func (s *Solver) False(l Lit) bool { return s.values[l] == isFalse }

// Restart undoes all decisions. If a theory calls it in Decide, Decide is called again.
func (s *Solver) Restart() {
	s.Stats.Restarts++
	s.restarted = true
	s.cancel(0)
}

// Decided reports whether l, which must be true, is a decision and not a propagated literal.
func (s *Solver) Decided(l Lit) bool { return s.level[l.Var()] > 0 && s.reason[l.Var()] == nil }

// EachClause calls f for every clause, learnt clauses included.
func (s *Solver) EachClause(f func(lits []Lit)) {
	for _, list := range [][]*clause{s.clauses, s.learnts} {
		for _, c := range list {
			f(c.lits)
		}
	}
}

// Fixed reports whether l is assigned at level 0.
func (s *Solver) Fixed(l Lit) bool { return s.values[l] != unassigned && s.level[l.Var()] == 0 }

func (s *Solver) decisionLevel() int32 { return int32(len(s.limits)) }

// Add adds a clause. During a search it backtracks only as far as necessary for the clause not to
// be violated.
func (s *Solver) Add(lits ...Lit) {
	if s.dead {
		return
	}
	out := make([]Lit, 0, len(lits))
next:
	for _, l := range lits {
		if s.values[l] == isTrue && s.level[l.Var()] == 0 {
			return
		}
		if s.values[l] == isFalse && s.level[l.Var()] == 0 {
			continue
		}
		for _, have := range out {
			if have == l {
				continue next
			}
			if have == l.Not() {
				return
			}
		}
		out = append(out, l)
	}
	s.Stats.Clauses++
	switch len(out) {
	case 0:
		s.dead = true
		return
	case 1:
		v := out[0].Var()
		switch s.values[out[0]] {
		case isTrue: // true at level 0 from now on, whatever was decided
			s.level[v], s.reason[v] = 0, nil
			return
		case isFalse:
			s.cancel(s.level[v] - 1)
		}
		s.enqueue(out[0], nil, 0)
		return
	}
	// Watch literals that are not false, or else those of the highest levels.
	for n := range 2 {
		best := n
		for i := n + 1; i < len(out); i++ {
			if s.rank(out[i]) > s.rank(out[best]) {
				best = i
			}
		}
		out[n], out[best] = out[best], out[n]
	}
	c := &clause{lits: out}
	s.clauses = append(s.clauses, c)
	s.attach(c)
	if s.values[out[1]] != isFalse {
		return
	}
	if s.values[out[0]] == isFalse { // backtracks just far enough to unassign out[0]
		s.cancel(s.level[out[0].Var()] - 1)
	}
	// The clause is unit at an earlier level. Backtracking to that level would undo everything
	// since. So its literal is added to the end of the trail, with that level.
	if s.values[out[0]] == unassigned && s.values[out[1]] == isFalse {
		s.enqueue(out[0], c, s.level[out[1].Var()])
	}
}

// rank is the priority of a literal for watching.
func (s *Solver) rank(l Lit) int32 {
	if s.values[l] == isFalse {
		return s.level[l.Var()]
	}
	return 1 << 30
}

func (s *Solver) attach(c *clause) {
	two := len(c.lits) == 2
	s.watches[c.lits[0]] = append(s.watches[c.lits[0]], watch{c, c.lits[1], two})
	s.watches[c.lits[1]] = append(s.watches[c.lits[1]], watch{c, c.lits[0], two})
}

// enqueue makes l true and appends it to the trail. Its level may be lower than the levels of
// literals before it on the trail.
func (s *Solver) enqueue(l Lit, why *clause, level int32) {
	s.values[l], s.values[l.Not()] = isTrue, isFalse
	s.level[l.Var()], s.reason[l.Var()] = level, why
	s.trail = append(s.trail, l)
}

// cancel undoes every assignment above a level. Assignments of lower levels that are later on the
// trail stay. They are propagated again, because a clause that has lost a literal's value may have
// become unit.
func (s *Solver) cancel(level int32) {
	if s.decisionLevel() <= level {
		return
	}
	keep := s.limits[level]
	for i := len(s.trail) - 1; i >= keep; i-- {
		l := s.trail[i]
		if i < s.asserted {
			s.theory.Retract(l)
		}
		if s.level[l.Var()] <= level {
			continue
		}
		s.values[l], s.values[l.Not()] = unassigned, unassigned
		s.reason[l.Var()] = nil
		s.queue.released(l.Var())
	}
	kept := s.trail[:keep]
	for _, l := range s.trail[keep:] {
		if s.values[l] == isTrue {
			kept = append(kept, l)
		}
	}
	s.trail = kept
	s.limits = s.limits[:level]
	s.head = min(s.head, keep)
	s.asserted = min(s.asserted, keep)
}

// propagate does unit propagation and asserts literals in the theory. It returns a
// conflict, a clause whose literals are all false, or nil.
func (s *Solver) propagate() *clause {
	for {
		for s.head < len(s.trail) {
			l := s.trail[s.head]
			s.head++
			if c := s.visit(l.Not()); c != nil {
				return c
			}
		}
		if s.asserted == len(s.trail) {
			return nil
		}
		if s.steps++; s.steps&0xff == 0 && s.ctx.Err() != nil {
			return nil // Solve checks ctx before it continues
		}
		l := s.trail[s.asserted]
		if conflict := s.theory.Assert(l); conflict != nil {
			s.Stats.TheoryConflicts++
			return &clause{lits: conflict}
		}
		s.asserted++
	}
}

// visit propagates through the clauses that watch l, which has become false. It returns a conflict
// or nil.
func (s *Solver) visit(l Lit) *clause {
	list := s.watches[l]
	kept := list[:0]
	for i := 0; i < len(list); i++ {
		w := list[i]
		if s.values[w.blocker] == isTrue {
			kept = append(kept, w)
			continue
		}
		c := w.c
		if w.two { // such a clause is never removed
			kept = append(kept, w)
			if s.values[w.blocker] == isFalse {
				kept = append(kept, list[i+1:]...)
				s.watches[l] = kept
				s.head = len(s.trail)
				return c
			}
			s.Stats.Propagations++
			s.enqueue(w.blocker, c, s.level[l.Var()])
			continue
		}
		if c.removed {
			continue
		}
		lits := c.lits
		if lits[0] == l {
			lits[0], lits[1] = lits[1], lits[0]
		}
		first := lits[0]
		if s.values[first] == isTrue {
			kept = append(kept, watch{c, first, false})
			continue
		}
		found := false
		for n := 2; n < len(lits); n++ {
			if s.values[lits[n]] != isFalse {
				lits[1], lits[n] = lits[n], lits[1]
				s.watches[lits[1]] = append(s.watches[lits[1]], watch{c, first, false})
				found = true
				break
			}
		}
		if found {
			continue
		}
		kept = append(kept, watch{c, first, false})
		if s.values[first] == isFalse {
			kept = append(kept, list[i+1:]...)
			s.watches[l] = kept
			s.head = len(s.trail)
			return c
		}
		s.Stats.Propagations++
		level := int32(0)
		for _, q := range lits[1:] {
			level = max(level, s.level[q.Var()])
		}
		s.enqueue(first, c, level)
	}
	s.watches[l] = kept
	return nil
}

// ErrPaused says that Solve has reached PauseAt conflicts.
var ErrPaused = errors.New("the search was paused")

// Solve searches for an assignment that Final accepts, and reports whether there is one. The error
// is the cause of ctx's end, ErrPaused, or Final's error.
func (s *Solver) Solve(ctx context.Context) (bool, error) {
	restart := newLuby(1024)
	conflicts := int64(0)
	s.ctx = ctx
	for {
		if s.dead {
			return false, nil
		}
		if c := s.propagate(); c != nil {
			s.Stats.Conflicts++
			conflicts++
			if !s.resolve(c) {
				s.dead = true
				return false, nil
			}
			if s.Stats.Conflicts == s.PauseAt {
				return false, ErrPaused
			}
			if s.Stats.Conflicts&0x3f == 0 && ctx.Err() != nil {
				return false, context.Cause(ctx)
			}
			continue
		}
		if s.asserted < len(s.trail) { // propagation was interrupted by the end of ctx
			return false, context.Cause(ctx)
		}
		if conflicts >= restart.limit {
			conflicts = 0
			restart.next()
			s.Restart()
			continue
		}
		if len(s.learnts) > s.maxLearnts+len(s.trail) {
			s.reduce()
		}
		s.restarted = false
		l := s.theory.Decide()
		if s.restarted {
			continue
		}
		if l == None {
			if ctx.Err() != nil {
				return false, context.Cause(ctx)
			}
			more, err := s.theory.Final()
			if err != nil || !more && !s.dead {
				return err == nil, err
			}
			continue
		}
		s.Stats.Decisions++
		if s.Stats.Decisions&0xfff == 0 && ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		s.limits = append(s.limits, len(s.trail))
		s.enqueue(l, nil, s.decisionLevel())
	}
}
