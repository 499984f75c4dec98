package chains_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/isohound/isohound/accel"
	"github.com/isohound/isohound/accel/acceltest"
	"github.com/isohound/isohound/accel/chains"
)

func cover(t *testing.T, g *accel.Graph) *accel.Cover {
	t.Helper()
	s, err := accel.Sort(g, nil)
	if err != nil {
		t.Fatal(err)
	}
	c, err := chains.Cover(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestFewest compares covers with the optimum over all choices of edges.
func TestFewest(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 3))
	for range acceltest.Graphs(2000) {
		g, _ := acceltest.Random(r, 9)
		g.Cover, g.Intervals = nil, nil
		want := g.SourceCount() - most(g, 0, make([]bool, g.Len()))
		if got := cover(t, g).Count; got != want {
			t.Fatalf("%d paths, want %d: %v", got, want, g)
		}
	}
}

// most is how many edges into sources from v on may be chosen, none of them from
// a source that is taken.
func most(g *accel.Graph, v int32, taken []bool) int32 {
	if v == g.SourceCount() {
		return 0
	}
	best := most(g, v+1, taken)
	for _, u := range g.Into(v) {
		if u < g.SourceCount() && !taken[u] {
			taken[u] = true
			best = max(best, 1+most(g, v+1, taken))
			taken[u] = false
		}
	}
	return best
}

// TestSessions: a graph with sessions is covered by at most as many paths as it has sessions.
func TestSessions(t *testing.T) {
	for _, w := range []acceltest.Workload{
		{Vertices: 3000, Sessions: 24, Keys: 300, Reads: 4, Writes: 4},
		{Vertices: 3000, Sessions: 3000, Keys: 300, Reads: 4, Writes: 4, Timed: true},
	} {
		g := w.Graph(1)
		g.Cover = nil
		if got := cover(t, g).Count; got > 32 {
			t.Errorf("%v: %d paths", w, got)
		}
	}
}

func TestNoCover(t *testing.T) {
	g := accel.NewGraph(4, []accel.Edge{{From: 0, To: 1}, {From: 1, To: 2}})
	for want, c := range map[string]*accel.Cover{
		"path 0 vertex 2 does not reach vertex 3": {Chain: []int32{0, 0, 0, 0}, Place: []int32{1, 2, 3, 4}, Count: 1},
		"path 0 vertex 1 does not reach vertex 0": {Chain: []int32{0, 0, 0, 1}, Place: []int32{2, 1, 3, 1}, Count: 2},
		"the same place":                   {Chain: []int32{0, 0, 0, 1}, Place: []int32{1, 2, 2, 1}, Count: 2},
		"place 4":                          {Chain: []int32{0, 0, 0, 1}, Place: []int32{1, 2, 4, 1}, Count: 2},
		"place 0":                          {Chain: []int32{0, 0, 0, 1}, Place: []int32{1, 2, 0, 1}, Count: 2},
		"path 2":                           {Chain: []int32{0, 0, 0, 2}, Place: []int32{1, 2, 3, 1}, Count: 2},
		"path -1":                          {Chain: []int32{0, 0, 0, -1}, Place: []int32{1, 2, 3, 1}, Count: 2},
		"cannot have 5":                    {Chain: []int32{0, 0, 0, 1}, Place: []int32{1, 2, 3, 1}, Count: 5},
		"does not cover 4":                 {Chain: []int32{0, 0}, Place: []int32{1, 2}, Count: 1},
		"vertex 2 does not reach vertex 0": {Chain: []int32{0, 0, 0, 1}, Place: []int32{2, 3, 1, 1}, Count: 2},
	} {
		g.Cover = c
		_, err := chains.Backend{}.Closure(t.Context(), g, accel.Options{Workers: 1})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
