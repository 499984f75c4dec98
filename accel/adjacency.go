package accel

import (
	"cmp"
	"math"
	"slices"
)

// Adjacency is a graph together with edges added to it. It iterates over edges in both
// directions and sorts the vertices topologically.
type Adjacency struct {
	*Graph
	Added []Edge

	out      []int32 // ends of the graph's edges, grouped by start
	outStart []int64
	// Edges added, by vertex, as linked lists in Added.
	addedOut, addedIn []int32
	nextOut, nextIn   []int32

	// With intervals: the vertices sorted by their ends and by their begins. For each vertex,
	// prior is how many of ends lie before it, and behind how many of begins do not lie after
	// it. nearIn is where its nearest predecessors begin in ends, nearOut where its nearest
	// successors end in begins: see TimeIn and TimeOut.
	ends, begins  []int32
	prior, behind []int32
	nearIn        []int32
	nearOut       []int32
}

// NewAdjacency prepares the iteration over edges. Order and Sorted.Insert call Turn when they
// need it.
func NewAdjacency(g *Graph) *Adjacency {
	a := &Adjacency{Graph: g}
	if g.Intervals != nil {
		a.sortTimes()
	}
	return a
}

// Turn computes the outgoing edges of all vertices, for Out.
func (a *Adjacency) Turn() {
	if a.outStart != nil {
		return
	}
	n := a.Len()
	a.outStart, a.out = make([]int64, n+1), make([]int32, len(a.From))
	for _, u := range a.From {
		a.outStart[u+1]++
	}
	for v := range n {
		a.outStart[v+1] += a.outStart[v]
	}
	next := slices.Clone(a.outStart[:n])
	for v := range n {
		for _, u := range a.Into(v) {
			a.out[next[u]] = v
			next[u]++
		}
	}
}

func (a *Adjacency) sortTimes() {
	n, at := a.Len(), a.Intervals
	a.ends = sorted(n, func(v int32) int64 { return at[v].End })
	a.begins = sorted(n, func(v int32) int64 { return at[v].Begin })
	a.prior, a.nearIn = make([]int32, n), make([]int32, n)
	before, near, latest := int32(0), int32(0), int64(math.MinInt64)
	for _, v := range a.begins {
		for ; before < n && at[a.ends[before]].End < at[v].Begin; before++ {
			latest = max(latest, at[a.ends[before]].Begin)
		}
		for near < before && at[a.ends[near]].End < latest {
			near++
		}
		a.prior[v], a.nearIn[v] = before, near
	}
	a.behind, a.nearOut = make([]int32, n), make([]int32, n)
	after, near, soonest := n, n, int64(math.MaxInt64)
	for _, v := range slices.Backward(a.ends) {
		for ; after > 0 && at[a.begins[after-1]].Begin > at[v].End; after-- {
			soonest = min(soonest, at[a.begins[after-1]].End)
		}
		for near > after && at[a.begins[near-1]].Begin > soonest {
			near--
		}
		a.behind[v], a.nearOut[v] = after, near
	}
}

// sorted returns the vertices sorted by the given time.
func sorted(n int32, time func(v int32) int64) []int32 {
	type moment struct {
		at int64
		v  int32
	}
	list := make([]moment, n)
	for v := range n {
		list[v] = moment{time(v), v}
	}
	slices.SortFunc(list, func(a, b moment) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.v, b.v)) })
	vertices := make([]int32, n)
	for i := range list {
		vertices[i] = list[i].v
	}
	return vertices
}

// TimeIn returns the vertices that lie before v in time with no other vertex between them and v.
// All others before v lie before one of these. The vertices returned all overlap at one time
// (Vbox paper, section 4.4: minimum time-successors, here backwards).
func (a *Adjacency) TimeIn(v int32) []int32 {
	if a.ends == nil {
		return nil
	}
	return a.ends[a.nearIn[v]:a.prior[v]]
}

// TimeInSince is TimeIn without the first vertices of Ends: first of them are left out.
func (a *Adjacency) TimeInSince(v, first int32) []int32 {
	return a.ends[min(max(a.nearIn[v], first), a.prior[v]):a.prior[v]]
}

// Prior returns how many vertices lie before v in time.
func (a *Adjacency) Prior(v int32) int32 { return a.prior[v] }

// Ends returns the vertices of a graph with intervals by their ends.
func (a *Adjacency) Ends() []int32 { return a.ends }

// Begins returns the vertices of a graph with intervals by their begins.
func (a *Adjacency) Begins() []int32 { return a.begins }

// TimeOut returns the vertices that lie after v in time with no other vertex between them and v,
// sorted by their begins.
func (a *Adjacency) TimeOut(v int32) []int32 {
	if a.begins == nil {
		return nil
	}
	return a.begins[a.behind[v]:a.nearOut[v]]
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

// Drop removes the last n added edges.
func (a *Adjacency) Drop(n int) {
	for range n {
		i := len(a.Added) - 1
		e := a.Added[i]
		a.addedOut[e.From], a.addedIn[e.To] = a.nextOut[i], a.nextIn[i]
		a.Added, a.nextOut, a.nextIn = a.Added[:i], a.nextOut[:i], a.nextIn[:i]
	}
}

// Merged returns a graph that contains the edges of the graph, the added edges, and some more.
func (a *Adjacency) Merged(more []Edge) *Graph {
	n := a.Len()
	g := *a.Graph
	g.Start, g.From = make([]int64, n+1), make([]int32, len(a.From)+len(a.Added)+len(more))
	for _, edges := range [...][]Edge{a.Added, more} {
		for _, e := range edges {
			g.Start[e.To]++
		}
	}
	next := make([]int64, n) // by vertex: position of the next edge into it
	end := int64(0)
	for v := range n {
		begin := end
		into := a.Into(v)
		next[v] = begin + int64(copy(g.From[begin:], into))
		end = next[v] + g.Start[v]
		g.Start[v] = begin
	}
	g.Start[n] = end
	for _, edges := range [...][]Edge{a.Added, more} {
		for _, e := range edges {
			g.From[next[e.To]] = e.From
			next[e.To]++
		}
	}
	return &g
}

func filled(n int32) []int32 {
	list := make([]int32, n)
	for i := range list {
		list[i] = -1
	}
	return list
}

// Out calls f for the end of each edge from v, without the edges implied by intervals. Turn must
// have been called.
func (a *Adjacency) Out(v int32, f func(to int32)) {
	for _, to := range a.Outgoing(v) {
		f(to)
	}
	a.OutAdded(v, f)
}

// Outgoing returns the ends of the graph's edges from v.
func (a *Adjacency) Outgoing(v int32) []int32 { return a.out[a.outStart[v]:a.outStart[v+1]] }

// OutAdded calls f for the end of each added edge from v.
func (a *Adjacency) OutAdded(v int32, f func(to int32)) {
	if a.addedOut != nil {
		for i := a.addedOut[v]; i >= 0; i = a.nextOut[i] {
			f(a.Added[i].To)
		}
	}
}

// In calls f for the start of each edge into v, without the edges implied by intervals.
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

// AddedInto reports whether edges into v were added.
func (a *Adjacency) AddedInto(v int32) bool { return a.addedIn != nil && a.addedIn[v] >= 0 }

// InAdded calls f for the start of each added edge into v, with its index in Added, the latest
// first.
func (a *Adjacency) InAdded(v int32, f func(i, from int32)) {
	if a.addedIn == nil {
		return
	}
	for i := a.addedIn[v]; i >= 0; i = a.nextIn[i] {
		f(i, a.Added[i].From)
	}
}
