package accel_test

import (
	"testing"

	"github.com/isohound/isohound/accel/acceltest"
	"github.com/isohound/isohound/accel/bitset"
	"github.com/isohound/isohound/accel/chains"
)

func TestAgree(t *testing.T) {
	acceltest.Agree(t, chains.Backend{}, bitset.Backend{}, 50_000)
	acceltest.Agree(t, bitset.Backend{Group: 2}, bitset.Backend{Full: true}, 5_000)
}
