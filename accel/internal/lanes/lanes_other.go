//go:build !amd64

package lanes

func orWide(dst, a, b *uint64, n int) { panic("lanes: no wide instructions") }

func maxWide(dst, a *int32, n int) { panic("lanes: no wide instructions") }

func newsWide(dst, a *uint64, n int) uint64 { panic("lanes: no wide instructions") }

func maxRowsWide(dst, matrix, rows *int32, count, k int) { panic("lanes: no wide instructions") }
