package polygraph

import (
	"slices"

	"github.com/isohound/isohound/checker/sat"
)

// order is the theory of acyclicity. It has the known graph, the edges that the search has chosen,
// and a topological order of both. reorder updates the order when an edge is inserted. Removing an
// edge leaves the order unchanged, because it remains a topological order.
type order struct {
	sequence
	g *graph

	chosen  []chosenEdge
	out, in []int32 // by node: its latest chosen edge, or none
	// mark is, by node, the latest search that met it: an even number for the forward search, an
	// odd number for the backward search. via is the node from which it was met or, for a chosen
	// edge, -1 minus the edge.
	mark, via []int32
	now       int32
	// forth and back are the nodes that the forward and the backward search have visited. ahead and
	// behind are the nodes that they have met and not visited yet, as heaps.
	forth, back   []int32
	ahead, behind waiting
	lower, upper  int32                         // nodes outside of these positions are not met
	closing       struct{ from, to, via int32 } // the edge at which the two searches met
	// moved are the nodes that have moved since the latest forget, each once. ways has, by node,
	// the directions.
	moved []int32
	ways  []moves
}

// moves are the directions in which a node has moved.
type moves uint8

const (
	earlier moves = 1 << iota
	later
)

type chosenEdge struct {
	from, to        int32
	nextOut, nextIn int32
	lit             sat.Lit
}

func newOrder(g *graph, nodes []int32) *order {
	g.freeze()
	o := &order{sequence: newSequence(nodes, g.nodes), g: g, out: make([]int32, g.nodes), in: make([]int32, g.nodes),
		mark: make([]int32, g.nodes), via: make([]int32, g.nodes), ways: make([]moves, g.nodes)}
	stamp(o.out)
	stamp(o.in)
	return o
}

// insert adds an edge for lit. If that would close a cycle, it adds nothing and returns false. path
// then returns the cycle.
func (o *order) insert(from, to int32, lit sat.Lit) bool {
	if o.pos[from] >= o.pos[to] && !o.reorder(from, to) {
		return false
	}
	e := int32(len(o.chosen))
	o.chosen = append(o.chosen, chosenEdge{from, to, o.out[from], o.in[to], lit})
	o.out[from], o.in[to] = e, e
	return true
}

// remove removes the edge that was inserted last.
func (o *order) remove() {
	e := &o.chosen[len(o.chosen)-1]
	o.out[e.from], o.in[e.to] = e.nextOut, e.nextIn
	o.chosen = o.chosen[:len(o.chosen)-1]
}

// forget clears the list of moved nodes.
func (o *order) forget() {
	for _, v := range o.moved {
		o.ways[v] = 0
	}
	o.moved = o.moved[:0]
}

// path lists the path because of which the latest insert failed. The path leads from the edge's to
// to its from, and is listed backwards. path calls known for each known edge and chosen for each
// chosen edge.
func (o *order) path(from, to int32, known func(e int32), chosen func(l sat.Lit)) {
	if from == to {
		return
	}
	tell := func(u, v, via int32) {
		if via >= 0 {
			known(o.g.between(u, v))
		} else {
			chosen(o.chosen[-1-via].lit)
		}
	}
	var ahead []int32 // the nodes from where the searches met to from, without from
	for v := o.closing.to; v != from; {
		ahead = append(ahead, v)
		if w := o.via[v]; w >= 0 {
			v = w
		} else {
			v = o.chosen[-1-w].to
		}
	}
	last := from
	for _, v := range slices.Backward(ahead) {
		tell(v, last, o.via[v])
		last = v
	}
	tell(o.closing.from, o.closing.to, o.closing.via)
	for v := o.closing.from; v != to; {
		u := o.via[v]
		if u < 0 {
			tell(none, none, u)
			v = o.chosen[-1-u].from
			continue
		}
		tell(u, v, u)
		v = u
	}
}
