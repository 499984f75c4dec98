package certify

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestAtLeast compares the places of integers, close together and far apart, with those of a search.
func TestAtLeast(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	dense := 0
	for range 500 {
		c := &column{}
		base, width := rng.Int64N(100)-50, 1+rng.Int64N(100)
		for range 1 + rng.IntN(40) {
			c.numbers = append(c.numbers, base+rng.Int64N(width))
		}
		if rng.IntN(10) == 0 {
			c.numbers = append(c.numbers, math.MinInt64, math.MaxInt64)
		}
		o := &order{}
		o.sort(&group{}, []*column{c}, len(c.numbers))
		sorted := o.values[0]
		if sorted.firsts != nil {
			dense++
		}
		if want := slices.Compact(slices.Sorted(slices.Values(c.numbers))); !slices.Equal(sorted.numbers, want) {
			t.Fatalf("%d, want %d", sorted.numbers, want)
		}
		for range 10 {
			from := rng.IntN(len(sorted.numbers) + 1)
			to := from + rng.IntN(len(sorted.numbers)+1-from)
			n := []int64{math.MinInt64, math.MaxInt64, base - 1, base + width, base + rng.Int64N(width)}[rng.IntN(5)]
			want, _ := slices.BinarySearch(sorted.numbers[from:to], n)
			if got := sorted.atLeast(n, int32(from), int32(to)); int(got) != from+want {
				t.Fatalf("%d is at %d of %d from %d to %d, want %d", n, got, sorted.numbers, from, to, from+want)
			}
		}
	}
	if dense < 50 || dense > 450 {
		t.Errorf("%d lists are dense", dense)
	}
}
