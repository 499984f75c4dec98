package polygraph

import (
	"slices"

	"github.com/isohound/isohound/checker/sat"
)

// sources are the candidates of a read as the search has them: those nearest before
// the reader have variables, and one variable more says that the source is among the
// others. When the search makes that true, the next ones get theirs. A value that was
// written ten thousand times would else take as many variables for each misread.
type sources struct {
	list   []source
	others []int32 // candidates without a variable
	other  sat.Lit // the source is one of them, where there are any
	guard  []sat.Lit
}

// source is a candidate of a read: a write, or fromInitial.
type source struct {
	write int32
	lit   sat.Lit
}

// How many candidates of a read get variables at once.
const (
	fewSources  = 8
	everySource = 1<<31 - 1
)

// chosenSource returns the source that the assignment gives an open read, and
// a guard for clauses about it. The first time it makes variables for them.
func (x *search) chosenSource(r int32, guard []sat.Lit) (int32, []sat.Lit, bool) {
	s, ok := x.sources[r]
	if !ok {
		most := fewSources
		if x.proof != nil {
			most = everySource // a refutation knows nothing of others
		}
		x.makeSources(r, guard, most)
		return 0, nil, false
	}
	for _, c := range s.list {
		if x.s.True(c.lit) {
			return c.write, append(slices.Clone(guard), c.lit.Not()), true
		}
	}
	if len(s.others) > 0 && x.s.True(s.other) {
		x.moreSources(r, s, fewSources)
	} else {
		x.mend.note(s.some()) // none was decided
	}
	return 0, nil, false
}

// some is the clause that a read has one of its sources.
func (s *sources) some() []sat.Lit {
	lits := slices.Clone(s.guard)
	for _, c := range s.list {
		lits = append(lits, c.lit)
	}
	if len(s.others) > 0 {
		lits = append(lits, s.other)
	}
	return lits
}

// makeSources gives the candidates of a read, of which at most so many at first,
// their variables.
func (x *search) makeSources(r int32, guard []sat.Lit, most int) {
	m := x.m
	rd := &m.reads[r]
	x.used.read(r)
	s := &sources{guard: guard}
	if i := x.openAt[r]; i > 0 {
		o := &x.open[i-1]
		s.others = slices.Clone(o.candidates)
		if o.initial {
			s.others = append(s.others, fromInitial)
		}
	} else {
		for _, w := range m.members(rd) {
			if t := m.writer[w]; t != rd.txn && !m.broken[t] {
				s.others = append(s.others, w)
			}
		}
		if m.acceptsInitial(rd) {
			s.others = append(s.others, fromInitial)
		}
	}
	x.sources[r] = s
	x.moreSources(r, s, most)
}

// moreSources gives so many more candidates of a read their variables.
func (x *search) moreSources(r int32, s *sources, most int) {
	m, g := x.m, x.g
	reader := g.start(m.reads[r].txn)
	clause := slices.Clone(s.guard)
	if len(s.list) > 0 {
		clause = append(clause, s.other.Not())
	}
	fresh := s.nearest(most, func(w int32) int32 {
		at := int32(-1)
		if w != fromInitial {
			at = x.o.pos[g.commit(m.writer[w])]
		}
		if before := x.o.pos[reader] - at; before >= 0 {
			return before
		} else {
			return 1<<30 - before // those behind the reader come last
		}
	})
	for _, w := range fresh {
		lit := sat.Pos(x.newVar(variable{isSource, r, int32(len(s.list))}))
		s.list = append(s.list, source{w, lit})
		clause = append(clause, lit)
	}
	if len(s.others) > 0 {
		s.other = sat.Pos(x.newVar(variable{kind: isOther, a: r}))
		clause = append(clause, s.other)
	}
	x.proof.sources(r, s.list)
	x.add(clause)
	for _, c := range s.list[len(s.list)-len(fresh):] {
		if c.write == fromInitial {
			continue
		}
		t := m.writer[c.write]
		x.add([]sat.Lit{c.lit.Not(), x.precedes(int32(m.reads[r].key), g.commit(t), reader)})
		if m.optional[t] {
			x.add([]sat.Lit{c.lit.Not(), x.counted(t)})
		}
	}
}

// nearest takes the candidates without a variable that are least far away, at most
// so many, in the order of their numbers.
func (s *sources) nearest(most int, far func(w int32) int32) []int32 {
	if most >= len(s.others) {
		all := s.others
		s.others = nil
		return all
	}
	limit := make([]int32, 0, most) // the least distances so far, sorted
	for _, w := range s.others {
		d := far(w)
		if i, _ := slices.BinarySearch(limit, d); i < most {
			if len(limit) == most {
				limit = limit[:most-1]
			}
			limit = slices.Insert(limit, i, d)
		}
	}
	var near, rest []int32
	for _, w := range s.others {
		if len(near) < most && far(w) <= limit[most-1] {
			near = append(near, w)
		} else {
			rest = append(rest, w)
		}
	}
	s.others = rest
	return near
}
