package bbolt

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

// TestOnDisk: a store in a given folder syncs, has its own folder, and is removed.
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

func connect(t *testing.T, d drivers.DB) *session {
	t.Helper()
	s, err := d.Connect(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s.(*session)
}

// TestWaiting: a transaction waits for the open one, and stops waiting when its context ends. It
// can begin however the open one ends.
func TestWaiting(t *testing.T) {
	ctx := context.Background()
	d := drivertest.Open(t, driver{}, "", "")
	first, second := connect(t, d), connect(t, d)
	for name, end := range map[string]func(drivers.Tx){
		"commit":   func(x drivers.Tx) { x.Commit(ctx) },
		"rollback": func(x drivers.Tx) { x.Rollback(ctx) },
		"close":    func(drivers.Tx) { first.Close() },
	} {
		open, err := first.Begin(ctx)
		if err != nil {
			t.Fatal(err)
		}
		gone, cancel := context.WithCancel(ctx)
		refused, let := make(chan error), make(chan error)
		go func() {
			_, err := second.Begin(gone)
			refused <- err
		}()
		cancel()
		drivertest.Class(t, name, <-refused, drivers.Aborted, false)
		go func() {
			x, err := second.Begin(ctx)
			if err == nil {
				err = x.Commit(ctx)
			}
			let <- err
		}()
		end(open)
		if err := <-let; err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestClose: a store is not closed while a transaction is open, and those that wait for a closed
// store get an error.
func TestClose(t *testing.T) {
	ctx := context.Background()
	d, err := driver{}.Open(ctx, drivers.Config{})
	if err != nil {
		t.Fatal(err)
	}
	s := connect(t, d)
	if _, err := s.Begin(ctx); err != nil {
		t.Fatal(err)
	}
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if err := d.Close(gone); err == nil {
		t.Error("closed while a transaction is open")
	}
	s.Close()
	if err := d.Close(ctx); err != nil {
		t.Fatal(err)
	}
	_, err = s.Begin(ctx)
	drivertest.Class(t, "begin", err, drivers.Fatal, false)
}

// TestTxnID: ids of committed transactions grow in the order of the commits.
func TestTxnID(t *testing.T) {
	ctx := context.Background()
	d := drivertest.Open(t, driver{}, "", "")
	sessions := []*session{connect(t, d), connect(t, d), connect(t, d)}
	last := int64(0)
	for n := range 12 {
		x, err := sessions[n%3].Begin(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := x.Update(ctx, "a", int64(n)); err != nil {
			t.Fatal(err)
		}
		if n%4 == 3 {
			x.Rollback(ctx)
			continue
		}
		before := x.(drivers.TxnIDer).TxnID()
		if err := x.Commit(ctx); err != nil {
			t.Fatal(err)
		}
		after := x.(drivers.TxnIDer).TxnID()
		if before != after || after <= last {
			t.Errorf("id %d, then %d, after %d", before, after, last)
		}
		last = after
	}
}

func TestLightweight(t *testing.T) { drivertest.Lightweight(t, driver{}, "") }

// TestReadOne: a lightweight read does not wait for a writer and does not see uncommitted
// values.
func TestReadOne(t *testing.T) {
	ctx := context.Background()
	d := drivertest.Open(t, driver{}, "", "")
	open, err := connect(t, d).Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := open.Update(ctx, "a", 50); err != nil {
		t.Fatal(err)
	}
	if v, _, err := drivertest.Light(t, d).ReadOne(ctx, "a"); err != nil || v != 1 {
		t.Errorf("a is %d, %v before the commit", v, err)
	}
}
