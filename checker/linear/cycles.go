package linear

import (
	"cmp"
	"math"
	"slices"

	"github.com/isohound/isohound/checker/explain"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// Search budgets in visited arcs: each takes a fraction of a second.
const (
	shortBudget = 20 << 20
	longBudget  = 100 << 20
)

// cycles finds cycles in the part of the graph that has no topological order: a short one of each
// class or, if there is none, a shortest one.
//
// The first search covers the cycles of up to three edges and takes one of each class. Session
// order and real time are transitive, so a shortest cycle never has two such edges in a row, and a
// cycle of up to three edges has at most one of them. If the search starts at its end, the rest is
// a path of at most two data edges. If there is no such cycle, a second search uses the links. It
// starts from every vertex and is bounded by the shortest cycle found so far.
func (x *index) cycles(c *check, o *order) ([]verdict.Anomaly, error) {
	s := &search{g: newCore(x, o), c: c, classes: map[string]bool{}, complete: true}
	if x.Has(verdict.Divergence) != nil {
		s.classes[explain.LostUpdate] = true
	}
	n := len(s.g.from) - 1
	s.dist, s.epoch, s.parent = make([]int32, n), make([]int32, n), make([]int32, n)
	if err := s.short(); err != nil {
		return nil, err
	}
	if len(s.out) == 0 && len(x.Anomalies) == 0 {
		if err := s.shortest(); err != nil {
			return nil, err
		}
	}
	// No cycle is shorter than two edges. A longer cycle is known to be a shortest one only if the
	// search was complete. If a version was overwritten twice, the graph has only one of the two
	// edges, so the search is not complete. Neither is it if there are open runs of class reads.
	partial := x.Has(verdict.Divergence) != nil || x.classes != nil
	least := math.MaxInt
	for n := range s.out {
		least = min(least, len(s.out[n].Cycle))
	}
	for n := range s.out {
		length := len(s.out[n].Cycle)
		s.out[n].Shortest = length == 2 || !partial && s.complete && length == least
	}
	// A cycle without real time also violates weaker levels, so it says more.
	slices.SortStableFunc(s.out, func(a, b verdict.Anomaly) int {
		return cmp.Or(realTimeEdges(a.Cycle)-realTimeEdges(b.Cycle), len(a.Cycle)-len(b.Cycle))
	})
	return s.out, nil
}

type search struct {
	g       *core
	c       *check
	classes map[string]bool
	out     []verdict.Anomaly
	visits  int
	// complete: no search ran out of budget.
	complete bool

	// Breadth-first search from one vertex; an entry counts only if its epoch
	// is the current one.
	dist, epoch, parent []int32
	now                 int32
	level, next         []int32
}

// short searches the cycles of up to three edges and takes one of each class.
func (s *search) short() error {
	g := s.g
	for l := range g.txns {
		u := g.start(int32(l))
		if g.scc[u] == none {
			continue
		}
		if s.visits > shortBudget {
			s.complete = false
			break
		}
		if l%1024 == 0 {
			if err := s.c.stopped(); err != nil {
				return err
			}
		}
		s.bfs(u, 3, false, func(last int32, closing verdict.EdgeKind) bool {
			s.take(u, last, closing)
			return false
		})
	}
	return nil
}

// shortest searches for a cycle with the fewest edges, within the budget.
func (s *search) shortest() error {
	g := s.g
	limit := int32(1 << 30)
	var best verdict.Anomaly
	for l := range g.txns {
		u := g.start(int32(l))
		if g.scc[u] == none {
			continue
		}
		if s.visits > longBudget+shortBudget {
			s.complete = false
			break
		}
		if err := s.c.stopped(); err != nil {
			return err
		}
		s.bfs(u, limit-1, true, func(last int32, closing verdict.EdgeKind) bool {
			if a := s.cycle(u, last, closing); int32(len(a.Cycle)) < limit {
				best, limit = a, int32(len(a.Cycle))
			}
			return true
		})
	}
	if best.Cycle != nil {
		s.out = append(s.out, best)
	}
	return nil
}

// bfs searches from vertex u up to limit edges. It calls found whenever an arc leads from vertex
// last back to u. Without links it does not visit the session and time links. Instead it also calls
// found when session order or real time leads from last back to u. It stops when found returns
// true. With links, a cycle whose last arc is a step is reported at the end of its level, because
// one without that step is shorter.
func (s *search) bfs(u, limit int32, links bool, found func(last int32, closing verdict.EdgeKind) bool) {
	g := s.g
	s.now++
	s.dist[u], s.epoch[u], s.parent[u] = 0, s.now, none
	level, next := append(s.level[:0], u), s.next[:0]
	defer func() { s.level, s.next = level, next }()
	for d := int32(0); d < limit && len(level) > 0; d++ {
		next = next[:0]
		closed := none
		for n := 0; n < len(level); n++ {
			v := level[n]
			if s.dist[v] < d { // reached in fewer steps since it was added
				continue
			}
			if !links && d > 0 {
				if k := s.orderBack(v, u); k != 0 && found(v, k) {
					return
				}
			}
			s.visits += int(g.from[v+1] - g.from[v])
			for _, a := range g.arcs[g.from[v]:g.from[v+1]] {
				w, k := a.to(), a.kind()
				if g.scc[w] != g.scc[u] || !links && w >= g.sessionLink {
					continue
				}
				if w == u {
					switch {
					case links && k != 0:
						closed = v
					case found(v, 0):
						return
					}
					continue
				}
				nd := d
				if k != 0 {
					nd++
				}
				if s.epoch[w] == s.now && s.dist[w] <= nd {
					continue
				}
				s.epoch[w], s.dist[w], s.parent[w] = s.now, nd, v
				if k == 0 {
					level = append(level, w)
				} else {
					next = append(next, w)
				}
			}
		}
		if closed != none && found(closed, 0) {
			return
		}
		level, next = next, level
	}
}

// orderBack returns the order, if any, by which v, if it is a commit, comes before the start u.
func (s *search) orderBack(v, u int32) verdict.EdgeKind {
	g, h := s.g, s.g.x.h
	l := v >> g.shift
	if v != g.commit(l) || l == u>>g.shift {
		return 0
	}
	i, j := g.txns[l], g.txns[u>>g.shift]
	t, first := &h.Txns[i], &h.Txns[j]
	if t.Status != history.Committed {
		return 0
	}
	if g.x.c.lvl.SessionOrder() && t.Session == first.Session && i < j {
		return verdict.SO
	}
	if g.x.c.lvl.RealTime() && t.End != history.NoTime && first.Begin != history.NoTime && t.End < first.Begin {
		return verdict.RT
	}
	return 0
}

func realTimeEdges(cycle []verdict.Edge) int {
	n := 0
	for _, e := range cycle {
		if e.Kind == verdict.RT {
			n++
		}
	}
	return n
}

// take adds the cycle if its class is new or if it is shorter than the cycle of its class.
func (s *search) take(u, last int32, closing verdict.EdgeKind) {
	a := s.cycle(u, last, closing)
	name := explain.Classify(s.g.x.h, a.Cycle, nil)[0]
	if s.classes[name] {
		for n := range s.out {
			if len(a.Cycle) < len(s.out[n].Cycle) && explain.Classify(s.g.x.h, s.out[n].Cycle, nil)[0] == name {
				s.out[n] = a
			}
		}
		return
	}
	s.classes[name] = true
	s.out = append(s.out, a)
}

// cycle turns a cycle into an anomaly. The cycle is the path from u to last, closed by an order of
// kind closing or, if closing is 0, by an arc. The anomaly begins with the earliest transaction.
func (s *search) cycle(u, last int32, closing verdict.EdgeKind) verdict.Anomaly {
	g := s.g
	vertices := []int32{u}
	for v := last; v != none; v = s.parent[v] {
		vertices = append(vertices, v)
	}
	slices.Reverse(vertices) // u, ..., last, u
	var edges []verdict.Edge
	pending, kind := int32(none), verdict.EdgeKind(0)
	for n := 1; n < len(vertices); n++ {
		v, w := vertices[n-1], vertices[n]
		k := closing
		if n < len(vertices)-1 || k == 0 {
			k = s.kindOf(v, w)
		}
		if k != 0 {
			pending, kind = v>>g.shift, k
		}
		if w < g.sessionLink && kind != 0 {
			edges = append(edges, g.edge(pending, w>>g.shift, kind))
			kind = 0
		}
	}
	first := 0
	for n := range edges {
		if edges[n].From < edges[first].From {
			first = n
		}
	}
	edges = append(slices.Clone(edges[first:]), edges[:first]...)
	a := verdict.Anomaly{Kind: verdict.Cycle, Cycle: edges, Count: 1}
	for _, e := range edges {
		a.Txns = append(a.Txns, e.From)
	}
	return a
}

// kindOf returns the kind of an arc from v to w. If there are both a WR and an RW arc, it is WR,
// which violates more levels. An arc of zero steps is never parallel to another arc.
func (s *search) kindOf(v, w int32) verdict.EdgeKind {
	kind := verdict.EdgeKind(1<<kindBits - 1)
	for _, a := range s.g.arcs[s.g.from[v]:s.g.from[v+1]] {
		if a.to() == w {
			kind = min(kind, a.kind())
		}
	}
	return kind
}

// edge finds the key and version behind an edge between two transactions,
// given by their numbers in the core.
func (g *core) edge(from, to int32, kind verdict.EdgeKind) verdict.Edge {
	x, h := g.x, g.x.h
	e := verdict.Edge{From: g.txns[from], To: g.txns[to], Kind: kind}
	t := &h.Txns[e.From]
	if kind == verdict.RW {
		for j, op := range h.Ops(t) {
			if v := x.opVersion[h.FirstOp(t)+j]; op.Kind == history.Read && v != none && x.next[v] == e.To {
				e.Key, e.Value = op.Key, op.Value
				return e
			}
		}
	}
	t = &h.Txns[e.To]
	if kind == verdict.WR {
		for j, op := range h.Ops(t) {
			if v := x.opVersion[h.FirstOp(t)+j]; op.Kind == history.Read && v != none && x.writer[v] == e.From {
				e.Key, e.Value = op.Key, op.Value
				return e
			}
		}
	}
	if x.classes != nil && x.classes.into.first != nil {
		for n := x.classes.into.first[e.To]; n != none; n = x.classes.into.next[n] {
			if class := x.classes.edges[n]; class.From == e.From && class.Kind == kind {
				return class
			}
		}
	}
	return e
}
