package badger

import (
	"context"
	"testing"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/drivers/drivertest"
)

func TestLightweight(t *testing.T) { drivertest.Lightweight(t, driver{}, "") }

// TestLightweightConflict: a compare-and-set during which the key changes is aborted with
// conflict detection, and overwrites the change without it.
func TestLightweightConflict(t *testing.T) {
	ctx := context.Background()
	for isolation, lost := range map[string]bool{"serializable": false, unprotected: true} {
		db := drivertest.Open(t, driver{}, "", isolation).(*db)
		s := session{store: db.store}
		applied, err := s.setIf(ctx, "a", 10, func(v int64, _ bool) bool {
			if ok, err := s.CompareAndSet(ctx, "a", 1, 5); !ok || err != nil {
				t.Errorf("%v, %v", ok, err)
			}
			return v == 1
		})
		want := int64(5)
		if lost {
			want = 10
		} else {
			drivertest.Class(t, isolation, err, drivers.Aborted, false)
		}
		if applied != lost {
			t.Errorf("%s: applied %v, %v", isolation, applied, err)
		}
		if v, _, err := s.ReadOne(ctx, "a"); v != want || err != nil {
			t.Errorf("%s: the key is %d, %v, want %d", isolation, v, err, want)
		}
	}
}
