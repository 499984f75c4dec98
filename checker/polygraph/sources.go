package polygraph

import (
	"slices"

	"github.com/isohound/isohound/checker/sat"
)

// sources are the candidates of a read. The candidates nearest before the reader have variables.
// One more variable says that the source is among the others. If the search makes it true, the next
// candidates get variables. Otherwise each wrong read of a value that was written ten thousand
// times would need as many variables.
type sources struct {
	list   []source
	others []int32 // candidates without a variable
	other  sat.Lit // the source is one of others, if there are any
	guard  []sat.Lit
}

// source is a candidate of a read: a write, or fromInitial.
type source struct {
	write int32
	lit   sat.Lit
}

// How many candidates of a read get variables at a time.
const (
	fewSources  = 8
	everySource = 1<<31 - 1
)

// chosenSource returns the source that the assignment gives an open read, and a guard for clauses
// about it. At the first call it only makes the variables, and returns false.
func (x *search) chosenSource(r int32, guard []sat.Lit) (int32, []sat.Lit, bool) {
	s, ok := x.sources[r]
	if !ok {
		most := fewSources
		if x.proof != nil {
			most = everySource // a refutation needs all candidates
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
		x.mend.note(s.some()) // no source was decided
	}
	return 0, nil, false
}

// some returns the clause that the read has one of its sources.
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

// makeSources finds the candidates of a read, and makes variables for up to most of them.
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

// moreSources makes variables for up to most more candidates of a read.
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
			return 1<<30 - before // candidates after the reader come last
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

// nearest removes up to most candidates from others, the nearest ones. It returns them in the order
// of their numbers.
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
