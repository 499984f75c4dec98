package polygraph

import "github.com/isohound/isohound/accel"

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
