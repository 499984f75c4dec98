package polygraph

import (
	"slices"

	"github.com/isohound/isohound/checker/sat"
)

// order is the theory of acyclicity: the known graph, the edges that the
// search has chosen, and a topological order of both, kept up to date as edges
// come (Pearce and Kelly, as in section 6.2 of the VeriStrong paper). Taking an
// edge back leaves the order as it is, for it stays one.
type order struct {
	g   *graph
	pos []int32 // by node: its place

	chosen      []chosenEdge
	out, in     []int32 // by node: its latest chosen edge, or none
	mark        []int32 // by node: when it was last visited
	via         []int32 // by node: the node from which it was reached, or -1 less the chosen edge
	now         int32
	forth, back []int32
	placed      []uint64 // scratch
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
	o := &order{g: g, pos: make([]int32, g.nodes), out: make([]int32, g.nodes), in: make([]int32, g.nodes),
		mark: make([]int32, g.nodes), via: make([]int32, g.nodes), ways: make([]moves, g.nodes)}
	for i, v := range nodes {
		o.pos[v] = int32(i)
	}
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

// reorder moves what to leads to behind from, or returns false if that leads
// to from itself.
func (o *order) reorder(from, to int32) bool {
	lower, upper := o.pos[to], o.pos[from]
	o.now++
	o.forth = append(o.forth[:0], to)
	o.mark[to], o.via[to] = o.now, 0
	for i := 0; i < len(o.forth); i++ {
		v := o.forth[i]
		if v == from {
			return false
		}
		for _, w := range o.g.after.of(v) {
			if o.pos[w] <= upper && o.mark[w] != o.now {
				o.mark[w], o.via[w] = o.now, v
				o.forth = append(o.forth, w)
			}
		}
		for e := o.out[v]; e != none; e = o.chosen[e].nextOut {
			if w := o.chosen[e].to; o.pos[w] <= upper && o.mark[w] != o.now {
				o.mark[w], o.via[w] = o.now, -1-e
				o.forth = append(o.forth, w)
			}
		}
	}
	o.now++
	o.back = append(o.back[:0], from)
	o.mark[from] = o.now
	for i := 0; i < len(o.back); i++ {
		v := o.back[i]
		for _, w := range o.g.prior.of(v) {
			if o.pos[w] >= lower && o.mark[w] != o.now {
				o.mark[w] = o.now
				o.back = append(o.back, w)
			}
		}
		for e := o.in[v]; e != none; e = o.chosen[e].nextIn {
			if w := o.chosen[e].from; o.pos[w] >= lower && o.mark[w] != o.now {
				o.mark[w] = o.now
				o.back = append(o.back, w)
			}
		}
	}
	o.placed = o.byPlace(o.placed[:0], o.back)
	mid := len(o.placed)
	o.placed = o.byPlace(o.placed, o.forth)
	// The places that they have together, in their order, go to those behind
	// first.
	b, f := 0, mid
	for _, v := range o.placed {
		from := &f
		if b < mid && (f == len(o.placed) || o.placed[b] < o.placed[f]) {
			from = &b
		}
		o.put(int32(uint32(v)), int32(o.placed[*from]>>32))
		*from++
	}
	return true
}

// byPlace appends nodes in their order, with the place of each before its number.
func (o *order) byPlace(list []uint64, nodes []int32) []uint64 {
	from := len(list)
	for _, v := range nodes {
		list = append(list, uint64(o.pos[v])<<32|uint64(v))
	}
	slices.Sort(list[from:])
	return list
}

// put gives a node its place.
func (o *order) put(v, place int32) {
	if o.pos[v] == place {
		return
	}
	how := later
	if place < o.pos[v] {
		how = earlier
	}
	o.pos[v] = place
	if o.ways[v] == 0 {
		o.moved = append(o.moved, v)
	}
	o.ways[v] |= how
}

// forget has no node count as moved.
func (o *order) forget() {
	for _, v := range o.moved {
		o.ways[v] = 0
	}
	o.moved = o.moved[:0]
}

// path calls known for each known edge and chosen for each chosen one on the
// path that kept the latest insert from succeeding, from its to to its from.
func (o *order) path(from, to int32, known func(e int32), chosen func(l sat.Lit)) {
	for v := from; v != to; {
		if u := o.via[v]; u >= 0 {
			known(o.g.between(u, v))
			v = u
		} else {
			chosen(o.chosen[-1-u].lit)
			v = o.chosen[-1-u].from
		}
	}
}
