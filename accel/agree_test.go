package accel_test

import (
	"math/rand/v2"
	"testing"

	"github.com/isohound/isohound/accel"
	"github.com/isohound/isohound/accel/acceltest"
	"github.com/isohound/isohound/accel/bitset"
	"github.com/isohound/isohound/accel/chains"
)

func TestAgree(t *testing.T) {
	acceltest.Agree(t, chains.Backend{}, bitset.Backend{}, 50_000)
	acceltest.Agree(t, bitset.Backend{}, bitset.Backend{Full: true}, 5_000)
}

// FuzzClosure makes a graph from bytes: the first is the number of vertices; the others are
// edges, two bytes each, of which about half are inserted.
func FuzzClosure(f *testing.F) {
	f.Add([]byte{3, 0, 1, 1, 2, 2, 0}, uint64(1))
	f.Add([]byte{200, 7, 130, 130, 3, 130, 131, 4, 4}, uint64(2))
	f.Fuzz(func(t *testing.T, data []byte, seed uint64) {
		if len(data) == 0 {
			return
		}
		n := int32(data[0])
		var edges []accel.Edge
		for data = data[1:]; n > 0 && len(data) > 1; data = data[2:] {
			edges = append(edges, accel.Edge{From: int32(data[0]) % n, To: int32(data[1]) % n})
		}
		for _, b := range []accel.Backend{chains.Backend{}, bitset.Backend{}} {
			g := accel.NewGraph(n, edges[:len(edges)/2])
			acceltest.Try(t, b, g, edges[len(edges)/2:], rand.New(rand.NewPCG(seed, 1)), 5)
		}
	})
}
