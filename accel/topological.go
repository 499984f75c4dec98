package accel

import "github.com/isohound/isohound/accel/internal/queue"

// Order returns the vertices in a topological order, which keeps the edges of
// intervals too, or a *CycleError. Of those that may come next it takes the one
// that was ready first, of a graph with intervals the one that begins first.
//
// So, with intervals, whatever lies before a vertex in time reaches everything
// that comes after the vertex in the order: that begins later, or waits for one
// that does.
func (a *Adjacency) Order() ([]int32, error) {
	a.Turn()
	n := a.Len()
	missing := make([]int32, n)
	for v := range n {
		missing[v] = int32(a.Start[v+1] - a.Start[v])
	}
	for _, e := range a.Added {
		missing[e.To]++
	}
	var order []int32
	if a.Intervals == nil {
		order = a.byReadiness(missing)
	} else {
		order = a.byTime(missing)
	}
	if len(order) < int(n) {
		placed := make([]bool, n)
		for _, v := range order {
			placed[v] = true
		}
		return nil, a.cycle(placed)
	}
	return order, nil
}

// byReadiness orders what has no cycle before it; missing are by vertex the edges
// into it.
func (a *Adjacency) byReadiness(missing []int32) []int32 {
	order := make([]int32, 0, len(missing))
	for v, m := range missing {
		if m == 0 {
			order = append(order, int32(v))
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

// byTime does the same with intervals.
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

// waiting holds the vertices that no edge keeps waiting any more, by their places
// in begins. The first of them may come if everything before it in time is
// placed, and if not, none of these may that begin as late.
type waiting struct {
	a           *Adjacency
	turn        []int32 // by vertex: its place in begins
	ready, late *queue.Queue
	placed      []bool
	over        int32 // so many of a.ends, the first ones, are placed
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
