package modeldb

import (
	"testing"

	"github.com/isohound/isohound/drivers/drivertest"
)

// TestTables: the model passes the test that every driver with tables passes,
// which has a model of its own.
func TestTables(t *testing.T) {
	for range 20 {
		drivertest.Tables(t, Driver{}, "")
	}
}
