package polygraph

import "github.com/isohound/isohound/accel"

// accelerated returns the known graph in the form that accel takes. The nodes of transactions are
// its sources, a start and its commit are a pair, and sessions are paths.
func (g *graph) accelerated(m *model) *accel.Graph {
	g.freeze()
	a := &accel.Graph{Start: make([]int64, g.nodes+1), From: g.prior.items, Sources: int32(len(m.txns)) << g.split, Pairs: g.paired(m), Cover: sessionCover(m, g)}
	for v, at := range g.prior.from {
		a.Start[v] = int64(at)
	}
	return a
}

// paired reports whether edges lead from starts to commits alone. Edges of claimed snapshots lead to points.
func (g *graph) paired(m *model) bool {
	return g.split == 1 && (m.visible == nil || m.visible.points == 0)
}

// sketch returns a graph of the same size without its edges. It is enough to estimate the memory.
func (g *graph) sketch(m *model) *accel.Graph {
	return &accel.Graph{Start: make([]int64, g.nodes+1), From: make([]int32, len(g.edges)), Sources: int32(len(m.txns)) << g.split,
		Pairs: g.paired(m), Cover: &accel.Cover{Count: m.chains.count}}
}

// alone makes every transaction a chain of its own.
func alone(n int) *chains {
	c := &chains{count: int32(n), of: make([]int32, n), pos: make([]int32, n), members: csr{make([]int32, n+1), make([]int32, n)}}
	for t := range int32(n) {
		c.of[t], c.members.items[t], c.members.from[t+1] = t, t, t+1
	}
	return c
}

// timed returns the same graph with the transactions' times as intervals instead of time points,
// for backends that can use intervals. A transaction of unknown outcome never ends.
func (g *graph) timed(m *model) *accel.Graph {
	n := int32(len(m.txns)) << g.split
	edges := make([]accel.Edge, 0, len(g.edges))
	for i := range g.edges {
		if e := &g.edges[i]; e.from < n && e.to < n {
			edges = append(edges, accel.Edge{From: e.from, To: e.to})
		}
	}
	a := accel.NewGraph(n, edges)
	a.Pairs, a.Cover, a.Intervals = g.split == 1, sessionCover(m, g), intervals(m, g)
	return a
}
