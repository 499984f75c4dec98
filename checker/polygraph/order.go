package polygraph

import (
	"slices"

	"github.com/isohound/isohound/checker/sat"
)

// order is the theory of acyclicity: the known graph, the edges that the
// search has chosen, and a topological order of both, kept up to date as edges
// come: see reorder. Taking an edge back leaves the order as it is, for it stays
// one.
type order struct {
	sequence
	g *graph

	chosen  []chosenEdge
	out, in []int32 // by node: its latest chosen edge, or none
	// mark has by node when it was last met, forth in even numbers and back in odd
	// ones; via the node from which it was met, or -1 less the chosen edge.
	mark, via []int32
	now       int32
	// forth and back are the nodes visited in either way, ahead and behind those
	// that were met, of which the next one is visited next.
	forth, back   []int32
	ahead, behind waiting
	lower, upper  int32                         // places between which nodes are met
	closing       struct{ from, to, via int32 } // the edge at which the two ways met
	// moved are the nodes whose places have changed since they were last forgotten,
	// each once, and ways, by node, how.
	moved []int32
	ways  []moves
}

// moves are the ways in which a node has moved.
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

// insert adds an edge for lit. If that would close a cycle it adds nothing and
// returns false; the cycle is then told by path.
func (o *order) insert(from, to int32, lit sat.Lit) bool {
	if o.pos[from] >= o.pos[to] && !o.reorder(from, to) {
		return false
	}
	e := int32(len(o.chosen))
	o.chosen = append(o.chosen, chosenEdge{from, to, o.out[from], o.in[to], lit})
	o.out[from], o.in[to] = e, e
	return true
}

// remove takes the latest edge back.
func (o *order) remove() {
	e := &o.chosen[len(o.chosen)-1]
	o.out[e.from], o.in[e.to] = e.nextOut, e.nextIn
	o.chosen = o.chosen[:len(o.chosen)-1]
}

// forget has no node count as moved.
func (o *order) forget() {
	for _, v := range o.moved {
		o.ways[v] = 0
	}
	o.moved = o.moved[:0]
}

// path calls known for each known edge and chosen for each chosen one on the
// path that kept the latest insert from succeeding, from its to to its from,
// backwards.
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
	var ahead []int32 // from where the ways met to from
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
