package bitset_test

import (
	"testing"

	"github.com/isohound/isohound/accel/acceltest"
	"github.com/isohound/isohound/accel/bitset"
)

func TestContract(t *testing.T) { acceltest.Run(t, bitset.Backend{}) }

func TestGroups(t *testing.T) { acceltest.Run(t, bitset.Backend{Group: 2}) }

func TestFull(t *testing.T) { acceltest.Run(t, bitset.Backend{Full: true}) }

func TestBands(t *testing.T) { acceltest.Run(t, bitset.Narrow(bitset.Backend{})) }

func TestFullBands(t *testing.T) {
	acceltest.Run(t, bitset.Narrow(bitset.Backend{Full: true, Group: 2}))
}
