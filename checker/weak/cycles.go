package weak

import (
	"slices"

	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// searchBudget bounds the search for a short cycle, in visited edges.
const searchBudget = 50 << 20

// search finds a shortest cycle by breadth-first searches, backwards from transactions of the graph's
// strongly connected components.
type search struct {
	x        *index
	forced   *edges
	scc      []int32
	sessions [][]int32 // the committed transactions of each session
	place    []int32   // by transaction: the number of committed ones before it in its session
	visits   int

	// A search has visited t if epoch[t] is now. Then via[t] is the edge from t towards its end.
	epoch []int32
	dist  []int32
	via   []step
	// A search has visited, of each session, the committed transactions before covered, if mark is now.
	covered, mark []int32
	now           int32
}

// step is an edge to a transaction.
type step struct {
	to   int32
	kind verdict.EdgeKind
}

func (x *index) newSearch(forced *edges) *search {
	n := len(x.counted)
	s := &search{x: x, forced: forced, scc: x.components(forced), place: make([]int32, n), epoch: make([]int32, n), dist: make([]int32, n),
		via: make([]step, n), covered: make([]int32, x.h.SessionCount()), mark: make([]int32, x.h.SessionCount())}
	s.sessions = make([][]int32, x.h.SessionCount())
	for t := range x.h.Txns {
		on := &s.sessions[x.h.Txns[t].Session]
		s.place[t] = int32(len(*on))
		if x.h.Txns[t].Status == history.Committed {
			*on = append(*on, int32(t))
		}
	}
	return s
}

// shortest returns a shortest cycle of the graph, or a short one if the search takes too long. A cycle with
// forced edges that follow from others may be shorter.
func (x *index) shortest(forced *edges) (cycle []verdict.Edge, err error) {
	s := x.newSearch(forced)
	limit := int32(1) << 30
	// Every cycle has a transaction to which a forced edge leads or, if there are no forced edges, one
	// that read from another.
	for t := range int32(len(x.counted)) {
		if s.scc[t] == none || forced != nil && len(forced.into(t)) == 0 {
			continue
		}
		if s.visits > searchBudget && cycle != nil {
			break
		}
		if err := x.c.stopped(); err != nil {
			return nil, err
		}
		if found := s.from(t, limit); found != nil {
			cycle, limit = found, int32(len(found))
			if limit == 2 {
				break
			}
		}
	}
	return cycle, nil
}

// from returns a shortest cycle through t with less than limit edges, or nil.
func (s *search) from(t, limit int32) []verdict.Edge {
	x := s.x
	s.now++
	s.epoch[t], s.dist[t] = s.now, 0
	queue := []int32{t}
	for len(queue) > 0 {
		u := queue[0]
		queue = queue[1:]
		if s.dist[u]+1 >= limit {
			return nil
		}
		closed := verdict.EdgeKind(0)
		visit := func(p int32, kind verdict.EdgeKind) {
			s.visits++
			if p == t {
				if closed == 0 {
					closed = kind
				}
				return
			}
			if s.scc[p] == s.scc[t] && s.epoch[p] != s.now {
				s.epoch[p], s.dist[p], s.via[p] = s.now, s.dist[u]+1, step{u, kind}
				queue = append(queue, p)
			}
		}
		if !x.c.ru {
			for _, r := range x.readsBy(u) {
				if r.writer != none {
					visit(r.writer, verdict.WR)
				}
			}
			on := x.h.Txns[u].Session
			if s.mark[on] != s.now {
				s.mark[on], s.covered[on] = s.now, 0
			}
			if on == x.h.Txns[t].Session && x.h.Txns[t].Status == history.Committed && s.place[t] < s.place[u] {
				visit(t, verdict.SO)
			}
			for ; s.covered[on] < s.place[u]; s.covered[on]++ {
				visit(s.sessions[on][s.covered[on]], verdict.SO)
			}
		}
		for _, p := range s.forced.into(u) {
			visit(p, verdict.WW)
		}
		if closed != 0 {
			edges := []verdict.Edge{x.edge(t, u, closed)}
			for v := u; v != t; v = s.via[v].to {
				edges = append(edges, x.edge(v, s.via[v].to, s.via[v].kind))
			}
			return earliest(edges)
		}
	}
	return nil
}

// earliest turns a cycle so that it begins with its earliest transaction.
func earliest(cycle []verdict.Edge) []verdict.Edge {
	first := 0
	for n := range cycle {
		if cycle[n].From < cycle[first].From {
			first = n
		}
	}
	return append(slices.Clone(cycle[first:]), cycle[:first]...)
}

// edge describes an edge. The key and value of a forced edge are left out.
func (x *index) edge(from, to int32, kind verdict.EdgeKind) verdict.Edge {
	e := verdict.Edge{From: from, To: to, Kind: kind}
	switch {
	case kind == verdict.WR:
		for _, r := range x.readsBy(to) {
			if r.writer == from {
				e.Key, e.Value = r.key, x.value(r.version)
				return e
			}
		}
	case kind == verdict.WW && x.c.ru:
		e.Key, e.Value = x.overwritten(from, to)
	}
	return e
}
