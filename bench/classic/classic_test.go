package classic_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/isohound/isohound/accel"
	"github.com/isohound/isohound/accel/acceltest"
	"github.com/isohound/isohound/bench/classic"
)

// random makes an acyclic graph, with or without intervals. Its edges follow the order of some
// moments within the intervals.
func random(rng *rand.Rand) (*accel.Graph, []int64) {
	n := int32(1 + rng.IntN(40))
	span := []int64{3, 10, 100}[rng.IntN(3)]
	moment := make([]int64, n)
	at := make([]accel.Interval, n)
	for v := range n {
		moment[v] = rng.Int64N(span)*64 + int64(v)
		at[v] = accel.Interval{Begin: moment[v]/64 - rng.Int64N(4), End: moment[v]/64 + rng.Int64N(6)}
		if rng.IntN(20) == 0 {
			at[v].End = accel.Always.End
		}
	}
	g := accel.NewGraph(n, edges(rng, moment, rng.IntN(3*int(n))))
	if rng.IntN(4) > 0 {
		g.Intervals = at
	}
	return g, moment
}

func edges(rng *rand.Rand, moment []int64, count int) []accel.Edge {
	var out []accel.Edge
	for range count {
		e := accel.Edge{From: rng.Int32N(int32(len(moment))), To: rng.Int32N(int32(len(moment)))}
		if moment[e.From] > moment[e.To] {
			e.From, e.To = e.To, e.From
		}
		if e.From != e.To {
			out = append(out, e)
		}
	}
	return out
}

func compare(t *testing.T, name string, c classic.Closure, rows [][]bool) {
	t.Helper()
	for v := range rows {
		for u := range rows {
			if got := c.Reaches(int32(u), int32(v)); got != rows[v][u] {
				t.Fatalf("%s: %d reaches %d: %v", name, u, v, got)
			}
		}
	}
}

// TestAlgorithms: all agree with Warshall's algorithm, also after single insertions, and refuse
// edges that close a cycle.
func TestAlgorithms(t *testing.T) {
	rng := rand.New(rand.NewPCG(61, 62))
	ctx := context.Background()
	refused, intervals := 0, 0
	for range 4000 {
		g, moment := random(rng)
		if g.Intervals != nil {
			intervals++
		}
		before, acyclic := acceltest.Warshall(g, nil)
		if !acyclic {
			t.Fatal("the graph has a cycle")
		}
		more := edges(rng, moment, rng.IntN(6))
		after, _ := acceltest.Warshall(g, more)
		for _, a := range classic.Algorithms {
			c, err := a.Build(ctx, g)
			if err != nil {
				t.Fatal(err)
			}
			compare(t, a.Name, c, before)
			for _, e := range more {
				if ok, err := c.Insert(ctx, e); !ok || err != nil {
					t.Fatalf("%s: insert: %v, %v", a.Name, ok, err)
				}
			}
			compare(t, a.Name, c, after)
			if a.Memory(g) != c.Bytes() || a.Compact && c.Bytes() > int64(g.Len())*int64(g.Len()) {
				t.Fatalf("%s: %d bytes for %d vertices, %d were asked for", a.Name, c.Bytes(), g.Len(), a.Memory(g))
			}
			for u := range int32(len(after)) {
				for v := range int32(len(after)) {
					if u != v && after[v][u] && rng.IntN(20) == 0 {
						refused++
						if ok, err := c.Insert(ctx, accel.Edge{From: v, To: u}); ok || err != nil {
							t.Fatalf("%s: an edge that closes a cycle: %v, %v", a.Name, ok, err)
						}
					}
				}
			}
			compare(t, a.Name, c, after)
		}
	}
	if refused < 1000 || intervals < 1000 {
		t.Errorf("only %d edges refused, %d graphs with intervals", refused, intervals)
	}
}

// TestTouching: intervals are closed. If one ends when another begins, it does not come before
// the other, unlike in the paper.
func TestTouching(t *testing.T) {
	g := accel.NewGraph(3, nil)
	g.Intervals = []accel.Interval{{Begin: 0, End: 5}, {Begin: 5, End: 6}, {Begin: 6, End: 7}}
	for _, a := range classic.Algorithms {
		c, err := a.Build(context.Background(), g)
		if err != nil || c.Reaches(0, 1) || c.Reaches(1, 2) || !c.Reaches(0, 2) {
			t.Errorf("%s: %v, %v, %v, %v", a.Name, err, c.Reaches(0, 1), c.Reaches(1, 2), c.Reaches(0, 2))
		}
	}
}

// TestEnd: an algorithm ends when its context does.
func TestEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	g := accel.NewGraph(300, nil)
	for _, a := range classic.Algorithms {
		if _, err := a.Build(ctx, g); err != context.Canceled {
			t.Errorf("%s: %v", a.Name, err)
		}
	}
}
