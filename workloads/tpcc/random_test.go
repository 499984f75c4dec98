package tpcc

import (
	"math"
	"math/rand"
	"testing"

	"github.com/isohound/isohound/workloads"
)

// TestNURand: the frequencies are those of the formula in clause 2.1.6, which
// are not uniform.
func TestNURand(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	for _, tc := range []struct{ a, x, y, all, limit int64 }{
		{1023, 1, 3000, 3000, 1023}, {255, 0, 999, 1000, 255}, {8191, 1, 1000, 100_000, 63}, {1023, 1, 30, 3000, 7}, {255, 0, 9, 1000, 1}, {255, 0, 0, 1000, 0},
	} {
		d := newNURand(r, tc.a, tc.x, tc.y, tc.all)
		if d.a != tc.limit || d.c < 0 || d.c > d.a {
			t.Errorf("%+v: A is %d, want %d, C is %d", tc, d.a, tc.limit, d.c)
		}
		want := map[int64]float64{}
		size := tc.y - tc.x + 1
		for i := int64(0); i <= d.a; i++ {
			for j := tc.x; j <= tc.y; j++ {
				want[((i|j)+d.c)%size+tc.x] += 1 / float64((d.a+1)*size)
			}
		}
		const n = 1_000_000
		got := map[int64]float64{}
		for range n {
			got[d.draw(r)] += 1.0 / n
		}
		distance, fromUniform := 0.0, 0.0
		for v := tc.x; v <= tc.y; v++ {
			distance += math.Abs(got[v]-want[v]) / 2
			fromUniform += math.Abs(got[v]-1/float64(size)) / 2
		}
		// The mean distance of that many draws from their own distribution is below half the
		// square root of values over draws.
		if bound := math.Sqrt(float64(size) / n); distance > bound {
			t.Errorf("%+v: distance %.4f from the formula, at most %.4f", tc, distance, bound)
		}
		if size > 1 && fromUniform < 0.1 {
			t.Errorf("%+v: distance %.4f from uniform", tc, fromUniform)
		}
	}
}

// TestConstants: the constant of last names in the run keeps its distance from
// that of the population.
func TestConstants(t *testing.T) {
	different := map[int64]bool{}
	for seed := range int64(200) {
		w, err := makeTPCC(workloads.Common{Seed: seed}, "scale=100", "items=1")
		if err != nil {
			t.Fatal(err)
		}
		load, run := w.(*tpcc).lastLoad.c, w.(*tpcc).lastRun.c
		d := int64(math.Abs(float64(load - run)))
		if d < 65 || d > 119 || d == 96 || d == 112 || run < 0 || run > 255 {
			t.Errorf("seed %d: %d and %d", seed, load, run)
		}
		different[run] = true
	}
	if len(different) < 50 {
		t.Errorf("%d constants of 200 seeds", len(different))
	}
}
