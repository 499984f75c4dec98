package scans

import (
	"math/rand/v2"
	"testing"
)

// TestTree compares the set with a plain one.
func TestTree(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 2, 63, 64, 65, 4096, 4097, 300_000} {
		set, plain := newTree(n), make([]bool, n)
		for range 2000 {
			i := int32(rng.IntN(n))
			if plain[i] = rng.IntN(3) == 0; plain[i] {
				set.insert(i)
			} else {
				set.remove(i)
			}
			from := int32(rng.IntN(n))
			want := int32(-1)
			for j := from; j < int32(n) && j < from+5000; j++ {
				if plain[j] {
					want = j
					break
				}
			}
			if got := set.next(from); got != want && !(want < 0 && got >= from+5000) {
				t.Fatalf("of %d, from %d: %d, not %d", n, from, got, want)
			}
		}
		if set.next(int32(n)) >= 0 {
			t.Fatalf("of %d: a number that is too large", n)
		}
	}
}
