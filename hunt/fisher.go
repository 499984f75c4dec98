package hunt

import "math"

// fisher is the two-sided p-value of Fisher's exact test for k of n runs on either side: if both sides show a finding
// equally often, the probability that the k1+k2 runs that show it fall on the sides as unevenly as they did, or more so.
// It is the sum over all tables with these margins that are no more probable than this one (Fisher 1935; Agresti,
// Categorical Data Analysis, section 3.5).
func fisher(k1, n1, k2, n2 int) float64 {
	k := k1 + k2
	// log of the probability that x of the k runs are of side 1.
	at := func(x int) float64 { return binomial(n1, x) + binomial(n2, k-x) - binomial(n1+n2, k) }
	this, p := at(k1), 0.0
	for x := max(0, k-n2); x <= min(k, n1); x++ {
		if l := at(x); l <= this+1e-9 { // equal ones differ by rounding
			p += math.Exp(l)
		}
	}
	return min(p, 1)
}

// binomial is the logarithm of the binomial coefficient.
func binomial(n, k int) float64 {
	log := func(n int) float64 { l, _ := math.Lgamma(float64(n) + 1); return l }
	return log(n) - log(k) - log(n-k)
}
