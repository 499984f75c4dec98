package accel

import (
	"cmp"
	"slices"
)

// Adjacency is a graph together with edges that were added to it, for going
// along its edges in both directions and putting its vertices in order.
type Adjacency struct {
	*Graph
	Added []Edge

	out      []int32 // where the edges of the graph lead, by where they come from
	outStart []int64
	// next edges added, by vertex, as lists in Added.
	addedOut, addedIn []int32
	nextOut, nextIn   []int32

	ends  []int32 // with intervals: the vertices by their ends
	prior []int32 // with intervals: by vertex how many of ends lie before it
}

// NewAdjacency turns the rows of g around.
func NewAdjacency(g *Graph) *Adjacency {
	n := g.Len()
	a := &Adjacency{Graph: g, outStart: make([]int64, n+1), out: make([]int32, len(g.From))}
	for _, u := range g.From {
		a.outStart[u+1]++
	}
	for v := range n {
		a.outStart[v+1] += a.outStart[v]
	}
	next := slices.Clone(a.outStart[:n])
	for v := range n {
		for _, u := range g.Into(v) {
			a.out[next[u]] = v
			next[u]++
		}
	}
	if g.Intervals != nil {
		a.sortEnds()
	}
	return a
}

func (a *Adjacency) sortEnds() {
	n := a.Len()
	a.ends, a.prior = make([]int32, n), make([]int32, n)
	begins := make([]int32, n)
	for v := range n {
		a.ends[v], begins[v] = v, v
	}
	at := a.Intervals
	slices.SortFunc(a.ends, func(u, v int32) int { return cmp.Compare(at[u].End, at[v].End) })
	slices.SortFunc(begins, func(u, v int32) int { return cmp.Compare(at[u].Begin, at[v].Begin) })
	before := 0
	for _, v := range begins {
		for before < len(a.ends) && at[a.ends[before]].End < at[v].Begin {
			before++
		}
		a.prior[v] = int32(before)
	}
}

// Add adds edges.
func (a *Adjacency) Add(edges []Edge) {
	if a.addedOut == nil {
		a.addedOut, a.addedIn = filled(a.Len()), filled(a.Len())
	}
	for _, e := range edges {
		i := int32(len(a.Added))
		a.Added = append(a.Added, e)
		a.nextOut = append(a.nextOut, a.addedOut[e.From])
		a.nextIn = append(a.nextIn, a.addedIn[e.To])
		a.addedOut[e.From], a.addedIn[e.To] = i, i
	}
}

// Drop takes the last n edges that were added away again.
func (a *Adjacency) Drop(n int) {
	for range n {
		i := len(a.Added) - 1
		e := a.Added[i]
		a.addedOut[e.From], a.addedIn[e.To] = a.nextOut[i], a.nextIn[i]
		a.Added, a.nextOut, a.nextIn = a.Added[:i], a.nextOut[:i], a.nextIn[:i]
	}
}

func filled(n int32) []int32 {
	list := make([]int32, n)
	for i := range list {
		list[i] = -1
	}
	return list
}

// Out calls f for where the edges from v lead, those of intervals left out.
func (a *Adjacency) Out(v int32, f func(to int32)) {
	for _, to := range a.out[a.outStart[v]:a.outStart[v+1]] {
		f(to)
	}
	if a.addedOut != nil {
		for i := a.addedOut[v]; i >= 0; i = a.nextOut[i] {
			f(a.Added[i].To)
		}
	}
}

// In calls f for where the edges into v come from, those of intervals left out.
func (a *Adjacency) In(v int32, f func(from int32)) {
	for _, from := range a.Into(v) {
		f(from)
	}
	if a.addedIn != nil {
		for i := a.addedIn[v]; i >= 0; i = a.nextIn[i] {
			f(a.Added[i].From)
		}
	}
}

