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

// reader lists the edges into one vertex or point after the other.
type reader struct {
	*space
	list []int32
}

// into returns the starts of the edges into a vertex or point, until the next call. They must not
// be changed.
func (r *reader) into(x int32) []int32 {
	n := r.Len()
	if x < n && r.point == nil && !r.AddedInto(x) {
		return r.Into(x)
	}
	list := r.list[:0]
	if x < n {
		list = append(list, r.Into(x)...)
		r.InAdded(x, func(_, u int32) { list = append(list, u) })
		if r.point != nil && r.point[x] >= 0 {
			list = append(list, n+r.point[x])
		}
	} else {
		if x > n {
			list = append(list, x-1)
		}
		list = append(list, r.ends[r.since[x-n]:r.since[x-n+1]]...)
	}
	r.list = list
	return list
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

// levels returns an order of all rows by level. given says that Sort was given an order, which need not be by level.
func (s *space) levels(given bool) []int32 {
	order := s.fill(s.Order)
	if given || s.Intervals != nil { // otherwise Sort returns an order by level
		order = s.byLevel(order)
	}
	return order
}

// byLevel sorts an order of all rows by level: the length of the longest chain of edges to a row.
func (s *space) byLevel(order []int32) []int32 {
	level := make([]int32, s.size())
	r := reader{space: s}
	for _, x := range order {
		l := int32(0)
		for _, u := range r.into(x) {
			l = max(l, level[u]+1)
		}
		level[x] = l
	}
	return sortByLevel(order, level)
}

// reached returns what the ends of edges reach, by level among themselves, and for each row its
// level plus one, 0 if it is not reached. order is one of all rows, which the edges respect.
func (s *space) reached(order []int32, edges []accel.Edge) (list, level []int32) {
	level = make([]int32, s.size())
	for _, e := range edges {
		level[e.To] = 1
	}
	later := s.turned()
	for _, x := range order {
		l := level[x]
		if l == 0 {
			continue
		}
		list = append(list, x)
		raise := func(y int32) { level[y] = max(level[y], l+1) }
		if x >= s.Len() {
			later.fromPoint(x-s.Len(), raise)
			continue
		}
		for _, y := range s.Outgoing(x) {
			level[y] = max(level[y], l+1)
		}
		s.OutAdded(x, raise)
		if later != nil && later.point[x] >= 0 {
			raise(s.Len() + later.point[x])
		}
	}
	return sortByLevel(list, level), level
}

// sortByLevel sorts rows by their levels. Rows of the same level keep their order.
func sortByLevel(rows, level []int32) []int32 {
	var at []int32 // by level: how many rows it has, then the position of the next one
	for _, x := range rows {
		for int(level[x]) >= len(at) {
			at = append(at, 0)
		}
		at[level[x]]++
	}
	next := int32(0)
	for l, n := range at {
		at[l] = next
		next += n
	}
	sorted := make([]int32, len(rows))
	for _, x := range rows {
		sorted[at[level[x]]] = x
		at[level[x]]++
	}
	return sorted
}

// turned has the edges of points in time by their starts.
type turned struct {
	s     *space
	point []int32 // by vertex: the point that it has an edge to, or -1
	since []int32 // by point: the first of Begins that has an edge from it; one entry more
}

// turned returns nil for a space without points.
func (s *space) turned() *turned {
	if s.points() == 0 {
		return nil
	}
	t := &turned{s: s, point: make([]int32, s.Len())}
	for v := range t.point {
		t.point[v] = -1
	}
	for p := range s.points() {
		for _, v := range s.ends[s.since[p]:s.since[p+1]] {
			t.point[v] = p
		}
	}
	for i, v := range s.Begins() {
		for int(s.point[v]) >= len(t.since) {
			t.since = append(t.since, int32(i))
		}
	}
	t.since = append(t.since, s.Len())
	return t
}

// fromPoint calls f for the ends of the edges from a point in time.
func (t *turned) fromPoint(p int32, f func(y int32)) {
	if p+1 < t.s.points() {
		f(t.s.Len() + p + 1)
	}
	for _, v := range t.s.Begins()[t.since[p]:t.since[p+1]] {
		f(v)
	}
}
