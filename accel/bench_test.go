package accel_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/isohound/isohound/accel"
	"github.com/isohound/isohound/accel/acceltest"
	"github.com/isohound/isohound/accel/bitset"
	"github.com/isohound/isohound/accel/chains"
)

const big = 100_000

func workload(sessions int32) acceltest.Workload {
	return acceltest.Workload{Vertices: big, Sessions: sessions, Keys: 10_000, Reads: 4, Writes: 4}
}

// BenchmarkOrder measures the topological order, the first step of every closure.
func BenchmarkOrder(b *testing.B) {
	g := workload(24).Graph(1)
	for b.Loop() {
		if _, err := accel.Sort(g, nil); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkClosure(b *testing.B) {
	for _, sessions := range []int32{1, 24, 1000, big} {
		for _, timed := range []bool{false, true} {
			w := workload(sessions)
			w.Timed = timed
			g := w.Graph(1)
			for _, in := range []struct {
				name    string
				backend accel.Backend
			}{{"chains", chains.Backend{}}, {"bitset", bitset.Backend{}}, {"full", bitset.Backend{Full: true}}} {
				if in.name == "chains" && sessions == big {
					continue
				}
				b.Run(fmt.Sprintf("%d/timed=%v/%s", sessions, timed, in.name), func(b *testing.B) {
					closure(b, in.backend, g)
				})
			}
		}
	}
}

func closure(b *testing.B, backend accel.Backend, g *accel.Graph) {
	var bytes, moved int64
	for b.Loop() {
		c, err := backend.Closure(b.Context(), g, accel.Options{})
		if err != nil {
			b.Fatal(err)
		}
		bytes = c.Bytes()
		if m, ok := c.(interface{ Moved() int64 }); ok {
			moved = m.Moved()
		}
		c.Close()
	}
	b.ReportMetric(float64(bytes)/1e6, "MB")
	if moved > 0 {
		b.SetBytes(moved)
	}
}

func BenchmarkInsert(b *testing.B) {
	for _, sessions := range []int32{24, big} {
		g := workload(sessions).Graph(1)
		for _, in := range []accel.Backend{chains.Backend{}, bitset.Backend{}} {
			if in.Name() == "chains" && sessions == big {
				continue
			}
			for _, size := range []int{1, 100, 10_000, 20_000} {
				b.Run(fmt.Sprintf("%d/%s/%d", sessions, in.Name(), size), func(b *testing.B) {
					c, err := in.Closure(b.Context(), g, accel.Options{})
					if err != nil {
						b.Fatal(err)
					}
					r := rand.New(rand.NewPCG(1, 1))
					for b.Loop() {
						if err := c.Insert(b.Context(), acceltest.Near(r, big, 500, size)); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
		}
	}
}

// BenchmarkTwoCycles queries pairs of edges whose order is not known.
func BenchmarkTwoCycles(b *testing.B) {
	g := workload(24).Graph(1)
	r := rand.New(rand.NewPCG(1, 1))
	for _, in := range []accel.Backend{chains.Backend{}, bitset.Backend{}} {
		c, err := in.Closure(b.Context(), g, accel.Options{})
		if err != nil {
			b.Fatal(err)
		}
		var edges []accel.Edge
		for len(edges) < 200_000 {
			e := acceltest.Near(r, big, 1000, 1)[0]
			if !c.Reaches(e.From, e.To) {
				edges = append(edges, e, accel.Edge{From: e.To, To: e.From})
			}
		}
		b.Run(in.Name(), func(b *testing.B) {
			found := 0
			for b.Loop() {
				found = 0
				if err := c.TwoCycles(b.Context(), edges, func(_, _ int32) bool { found++; return true }); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(found), "pairs")
		})
	}
}

// BenchmarkClosing asks a million questions.
func BenchmarkClosing(b *testing.B) {
	g := workload(24).Graph(1)
	edges := acceltest.Near(rand.New(rand.NewPCG(1, 1)), big, 1000, 1_000_000)
	groups := make([]int32, len(edges)/4+1)
	for i := range groups {
		groups[i] = int32(4 * i)
	}
	out := make([]bool, len(groups)-1)
	for _, in := range []accel.Backend{chains.Backend{}, bitset.Backend{}} {
		c, err := in.Closure(b.Context(), g, accel.Options{})
		if err != nil {
			b.Fatal(err)
		}
		b.Run(in.Name(), func(b *testing.B) {
			for b.Loop() {
				if err := c.Closing(b.Context(), edges, groups, out); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
