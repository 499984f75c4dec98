package cuda_test

import (
	"testing"

	"github.com/isohound/isohound/accel/acceltest"
	"github.com/isohound/isohound/accel/bitset"
	"github.com/isohound/isohound/accel/cuda"
	"github.com/isohound/isohound/accel/cuda/cudatest"
)

func open(t *testing.T, cfg cuda.Config) *cuda.Backend {
	t.Helper()
	b, err := cuda.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

func TestContract(t *testing.T) {
	d := cudatest.New(t, "")
	b := open(t, cuda.Config{Library: d.Path})
	acceltest.Run(t, b)
	_ = bitset.Backend{}
}
