package mapdb

import (
	"testing"

	"github.com/isohound/isohound/drivers/drivertest"
)

// TestDriver: the driver fulfils the contract of package drivers. The last argument says that the database tells
// whether a key that is updated or deleted was there.
func TestDriver(t *testing.T) { drivertest.Run(t, Driver{}, "", false) }
