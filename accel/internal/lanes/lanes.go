// Package lanes has the operations on rows of numbers that closures need, with vector
// instructions if the processor has them.
package lanes

import "slices"

// wide says that the processor has instructions for 256 bits (AVX2).
var wide bool

// Or ors a into dst, which has the same length.
func Or(dst, a []uint64) {
	if a = a[:len(dst)]; wide && len(dst) >= 4 {
		orWide(&dst[0], &dst[0], &a[0], len(dst))
		return
	}
	for i, x := range a {
		dst[i] |= x
	}
}

// OrTo sets dst to a or b, which have the same length.
func OrTo(dst, a, b []uint64) {
	if a, b = a[:len(dst)], b[:len(dst)]; wide && len(dst) >= 4 {
		orWide(&dst[0], &a[0], &b[0], len(dst))
		return
	}
	for i, x := range a {
		dst[i] = x | b[i]
	}
}

// Max sets each number of dst to the maximum with that of a, which has the same length.
func Max(dst, a []int32) {
	if a = a[:len(dst)]; wide && len(dst) >= 8 {
		maxWide(&dst[0], &a[0], len(dst))
		return
	}
	for i, x := range a {
		dst[i] = max(dst[i], x)
	}
}

// News ors a into dst, which has the same length, and returns the union of the bits that were
// new in any word.
func News(dst, a []uint64) uint64 {
	if a = a[:len(dst)]; wide && len(dst) >= 4 {
		return newsWide(&dst[0], &a[0], len(dst))
	}
	news := uint64(0)
	for i, x := range a {
		news |= x &^ dst[i]
		dst[i] |= x
	}
	return news
}

// MaxRows sets each number of dst to the maximum with those of the given rows of a matrix whose
// rows are as long as dst.
func MaxRows(dst, matrix, rows []int32) {
	k := len(dst)
	if len(rows) == 0 || k == 0 {
		return
	}
	if wide && k >= 8 {
		_ = matrix[(int(slices.Max(rows))+1)*k-1]
		maxRowsWide(&dst[0], &matrix[0], &rows[0], len(rows), k)
		return
	}
	for _, r := range rows {
		for i, x := range matrix[int(r)*k : int(r+1)*k] {
			dst[i] = max(dst[i], x)
		}
	}
}
