package acceltest

import (
	"math/rand/v2"

	"github.com/isohound/isohound/accel"
)

// Workload describes a graph like those of histories.
type Workload struct {
	Vertices, Sessions int32 // if Sessions equals Vertices there are no sessions
	Keys               int   // each vertex reads and writes some of them
	Reads, Writes      int
	Timed              bool // with intervals
	Pairs              bool // twice as many vertices: a start and an end of each
}

// Graph makes the graph: vertices are in the order of their commits, each begins
// while as many as there are sessions, or 32, are running, and has an edge from the
// one before it in its session and from the writers that it reads from. Its
// cover is the sessions, if these are few.
func (w Workload) Graph(seed uint64) *accel.Graph {
	r := rand.New(rand.NewPCG(seed, 1))
	writer := make([]int32, w.Keys) // by key: the latest writer; before: the one before it
	before := make([]int32, w.Keys)
	for i := range writer {
		writer[i], before[i] = -1, -1
	}
	running := w.Sessions
	if w.Sessions == w.Vertices {
		running = 32
	}
	last, size := make([]int32, w.Sessions), make([]int32, w.Sessions)
	c := &accel.Cover{Chain: make([]int32, w.Vertices), Place: make([]int32, w.Vertices), Count: w.Sessions}
	var edges []accel.Edge
	var times []accel.Interval
	for v := range w.Vertices {
		begun := max(0, v-r.Int32N(running)) // commits from here on are not visible
		s := v
		if w.Sessions < w.Vertices {
			s = r.Int32N(w.Sessions)
			if size[s] > 0 {
				begun = max(begun, last[s]+1)
				edges = append(edges, accel.Edge{From: last[s], To: v})
			}
		}
		size[s]++
		last[s], c.Chain[v], c.Place[v] = v, s, size[s]
		for range w.Reads {
			key := r.IntN(w.Keys)
			from := writer[key]
			if from >= begun {
				from = before[key]
			}
			if from >= 0 && from < begun {
				edges = append(edges, accel.Edge{From: from, To: v})
			}
		}
		for range w.Writes {
			key := r.IntN(w.Keys)
			before[key], writer[key] = writer[key], v
		}
		times = append(times, accel.Interval{Begin: int64(begun) * 2, End: int64(v)*2 + 1})
	}
	g := accel.NewGraph(w.Vertices, edges)
	if w.Sessions < w.Vertices {
		full := int32(0) // sessions without a vertex do not count
		name := make([]int32, w.Sessions)
		for s, n := range size {
			if name[s] = full; n > 0 {
				full++
			}
		}
		for v := range c.Chain {
			c.Chain[v] = name[c.Chain[v]]
		}
		c.Count = full
		g.Cover = c
	}
	if w.Timed {
		g.Intervals = times
	}
	if w.Pairs {
		return split(g)
	}
	return g
}

// split replaces each vertex of a graph by a start and an end: an edge now leads from the end of
// one to the start of the other.
func split(g *accel.Graph) *accel.Graph {
	n := g.Len()
	var edges []accel.Edge
	for v := range n {
		edges = append(edges, accel.Edge{From: 2 * v, To: 2*v + 1})
		for _, u := range g.Into(v) {
			edges = append(edges, accel.Edge{From: 2*u + 1, To: 2 * v})
		}
	}
	s := accel.NewGraph(2*n, edges)
	s.Pairs = true
	for _, at := range g.Intervals {
		s.Intervals = append(s.Intervals, at, at)
	}
	if g.Cover != nil {
		s.Cover = &accel.Cover{Count: g.Cover.Count}
		for v, c := range g.Cover.Chain {
			s.Cover.Chain = append(s.Cover.Chain, c, c)
			s.Cover.Place = append(s.Cover.Place, 2*g.Cover.Place[v]-1, 2*g.Cover.Place[v])
		}
	}
	return s
}

// size returns how many vertices the graph has.
func (w Workload) size() int32 {
	if w.Pairs {
		return 2 * w.Vertices
	}
	return w.Vertices
}
