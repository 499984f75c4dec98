package hashed_test

import (
	"math/rand/v2"
	"testing"

	"github.com/isohound/isohound/history/hashed"
)

// TestTable compares tables with maps, over keys that are close together, far
// apart and alike in some of their bits.
func TestTable(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, shift := range []int{0, 17, 40, 52} {
		for _, expected := range []int{0, 5000} {
			var one hashed.Table[hashed.Number, int]
			var two hashed.Table[hashed.Pair, int]
			ones, twos := map[hashed.Number]int{}, map[hashed.Pair]int{}
			one.Expect(expected)
			for i := range 20_000 {
				n := hashed.Number(rng.Uint64N(4000) << shift)
				p := hashed.Pair{A: rng.Uint64N(50) << shift, B: rng.Uint64N(100) << shift}
				was, knew := ones[n]
				if v, known := one.At(n); known != knew || *v != was {
					t.Fatalf("%d is %d, %t; want %d, %t", n, *v, known, was, knew)
				} else {
					*v, ones[n] = i, i
				}
				was, knew = twos[p]
				if v, known := two.At(p); known != knew || *v != was {
					t.Fatalf("%d is %d, %t; want %d, %t", p, *v, known, was, knew)
				} else {
					*v, twos[p] = i, i
				}
			}
			count, sum, want := 0, 0, 0
			one.All(func(v *int) { count, sum = count+1, sum+*v })
			for _, v := range ones {
				want += v
			}
			if count != len(ones) || sum != want {
				t.Errorf("all are %d with sum %d, want %d with %d", count, sum, len(ones), want)
			}
		}
	}
}
