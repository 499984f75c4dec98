package acceltest

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/isohound/isohound/accel"
)

// Graphs returns how many random graphs to try: the environment variable ISOHOUND_GRAPHS, else
// n.
func Graphs(n int) int {
	if s, err := strconv.Atoi(os.Getenv("ISOHOUND_GRAPHS")); err == nil {
		return s
	}
	return n
}

// Run tests the contract of a backend.
func Run(t *testing.T, b accel.Backend) {
	t.Run("random", func(t *testing.T) {
		for seed := range Graphs(300) {
			r := rand.New(rand.NewPCG(uint64(seed), 6))
			size, steps := []int{4, 12, 40, 150}[seed%4], 20
			if seed%64 == 63 {
				size, steps = 900, 3
			}
			if g, edges := Random(r, size); !Try(t, b, g, edges, r, steps) {
				t.Fatalf("with seed %d", seed)
			}
		}
	})
	t.Run("insertions", func(t *testing.T) { insertions(t, b) })
	t.Run("hostile", func(t *testing.T) { hostile(t, b) })
	t.Run("memory", func(t *testing.T) { memory(t, b) })
	t.Run("ended", func(t *testing.T) { ended(t, b) })
	t.Run("together", func(t *testing.T) { together(t, b) })
}

// insertions compares the closures of larger graphs after many edges with those
// of graphs that have the edges from the beginning.
func insertions(t *testing.T, b accel.Backend) {
	for seed, w := range []Workload{
		{Vertices: 700, Sessions: 1, Keys: 50, Reads: 1, Writes: 1},
		{Vertices: 700, Sessions: 8, Keys: 150, Reads: 2, Writes: 2},
		{Vertices: 700, Sessions: 8, Keys: 150, Reads: 2, Writes: 2, Timed: true},
		{Vertices: 700, Sessions: 200, Keys: 100, Reads: 2, Writes: 2},
		{Vertices: 700, Sessions: 700, Keys: 100, Reads: 1, Writes: 2},
		{Vertices: 700, Sessions: 700, Keys: 20, Reads: 1, Writes: 2, Timed: true},
		{Vertices: 700, Sessions: 200, Keys: 100, Reads: 2, Writes: 2, Pairs: true},
		{Vertices: 700, Sessions: 700, Keys: 20, Reads: 1, Writes: 2, Timed: true, Pairs: true},
	} {
		g := w.Graph(uint64(seed))
		r := rand.New(rand.NewPCG(uint64(seed), 7))
		c, err := b.Closure(t.Context(), g, accel.Options{Workers: 2})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		var all []accel.Edge
		for _, size := range []int{1, 100, 1, 700, 10} {
			edges := keep(g, Near(r, w.size(), 300, size))
			if err := c.Insert(t.Context(), edges); err != nil {
				t.Fatal(err)
			}
			all = append(all, edges...)
			whole, err := b.Closure(t.Context(), with(g, all), accel.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if !Same(t, c, whole, g, int(g.Len())) {
				t.Fatalf("with workload %d, after %d edges", seed, len(all))
			}
			whole.Close()
		}
	}
}

// Near returns edges from vertices to others with a number not much larger.
func Near(r *rand.Rand, n, span int32, size int) []accel.Edge {
	edges := make([]accel.Edge, size)
	for i := range edges {
		from := r.Int32N(n - 1)
		edges[i] = accel.Edge{From: from, To: min(n-1, from+1+r.Int32N(span))}
	}
	return edges
}

// keep returns the edges that contradict no interval and no pair.
func keep(g *accel.Graph, edges []accel.Edge) []accel.Edge {
	var kept []accel.Edge
	for _, e := range edges {
		if (g.Intervals == nil || g.Intervals[e.From].Begin <= g.Intervals[e.To].End) && !apart(g, e.From, e.To) {
			kept = append(kept, e)
		}
	}
	return kept
}

// with returns a graph with more edges.
func with(g *accel.Graph, edges []accel.Edge) *accel.Graph {
	all := edges[:len(edges):len(edges)]
	for v := range g.Len() {
		for _, u := range g.Into(v) {
			all = append(all, accel.Edge{From: u, To: v})
		}
	}
	more := accel.NewGraph(g.Len(), all)
	more.Sources, more.Pairs, more.Cover, more.Intervals = g.Sources, g.Pairs, g.Cover, g.Intervals
	return more
}

// Same compares two closures of a graph in about that many rows.
func Same(t *testing.T, a, b accel.Closure, g *accel.Graph, rows int) bool {
	t.Helper()
	for i := range min(rows, int(g.Len())) {
		to := int32(int64(i) * int64(g.Len()) / int64(min(rows, int(g.Len()))))
		for from := range g.SourceCount() {
			if got, want := a.Reaches(from, to), b.Reaches(from, to); got != want {
				t.Errorf("%d reaches %d: %v and %v", from, to, got, want)
				return false
			}
		}
	}
	return true
}

// Agree compares the closures of two backends for graphs of n vertices, before and after edges
// are added, in some of their rows.
func Agree(t *testing.T, a, b accel.Backend, n int32) {
	const rows = 100
	for seed, w := range []Workload{
		{Vertices: n, Sessions: 24, Keys: int(n) / 10, Reads: 4, Writes: 4},
		{Vertices: n, Sessions: 24, Keys: int(n) / 10, Reads: 4, Writes: 4, Timed: true},
		{Vertices: n, Sessions: 300, Keys: int(n) / 4, Reads: 2, Writes: 2},
		{Vertices: n / 2, Sessions: 300, Keys: int(n) / 8, Reads: 2, Writes: 2, Pairs: true},
	} {
		g := w.Graph(uint64(seed))
		first, err := a.Closure(t.Context(), g, accel.Options{})
		if err != nil {
			t.Fatal(err)
		}
		second, err := b.Closure(t.Context(), g, accel.Options{})
		if err != nil {
			t.Fatal(err)
		}
		r := rand.New(rand.NewPCG(uint64(seed), 8))
		for _, size := range []int{0, 1, 2000} {
			edges := keep(g, Near(r, w.size(), 500, size))
			for _, c := range []accel.Closure{first, second} {
				if err := c.Insert(t.Context(), edges); err != nil {
					t.Fatal(err)
				}
			}
			if !Same(t, first, second, g, rows) {
				t.Fatalf("%s and %s, workload %d, after %d edges", a.Name(), b.Name(), seed, size)
			}
		}
		first.Close()
		second.Close()
	}
}
