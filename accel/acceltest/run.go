package acceltest

import (
	"errors"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/isohound/isohound/accel"
)

// Graphs returns how many random graphs to try: the environment's
// ISOHOUND_GRAPHS, else the given number.
func Graphs(n int) int {
	if s, err := strconv.Atoi(os.Getenv("ISOHOUND_GRAPHS")); err == nil {
		return s
	}
	return n
}

// Run tests what a backend promises.
func Run(t *testing.T, b accel.Backend) {
	t.Run("random", func(t *testing.T) {
		for seed := range Graphs(2000) {
			r := rand.New(rand.NewPCG(uint64(seed), 6))
			g, edges := Random(r, []int{4, 12, 40, 150}[seed%4])
			if !Try(t, b, g, edges, r) {
				t.Fatalf("with seed %d", seed)
			}
		}
	})
}

// Try compares the closure of a graph, and those after more and more edges, with
// Warshall's. It reports whether the test goes on.
func Try(t *testing.T, b accel.Backend, g *accel.Graph, edges []accel.Edge, r *rand.Rand) bool {
	t.Helper()
	rows, ok := Warshall(g, nil)
	c, err := b.Closure(t.Context(), g, accel.Options{Workers: 1 + r.IntN(3)})
	if !ok {
		return isCycle(t, g, nil, err)
	}
	if err != nil {
		t.Errorf("closure: %v", err)
		return false
	}
	defer c.Close()
	if !same(t, c, g, rows) {
		return false
	}
	var added []accel.Edge
	for len(edges) > 0 {
		some := edges[:1+r.IntN(len(edges))]
		if r.IntN(2) == 0 {
			some = edges[:1]
		}
		edges = edges[len(some):]
		after, ok := Warshall(g, slices.Concat(added, some))
		err := c.Insert(t.Context(), some)
		if !ok {
			if !isCycle(t, g, slices.Concat(added, some), err) || !same(t, c, g, rows) {
				return false
			}
			continue
		}
		if err != nil {
			t.Errorf("insert: %v", err)
			return false
		}
		if !same(t, c, g, after) || !changed(t, c, g, rows, after) {
			return false
		}
		added, rows = append(added, some...), after
	}
	return true
}

func same(t *testing.T, c accel.Closure, g *accel.Graph, rows [][]bool) bool {
	t.Helper()
	for to := range g.Len() {
		for from := range g.SourceCount() {
			if got := c.Reaches(from, to); got != rows[to][from] {
				t.Errorf("%d reaches %d: %v, want %v", from, to, got, rows[to][from])
				return false
			}
		}
	}
	return true
}

// changed compares what Changed says with two closures.
func changed(t *testing.T, c accel.Closure, g *accel.Graph, before, after [][]bool) bool {
	t.Helper()
	for v := range g.Len() {
		n := g.SourceCount()
		want := !slices.Equal(before[v][:n], after[v][:n])
		if got := c.Changed(v) != 0; got != want {
			t.Errorf("vertex %d changed: %v, want %v", v, got, want)
			return false
		}
	}
	return true
}

// isCycle verifies that an error is a cycle of a graph.
func isCycle(t *testing.T, g *accel.Graph, added []accel.Edge, err error) bool {
	t.Helper()
	var cycle *accel.CycleError
	if !errors.As(err, &cycle) || len(cycle.Vertices) == 0 {
		t.Errorf("a graph with a cycle: %v", err)
		return false
	}
	for i, u := range cycle.Vertices {
		v := cycle.Vertices[(i+1)%len(cycle.Vertices)]
		if !slices.Contains(g.Into(v), u) && !g.Before(u, v) && !slices.Contains(added, accel.Edge{From: u, To: v}) {
			t.Errorf("cycle %v: there is no edge from %d to %d", cycle.Vertices, u, v)
			return false
		}
	}
	return true
}
