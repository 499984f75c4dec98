package cuda

import (
	"math/rand/v2"
	"testing"

	"github.com/isohound/isohound/accel"
)

func BenchmarkPlan(b *testing.B) {
	const n = 100000
	r := rand.New(rand.NewPCG(1, 1))
	var edges []accel.Edge
	for v := int32(1); v < n; v++ {
		for range 5 {
			edges = append(edges, accel.Edge{From: max(0, v-1-r.Int32N(3000)), To: v})
		}
	}
	g := accel.NewGraph(n, edges)
	b.Run("sort", func(b *testing.B) {
		for range b.N {
			accel.Sort(g, nil)
		}
	})
	s, _ := accel.Sort(g, nil)
	b.Run("level", func(b *testing.B) {
		for range b.N {
			sp := newSpace(s)
			sp.byLevel(s.Order)
		}
	})
	sp := newSpace(s)
	order := sp.byLevel(s.Order)
	b.Run("plan", func(b *testing.B) {
		for range b.N {
			p, _, _ := planAll(sp, order, 512)
			b.ReportMetric(float64(len(p.level))/float64(p.chunks()), "levels/chunk")
			b.ReportMetric(float64(p.chunks()), "chunks")
			b.ReportMetric(float64(len(p.in))/float64(len(p.ex)+len(p.in)), "inner")
		}
	})
}
