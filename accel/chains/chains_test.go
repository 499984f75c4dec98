package chains_test

import (
	"testing"

	"github.com/isohound/isohound/accel/acceltest"
	"github.com/isohound/isohound/accel/chains"
)

func TestContract(t *testing.T) { acceltest.Run(t, chains.Backend{}) }
