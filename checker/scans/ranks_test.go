package scans

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestAtLeast compares the ranks of integers, close together and far apart, with those of a search.
func TestAtLeast(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	dense := 0
	for range 500 {
		c := &ordered{}
		base, width := rng.Int64N(100)-50, 1+rng.Int64N(200)
		for range rng.IntN(40) {
			c.ints = append(c.ints, base+rng.Int64N(width))
		}
		if rng.IntN(10) == 0 {
			c.ints = append(c.ints, math.MinInt64, math.MaxInt64)
		}
		slices.Sort(c.ints)
		c.ints = slices.Compact(c.ints)
		if c.findRanks(); c.ranks != nil {
			dense++
		}
		for _, n := range []int64{math.MinInt64, math.MaxInt64, base - 1, base + width, base + rng.Int64N(width), base + rng.Int64N(width)} {
			if want, _ := slices.BinarySearch(c.ints, n); int(c.atLeast(n)) != want {
				t.Fatalf("%d is at %d of %d, want %d", n, c.atLeast(n), c.ints, want)
			}
		}
	}
	if dense < 50 || dense > 450 {
		t.Errorf("%d lists are dense", dense)
	}
}
