package lanes

import "golang.org/x/sys/cpu"

func init() { wide = cpu.X86.HasAVX2 }

// orWide makes n words of dst, at least 4, the bits of a and b. dst may be a.
//
//go:noescape
func orWide(dst, a, b *uint64, n int)

// maxWide makes n numbers of dst, at least 8, at least those of a.
//
//go:noescape
func maxWide(dst, a *int32, n int)

// newsWide sets n words of bits, at least 4, in dst and returns what was new.
//
//go:noescape
func newsWide(dst, a *uint64, n int) uint64

// maxRowsWide makes k numbers of dst, at least 8, at least those of some rows, at
// least one, of a matrix.
//
//go:noescape
func maxRowsWide(dst, matrix, rows *int32, count, k int)
