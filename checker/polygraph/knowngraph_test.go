package polygraph_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/isohound/isohound/accel"
	"github.com/isohound/isohound/accel/acceltest"
	"github.com/isohound/isohound/checker/engine"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/polygraph"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/internal/randhist"
)

// TestKnownGraph checks that every execution keeps the known graph: a witness is a topological
// order of it, with its intervals, and a history with a cycle in it has no witness. Chains are
// paths of it.
func TestKnownGraph(t *testing.T) {
	rng := rand.New(rand.NewPCG(51, 52))
	ctx := context.Background()
	count := map[string]int{}
	for range randhist.Count(t, 1500) {
		h := randhist.Of(rng, 3, 9, 4)
		for _, lvl := range []level.Level{level.SER, level.SI, level.SERNoSO, level.SINoSO, level.SSER, level.StrongSI} {
			if lvl.RealTime() && !h.Timed() {
				continue
			}
			k, err := polygraph.KnownGraph(ctx, h, lvl, true)
			r, cerr := polygraph.Decide(ctx, h, lvl, polygraph.Engine{})
			if cerr != nil {
				t.Fatal(cerr)
			}
			if err != nil {
				count["no graph"]++
				if r.Verdict == verdict.Satisfied {
					t.Fatalf("%s: satisfied, and %v", lvl, err)
				}
				continue
			}
			if err := k.Graph.Validate(); err != nil {
				t.Fatal(err)
			}
			a := accel.NewAdjacency(k.Graph)
			a.Add(k.Inferred)
			if len(k.Inferred) > 0 {
				count["inferred"]++
			}
			rows, acyclic := acceltest.Warshall(k.Graph, k.Inferred)
			if !acyclic {
				count["cycle"]++
				if r.Verdict == verdict.Satisfied {
					t.Fatalf("%s: satisfied with a cycle", lvl)
				}
				continue
			}
			count["acyclic"]++
			if c := k.Graph.Cover; c != nil {
				checkCover(t, c, rows)
			} else if lvl.SessionOrder() {
				t.Fatalf("%s: no cover", lvl)
			}
		}
	}
	for _, what := range []string{"no graph", "inferred", "cycle", "acyclic"} {
		if count[what] < 50 && !randhist.Few(t) {
			t.Errorf("one-sided: %v", count)
		}
	}
}

// checkCover checks that of two vertices of a chain the earlier one reaches the later one.
func checkCover(t *testing.T, c *accel.Cover, rows [][]bool) {
	t.Helper()
	for u := range rows {
		for v := range rows {
			if c.Chain[u] == c.Chain[v] && c.Place[u] <= c.Place[v] && !rows[v][u] {
				t.Fatalf("%d and %d are in a chain, at %d and %d, and there is no path", u, v, c.Place[u], c.Place[v])
			}
			if u != v && c.Chain[u] == c.Chain[v] && c.Place[u] == c.Place[v] {
				t.Fatalf("%d and %d have one place", u, v)
			}
		}
	}
}

// TestKnownGraphKeepsEdges checks that a witness keeps the edges of the graph.
func TestKnownGraphKeepsEdges(t *testing.T) {
	rng := rand.New(rand.NewPCG(53, 54))
	ctx := context.Background()
	satisfied := 0
	for range randhist.Count(t, 1500) {
		h := randhist.Of(rng, 3, 9, 4)
		for _, lvl := range []level.Level{level.SER, level.SSER} {
			if lvl.RealTime() && !h.Timed() {
				continue
			}
			c, err := polygraph.Engine{}.Judge(ctx, h, lvl, engine.Options{Proof: true})
			if err != nil || c.Verdict != verdict.Satisfied || len(c.Witness.Order) < len(h.Txns) {
				continue // vertices are transactions only if all transactions count
			}
			k, err := polygraph.KnownGraph(ctx, h, lvl, true)
			if err != nil {
				t.Fatal(err)
			}
			satisfied++
			a := accel.NewAdjacency(k.Graph)
			a.Add(k.Inferred)
			if !a.IsOrder(c.Witness.Order) {
				t.Fatalf("%s: the witness %v is no order of the graph", lvl, c.Witness.Order)
			}
		}
	}
	if satisfied < 200 && !randhist.Few(t) {
		t.Errorf("only %d satisfied", satisfied)
	}
}
