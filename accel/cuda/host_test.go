package cuda

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/isohound/isohound/accel"
	"github.com/isohound/isohound/accel/cuda/driver"
	"github.com/isohound/isohound/accel/cuda/kernels"
)

// idle is a driver whose device takes no time and computes nothing.
type idle struct{ driver.Driver }

func (idle) SetCurrent(driver.Context) error                       { return nil }
func (idle) FreeMemory() (int64, error)                            { return 1 << 40, nil }
func (idle) Alloc(int64) (driver.Ptr, error)                       { return 256, nil }
func (idle) Free(driver.Ptr) error                                 { return nil }
func (idle) Upload(driver.Ptr, unsafe.Pointer, int64) error        { return nil }
func (idle) Download(unsafe.Pointer, driver.Ptr, int64) error      { return nil }
func (idle) Fill(driver.Ptr, byte, int64) error                    { return nil }
func (idle) Launch(driver.Function, int, int, int, []uint64) error { return nil }
func (idle) Synchronize() error                                    { return nil }

// nearby makes a random graph. Each vertex has five edges from the 3,000 before it.
func nearby(n int32) *accel.Graph {
	r := rand.New(rand.NewPCG(1, 1))
	var edges []accel.Edge
	for v := int32(1); v < n; v++ {
		for range 5 {
			edges = append(edges, accel.Edge{From: max(0, v-1-r.Int32N(3000)), To: v})
		}
	}
	return accel.NewGraph(n, edges)
}

// BenchmarkHost measures what a closure of 100,000 vertices and the insertion of edges take on
// the host.
func BenchmarkHost(b *testing.B) {
	const n = 100000
	g := nearby(n)
	r := rand.New(rand.NewPCG(1, 2))
	d := &device{lib: idle{}, ctx: 1, threads: 512, piece: pieceBytes, rows: kernels.Rows, panel: panelRows, many: many, fn: map[string]driver.Function{}}
	d.facts.Multiprocessors = 132
	back := &Backend{dev: d}
	b.Run("closure", func(b *testing.B) {
		for b.Loop() {
			c, err := back.Closure(b.Context(), g, accel.Options{})
			if err != nil {
				b.Fatal(err)
			}
			c.Close()
		}
	})
	for _, count := range []int{100, 10_000, 200_000} {
		b.Run(fmt.Sprint("insert/", count), func(b *testing.B) {
			later := make([]accel.Edge, count)
			for b.Loop() {
				b.StopTimer()
				c, err := back.Closure(b.Context(), g, accel.Options{})
				if err != nil {
					b.Fatal(err)
				}
				for i := range later {
					to := 1 + r.Int32N(n-1)
					later[i] = accel.Edge{From: max(0, to-1-r.Int32N(3000)), To: to}
				}
				b.StartTimer()
				if err := c.Insert(b.Context(), later); err != nil {
					b.Fatal(err)
				}
				c.Close()
			}
		})
	}
}
