package acceltest

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/isohound/isohound/accel"
)

// hostile tests invalid graphs and valid corner cases.
func hostile(t *testing.T, b accel.Backend) {
	r := rand.New(rand.NewPCG(1, 9))
	never, soon := accel.Interval{Begin: math.MinInt64, End: math.MinInt64}, accel.Interval{Begin: 1, End: 1}
	for name, in := range map[string]struct {
		g     *accel.Graph
		edges []accel.Edge
	}{
		"nothing":    {g: accel.NewGraph(0, nil)},
		"one":        {g: accel.NewGraph(1, nil), edges: []accel.Edge{{}}},
		"alone":      {g: accel.NewGraph(200, nil)},
		"loop":       {g: accel.NewGraph(2, []accel.Edge{{From: 1, To: 1}})},
		"two":        {g: accel.NewGraph(3, []accel.Edge{{From: 0, To: 1}, {From: 1, To: 0}})},
		"many edges": {g: accel.NewGraph(2, slices.Repeat([]accel.Edge{{From: 1, To: 0}}, 500))},
		"in time":    {g: timed(accel.NewGraph(2, []accel.Edge{{From: 1, To: 0}}), soon, soon), edges: []accel.Edge{{From: 0, To: 1}}},
		"before all": {g: timed(accel.NewGraph(2, nil), never, soon), edges: []accel.Edge{{From: 1, To: 0}}},
		"against":    {g: timed(accel.NewGraph(2, []accel.Edge{{From: 1, To: 0}}), never, soon)},
		"always":     {g: timed(accel.NewGraph(3, nil), accel.Always, soon, accel.Always), edges: []accel.Edge{{From: 2, To: 0}}},
		"one source": {g: from(accel.NewGraph(3, []accel.Edge{{From: 2, To: 0}, {From: 0, To: 1}}), 1), edges: []accel.Edge{{From: 1, To: 2}}},
		"star":       {g: star(3000)},
	} {
		t.Run(name, func(t *testing.T) { Try(t, b, in.g, in.edges, r, 10) })
	}
	for name, g := range map[string]*accel.Graph{
		"no row":      {},
		"short":       {Start: []int64{0, 2}, From: []int32{0}},
		"back":        {Start: []int64{0, 2, 1, 2}, From: []int32{0, 0}},
		"nowhere":     {Start: []int64{0, 1}, From: []int32{7}},
		"negative":    {Start: []int64{0, 1}, From: []int32{-1}},
		"sources":     from(accel.NewGraph(2, nil), 3),
		"intervals":   timed(accel.NewGraph(2, nil), soon),
		"end first":   timed(accel.NewGraph(1, nil), accel.Interval{Begin: 2, End: 1}),
		"odd pairs":   pairs(accel.NewGraph(3, []accel.Edge{{From: 0, To: 1}})),
		"no pair":     pairs(accel.NewGraph(2, nil)),
		"unpaired":    pairs(accel.NewGraph(4, []accel.Edge{{From: 0, To: 1}, {From: 2, To: 3}, {From: 0, To: 2}})),
		"long pair":   timed(pairs(accel.NewGraph(2, []accel.Edge{{From: 0, To: 1}})), soon, accel.Always),
		"short cover": {Start: []int64{0, 0}, Cover: &accel.Cover{}},
	} {
		if _, err := b.Closure(t.Context(), g, accel.Options{}); err == nil {
			t.Errorf("%s: a graph that makes no sense has a closure", name)
		}
	}
	c, err := b.Closure(t.Context(), accel.NewGraph(2, nil), accel.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, e := range []accel.Edge{{From: 0, To: 2}, {From: -1, To: 0}} {
		if err := c.Insert(t.Context(), []accel.Edge{{From: 0, To: 1}, e}); err == nil || c.Reaches(0, 1) {
			t.Errorf("an edge from %d to %d was added: %v", e.From, e.To, err)
		}
	}
	p, err := b.Closure(t.Context(), pairs(accel.NewGraph(4, []accel.Edge{{From: 0, To: 1}, {From: 2, To: 3}})), accel.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if err := p.Insert(t.Context(), []accel.Edge{{From: 0, To: 3}, {From: 0, To: 2}}); err == nil || p.Reaches(0, 3) {
		t.Errorf("an edge between the first ones of pairs was added: %v", err)
	}
}

func pairs(g *accel.Graph) *accel.Graph {
	g.Pairs = true
	return g
}

func timed(g *accel.Graph, at ...accel.Interval) *accel.Graph {
	g.Intervals = at
	return g
}

func from(g *accel.Graph, sources int32) *accel.Graph {
	g.Sources = sources
	return g
}

// star returns a graph with one vertex that all others lead to, and one that leads to all.
func star(n int32) *accel.Graph {
	var edges []accel.Edge
	for v := int32(1); v < n-1; v++ {
		edges = append(edges, accel.Edge{From: v, To: 0}, accel.Edge{From: n - 1, To: v})
	}
	return accel.NewGraph(n, edges)
}

// memory tests memory limits.
func memory(t *testing.T, b accel.Backend) {
	g := Workload{Vertices: 2000, Sessions: 10, Keys: 100, Reads: 2, Writes: 2}.Graph(3)
	need := b.Memory(g)
	if need <= 0 {
		t.Fatalf("a closure needs %d bytes", need)
	}
	var refused *accel.MemoryError
	for _, limit := range []int64{1, need / 2, need - 1} {
		_, err := b.Closure(t.Context(), g, accel.Options{MaxMemory: limit})
		if !errors.As(err, &refused) || refused.Limit != limit || refused.Need != need || refused.Backend != b.Name() {
			t.Errorf("with %d bytes of %d: %v", limit, need, err)
		}
	}
	c, err := b.Closure(t.Context(), g, accel.Options{MaxMemory: need})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if c.Bytes() > need || c.Bytes() <= 0 {
		t.Errorf("a closure of at most %d bytes has %d", need, c.Bytes())
	}
}

// ended tests a context that has ended.
func ended(t *testing.T, b accel.Backend) {
	g := Workload{Vertices: 3000, Sessions: 10, Keys: 100, Reads: 2, Writes: 2}.Graph(3)
	cause := errors.New("enough")
	over, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if _, err := b.Closure(over, g, accel.Options{}); !errors.Is(err, cause) {
		t.Errorf("closure: %v", err)
	}
	c, err := b.Closure(t.Context(), g, accel.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	edges := []accel.Edge{{From: 0, To: 1}, {From: 2, To: 3}}
	groups := accel.Groups{Start: []int32{0, 2}, Members: []int32{0, 1}}
	for name, err := range map[string]error{
		"closing": c.Closing(over, edges, []int32{0, 2}, make([]bool, 1)),
		"among":   c.Among(over, &groups),
		"pairs":   c.TwoCycles(over, edges, func(_, _ int32) bool { return true }),
		"insert":  c.Insert(over, edges),
	} {
		if !errors.Is(err, cause) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// together queries from several goroutines, between insertions.
func together(t *testing.T, b accel.Backend) {
	g := Workload{Vertices: 600, Sessions: 10, Keys: 100, Reads: 2, Writes: 2}.Graph(4)
	c, err := b.Closure(t.Context(), g, accel.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	r := rand.New(rand.NewPCG(5, 5))
	var added []accel.Edge
	for range 3 {
		edges := Near(r, 600, 100, 5)
		if err := c.Insert(t.Context(), edges); err != nil {
			t.Fatal(err)
		}
		added = append(added, edges...)
		rows, _ := Warshall(g, added)
		var wg sync.WaitGroup
		for i := range 4 {
			r := rand.New(rand.NewPCG(6, uint64(i)))
			wg.Go(func() {
				for range 5 {
					questions(t, c, g, rows, r)
				}
				same(t, c, g, rows)
			})
		}
		wg.Wait()
	}
}
