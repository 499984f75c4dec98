package mariadb

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/drivers/drivertest"
)

func TestLightweight(t *testing.T) { drivertest.Lightweight(t, driver{}, server.DSN()) }

// TestLightweightErrors: a write without an answer has an unknown outcome, a read never does. A
// refused statement had no effect.
func TestLightweightErrors(t *testing.T) {
	d := drivertest.Open(t, driver{}, server.DSN(), "").(*db)
	kill := func(s drivers.LWT) drivers.LWT {
		t.Helper()
		var id int64
		if err := s.(*session).tx.c.QueryRowContext(ctx, "SELECT CONNECTION_ID()").Scan(&id); err != nil {
			t.Fatal(err)
		}
		d.exec(t, fmt.Sprintf("KILL %d", id))
		for n := 1; n > 0; { // until the server has ended it
			if err := d.pool.QueryRowContext(ctx, "SELECT COUNT(*) FROM information_schema.processlist WHERE id = ?", id).Scan(&n); err != nil {
				t.Fatal(err)
			}
		}
		return s
	}
	_, _, err := kill(drivertest.Light(t, d)).ReadOne(ctx, "a")
	drivertest.Class(t, "connection cut before a read", err, drivers.Aborted, true)
	_, err = kill(drivertest.Light(t, d)).CompareAndSet(ctx, "a", 1, 2)
	drivertest.Class(t, "connection cut before a compare-and-set", err, drivers.OutcomeUnknown, true)
	_, err = kill(drivertest.Light(t, d)).InsertIfAbsent(ctx, "new", 2)
	drivertest.Class(t, "connection cut before an insertion", err, drivers.OutcomeUnknown, true)

	// A lock keeps the statement from being answered in time.
	holder := drivertest.Begin(t, d)
	if _, err := holder.Update(ctx, "a", 50); err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	_, err = drivertest.Light(t, d).CompareAndSet(short, "a", 1, 2)
	drivertest.Class(t, "a compare-and-set that takes too long", err, drivers.OutcomeUnknown, true)
	waiting := drivertest.Light(t, d)
	if _, err := waiting.(*session).tx.c.ExecContext(ctx, "SET SESSION innodb_lock_wait_timeout = 0"); err != nil {
		t.Fatal(err)
	}
	_, err = waiting.CompareAndSet(ctx, "a", 1, 2)
	drivertest.Class(t, "a lock that is not available", err, drivers.Aborted, false)
	if applied, err := waiting.InsertIfAbsent(ctx, "another", 2); !applied || err != nil {
		t.Errorf("the session does not go on: %v, %v", applied, err)
	}
	if err := holder.Rollback(ctx); err != nil {
		t.Fatal(err)
	}

	d.exec(t, "DROP TABLE "+d.schema+".kv")
	_, err = drivertest.Light(t, d).CompareAndSet(ctx, "a", 1, 2)
	drivertest.Class(t, "a table that is gone", err, drivers.Fatal, false)
}
