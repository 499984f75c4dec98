package tpcc

import "math/rand"

// between draws a number from low to high, each equally often.
func between(r *rand.Rand, low, high int64) int64 { return low + r.Int63n(high-low+1) }

// chance returns true with a probability given in per cent.
func chance(r *rand.Rand, percent float64) bool { return r.Float64()*100 < percent }

// nurand is the non-uniform distribution of clause 2.1.6,
//
//	NURand(A, x, y) = (((random(0, A) | random(x, y)) + C) % (y - x + 1)) + x.
type nurand struct{ a, c, x, y int64 }

// newNURand makes a distribution from x to y and draws its constant C. If there are as many
// values as in the specification, all, its A is a. For fewer values A is proportionally smaller,
// and like every A one less than a power of two.
func newNURand(r *rand.Rand, a, x, y, all int64) nurand {
	limit := a * (y - x + 1) / all
	for a > max(limit, 0) {
		a >>= 1
	}
	return nurand{a: a, c: between(r, 0, a), x: x, y: y}
}

func (n nurand) draw(r *rand.Rand) int64 {
	return ((between(r, 0, n.a)|between(r, n.x, n.y))+n.c)%(n.y-n.x+1) + n.x
}

var syllables = [10]string{"BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"}

// lastName returns the last name for a number from 0 to 999 (clause 4.3.2.3).
func lastName(n int64) string { return syllables[n/100] + syllables[n/10%10] + syllables[n%10] }

const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

// word draws a text of low to high letters and digits.
func word(r *rand.Rand, low, high int64) string {
	b := make([]byte, between(r, low, high))
	for i := range b {
		b[i] = letters[r.Intn(len(letters))]
	}
	return string(b)
}

// digits draws a text of n digits.
func digits(r *rand.Rand, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte('0' + r.Intn(10))
	}
	return string(b)
}

// shuffle returns the numbers from 1 to n in random order.
func shuffle(r *rand.Rand, n int64) []int64 {
	out := make([]int64, n)
	for i, p := range r.Perm(int(n)) {
		out[i] = int64(p) + 1
	}
	return out
}
