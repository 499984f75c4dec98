package cuda

import (
	"testing"

	"github.com/isohound/isohound/accel"
)

func BenchmarkPlan(b *testing.B) {
	g := nearby(100_000)
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
