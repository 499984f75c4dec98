package postgres

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/drivers/drivertest"
	"github.com/isohound/isohound/servers"
)

// open opens a database at the endpoint dsn and closes it at the end of the test.
func open(t *testing.T, dsn, isolation string) *db {
	t.Helper()
	d, err := driver{}.Open(ctx, drivers.Config{DSN: dsn, Isolation: isolation, CallTimeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return d.(*db)
}

// TestStandby joins a hot standby to its primary: it has the keys, it refuses
// writes, and it has no serializable isolation.
func TestStandby(t *testing.T) {
	standby, err := server.StartStandby()
	if err != nil && server.Exact() != "" && strings.Contains(err.Error(), "needs PostgreSQL 12") {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer standby.Stop()
	t.Run("repeatable read", func(t *testing.T) {
		first := drivertest.Open(t, driver{}, server.DSN(), "repeatable read").(*db)
		second := open(t, standby.DSN(), "repeatable read")
		if err := second.Join(ctx, first); err != nil {
			t.Fatal(err)
		}
		tx := drivertest.Begin(t, second)
		for k, want := range drivertest.Initial {
			if v, found, err := tx.Read(ctx, k); err != nil || !found || v != want {
				t.Errorf("key %q is %d, %v, %v; want %d", k, v, found, err, want)
			}
		}
		_, err := tx.Update(ctx, "a", 5)
		drivertest.Class(t, "a write at a standby", err, drivers.Refused, false)
		if e := drivers.AsError(err); e.Cause != "25006 the endpoint only reads" {
			t.Errorf("the cause is %q", e.Cause)
		}
		if len(second.Notes()) != 1 || len(first.Notes()) != 0 {
			t.Errorf("notes %q, %q", first.Notes(), second.Notes())
		}
	})
	t.Run("serializable", func(t *testing.T) {
		first := drivertest.Open(t, driver{}, server.DSN(), "serializable")
		err := open(t, standby.DSN(), "serializable").Join(ctx, first)
		if err == nil || !strings.Contains(err.Error(), "no serializable isolation") {
			t.Errorf("%v", err)
		}
	})
	t.Run("alone", func(t *testing.T) {
		err := open(t, standby.DSN(), "repeatable read").Create(ctx, func(func(string, int64) bool) {})
		if err == nil || !strings.Contains(err.Error(), "name the primary as the first --dsn") {
			t.Errorf("%v", err)
		}
	})
}

// TestJoinStranger: an endpoint of another database never shows what was created.
func TestJoinStranger(t *testing.T) {
	other, err := servers.StartPostgres()
	if err != nil {
		t.Fatal(err)
	}
	defer other.Stop()
	defer func(d time.Duration) { catchUp = d }(catchUp)
	catchUp = 100 * time.Millisecond
	first := drivertest.Open(t, driver{}, server.DSN(), "")
	second := open(t, other.DSN(), "serializable")
	if err := second.Join(ctx, first); err == nil || !strings.Contains(err.Error(), "is this an endpoint of the same database") {
		t.Errorf("%v", err)
	}
	stopped, cancel := context.WithCancel(ctx)
	cancel()
	if err := second.Join(stopped, first); err == nil {
		t.Error("joined although it was stopped")
	}
	if err := first.(*db).Join(ctx, second); err == nil {
		t.Error("joined an endpoint that has created nothing")
	}
}
