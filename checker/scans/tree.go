package scans

import "math/bits"

// tree is a set of numbers below a bound, from which a range is listed in time proportional to what
// is found. level[0] has a bit for each number; each further level has a bit for each word below
// that is not empty.
type tree struct {
	level [][]uint64
}

func newTree(n int) *tree {
	t := &tree{}
	for {
		n = (n + 63) / 64
		t.level = append(t.level, make([]uint64, max(n, 1)))
		if n <= 1 {
			return t
		}
	}
}

func (t *tree) insert(i int32) {
	for _, words := range t.level {
		words[i>>6] |= 1 << (i & 63)
		i >>= 6
	}
}

func (t *tree) remove(i int32) {
	for _, words := range t.level {
		if words[i>>6] &^= 1 << (i & 63); words[i>>6] != 0 {
			return
		}
		i >>= 6
	}
}

// next returns the least number of the set that is at least i, or -1.
func (t *tree) next(i int32) int32 {
	for l, words := range t.level {
		if int(i>>6) >= len(words) {
			return -1
		}
		if rest := words[i>>6] >> (i & 63); rest != 0 {
			i += int32(bits.TrailingZeros64(rest))
			for l--; l >= 0; l-- { // down to the number itself
				i = i<<6 | int32(bits.TrailingZeros64(t.level[l][i]))
			}
			return i
		}
		i = i>>6 + 1
	}
	return -1
}
