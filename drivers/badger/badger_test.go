package badger

import (
	"context"
	"os"
	"testing"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/drivers/drivertest"
)

func TestDriver(t *testing.T) { drivertest.Run(t, driver{}, "", true) }

func TestTables(t *testing.T) { drivertest.Tables(t, driver{}, "") }

func TestCounting(t *testing.T) { drivertest.Counting(t, driver{}, "") }

// TestOnDisk: a store on disk has its own folder, which is removed.
func TestOnDisk(t *testing.T) {
	dir := t.TempDir()
	t.Run("driver", func(t *testing.T) { drivertest.Run(t, driver{}, dir, true) })
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v is left behind, %v", left, err)
	}
	if _, err := (driver{}).Open(context.Background(), drivers.Config{DSN: dir + "/missing"}); err == nil {
		t.Error("a folder that does not exist is accepted")
	}
}

// TestAbsentKeysConflict: two transactions that find a key absent and insert
// it conflict, as package drivers' notes on this engine say.
func TestAbsentKeysConflict(t *testing.T) {
	ctx := context.Background()
	for isolation, conflict := range map[string]bool{"serializable": true, unprotected: false} {
		db := drivertest.Open(t, driver{}, "", isolation)
		one, two := drivertest.Begin(t, db), drivertest.Begin(t, db)
		for _, tx := range []drivers.Tx{one, two} {
			if _, found, err := tx.Read(ctx, "new"); found || err != nil {
				t.Fatal(found, err)
			}
			if err := tx.Insert(ctx, "new", 1); err != nil {
				t.Fatal(err)
			}
		}
		if err := one.Commit(ctx); err != nil {
			t.Fatal(err)
		}
		err := two.Commit(ctx)
		if conflict {
			drivertest.Class(t, "second insertion", err, drivers.Aborted, false)
		} else if err != nil {
			t.Error(err)
		}
	}
}
