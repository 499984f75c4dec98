package polygraph

import (
	"github.com/isohound/isohound/accel"
	"github.com/isohound/isohound/history"
)

// accelerated is the known graph as accel takes it. Nodes are its vertices, and
// those of transactions its sources; sessions are paths.
func (g *graph) accelerated(m *model) *accel.Graph {
	a := &accel.Graph{Start: make([]int64, g.nodes+1), From: make([]int32, len(g.edges)), Sources: int32(len(m.txns)) << g.split, Cover: g.cover(m)}
	for i := range g.edges {
		a.Start[g.edges[i].to]++
	}
	end := int64(0)
	for v := range a.Start {
		end += a.Start[v]
		a.Start[v] = end
	}
	for i := range g.edges {
		e := &g.edges[i]
		a.Start[e.to]--
		a.From[a.Start[e.to]] = e.from
	}
	return a
}

// sketch is a graph of that size, which says all that its memory depends on.
func (g *graph) sketch(m *model) *accel.Graph {
	return &accel.Graph{Start: make([]int64, g.nodes+1), From: make([]int32, len(g.edges)), Sources: int32(len(m.txns)) << g.split,
		Cover: &accel.Cover{Count: m.chains.count}}
}

// cover has the nodes of each chain as a path.
func (g *graph) cover(m *model) *accel.Cover {
	n := len(m.txns) << g.split
	c := &accel.Cover{Chain: make([]int32, n), Place: make([]int32, n), Count: m.chains.count}
	for v := range int32(n) {
		t := g.txnOf(v)
		c.Chain[v], c.Place[v] = m.chains.of[t], m.chains.pos[t]<<g.split+1+v&g.split
	}
	return c
}

// alone makes every transaction a chain of its own.
func alone(n int) *chains {
	c := &chains{count: int32(n), of: make([]int32, n), pos: make([]int32, n), members: csr{make([]int32, n+1), make([]int32, n)}}
	for t := range int32(n) {
		c.of[t], c.members.items[t], c.members.from[t+1] = t, t, t+1
	}
	return c
}

// timed is the same with the transactions' times instead of the edges through
// time points, for those that know what to do with them. A transaction of unknown
// outcome never ends.
func (g *graph) timed(m *model) *accel.Graph {
	n := int32(len(m.txns)) << g.split
	edges := make([]accel.Edge, 0, len(g.edges))
	for i := range g.edges {
		if e := &g.edges[i]; e.from < n && e.to < n {
			edges = append(edges, accel.Edge{From: e.from, To: e.to})
		}
	}
	a := accel.NewGraph(n, edges)
	a.Cover, a.Intervals = g.cover(m), make([]accel.Interval, n)
	for v := range n {
		t := m.txn(g.txnOf(v))
		i := accel.Always
		if t.Begin != history.NoTime {
			i.Begin = t.Begin
		}
		if t.Status == history.Committed && t.End != history.NoTime {
			i.End = t.End
		}
		a.Intervals[v] = i
	}
	return a
}
