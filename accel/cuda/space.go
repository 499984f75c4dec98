package cuda

import (
	"cmp"
	"slices"

	"github.com/isohound/isohound/accel"
)

// space is everything that has a row on the device: the vertices of a graph, 0 to n-1, and after
// them, if the graph has intervals, points in time. Every vertex that begins after others have
// ended has an edge from a point. A point has edges from the previous point and from the
// vertices that ended since. So the time order takes two edges per vertex instead of up to n.
type space struct {
	*accel.Sorted
	point []int32 // by vertex: the last point before it, or -1
	ends  []int32 // vertices sorted by their ends
	since []int32 // by point: the first of ends that belongs to it; one entry more
}

func newSpace(a *accel.Sorted) *space {
	s := &space{Sorted: a}
	if a.Intervals == nil {
		return s
	}
	n := a.Len()
	s.ends, s.point = make([]int32, n), make([]int32, n)
	for v := range n {
		s.ends[v] = v
	}
	at := a.Intervals
	slices.SortFunc(s.ends, func(u, v int32) int { return cmp.Compare(at[u].End, at[v].End) })
	s.since = []int32{0}
	for _, v := range a.Begins() {
		if over := a.Prior(v); over > s.since[len(s.since)-1] {
			s.since = append(s.since, over)
		}
		s.point[v] = int32(len(s.since)) - 2
	}
	return s
}

// points returns how many points in time there are.
func (s *space) points() int32 { return int32(max(0, len(s.since)-1)) }

// size returns how many rows there are.
func (s *space) size() int32 { return s.Len() + s.points() }

// into appends the starts of the edges into the vertex or point of a row.
func (s *space) into(list []int32, x int32) []int32 {
	n := s.Len()
	if x < n {
		list = append(list, s.Into(x)...)
		if len(s.Added) > 0 {
			s.InAdded(x, func(_, u int32) { list = append(list, u) })
		}
		if s.point != nil && s.point[x] >= 0 {
			list = append(list, n+s.point[x])
		}
		return list
	}
	if x > n {
		list = append(list, x-1)
	}
	return append(list, s.ends[s.since[x-n]:s.since[x-n+1]]...)
}

// fill inserts the points in time into an order of the vertices.
func (s *space) fill(order []int32) []int32 {
	if s.points() == 0 {
		return order
	}
	n, next := s.Len(), int32(0)
	all := make([]int32, 0, s.size())
	for _, v := range order {
		for ; next <= s.point[v]; next++ {
			all = append(all, n+next)
		}
		all = append(all, v)
	}
	return all
}

// byLevel sorts an order of some of the rows by level: the length of the longest chain of edges
// to a row. Edges from rows that chosen leaves out do not count; nil leaves none out.
func (s *space) byLevel(order []int32, chosen []bool) []int32 {
	level := make([]int32, s.size())
	var count []int32
	var list []int32
	for _, x := range order {
		l := int32(0)
		list = s.into(list[:0], x)
		for _, u := range list {
			if chosen == nil || chosen[u] {
				l = max(l, level[u]+1)
			}
		}
		level[x] = l
		for int(l) >= len(count) {
			count = append(count, 0)
		}
		count[l]++
	}
	at := int32(0)
	for l, n := range count {
		count[l] = at
		at += n
	}
	sorted := make([]int32, len(order))
	for _, x := range order {
		sorted[count[level[x]]] = x
		count[level[x]]++
	}
	return sorted
}

// reached returns, in order, what the ends of edges reach, and marks it.
func (s *space) reached(order []int32, edges []accel.Edge) (list []int32, marks []bool) {
	marks = make([]bool, s.size())
	for _, e := range edges {
		marks[e.To] = true
	}
	var from []int32
	for _, x := range order {
		if !marks[x] && len(list) > 0 {
			from = s.into(from[:0], x)
			marks[x] = slices.ContainsFunc(from, func(u int32) bool { return marks[u] })
		}
		if marks[x] {
			list = append(list, x)
		}
	}
	return list, marks
}
