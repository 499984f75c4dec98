package psi

import (
	"cmp"
	"context"
	"slices"

	"github.com/isohound/isohound/checker/sat"
	"github.com/isohound/isohound/history"
)

// search looks for an order of the writers of each key.
type search struct {
	ctx     context.Context
	x       *index
	g       *graph
	allowed bool
	used    used
	// cycle are the edges of a cycle that saturation has found. Or it has found that read missed returned
	// the initial value although writer had to be seen, and missed is not none.
	cycle          []int32
	missed, writer int32

	s     *sat.Solver
	vars  map[[2]int32]int32 // by two writers of a key, the smaller first: the variable that it comes first
	pairs [][2]int32         // by variable
	// known are the number of edges that every execution has, and their clocks, with their order's ranks.
	known  int
	before graph
}

// mostPasses bounds the passes of saturation. The search finds what is left.
const mostPasses = 8

// mostClauses is how many wrong reads become clauses at a time.
const mostClauses = 256

// newSearch returns a search that has not begun.
func (x *index) newSearch(ctx context.Context) *search {
	var base []int32
	for i, in := range x.counted {
		if in {
			base = append(base, int32(i))
		}
	}
	if x.h.Timed() {
		slices.SortStableFunc(base, func(a, b int32) int { return cmp.Compare(x.time(a), x.time(b)) })
	}
	s := &search{ctx: ctx, x: x, g: newGraph(x, base), vars: map[[2]int32]int32{}, missed: none}
	s.used = newUsed(s)
	return s
}

func (x *index) search(ctx context.Context) (*search, error) {
	s := x.newSearch(ctx)
	if possible, err := s.saturate(); err != nil || !possible {
		return s, err
	}
	s.known = len(s.g.edges)
	s.before = *s.g
	s.before.rank, s.g.clocks = slices.Clone(s.g.rank), nil
	s.s = sat.New(s)
	var err error
	s.allowed, err = s.s.Solve(ctx)
	return s, err
}

// time is when a transaction probably committed.
func (x *index) time(t int32) int64 {
	if end := x.h.Txns[t].End; end != history.NoTime {
		return end
	}
	return x.h.Txns[t].Begin
}

// saturate adds what every execution has to happens-before. It returns false if that is impossible.
func (s *search) saturate() (possible bool, err error) {
	g, x := s.g, s.x
	for range mostPasses {
		cycle, err := g.sort(s.ctx)
		if err != nil {
			return false, err
		}
		if cycle != nil {
			s.cycle = cycle
			s.used.all(cycle)
			return false, nil
		}
		if err := g.tick(s.ctx); err != nil {
			return false, err
		}
		known := len(g.edges)
		for r := range x.reads {
			rd := &x.reads[r]
			if !x.counted[rd.txn] {
				continue
			}
			x.eachLast(rd.key, g.clock(rd.txn), func(u int32) {
				switch {
				case u == rd.source:
				case rd.source == none:
					s.missed, s.writer = int32(r), u
					s.used.missed(int32(r), u, int32(known))
				case !g.happened(u, rd.source) && !g.recent(u, rd.source):
					g.add(edge{from: u, to: rd.source, kind: forced, read: int32(r)})
				}
			})
			if s.missed != none {
				return false, nil
			}
		}
		if len(g.edges) == known {
			return true, nil
		}
	}
	// The clocks must know all edges.
	cycle, err := g.sort(s.ctx)
	if err == nil && cycle == nil {
		return true, g.tick(s.ctx)
	}
	s.cycle = cycle
	s.used.all(cycle)
	return false, err
}

// first returns the literal that a comes before b, both writers of a key.
func (s *search) first(a, b int32) sat.Lit {
	pair := [2]int32{min(a, b), max(a, b)}
	v, ok := s.vars[pair]
	if !ok {
		v = s.s.NewVar()
		s.vars[pair] = v
		s.pairs = append(s.pairs, pair)
	}
	if a > b {
		return sat.Pos(v).Not()
	}
	return sat.Pos(v)
}

