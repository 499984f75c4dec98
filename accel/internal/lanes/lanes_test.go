package lanes

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestWide compares the wide instructions with plain ones, at every length and
// at odd places.
func TestWide(t *testing.T) {
	if !wide {
		t.Skip("this processor has none")
	}
	r := rand.New(rand.NewPCG(1, 2))
	words := func(n int) []uint64 {
		list := make([]uint64, n)
		for i := range list {
			list[i] = r.Uint64() & r.Uint64()
		}
		return list
	}
	numbers := func(n int) []int32 {
		list := make([]int32, n)
		for i := range list {
			list[i] = r.Int32() - r.Int32()
		}
		return list
	}
	for n := range 150 {
		at := n & 3
		a, b, dst := words(n + 8)[at:], words(n + 8)[at:], words(n + 8)[at:]
		m, d := numbers(n + 8)[at:], numbers(n + 8)[at:]
		try := func(on bool) ([]uint64, []uint64, []int32) {
			wide = on
			bits := slices.Clone(dst)
			bits = append(bits, News(bits[:n], a[:n]))
			or, to, most := slices.Clone(dst), slices.Clone(dst), slices.Clone(d)
			Or(or[:n], a[:n])
			OrTo(to[:n], a[:n], b[:n])
			Max(most[:n], m[:n])
			rows := slices.Clone(d[:n/9])
			MaxRows(rows, m, []int32{3, 0, 8, 3}[:n%5])
			most = append(most, rows...)
			return slices.Concat(or, bits), to, most
		}
		or, to, most := try(true)
		or2, to2, most2 := try(false)
		wide = true
		if !slices.Equal(or, or2) || !slices.Equal(to, to2) || !slices.Equal(most, most2) {
			t.Fatalf("of %d numbers some differ", n)
		}
	}
}

func BenchmarkOr(b *testing.B) {
	dst, a := make([]uint64, 128), make([]uint64, 128)
	b.SetBytes(3 * 8 * 128)
	for b.Loop() {
		Or(dst, a)
	}
}

func BenchmarkMax(b *testing.B) {
	dst, a := make([]int32, 24), make([]int32, 24)
	b.SetBytes(3 * 4 * 24)
	for b.Loop() {
		Max(dst, a)
	}
}
