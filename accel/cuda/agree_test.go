//go:build linux

package cuda_test

import (
	"testing"

	"github.com/isohound/isohound/accel/acceltest"
	"github.com/isohound/isohound/accel/bitset"
	"github.com/isohound/isohound/accel/cuda"
	"github.com/isohound/isohound/accel/cuda/cudatest"
)

// TestAgree runs the PTX on graphs as large as those of histories.
func TestAgree(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a gigabyte, and many seconds")
	}
	b := open(t, cuda.Config{Library: cudatest.NewPTX(t, "memory=6000000000").Path})
	acceltest.Agree(t, b, bitset.Backend{}, 36000) // more than 15 bits count; TestDevice has larger ones
}