// Assert implements sat.Theory. Nothing is impossible before Final looks at the whole order.
func (s *search) Assert(sat.Lit) []sat.Lit { return nil }

// Retract implements sat.Theory.
func (s *search) Retract(sat.Lit) {}

// Decide implements sat.Theory: two writers are ordered as in the latest order.
func (s *search) Decide() sat.Lit {
	v := s.s.Unassigned()
	if v < 0 {
		return sat.None
	}
	if p := s.pairs[v]; s.g.rank[p[0]] > s.g.rank[p[1]] {
		return sat.Pos(v).Not()
	}
	return sat.Pos(v)
}

// Final implements sat.Theory. It orders the transactions as the variables say, and looks for wrong reads.
func (s *search) Final() (more bool, err error) {
	g := s.g
	g.truncate(s.known)
	for v, p := range s.pairs {
		if l := sat.Pos(int32(v)); s.s.True(l) {
			g.add(edge{from: p[0], to: p[1], kind: chosen, lit: l})
		} else {
			g.add(edge{from: p[1], to: p[0], kind: chosen, lit: l.Not()})
		}
	}
	cycle, err := g.sort(s.ctx)
	if err != nil {
		return false, err
	}
	if cycle != nil {
		s.exclude(cycle)
		return true, nil
	}
	s.orderWriters()
	if err := g.tick(s.ctx); err != nil {
		return false, err
	}
	return s.misreads(), nil
}

// orderWriters adds the WW edges of the order, except those that are known. They have no variable until
// one is needed.
func (s *search) orderWriters() {
	for k := range s.x.h.KeyCount() {
		list := slices.Clone(s.x.writersOf(history.Key(k)))
		slices.SortFunc(list, func(a, b int32) int { return int(s.g.rank[a] - s.g.rank[b]) })
		for i := 1; i < len(list); i++ {
			if a, b := list[i-1], list[i]; !s.before.happened(a, b) {
				s.g.add(edge{from: a, to: b, kind: chosen, key: history.Key(k), lit: sat.None})
			}
		}
	}
}

// misreads adds clauses about wrong reads, and reports whether there are any.
func (s *search) misreads() bool {
	x, g := s.x, s.g
	found := 0
	for r := range x.reads {
		rd := &x.reads[r]
		if !x.counted[rd.txn] {
			continue
		}
		last := rd.source
		x.eachLast(rd.key, g.clock(rd.txn), func(u int32) {
			if last == none || g.rank[u] > g.rank[last] {
				last = u
			}
		})
		if last == rd.source {
			continue
		}
		s.misread(int32(r), last)
		if found++; found == mostClauses {
			break
		}
	}
	return found > 0
}

// misread adds the clause that u, which the reader of read r sees, happened before what was read, or that
// the reader does not see it.
func (s *search) misread(r, u int32) {
	w := s.x.reads[r].source
	path := s.g.chain(u, s.x.reads[r].txn)
	var more []sat.Lit
	if w != none {
		if s.before.happened(w, u) {
			s.used.path(w, u, int32(s.known))
		} else {
			more = append(more, s.first(u, w))
		}
	}
	s.used.read(r)
	s.used.txn(u)
	s.exclude(path, more...)
}

// exclude adds the clause that not all of some edges hold, or that one of more is true.
func (s *search) exclude(edges []int32, more ...sat.Lit) {
	clause := more
	for _, e := range edges {
		d := &s.g.edges[e]
		if d.kind != chosen {
			s.used.work = append(s.used.work, e)
			continue
		}
		if d.lit == sat.None {
			d.lit = s.first(d.from, d.to)
		}
		s.used.pair(d.from, d.to)
		clause = append(clause, d.lit.Not())
	}
	s.s.Add(clause...)
}
