package baseline

import (
	"context"
	"slices"
)

// graph is a compatible graph, with the edges out of each node as one list.
type graph struct {
	from  []int32 // by node: its first edge
	edges []edge
}

func newGraph(nodes int32, edges []edge) *graph {
	g := &graph{make([]int32, nodes+1), make([]edge, len(edges))}
	for _, e := range edges {
		g.from[e.from+1]++
	}
	for v := range nodes {
		g.from[v+1] += g.from[v]
	}
	next := slices.Clone(g.from)
	for _, e := range edges {
		g.edges[next[e.from]] = e
		next[e.from]++
	}
	return g
}

// topological returns a topological order of the nodes, without those on or after cycles.
func (g *graph) topological() []int32 {
	nodes := int32(len(g.from) - 1)
	missing := make([]int32, nodes)
	for _, e := range g.edges {
		missing[e.to]++
	}
	order := make([]int32, 0, nodes)
	for v := range nodes {
		if missing[v] == 0 {
			order = append(order, v)
		}
	}
	for i := 0; i < len(order); i++ {
		v := order[i]
		for _, e := range g.edges[g.from[v]:g.from[v+1]] {
			if missing[e.to]--; missing[e.to] == 0 {
				order = append(order, e.to)
			}
		}
	}
	return order
}

// maxSteps bounds the search for cycles of one graph, in edges, after the first cycle was found.
const maxSteps = 20_000_000

// cycles returns the literals of some cycles. No two cycles have a literal in common. For each node
// that is not in order, it looks for a shortest cycle through the node. A cycle of known edges has
// no literals.
func (g *graph) cycles(ctx context.Context, vars int, order []int32) ([][]int, error) {
	placed := make([]bool, len(g.from)-1)
	for _, v := range order {
		placed[v] = true
	}
	used := make([]bool, vars+1) // by variable
	via := make([]int32, len(placed))
	seen := make([]int32, len(placed)) // the node whose search met this one, plus 1
	var queue []int32
	var out [][]int
	steps := 0
	for first := range int32(len(placed)) {
		if placed[first] || len(out) > 0 && steps > maxSteps {
			continue
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		queue = append(queue[:0], first)
		closed := false
	search:
		for i := 0; i < len(queue); i++ {
			v := queue[i]
			for n := g.from[v]; n < g.from[v+1]; n++ {
				e := &g.edges[n]
				steps++
				if placed[e.to] || seen[e.to] == first+1 || used[abs(e.lit)] {
					continue
				}
				seen[e.to], via[e.to] = first+1, n
				if e.to == first {
					closed = true
					break search
				}
				queue = append(queue, e.to)
			}
		}
		if !closed {
			continue
		}
		var lits []int
		for v := first; ; {
			e := &g.edges[via[v]]
			// The edge from a forced read to a writer has the literal of the order of the writes,
			// which may also be in the cycle itself.
			if e.lit != 0 && !slices.Contains(lits, e.lit) {
				lits = append(lits, e.lit)
				used[abs(e.lit)] = true
			}
			if v = e.from; v == first {
				break
			}
		}
		out = append(out, lits)
	}
	return out, nil
}

func abs(lit int) int { return max(lit, -lit) }
