package fences

import (
	"slices"

	"github.com/isohound/isohound/history"
)

// remove removes transactions after a satisfied round, and makes the edges that stay explicit.
func (r *Rounds) remove(g *graph) {
	for _, n := range r.kept {
		if n.fresh = false; !n.optional {
			n.ops = nil // the round has judged what happens within the transaction
		}
	}
	defer r.forget()
	if agreed := r.agreed(); agreed > r.epoch {
		for _, n := range r.kept {
			if n.place == agreed && !n.optional { // one of unknown outcome may have read the same fence as another
				r.epoch, r.w = agreed, n
			}
		}
	}
	r.stats.Epoch = r.epoch
	if r.epoch < 0 {
		return
	}
	gone := r.choose(g)
	if !slices.Contains(gone, true) {
		return
	}
	if !r.bare {
		g.explicit(gone)
	}
	for v, n := range r.kept {
		n.gone = gone[v]
	}
	kept := r.kept[:0:0]
	for _, n := range r.kept {
		if n.gone {
			r.stats.Removed++
			continue
		}
		kept = append(kept, n)
		n.reads = slices.DeleteFunc(n.reads, func(op history.Op) bool {
			w, _ := r.source(n, op)
			return w != nil && w.gone
		})
	}
	for _, n := range r.kept {
		if n.gone {
			for _, op := range n.writes {
				delete(r.writers, cell{op.Key, op.Value})
			}
			n.preds, n.reads, n.writes = nil, nil, nil
		}
	}
	r.kept = kept
}

// forget leaves out those of unknown outcome that cannot count any more, and what read from these.
func (r *Rounds) forget() {
	for again := slices.ContainsFunc(r.kept, func(n *node) bool { return n.impossible }); again; {
		again = false
		r.kept = slices.DeleteFunc(r.kept, func(n *node) bool {
			if !n.impossible {
				return false
			}
			n.gone = true
			for _, op := range n.writes {
				delete(r.writers, cell{op.Key, op.Value})
			}
			return true
		})
		for _, n := range r.kept {
			if !n.optional || n.impossible {
				continue
			}
			for _, op := range n.reads {
				if _, ok := r.source(n, op); !ok {
					n.impossible, again = true, true
				}
			}
		}
	}
}

// within reports whether v reaches the fence of epoch_agree, or is it.
func (g *graph) within(v int32) bool { return g.reaches(v, g.fence()) }

func (g *graph) fence() int32 { return g.r.w.number }

// removable returns which vertices are removed: see the package's comment.
func (g *graph) removable() []bool {
	component, count := g.components()
	later := g.later()
	stays := make([]bool, count)
	g.r.stats.Frozen = 0
	for v := range int32(len(g.nodes)) {
		within := g.within(v)
		if within {
			g.r.stats.Frozen++
		}
		if !within || later[v] || g.pinned(v) || !g.overwritten(v) {
			stays[component[v]] = true
		}
	}
	gone := make([]bool, len(g.nodes))
	for v := range gone {
		if gone[v] = !stays[component[v]]; gone[v] {
			g.r.stats.Frozen--
		}
	}
	return gone
}

// later returns which vertices something that may still count reaches in G*.
func (g *graph) later() []bool {
	possible := g.possible()
	later := make([]bool, len(g.nodes))
	var work []int32
	for v := range g.nodes {
		if g.chain[v] < 0 {
			later[v] = true
			work = append(work, int32(v))
		}
	}
	for len(work) > 0 {
		u := work[len(work)-1]
		work = work[:len(work)-1]
		for _, v := range possible[u] {
			if !later[v] {
				later[v] = true
				work = append(work, v)
			}
		}
	}
	return later
}

// pinned reports whether v accesses a key that a transaction accesses whose outcome is not known and that may count.
func (g *graph) pinned(v int32) bool {
	is := func(op history.Op) bool { return g.keys[int32(op.Key)].pinned }
	return slices.ContainsFunc(g.nodes[v].reads, is) || slices.ContainsFunc(g.nodes[v].writes, is)
}

// overwritten reports whether for each key that v writes, v reaches another writer that is in D.
func (g *graph) overwritten(v int32) bool {
	for _, op := range g.nodes[v].writes {
		later := false
		a := g.keys[int32(op.Key)]
		for i := range a.writers {
			x := &a.writers[i]
			if last := g.before(x, g.fence()) - 1; last >= 0 && x.txns[last] != v && g.reaches(v, x.txns[last]) {
				later = true
				break
			}
		}
		if !later {
			return false
		}
	}
	return true
}

// components returns the strongly connected component of each vertex in G*, and their number.
func (g *graph) components() (of []int32, count int) {
	if g.component == nil {
		g.component, g.count = components(g.possible())
	}
	return g.component, g.count
}

// possible returns the edges of G*, by the vertex that they come from.
func (g *graph) possible() [][]int32 {
	if g.star == nil {
		g.star = g.addPossible()
	}
	return g.star
}

