package sim

import (
	"testing"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/drivers/drivertest"
)

// only is the driver with one isolation, so that tests of the default isolation test this one.
type only struct {
	driver
	iso *isolation
}

func (o only) Info() drivers.Info {
	i := o.driver.Info()
	i.Isolations = []drivers.Isolation{o.iso.Isolation}
	return i
}

// TestDriver runs the tests of drivertest at every isolation that forbids lost updates and has
// fresh reads.
func TestDriver(t *testing.T) {
	for _, iso := range isolations {
		if iso.Promises != "sser" && iso.Promises != "strong-si" {
			continue
		}
		t.Run(iso.Name, func(t *testing.T) {
			drivertest.Run(t, only{iso: iso}, "", false)
			t.Run("tables", func(t *testing.T) { drivertest.Tables(t, only{iso: iso}, "") })
			t.Run("counting", func(t *testing.T) { drivertest.Counting(t, only{iso: iso}, "") })
		})
	}
}

func TestVersions(t *testing.T) { drivertest.Versions(t, driver{}, "", "serializable") }

func TestLightweight(t *testing.T) { drivertest.Lightweight(t, driver{}, "") }
