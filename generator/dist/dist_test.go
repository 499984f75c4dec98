package dist

import (
	"math"
	"math/rand"
	"strings"
	"testing"
)

// TestShapes draws from each distribution and compares the frequencies with its description.
func TestShapes(t *testing.T) {
	const n, draws = 100, 200_000
	count := func(name string, skew float64) []float64 {
		spec, err := Parse(name, n, skew)
		if err != nil {
			t.Fatal(err)
		}
		d := spec.New()
		r := rand.New(rand.NewSource(1))
		freq := make([]float64, n)
		for range draws {
			v := d.Next(r)
			if v < 0 || v >= n {
				t.Fatalf("%s draws %d", name, v)
			}
			freq[v] += 1.0 / draws
		}
		return freq
	}
	sum := func(f []float64) (s float64) {
		for _, v := range f {
			s += v
		}
		return s
	}
	near := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 0.02 {
			t.Errorf("%s: %.3f, want %.3f", what, got, want)
		}
	}
	for _, v := range count("uniform", 0) {
		if math.Abs(v-0.01) > 0.002 {
			t.Errorf("uniform gives one key %.4f", v)
		}
	}
	harmonic := func(s float64) (h float64) {
		for i := 1; i <= n; i++ {
			h += math.Pow(float64(i), -s)
		}
		return h
	}
	for _, s := range []float64{0.5, 0.99, 1.5} {
		near("zipfian, first key", count("zipfian", s)[0], 1/harmonic(s))
	}
	near("zipfian, default", count("zipfian", 0)[0], 1/harmonic(0.99))
	near("latest, last key", count("latest", 0)[n-1], 1/harmonic(0.99))
	near("hotspot, first fifth", sum(count("hotspot", 0)[:n/5]), 0.8)
	near("hotspot, skew 0.5", sum(count("hotspot", 0.5)[:n/5]), 0.5)
	// Draws beyond the last key are repeated, so the share is a little higher than the skew.
	e := count("exponential", 0)
	near("exponential, first six sevenths", sum(e[:n*6/7])*(1-math.Pow(0.05, 7.0/6)), 0.95)
	if e[0] < 2*e[50] {
		t.Errorf("exponential does not fall: %.4f, then %.4f", e[0], e[50])
	}
}

func TestRefusals(t *testing.T) {
	for _, tc := range []struct {
		name string
		n    int64
		skew float64
	}{
		{"normal", 10, 0}, {"uniform", 0, 0}, {"uniform", 10, 0.5}, {"zipfian", 10, 1}, {"zipfian", 10, -1}, {"zipfian", 10, math.NaN()},
		{"zipfian", 10, math.Inf(1)}, {"hotspot", 10, 1.5}, {"exponential", 10, 1}, {"latest", 10, 2},
		{"zipfian", 10, 0.9999999}, {"latest", 10, 0.9999999}, {"exponential", 10, 1e-6},
	} {
		if _, err := Parse(tc.name, tc.n, tc.skew); err == nil {
			t.Errorf("%s over %d keys with skew %v is accepted", tc.name, tc.n, tc.skew)
		} else if strings.Contains(err.Error(), "\n") {
			t.Error(err)
		}
	}
	for _, k := range Kinds { // each also works with a single key
		spec, err := Parse(k.Name, 1, 0)
		if err != nil || spec.New().Next(rand.New(rand.NewSource(1))) != 0 {
			t.Errorf("%s over one key: %v", k.Name, err)
		}
	}
}
