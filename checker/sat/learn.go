package sat

import (
	"cmp"
	"slices"
)

// resolve learns a clause from a conflict and backtracks to a level where the learnt
// clause is unit. It returns false if the clauses are unsatisfiable.
func (s *Solver) resolve(c *clause) bool {
	// The conflict may be below the current level, if the theory found it late or if a clause was
	// added late.
	top := int32(0)
	for _, l := range c.lits {
		top = max(top, s.level[l.Var()])
	}
	if top == 0 {
		return false
	}
	s.cancel(top)
	learnt, back := s.analyze(c)
	id := int32(0)
	if s.Learnt != nil {
		id = s.Learnt(learnt)
	}
	// The decisions in between rarely have to do with the conflict. After a backjump the theory
	// would make them again, and all their consequences would be asserted again.
	if top-back > s.Chronological {
		s.cancel(top - 1)
	} else {
		s.cancel(back)
	}
	if len(learnt) == 1 {
		s.enqueue(learnt[0], nil, 0)
	} else {
		n := &clause{lits: learnt, learnt: true, id: id, activity: s.clauseBump}
		s.learnts = append(s.learnts, n)
		s.attach(n)
		s.enqueue(learnt[0], n, back)
	}
	s.clauseBump /= 0.999
	return true
}

// analyze returns the first-UIP clause and the backjump level. The negation of the first UIP comes
// first in the clause, then a literal of the backjump level.
func (s *Solver) analyze(c *clause) (learnt []Lit, back int32) {
	learnt = append(learnt, 0)
	level := s.decisionLevel()
	open, at := 0, len(s.trail)-1
	var p Lit = -1
	for {
		if c.learnt {
			s.bumpClause(c)
		}
		for _, q := range c.lits {
			v := q.Var()
			if q == p || s.seen[v] || s.level[v] == 0 {
				continue
			}
			s.seen[v] = true
			s.bumped = append(s.bumped, v)
			if s.level[v] == level {
				open++
			} else {
				learnt = append(learnt, q)
			}
		}
		for v := s.trail[at].Var(); !s.seen[v] || s.level[v] != level; v = s.trail[at].Var() {
			at--
		}
		p = s.trail[at]
		at--
		s.seen[p.Var()] = false
		open--
		if open == 0 {
			break
		}
		c = s.reason[p.Var()]
	}
	learnt[0] = p.Not()
	s.bumpVars()
	marked := slices.Clone(learnt)
	// Local clause minimization: remove the literals that the others imply.
	kept := learnt[:1]
	for _, q := range learnt[1:] {
		if !s.redundant(q) {
			kept = append(kept, q)
		}
	}
	learnt = kept
	for _, q := range marked {
		s.seen[q.Var()] = false
	}
	for i := 1; i < len(learnt); i++ {
		if s.level[learnt[i].Var()] > s.level[learnt[1].Var()] {
			learnt[1], learnt[i] = learnt[i], learnt[1]
		}
	}
	if len(learnt) > 1 {
		back = s.level[learnt[1].Var()]
	}
	return learnt, back
}

// redundant reports whether the other marked literals imply q by its reason clause.
func (s *Solver) redundant(q Lit) bool {
	c := s.reason[q.Var()]
	if c == nil {
		return false
	}
	for _, l := range c.lits {
		if v := l.Var(); v != q.Var() && !s.seen[v] && s.level[v] > 0 {
			return false
		}
	}
	return true
}

// bumpVars moves the variables that took part in a conflict to the end of the queue, and keeps
// their relative order.
func (s *Solver) bumpVars() {
	slices.SortFunc(s.bumped, func(a, b int32) int { return cmp.Compare(s.queue.stamp[a], s.queue.stamp[b]) })
	for _, v := range s.bumped {
		s.queue.bump(v, s.values[Pos(v)] == unassigned)
	}
	s.bumped = s.bumped[:0]
}

func (s *Solver) bumpClause(c *clause) {
	c.activity += s.clauseBump
	if c.activity > 1e20 {
		for _, o := range s.learnts {
			o.activity *= 1e-20
		}
		s.clauseBump *= 1e-20
	}
}

