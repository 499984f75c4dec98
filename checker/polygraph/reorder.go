package polygraph

import "slices"

// reorder changes the order so that it keeps a new edge. It returns false if to already leads to
// from. Two searches alternate: the forward search visits what to leads to, the earliest node
// first. The backward search visits what leads to from, the latest node first. They end when one of
// them has no more nodes, or when the next node of the forward search comes after that of the
// backward search. The visited nodes are then moved between these two nodes, and no other node
// moves (Haeupler, Kavitha, Mathew, Sen and Tarjan, "Incremental cycle detection, topological
// ordering, and strong component maintenance", ACM TALG 2012, section 4). The fewer nodes move, the
// fewer reads become wrong. Pearce and Kelly's algorithm (section 6.2 of the VeriStrong paper)
// visits and moves all affected nodes.
func (o *order) reorder(from, to int32) bool {
	if from == to {
		return false
	}
	if o.now += 2; o.now > 1<<30 {
		clear(o.mark)
		o.now = 2
	}
	o.lower, o.upper = o.pos[to], o.pos[from]
	o.forth, o.back, o.ahead, o.behind = o.forth[:0], o.back[:0], o.ahead[:0], o.behind[:0]
	o.meetForth(to, 0)
	o.meetBack(from, 0)
	for balance := 0; len(o.ahead) > 0 && len(o.behind) > 0 && o.ahead[0].priority < -o.behind[0].priority; {
		met, edges := false, 0
		if balance <= 0 {
			edges, met = o.visitForth(o.ahead.pop())
			balance += edges
		} else {
			edges, met = o.visitBack(o.behind.pop())
			balance -= edges
		}
		if met {
			return false
		}
	}
	o.move(from, to)
	return true
}

func (o *order) meetForth(v, via int32) {
	o.mark[v], o.via[v] = o.now, via
	o.ahead.push(ranked{int64(o.pos[v]), v})
}

func (o *order) meetBack(v, via int32) {
	o.mark[v], o.via[v] = o.now+1, via
	o.behind.push(ranked{-int64(o.pos[v]), v})
}

// visitForth meets the successors of v. It returns how many edges it has looked at, and whether one
// leads to a node that the backward search has met.
func (o *order) visitForth(v int32) (edges int, met bool) {
	o.forth = append(o.forth, v)
	look := func(w, via int32) bool {
		if o.pos[w] > o.upper || o.mark[w] == o.now {
			return false
		}
		if o.mark[w] == o.now+1 {
			o.closing.from, o.closing.to, o.closing.via = v, w, via
			return true
		}
		o.meetForth(w, via)
		return false
	}
	known := o.g.after.of(v)
	for _, w := range known {
		if look(w, v) {
			return 0, true
		}
	}
	edges = len(known) + 1
	for e := o.out[v]; e != none; e = o.chosen[e].nextOut {
		if look(o.chosen[e].to, -1-e) {
			return 0, true
		}
		edges++
	}
	return edges, false
}

// visitBack does the same backwards, for the predecessors of v.
func (o *order) visitBack(v int32) (edges int, met bool) {
	o.back = append(o.back, v)
	look := func(u, via, closing int32) bool {
		if o.pos[u] < o.lower || o.mark[u] == o.now+1 {
			return false
		}
		if o.mark[u] == o.now {
			o.closing.from, o.closing.to, o.closing.via = u, v, closing
			return true
		}
		o.meetBack(u, via)
		return false
	}
	known := o.g.prior.of(v)
	for _, u := range known {
		if look(u, v, u) {
			return 0, true
		}
	}
	edges = len(known) + 1
	for e := o.in[v]; e != none; e = o.chosen[e].nextIn {
		if look(o.chosen[e].from, -1-e, -1-e) {
			return 0, true
		}
		edges++
	}
	return edges, false
}

// move moves visited nodes, as few as possible. They go right after the last node that leads to
// from and was not visited, or right before the first node that to leads to and was not visited.
func (o *order) move(from, to int32) {
	switch {
	case len(o.ahead) == 0:
		o.back = o.back[:0]
		o.shift(from, false)
	case len(o.behind) == 0:
		o.forth = o.forth[:0]
		o.shift(to, true)
	case len(o.back) < len(o.forth):
		anchor := o.behind[0].node
		for n := len(o.forth); n > 0 && o.pos[o.forth[n-1]] > o.pos[anchor]; n-- {
			o.forth = o.forth[:n-1]
		}
		o.shift(anchor, false)
	default:
		anchor := o.ahead[0].node
		for n := len(o.back); n > 0 && o.pos[o.back[n-1]] < o.pos[anchor]; n-- {
			o.back = o.back[:n-1]
		}
		o.shift(anchor, true)
	}
}

// shift moves the nodes of back and then those of forth next to anchor: before it or after it.
func (o *order) shift(anchor int32, before bool) {
	slices.Reverse(o.back)
	for _, v := range o.back {
		o.cut(v)
		o.wander(v, earlier)
	}
	for _, v := range o.forth {
		o.cut(v)
		o.wander(v, later)
	}
	if before {
		anchor = o.prev[anchor]
	}
	o.back = append(o.back, o.forth...)
	o.put(o.back, anchor)
}

// wander records that a node moves.
func (o *order) wander(v int32, how moves) {
	if o.ways[v] == 0 {
		o.moved = append(o.moved, v)
	}
	o.ways[v] |= how
}
