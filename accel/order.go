package accel

import (
	"slices"

	"github.com/isohound/isohound/accel/internal/queue"
)

// Order returns the vertices in a topological order, which also respects the edges of intervals,
// or a *CycleError. Among the vertices that may come next it takes the one that was ready first;
// with intervals, the one that begins first.
//
// So, with intervals, each vertex u that lies before a vertex v in time reaches everything that
// comes after v in the order: such a vertex begins after v, or waits for one that does.
func (a *Adjacency) Order() ([]int32, error) {
	a.Turn()
	n := a.Len()
	all, missing := make([]int32, n), make([]int32, n)
	for v := range n {
		all[v], missing[v] = v, int32(a.Start[v+1]-a.Start[v])
	}
	for _, e := range a.Added {
		missing[e.To]++
	}
	var order []int32
	if a.Intervals == nil {
		order = a.byReadiness(all, missing)
	} else {
		order = a.byTime(missing)
	}
	if len(order) < int(n) {
		return nil, a.cycle(all, order)
	}
	return order, nil
}

// byReadiness sorts some vertices topologically, without those on or after a cycle (Kahn's
// algorithm). missing has by vertex the number of edges into it from these vertices, and at most
// 0 for all others.
func (a *Adjacency) byReadiness(part, missing []int32) []int32 {
	order := make([]int32, 0, len(part))
	for _, v := range part {
		if missing[v] == 0 {
			order = append(order, v)
		}
	}
	for i := 0; i < len(order); i++ {
		v := order[i]
		for _, to := range a.out[a.outStart[v]:a.outStart[v+1]] {
			if missing[to]--; missing[to] == 0 {
				order = append(order, to)
			}
		}
		if a.addedOut == nil {
			continue
		}
		for i := a.addedOut[v]; i >= 0; i = a.nextOut[i] {
			to := a.Added[i].To
			if missing[to]--; missing[to] == 0 {
				order = append(order, to)
			}
		}
	}
	return order
}

// byTime does the same for graphs with intervals.
func (a *Adjacency) byTime(missing []int32) []int32 {
	n := a.Len()
	w := waiting{a: a, turn: make([]int32, n), ready: queue.New(n), late: queue.New(n), placed: make([]bool, n)}
	for i, v := range a.begins {
		w.turn[v] = int32(i)
	}
	for v, m := range missing {
		if m == 0 {
			w.add(int32(v))
		}
	}
	order := make([]int32, 0, n)
	for {
		v := w.next()
		if v < 0 {
			return order
		}
		order = append(order, v)
		a.Out(v, func(to int32) {
			if missing[to]--; missing[to] == 0 {
				w.add(to)
			}
		})
	}
}

// cycle follows edges backwards among the given vertices that are not in the order, until a
// vertex repeats.
func (a *Adjacency) cycle(part, order []int32) *CycleError {
	left := make([]bool, a.Len())
	for _, v := range part {
		left[v] = true
	}
	for _, v := range order {
		left[v] = false
	}
	before := func(v int32) int32 {
		found := int32(-1)
		a.In(v, func(u int32) {
			if found < 0 && left[u] {
				found = u
			}
		})
		if found < 0 && a.Intervals != nil {
			i := slices.IndexFunc(a.ends[:a.prior[v]], func(u int32) bool { return left[u] })
			found = a.ends[i]
		}
		return found
	}
	at := map[int32]int{}
	var walk []int32
	v := int32(slices.Index(left, true))
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

// IsOrder reports whether a list has every vertex once and respects all edges.
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

// waiting holds the vertices without unplaced predecessors along edges, by their positions in
// begins. A vertex is in ready if everything before it in time is placed, else in late. If the
// first vertex in late must wait, so must all others in late.
type waiting struct {
	a           *Adjacency
	turn        []int32 // by vertex: its position in begins
	ready, late *queue.Queue
	placed      []bool
	over        int32 // how many of a.ends, from the first on, are placed
}

func (w *waiting) add(v int32) {
	if w.a.prior[v] <= w.over {
		w.ready.Add(w.turn[v])
	} else {
		w.late.Add(w.turn[v])
	}
}

// next places a vertex and returns it, or -1.
func (w *waiting) next() int32 {
	i := w.ready.Next()
	if i < 0 {
		return -1
	}
	v := w.a.begins[i]
	w.placed[v] = true
	ends := w.a.ends
	for int(w.over) < len(ends) && w.placed[ends[w.over]] {
		w.over++
	}
	for i := w.late.Least(); i >= 0 && w.a.prior[w.a.begins[i]] <= w.over; i = w.late.Least() {
		w.ready.Add(w.late.Next())
	}
	return v
}
