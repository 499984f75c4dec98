package polygraph

import (
	"github.com/isohound/isohound/accel/parallel"
	"github.com/isohound/isohound/checker/radix"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// edge leads from one node to another. Transaction t has two nodes: its start t<<split, and its
// commit t<<split + split. For serializability split is 0, and both are the same node. For snapshot
// isolation and prefix consistency split is 1 (docs/checking.md). The nodes after those of the
// transactions are the time points of real-time order, and then the points of visible.
type edge struct {
	from, to        int32
	nextOut, nextIn int32 // the next edge of the same node, or none
	why             int32 // the read that implies the edge, or none
	kind            verdict.EdgeKind
	rule            rule
}

// graph is the known graph: edges that every execution must have.
type graph struct {
	// split is 1 if commits and starts are different nodes, else 0.
	split int32
	// apart: writers of one key must not overlap.
	apart bool
	// late is 1 if starts and commits are different nodes and writers of one key may overlap, else 0:
	// see turn.
	late    int32
	nodes   int32 // including the time points
	out, in []int32
	edges   []edge

	// after and prior are the successors and predecessors of every node, as lists in one array.
	// They describe the graph at the latest freeze.
	after, prior csr
}

func newGraph(m *model) *graph {
	g := &graph{}
	if m.lvl.Snapshot() {
		g.split, g.late = 1, 1
	}
	if m.lvl.FirstCommitterWins() {
		g.apart, g.late = true, 0
	}
	n := int32(len(m.txns))
	g.nodes = n << g.split
	points := 0
	if m.lvl.RealTime() {
		points = countPoints(m)
	}
	g.nodes += int32(points)
	if g.split == 1 && m.visible != nil {
		g.nodes += m.visible.points
	}
	room := 2*int(g.nodes) + len(m.reads) + len(m.reads)/4
	if m.placed != nil {
		room += len(m.placed.writes.items) + len(m.reads)
	}
	if m.visible != nil {
		room += len(m.visible.links)
	}
	g.edges = make([]edge, 0, room)
	g.out, g.in = make([]int32, g.nodes), make([]int32, g.nodes)
	stamp(g.out)
	stamp(g.in)
	for t := range n {
		if g.split == 1 {
			g.add(g.start(t), g.commit(t), 0, given, none)
		}
		if b := m.before[t]; b != none {
			g.add(g.commit(b), g.start(t), verdict.SO, given, none)
		}
	}
	if m.lvl.RealTime() {
		realTime(m, g, n<<g.split)
	}
	if m.placed != nil {
		m.placed.link(m, g)
	}
	if g.split == 1 && m.visible != nil {
		m.visible.link(g, n<<g.split+int32(points))
	}
	return g
}

func (g *graph) start(t int32) int32  { return t << g.split }
func (g *graph) commit(t int32) int32 { return t<<g.split | g.split }

// turn returns the node that other writers of t's keys must commit before if their versions come before
// t's: the start of t if writers of one key must not overlap, else its commit.
func (g *graph) turn(t int32) int32 { return t<<g.split | g.late }

// txnOf returns the transaction of a node. The node must not be a time point.
func (g *graph) txnOf(node int32) int32 { return node >> g.split }

func (g *graph) add(from, to int32, kind verdict.EdgeKind, by rule, why int32) {
	e := int32(len(g.edges))
	g.edges = append(g.edges, edge{from, to, g.out[from], g.in[to], why, kind, by})
	g.out[from], g.in[to] = e, e
}

// truncate removes the edges that were added last, down to n.
func (g *graph) truncate(n int) {
	for e := len(g.edges) - 1; e >= n; e-- {
		g.out[g.edges[e].from], g.in[g.edges[e].to] = g.edges[e].nextOut, g.edges[e].nextIn
	}
	g.edges = g.edges[:n]
	g.after, g.prior = csr{}, csr{}
}

// reserve makes room for more edges. So large an allocation may start a garbage collection, and the
// collector cannot stop a goroutine during one long copy. So the edges are copied in parts.
func (g *graph) reserve(more int) {
	const part = 1 << 12
	if cap(g.edges)-len(g.edges) >= more {
		return
	}
	edges := make([]edge, len(g.edges), len(g.edges)+more+more/4)
	for i := 0; i < len(edges); i += part {
		copy(edges[i:min(i+part, len(edges))], g.edges[i:])
	}
	g.edges = edges
}

// freeze builds the adjacency arrays after and prior. Walks over the graph are bound by cache
// misses, and the linked lists of edges have one more miss for each edge.
func (g *graph) freeze() {
	if len(g.after.items) == len(g.edges) && len(g.after.from) > 0 {
		return
	}
	parallel.Both(
		func() { g.after = g.neighbours(func(e *edge) (int32, int32) { return e.from, e.to }) },
		func() { g.prior = g.neighbours(func(e *edge) (int32, int32) { return e.to, e.from }) })
}

func (g *graph) neighbours(of func(*edge) (node, other int32)) csr {
	c := csr{make([]int32, g.nodes+1), make([]int32, len(g.edges))}
	for i := range g.edges {
		v, _ := of(&g.edges[i])
		c.from[v]++
	}
	end := int32(0)
	for v := range c.from {
		end += c.from[v]
		c.from[v] = end
	}
	for i := range g.edges {
		v, other := of(&g.edges[i])
		c.from[v]--
		c.items[c.from[v]] = other
	}
	return c
}

// between returns an edge from one node to another.
func (g *graph) between(from, to int32) int32 {
	e := g.out[from]
	for g.edges[e].to != to {
		e = g.edges[e].nextOut
	}
	return e
}

// topological returns a topological order of the nodes. If the graph has a cycle, the order has
// fewer nodes than the graph. Among the nodes that may come next it takes the one that was ready
// first. If meet is set, topological calls it for each edge out of these nodes. Edges into a node
// come before the edges out of it.
func (g *graph) topological(meet func(from, to int32)) []int32 {
	g.freeze()
	missing := g.incoming()
	order := make([]int32, 0, g.nodes)
	for v, n := range missing {
		if n == 0 {
			order = append(order, int32(v))
		}
	}
	for i := 0; i < len(order); i++ {
		v := order[i]
		for _, to := range g.after.of(v) {
			if meet != nil {
				meet(v, to)
			}
			if missing[to]--; missing[to] == 0 {
				order = append(order, to)
			}
		}
	}
	return order
}

// incoming returns, by node, how many edges lead to it.
func (g *graph) incoming() []int32 {
	n := make([]int32, g.nodes)
	for v := range n {
		n[v] = g.prior.from[v+1] - g.prior.from[v]
	}
	return n
}

// Real-time order is encoded by a chain of time points. A time point stands for all ends up to some
// moment. So each end and each begin needs only one edge.

// moments are the begins and ends of a history's transactions, sorted.
type moments struct{ begins, ends []int32 }

func sortMoments(m *model) moments {
	var out moments
	for t := range int32(len(m.txns)) {
		x := m.txn(t)
		if x.Begin != history.NoTime {
			out.begins = append(out.begins, t)
		}
		if x.Status == history.Committed && x.End != history.NoTime {
			out.ends = append(out.ends, t)
		}
	}
	out.begins = radix.SortBy(out.begins, func(t int32) int64 { return m.txn(t).Begin })
	out.ends = radix.SortBy(out.ends, func(t int32) int64 { return m.txn(t).End })
	return out
}

// walkPoints goes through the begins and ends in the order of their times. It calls end for each
// end, with the number of its time point, and begin for each begin, with the number of time points
// before it. An end that comes strictly before a begin has an earlier time point.
func walkPoints(m *model, end, begin func(t, point int32)) (points int32) {
	ms := sortMoments(m)
	open := false // the latest point is open: ends were added to it, and no begin has come since
	i := 0
	for _, t := range ms.begins {
		for ; i < len(ms.ends) && m.txn(ms.ends[i]).End < m.txn(t).Begin; i++ {
			if !open {
				points++
				open = true
			}
			end(ms.ends[i], points-1)
		}
		open = false
		begin(t, points)
	}
	return points
}

func countPoints(m *model) int {
	return int(walkPoints(m, func(_, _ int32) {}, func(_, _ int32) {}))
}

func realTime(m *model, g *graph, first int32) {
	points := walkPoints(m,
		func(t, p int32) { g.add(g.commit(t), first+p, verdict.RT, given, none) },
		func(t, p int32) {
			if p > 0 {
				g.add(first+p-1, g.start(t), verdict.RT, given, none)
			}
		})
	for p := int32(1); p < points; p++ {
		g.add(first+p-1, first+p, verdict.RT, given, none)
	}
}
