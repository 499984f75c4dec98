package remote

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// TestPack: calls of all sizes come back as they were, and large ones get smaller.
func TestPack(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, size := range []int{0, 1, 100, packFrom - 1, packFrom, packFrom + 1, 1 << 20} {
		b := []byte("{")
		for len(b) < size {
			b = append(b, `["w","key`...)
			b = append(b, '0'+byte(rng.IntN(10)), '"', ']')
		}
		b = b[:size]
		out, err := pack(b)
		if err != nil {
			t.Fatal(err)
		}
		back, err := unpack(out)
		if err != nil || !bytes.Equal(back, b) || size >= packFrom && len(out) > size/2 {
			t.Errorf("%d bytes become %d, and %d again: %v", size, len(out), len(back), err)
		}
	}
}