func (g *graph) addPossible() [][]int32 {
	out := make([][]int32, len(g.nodes))
	link := func(u, v int32) {
		if u != v {
			out[u] = append(out[u], v)
		}
	}
	for v := range g.in {
		for _, u := range g.in[v] {
			link(u, int32(v))
		}
	}
	rank := make([]int32, len(g.nodes))
	for i, v := range g.sorted {
		rank[v] = int32(i)
	}
	for _, a := range g.keys {
		for _, u := range a.optional {
			g.anywhere(a, u, link)
		}
		for _, rd := range a.readers {
			if g.chain[rd.by] < 0 {
				g.anywhere(a, rd.by, link)
			}
		}
		if g.ordered(a, rank) {
			continue
		}
		open := map[int32]int32{} // writers, and another one that K does not order with each
		for i := range a.writers {
			for _, u := range a.writers[i].txns {
				for j := range a.writers {
					x := &a.writers[j]
					if i == j {
						continue
					}
					// Those of the chain between the first and the last open one follow by its order.
					if first, end := g.before(x, u), g.after(x, u); first < end {
						link(u, x.txns[first])
						link(x.txns[end-1], u)
						open[u] = x.txns[first]
					}
				}
			}
		}
		for _, rd := range a.readers {
			if b, isOpen := open[rd.from]; isOpen && rd.from >= 0 {
				link(rd.by, b)
			}
		}
	}
	return out
}

// anywhere adds the edges of u, whose outcome is not known, to all writers of a key that do not reach it.
func (g *graph) anywhere(a *accesses, u int32, link func(u, v int32)) {
	for i := range a.writers {
		x := &a.writers[i]
		if first := g.before(x, u); first < len(x.txns) {
			link(u, x.txns[first])
		}
	}
	for _, v := range a.optional {
		link(u, v)
	}
}

// ordered reports whether K orders all writers of a key.
func (g *graph) ordered(a *accesses, rank []int32) bool {
	if len(a.writers) < 2 {
		return true
	}
	var all []int32
	for i := range a.writers {
		all = append(all, a.writers[i].txns...)
	}
	slices.SortFunc(all, func(u, v int32) int { return int(rank[u] - rank[v]) })
	for i, v := range all[1:] {
		if !g.reaches(all[i], v) {
			return false
		}
	}
	return true
}

// explicit gives each vertex that stays the edges that follow from all others, without those that follow from each other: each
// component that goes is one vertex.
func (g *graph) explicit(gone []bool) {
	n := len(g.nodes)
	component, count := g.components()
	// set is the number of each vertex's set: of its component if that goes, else its own.
	set := make([]int32, n)
	number := make([]int32, count)
	sets := int32(0)
	for v := range set {
		c := component[v]
		if gone[v] && number[c] > 0 {
			set[v] = number[c] - 1
			continue
		}
		set[v] = sets
		sets++
		if gone[v] {
			number[c] = sets
		}
	}
	in := make([][]int32, sets)
	for v := range g.in {
		for _, u := range g.in[v] {
			if set[u] != set[v] {
				in[set[v]] = append(in[set[v]], set[u])
			}
		}
	}
	sorted, ok := sortedBy(int(sets), in)
	if !ok {
		panic("fences: components of the possible graph form a cycle")
	}
	reach := g.reachable(set, int(sets), sorted, in)
	k := len(g.of)
	row := func(v int32) []int32 { return reach[int(set[v])*k : int(set[v]+1)*k] }
	// stays has for each chain and place the last vertex up to it that stays, or -1.
	stays := make([][]int32, k)
	for c, list := range g.of {
		last := int32(-1)
		for _, v := range list {
			if !gone[v] {
				last = v
			}
			stays[c] = append(stays[c], last)
		}
	}
	upTo := func(c int, places int32) int32 {
		if places == 0 {
			return -1
		}
		return stays[c][places-1]
	}
	follows := func(u, v int32) bool { return g.chain[u] >= 0 && row(v)[g.chain[u]] > g.place[u] }
	for v := range int32(n) {
		if gone[v] {
			continue
		}
		x := g.nodes[v]
		x.preds = nil
		before := int32(-1) // in its session
		if c := g.chain[v]; c >= 0 && g.place[v] > 0 {
			before = upTo(int(c), g.place[v])
		}
		var from []int32 // edges that are there already
		if before >= 0 {
			from = append(from, before)
		}
		for _, op := range x.reads {
			if w, _ := g.r.source(x, op); w != nil && !gone[w.number] {
				from = append(from, w.number)
			}
		}
		given := len(from)
		for c, places := range row(v) {
			if int32(c) == g.chain[v] {
				continue
			}
			if u := upTo(c, places); u >= 0 && !(before >= 0 && follows(u, before)) {
				from = append(from, u)
			}
		}
		for i := given; i < len(from); i++ {
			u := from[i]
			if !slices.ContainsFunc(from, func(w int32) bool { return w != u && follows(u, w) }) && !slices.Contains(from[:i], u) {
				x.preds = append(x.preds, g.nodes[u])
			}
		}
	}
}
