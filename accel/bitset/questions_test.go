package bitset

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/isohound/isohound/accel"
	"github.com/isohound/isohound/accel/acceltest"
)

// TestCommon: sources that reach all given vertices and not another one are returned, the latest
// first, without those that reach a returned one. Nothing is left out, unless there are many.
func TestCommon(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	w := acceltest.Workload{Vertices: 700, Sessions: 30, Keys: 200, Reads: 2, Writes: 2}
	p := w
	p.Pairs = true
	for _, b := range []Backend{{}, Narrow(Backend{})} {
		for _, g := range []*accel.Graph{w.Graph(6), p.Graph(6)} {
			made, err := b.Closure(t.Context(), g, accel.Options{})
			if err != nil {
				t.Fatal(err)
			}
			c := made.(*Closure)
			some, many := 0, 0
			for range 500 {
				not, of := r.Int32N(g.Len()), make([]int32, 1+r.IntN(3))
				for i := range of {
					of[i] = r.Int32N(g.Len())
				}
				var got, want []int32
				c.Common(of, not, func(u int32) { got = append(got, u) })
				for _, v := range slices.Backward(c.s.Order) {
					if v >= g.SourceCount() || g.Pairs && v&1 == 0 || c.Reaches(v, not) ||
						slices.ContainsFunc(of, func(u int32) bool { return !c.Reaches(v, u) }) ||
						slices.ContainsFunc(want, func(u int32) bool { return c.Reaches(v, u) }) {
						continue
					}
					if want = append(want, v); len(want) == mostCommon {
						many++
						break
					}
				}
				if !slices.Equal(got, want) {
					t.Fatalf("%v reach %v and not %d, want %v", got, of, not, want)
				}
				if len(want) > 0 {
					some++
				}
			}
			if some == 0 || many == 0 {
				t.Errorf("one-sided: %d times something, %d times much", some, many)
			}
			c.Close()
		}
	}
}
