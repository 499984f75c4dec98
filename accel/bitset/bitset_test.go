package bitset_test

import (
	"math/rand/v2"
	"testing"

	"github.com/isohound/isohound/accel"
	"github.com/isohound/isohound/accel/acceltest"
	"github.com/isohound/isohound/accel/bitset"
)

func TestContract(t *testing.T) { acceltest.Run(t, bitset.Backend{}) }

func TestFull(t *testing.T) { acceltest.Run(t, bitset.Backend{Full: true}) }

func TestBands(t *testing.T) { acceltest.Run(t, bitset.Tight(bitset.Narrow(bitset.Backend{}))) }

func TestFullBands(t *testing.T) {
	acceltest.Run(t, bitset.Narrow(bitset.Backend{Full: true}))
}

// TestAhead adds an edge from a row whose leading full words extend beyond the words that are new
// in the row of the edge's end.
func TestAhead(t *testing.T) {
	const n = 303
	edges := []accel.Edge{{From: 0, To: n - 1}, {From: n - 3, To: n - 1}}
	for v := int32(1); v < n-2; v++ {
		edges = append(edges, accel.Edge{From: v, To: v + 1})
	}
	g := accel.NewGraph(n, edges)
	g.Sources = n - 1 // else the start's own bit would be new
	acceltest.Try(t, bitset.Backend{}, g, []accel.Edge{{From: n - 1, To: n - 2}}, rand.New(rand.NewPCG(1, 1)), 1)
}
