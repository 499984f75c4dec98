package choose_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/isohound/isohound/accel"
	"github.com/isohound/isohound/accel/acceltest"
	"github.com/isohound/isohound/accel/bitset"
	"github.com/isohound/isohound/accel/chains"
	"github.com/isohound/isohound/accel/choose"
)

// BenchmarkCost measures the parameters of the cost model on one processor: the seconds of a
// closure per edge and entry or word, and the seconds per edge of a closure with almost no
// entries.
func BenchmarkCost(b *testing.B) {
	const txns = 40_000
	graph := func(count int32) *accel.Graph {
		return acceltest.Workload{Vertices: txns, Sessions: count, Keys: txns / 2, Reads: 5, Writes: 5}.Graph(1)
	}
	closure := func(b *testing.B, backend accel.Backend, g *accel.Graph) float64 {
		for b.Loop() {
			c, err := backend.Closure(context.Background(), g, accel.Options{Workers: 1})
			if err != nil {
				b.Fatal(err)
			}
			c.Close()
		}
		return b.Elapsed().Seconds() / float64(b.N)
	}
	b.Run("edge", func(b *testing.B) {
		g := graph(2)
		b.ReportMetric(closure(b, chains.Backend{}, g)/float64(len(g.From))*1e9, "ns/edge")
	})
	for _, count := range []int32{64, 256, 1024} {
		b.Run(fmt.Sprintf("chains/%d", count), func(b *testing.B) {
			g := graph(count)
			b.ReportMetric(closure(b, chains.Backend{}, g)/float64(int(count)*len(g.From))*1e9, "ns/edge/entry")
		})
		b.Run(fmt.Sprintf("bitset/%d", count), func(b *testing.B) {
			g := graph(count)
			b.ReportMetric(closure(b, bitset.Backend{}, g)/float64(txns/64/2*len(g.From))*1e9, "ns/edge/word")
		})
	}
	for _, count := range []int32{64, 1024} {
		b.Run(fmt.Sprintf("decide/%d", count), func(b *testing.B) {
			g := graph(count)
			for b.Loop() {
				choose.Decide(g, choose.Wishes{Machine: roomy(choose.Here().Backends[:2]...)})
			}
		})
	}
}
