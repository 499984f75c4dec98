package psi

import (
	"context"

	"github.com/isohound/isohound/checker/sat"
	"github.com/isohound/isohound/history"
)

// graph is happens-before: SO, WR and what saturation has found, followed by the WW edges of the current
// order.
type graph struct {
	x     *index
	in    []int32 // by transaction: the latest edge to it, or none
	edges []edge
	base  []int32 // the transactions that count, in the order in which they are tried

	order  []int32 // the latest topological order
	rank   []int32 // by transaction: its place in order, or none
	clocks []int32 // by rank and chain: the last place on the chain that happened before
}

// edge says that one transaction happened before another.
type edge struct {
	from, to, next int32 // next is the edge to the same transaction that was added before, or none
	kind           kind
	read           int32 // of wr and forced
	key            history.Key
	lit            sat.Lit // of chosen
}

type kind uint8

const (
	so kind = iota
	wr
	// forced: to wrote what the read returned. From wrote the key, too, and happened before the reader.
	forced
	chosen // WW
)

func newGraph(x *index, base []int32) *graph {
	g := &graph{x: x, base: base, in: make([]int32, len(x.counted)), rank: make([]int32, len(x.counted))}
	for t := range g.in {
		g.in[t] = none
	}
	for _, t := range base {
		if b := x.before[t]; b != none {
			g.add(edge{from: b, to: t, kind: so})
		}
		for r := x.readsFrom[t]; r < x.readsFrom[t+1]; r++ {
			if w := x.reads[r].source; w != none {
				g.add(edge{from: w, to: t, kind: wr, read: r})
			}
		}
	}
	return g
}

func (g *graph) add(e edge) {
	e.next = g.in[e.to]
	g.in[e.to] = int32(len(g.edges))
	g.edges = append(g.edges, e)
}

// recent reports whether an edge from u is among the latest edges to t.
func (g *graph) recent(u, t int32) bool {
	n := 0
	for e := g.in[t]; e != none && n < 32; e = g.edges[e].next {
		if g.edges[e].from == u {
			return true
		}
		n++
	}
	return false
}

// truncate removes all edges but the first n.
func (g *graph) truncate(n int) {
	for i := len(g.edges) - 1; i >= n; i-- {
		g.in[g.edges[i].to] = g.edges[i].next
	}
	g.edges = g.edges[:n]
}

// sort orders the transactions topologically, as nearly as possible as in base. If there is a cycle, it
// returns its edges.
func (g *graph) sort(ctx context.Context) (cycle []int32, err error) {
	const waits = none - 1
	type frame struct{ txn, next, via int32 } // via leads from txn to the transaction of the frame below
	for t := range g.rank {
		g.rank[t] = none
	}
	g.order = make([]int32, 0, len(g.base))
	var path []frame
	for n, root := range g.base {
		if n%pollEvery == 0 && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if g.rank[root] != none {
			continue
		}
		g.rank[root] = waits
		path = append(path, frame{root, g.in[root], none})
	next:
		for len(path) > 0 {
			f := &path[len(path)-1]
			for f.next != none {
				e := f.next
				f.next = g.edges[e].next
				switch p := g.edges[e].from; {
				case g.rank[p] == waits:
					cycle = append(cycle, e)
					for i := len(path) - 1; path[i].txn != p; i-- {
						cycle = append(cycle, path[i].via)
					}
					return cycle, nil
				case g.rank[p] == none:
					g.rank[p] = waits
					path = append(path, frame{p, g.in[p], e})
					continue next
				}
			}
			g.rank[f.txn] = int32(len(g.order))
			g.order = append(g.order, f.txn)
			path = path[:len(path)-1]
		}
	}
	return nil, nil
}

// clock returns what happened before t: by chain, the place of the last such transaction.
func (g *graph) clock(t int32) []int32 {
	at := int(g.rank[t]) * g.x.chains
	return g.clocks[at : at+g.x.chains]
}

// happened reports whether u happened before t.
func (g *graph) happened(u, t int32) bool { return g.clock(t)[g.x.chain[u]] >= g.x.place[u] }

// tick computes the clocks. sort must have succeeded.
func (g *graph) tick(ctx context.Context) error {
	if g.clocks == nil {
		g.clocks = make([]int32, len(g.base)*g.x.chains)
	}
	for n, t := range g.order {
		if n%pollEvery == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		own := g.clock(t)
		clear(own)
		for e := g.in[t]; e != none; e = g.edges[e].next {
			p := g.edges[e].from
			if own[g.x.chain[p]] >= g.x.place[p] {
				continue
			}
			for c, place := range g.clock(p) {
				own[c] = max(own[c], place)
			}
			own[g.x.chain[p]] = g.x.place[p]
		}
	}
	return nil
}

// chain returns the edges of a shortest path from u to t, which happened after u.
func (g *graph) chain(u, t int32) []int32 {
	return g.path(u, t, int32(len(g.edges)), func(p int32) bool { return g.happened(u, p) })
}

// path returns the edges of a shortest path from u to t that uses only edges with numbers below known and
// visits only transactions for which on is true, or nil if there is none.
func (g *graph) path(u, t, known int32, on func(p int32) bool) []int32 {
	via := map[int32]int32{t: none} // the edge from the transaction towards t
	queue := []int32{t}
	for i := 0; i < len(queue); i++ {
		for e := g.in[queue[i]]; e != none; e = g.edges[e].next {
			p := g.edges[e].from
			if _, met := via[p]; met || e >= known {
				continue
			}
			if p != u && !on(p) {
				continue
			}
			via[p] = e
			if p == u {
				var out []int32
				for at := u; at != t; at = g.edges[via[at]].to {
					out = append(out, via[at])
				}
				return out
			}
			queue = append(queue, p)
		}
	}
	return nil
}
