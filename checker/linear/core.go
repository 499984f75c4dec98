package linear

import (
	"github.com/isohound/isohound/checker/radix"
	"slices"

	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// core is the part of the graph that topological could not place, as an explicit graph for the
// search for cycles.
//
// Its first vertices are the starts and commits of the transactions that are left. After these come
// links. They encode the transitive orders with few arcs: a commit leads, in one step, to the link
// of the session's next transaction, and to the link of the first transaction that began after it
// ended. A link leads, in zero steps, to the next link of its order and to the start of its own
// transaction.
type core struct {
	x     *index
	shift int32
	txns  []int32 // the transactions that are left, in the order of the history
	local []int32 // by transaction: its number in txns, or none

	sessionLink int32 // first vertex of the session links, one for each of txns
	timeLink    int32 // first vertex of the time links, in the order of begins
	byBegin     []int32

	from []int32 // arcs of vertex v are arcs[from[v]:from[v+1]]
	arcs []arc
	scc  []int32 // by vertex: its strongly connected component; none if that has only one vertex
}

// arc is a target vertex and, in the low bits, the kind of edge. An arc of kind 0 is no step.
type arc uint32

const kindBits = 3

func newArc(to int32, kind verdict.EdgeKind) arc { return arc(to)<<kindBits | arc(kind) }

func (a arc) to() int32              { return int32(a >> kindBits) }
func (a arc) kind() verdict.EdgeKind { return verdict.EdgeKind(a & (1<<kindBits - 1)) }

func newCore(x *index, o *order) *core {
	g := &core{x: x, shift: o.shift, local: make([]int32, len(x.counted))}
	for i, in := range x.counted {
		g.local[i] = none
		// A commit is never placed before its start.
		if in && !o.done[int32(i)<<o.shift+o.shift] {
			g.local[i] = int32(len(g.txns))
			g.txns = append(g.txns, int32(i))
		}
	}
	n := int32(len(g.txns))
	g.sessionLink = n << g.shift
	g.timeLink = g.sessionLink + n
	total := g.timeLink
	if x.c.lvl.RealTime() {
		for l, i := range g.txns {
			if x.h.Txns[i].Begin != history.NoTime {
				g.byBegin = append(g.byBegin, int32(l))
			}
		}
		g.byBegin = radix.SortBy(g.byBegin, func(l int32) int64 { return x.h.Txns[g.txns[l]].Begin })
		total += int32(len(g.byBegin))
	}
	g.from = make([]int32, total+1)
	g.eachArc(func(v int32, _ arc) { g.from[v+1]++ })
	for v := range total {
		g.from[v+1] += g.from[v]
	}
	g.arcs = make([]arc, g.from[total])
	fill := slices.Clone(g.from[:total])
	g.eachArc(func(v int32, a arc) {
		g.arcs[fill[v]] = a
		fill[v]++
	})
	g.components()
	return g
}

func (g *core) start(l int32) int32  { return l << g.shift }
func (g *core) commit(l int32) int32 { return l<<g.shift + g.shift }

// eachArc calls f for every arc, in a fixed order.
func (g *core) eachArc(f func(v int32, a arc)) {
	x, h := g.x, g.x.h
	last := make([]int32, h.SessionCount()) // by session: the previous transaction
	for s := range last {
		last[s] = none
	}
	for l, i := range g.txns {
		l := int32(l)
		t := &h.Txns[i]
		if g.shift == 1 {
			f(g.start(l), newArc(g.commit(l), 0))
		}
		at := h.FirstOp(t)
		for j, op := range h.Ops(t) {
			v := x.opVersion[at+j]
			if v == none {
				continue
			}
			if op.Kind == history.Write {
				for _, r := range x.readersOf(v) {
					if to := g.local[r]; to != none {
						f(g.commit(l), newArc(g.start(to), verdict.WR))
					}
				}
			} else if w := x.next[v]; w != none && w != i && g.local[w] != none {
				f(g.start(l), newArc(g.commit(g.local[w]), verdict.RW))
			}
		}
		if x.c.lvl.SessionOrder() {
			f(g.sessionLink+l, newArc(g.start(l), 0))
			if p := last[t.Session]; p != none {
				f(g.sessionLink+p, newArc(g.sessionLink+l, 0))
				if h.Txns[g.txns[p]].Status == history.Committed {
					f(g.commit(p), newArc(g.sessionLink+l, verdict.SO))
				}
			}
			last[t.Session] = l
		}
		if t.Status == history.Committed && t.End != history.NoTime && len(g.byBegin) > 0 {
			n, _ := slices.BinarySearchFunc(g.byBegin, t.End, func(l int32, end int64) int {
				if h.Txns[g.txns[l]].Begin <= end {
					return -1
				}
				return 1
			})
			if n < len(g.byBegin) {
				f(g.commit(l), newArc(g.timeLink+int32(n), verdict.RT))
			}
		}
	}
	if x.classes != nil {
		for _, e := range x.classes.edges {
			from, to := g.local[e.From], g.local[e.To]
			switch {
			case from == none || to == none:
			case e.Kind == verdict.WR:
				f(g.commit(from), newArc(g.start(to), verdict.WR))
			default:
				f(g.start(from), newArc(g.commit(to), verdict.RW))
			}
		}
	}
	for n, l := range g.byBegin {
		f(g.timeLink+int32(n), newArc(g.start(l), 0))
		if n+1 < len(g.byBegin) {
			f(g.timeLink+int32(n), newArc(g.timeLink+int32(n)+1, 0))
		}
	}
}

// components finds the strongly connected components by Tarjan's algorithm, without recursion. It
// keeps those of more than one vertex.
func (g *core) components() {
	n := int32(len(g.from) - 1)
	g.scc = make([]int32, n)
	seen := make([]int32, n) // number of the visit, from 1
	low := make([]int32, n)
	var stack, path []int32
	at := slices.Clone(g.from[:n])
	count := int32(0)
	for v := range n {
		g.scc[v] = none
	}
	onStack := make([]bool, n)
	for root := range n {
		if seen[root] != 0 {
			continue
		}
		path = append(path, root)
		for len(path) > 0 {
			v := path[len(path)-1]
			if seen[v] == 0 {
				count++
				seen[v], low[v] = count, count
				stack = append(stack, v)
				onStack[v] = true
			}
			deeper := false
			for at[v] < g.from[v+1] {
				w := g.arcs[at[v]].to()
				at[v]++
				if seen[w] == 0 {
					path = append(path, w)
					deeper = true
					break
				}
				if onStack[w] {
					low[v] = min(low[v], seen[w])
				}
			}
			if deeper {
				continue
			}
			path = path[:len(path)-1]
			if len(path) > 0 {
				parent := path[len(path)-1]
				low[parent] = min(low[parent], low[v])
			}
			if low[v] != seen[v] {
				continue
			}
			alone := stack[len(stack)-1] == v
			for {
				w := stack[len(stack)-1]
				stack = stack[:len(stack)-1]
				onStack[w] = false
				if !alone {
					g.scc[w] = v
				}
				if w == v {
					break
				}
			}
		}
	}
}