// Order returns the vertices in a topological order, which keeps the edges of
// intervals too, or a *CycleError. Of those that may come next it takes the one
// that was ready first.
func (a *Adjacency) Order() ([]int32, error) {
	n := a.Len()
	missing := make([]int32, n)
	for v := range n {
		missing[v] = int32(a.Start[v+1] - a.Start[v])
	}
	for _, e := range a.Added {
		missing[e.To]++
	}
	w := &waiting{a: a, placed: make([]bool, n)}
	order := make([]int32, 0, n)
	ready := func(v int32) {
		if w.inTime(v) {
			order = append(order, v)
		}
	}
	for v := range n {
		if missing[v] == 0 {
			ready(v)
		}
	}
	for i := 0; i < len(order); i++ {
		a.Out(order[i], func(to int32) {
			if missing[to]--; missing[to] == 0 {
				ready(to)
			}
		})
		order = w.place(order[i], order)
	}
	if len(order) < int(n) {
		return nil, a.cycle(w.placed)
	}
	return order, nil
}

// waiting holds the vertices that wait only for others to be over.
type waiting struct {
	a      *Adjacency
	placed []bool
	over   int32             // so many of a.ends, the first ones, are placed
	until  map[int32][]int32 // by what over must be
	levels []int32           // the keys of until, ascending
}

// inTime reports whether everything that lies before v is placed; else v waits.
func (w *waiting) inTime(v int32) bool {
	if w.a.Intervals == nil || w.a.prior[v] <= w.over {
		return true
	}
	p := w.a.prior[v]
	if w.until == nil {
		w.until = map[int32][]int32{}
	}
	if w.until[p] == nil {
		at, _ := slices.BinarySearch(w.levels, p)
		w.levels = slices.Insert(w.levels, at, p)
	}
	w.until[p] = append(w.until[p], v)
	return false
}

// place books a vertex as placed and appends those that waited for it.
func (w *waiting) place(v int32, order []int32) []int32 {
	w.placed[v] = true
	ends := w.a.ends
	for int(w.over) < len(ends) && w.placed[ends[w.over]] {
		w.over++
	}
	for len(w.levels) > 0 && w.levels[0] <= w.over {
		order = append(order, w.until[w.levels[0]]...)
		delete(w.until, w.levels[0])
		w.levels = w.levels[1:]
	}
	return order
}

// cycle goes back along edges among the vertices that have no place, until it
// meets itself.
func (a *Adjacency) cycle(placed []bool) *CycleError {
	before := func(v int32) int32 {
		found := int32(-1)
		a.In(v, func(u int32) {
			if found < 0 && !placed[u] {
				found = u
			}
		})
		if found < 0 && a.Intervals != nil {
			i := slices.IndexFunc(a.ends[:a.prior[v]], func(u int32) bool { return !placed[u] })
			found = a.ends[i]
		}
		return found
	}
	at := map[int32]int{}
	var walk []int32
	v := int32(slices.Index(placed, false))
	for {
		if first, seen := at[v]; seen {
			walk = walk[first:]
			slices.Reverse(walk)
			return &CycleError{walk}
		}
		at[v] = len(walk)
		walk = append(walk, v)
		v = before(v)
	}
}

// IsOrder reports whether a list has every vertex once and keeps all edges.
func (a *Adjacency) IsOrder(order []int32) bool {
	n := a.Len()
	if len(order) != int(n) {
		return false
	}
	rank := filled(n)
	for i, v := range order {
		if v < 0 || v >= n || rank[v] >= 0 {
			return false
		}
		rank[v] = int32(i)
	}
	for v := range n {
		for _, u := range a.Into(v) {
			if rank[u] >= rank[v] {
				return false
			}
		}
	}
	for _, e := range a.Added {
		if rank[e.From] >= rank[e.To] {
			return false
		}
	}
	if a.Intervals == nil {
		return true
	}
	over, placed := int32(0), make([]bool, n)
	for _, v := range order {
		if a.prior[v] > over {
			return false
		}
		placed[v] = true
		for over < n && placed[a.ends[over]] {
			over++
		}
	}
	return true
}