// reduce deletes learnt clauses from the half with the lowest activity. It keeps binary clauses and
// clauses that are the reason of an assignment.
func (s *Solver) reduce() {
	slices.SortFunc(s.learnts, func(a, b *clause) int {
		switch {
		case a.activity < b.activity:
			return -1
		case a.activity > b.activity:
			return 1
		}
		return 0
	})
	kept := s.learnts[:0]
	for i, c := range s.learnts {
		locked := s.reason[c.lits[0].Var()] == c && s.values[c.lits[0]] == isTrue
		if i < len(s.learnts)/2 && len(c.lits) > 2 && !locked {
			c.removed = true
			if s.Forgot != nil {
				s.Forgot(c.id)
			}
			continue
		}
		kept = append(kept, c)
	}
	s.learnts = kept
	s.maxLearnts += s.maxLearnts / 10
}

// luby has the numbers of conflicts between restarts: unit times the sequence of Luby, Sinclair and
// Zuckerman, 1 1 2 1 1 2 4 ...
type luby struct {
	unit, limit int64
	u, v        int64
}

func newLuby(unit int64) *luby { return &luby{unit: unit, limit: unit, u: 1, v: 1} }

func (l *luby) next() {
	if l.u&-l.u == l.v {
		l.u++
		l.v = 1
	} else {
		l.v *= 2
	}
	l.limit = l.unit * l.v
}

// varQueue is a VMTF queue (variable move to front; Biere and Froehlich, Evaluating CDCL Variable
// Scoring Schemes, SAT 2015). It lists the variables by their latest conflict, the most recent
// last. Unlike in a heap, unassigning a variable and assigning it again costs almost nothing.
type varQueue struct {
	prev, next  []int32
	first, last int32
	// stamp is, by variable, the time of its latest move. It grows along the list.
	stamp []int64
	now   int64
	// free is a variable after which all variables are assigned, or -1.
	free int32
}

func newVarQueue() varQueue { return varQueue{first: -1, last: -1, free: -1} }

func (q *varQueue) reserve(vars int) {
	q.prev, q.next, q.stamp = slices.Grow(q.prev, vars), slices.Grow(q.next, vars), slices.Grow(q.stamp, vars)
}

// add appends a new variable, the next number.
func (q *varQueue) add() {
	v := int32(len(q.prev))
	q.prev, q.next, q.stamp = append(q.prev, -1), append(q.next, -1), append(q.stamp, 0)
	q.append(v)
	q.free = v
}

func (q *varQueue) append(v int32) {
	q.now++
	q.stamp[v] = q.now
	q.prev[v], q.next[v] = q.last, -1
	if q.last >= 0 {
		q.next[q.last] = v
	} else {
		q.first = v
	}
	q.last = v
}

// bump moves v to the end. unassigned says whether v is unassigned.
func (q *varQueue) bump(v int32, unassigned bool) {
	if q.last == v {
		return
	}
	if q.free == v {
		// All variables after v are assigned. v is assigned, too, or free is set to v below.
		if q.free = q.prev[v]; q.free < 0 {
			q.free = q.next[v]
		}
	}
	p, n := q.prev[v], q.next[v]
	if p >= 0 {
		q.next[p] = n
	} else {
		q.first = n
	}
	q.prev[n] = p // v is not the last
	q.append(v)
	if unassigned {
		q.free = v
	}
}

// released records that v has become unassigned.
func (q *varQueue) released(v int32) {
	if q.stamp[v] > q.stamp[q.free] {
		q.free = v
	}
}

// Unassigned returns the unassigned variable with the latest conflict, or -1 if all are assigned.
func (s *Solver) Unassigned() int32 {
	q := &s.queue
	v := q.free
	for v >= 0 && s.values[Pos(v)] != unassigned {
		if p := q.prev[v]; p >= 0 {
			v = p
			continue
		}
		q.free = v
		return -1
	}
	if v >= 0 {
		q.free = v
	}
	return v
}
