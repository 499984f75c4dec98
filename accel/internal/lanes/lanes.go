// Package lanes does to rows of numbers what closures need, many at a time where
// the processor can.
package lanes

import "slices"

// wide says that the processor has instructions for 256 bits (AVX2).
var wide bool

// Or sets the bits of a, which is as long as dst, in dst.
func Or(dst, a []uint64) {
	if a = a[:len(dst)]; wide && len(dst) >= 4 {
		orWide(&dst[0], &dst[0], &a[0], len(dst))
		return
	}
	for i, x := range a {
		dst[i] |= x
	}
}

// OrTo makes dst the bits of a and b, which are as long.
func OrTo(dst, a, b []uint64) {
	if a, b = a[:len(dst)], b[:len(dst)]; wide && len(dst) >= 4 {
		orWide(&dst[0], &a[0], &b[0], len(dst))
		return
	}
	for i, x := range a {
		dst[i] = x | b[i]
	}
}

// Max makes the numbers of dst at least those of a, which is as long.
func Max(dst, a []int32) {
	if a = a[:len(dst)]; wide && len(dst) >= 8 {
		maxWide(&dst[0], &a[0], len(dst))
		return
	}
	for i, x := range a {
		dst[i] = max(dst[i], x)
	}
}

// News sets the bits of a, which is as long as dst, in dst, and returns those that
// were new in any word.
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

// MaxRows makes the numbers of dst at least those of some rows of a matrix whose
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
