package sat

import "slices"

// resolve learns from a clause whose literals are all false and goes back to
// where what it learnt has a consequence. It returns false if the clauses
// contradict each other whatever the assignment.
func (s *Solver) resolve(c *clause) bool {
	// A conflict may lie below the current level, where a theory answers late
	// or a clause was added late.
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
	s.cancel(back)
	if len(learnt) == 1 {
		s.enqueue(learnt[0], nil)
	} else {
		n := &clause{lits: learnt, learnt: true, id: id, activity: s.clauseBump}
		s.learnts = append(s.learnts, n)
		s.attach(n)
		s.enqueue(learnt[0], n)
	}
	s.bump /= 0.95
	s.clauseBump /= 0.999
	return true
}

// analyze returns the clause of the first unique implication point, that point
// first and a literal of the highest level below second, and that level.
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
			s.bumpVar(v)
			if s.level[v] == level {
				open++
			} else {
				learnt = append(learnt, q)
			}
		}
		for !s.seen[s.trail[at].Var()] {
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
	marked := slices.Clone(learnt)
	// What follows from the others says nothing.
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

// redundant reports whether q follows from the other marked literals at once.
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

func (s *Solver) bumpVar(v int32) {
	s.activity[v] += s.bump
	if s.activity[v] > 1e100 {
		for i := range s.activity {
			s.activity[i] *= 1e-100
		}
		s.bump *= 1e-100
	}
	s.queue.update(v)
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

// reduce forgets the half of the learnt clauses that took part in the fewest
// conflicts, but none that is the reason of an assignment.
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

// luby is the sequence of Luby, Sinclair and Zuckerman: 1 1 2 1 1 2 4 ...,
// here of conflicts between restarts.
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

// varHeap is a heap of variables by activity.
type varHeap struct {
	s    *Solver
	vars []int32
	at   []int32 // by variable: its place in vars, or -1
}

func (h *varHeap) above(a, b int32) bool {
	x, y := h.s.activity[a], h.s.activity[b]
	return x > y || x == y && a < b
}

func (h *varHeap) push(v int32) {
	if h.at[v] >= 0 {
		return
	}
	h.at[v] = int32(len(h.vars))
	h.vars = append(h.vars, v)
	h.up(h.at[v])
}

func (h *varHeap) update(v int32) {
	if h.at[v] >= 0 {
		h.up(h.at[v])
	}
}

func (h *varHeap) up(i int32) {
	v := h.vars[i]
	for i > 0 {
		p := (i - 1) / 2
		if !h.above(v, h.vars[p]) {
			break
		}
		h.vars[i] = h.vars[p]
		h.at[h.vars[i]] = i
		i = p
	}
	h.vars[i], h.at[v] = v, i
}

func (h *varHeap) down(i int32) {
	v, n := h.vars[i], int32(len(h.vars))
	for {
		c := 2*i + 1
		if c >= n {
			break
		}
		if c+1 < n && h.above(h.vars[c+1], h.vars[c]) {
			c++
		}
		if !h.above(h.vars[c], v) {
			break
		}
		h.vars[i] = h.vars[c]
		h.at[h.vars[i]] = i
		i = c
	}
	h.vars[i], h.at[v] = v, i
}

// popUnassigned removes and returns the most active variable without a value,
// or -1.
func (h *varHeap) popUnassigned() int32 {
	for len(h.vars) > 0 {
		v := h.vars[0]
		last := h.vars[len(h.vars)-1]
		h.vars = h.vars[:len(h.vars)-1]
		h.at[v] = -1
		if last != v {
			h.vars[0] = last
			h.at[last] = 0
			h.down(0)
		}
		if h.s.values[Pos(v)] == unassigned {
			return v
		}
	}
	return -1
}
