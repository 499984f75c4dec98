package sqlite

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/drivers/drivertest"
)

func TestDriver(t *testing.T) { drivertest.Run(t, driver{}, "", false) }

func TestTables(t *testing.T) { drivertest.Tables(t, driver{}, "") }

func TestCounting(t *testing.T) { drivertest.Counting(t, driver{}, "") }

// TestOnDisk: a database in a given folder has its own folder, for any path, and is removed.
func TestOnDisk(t *testing.T) {
	dir := t.TempDir() + "/a ?#%20b"
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Run("driver", func(t *testing.T) { drivertest.Run(t, driver{}, dir, false) })
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v is left behind, %v", left, err)
	}
	if _, err := (driver{}).Open(context.Background(), drivers.Config{DSN: dir + "/missing"}); err == nil {
		t.Error("a folder that does not exist is accepted")
	}
}

// open opens a database with short waits for locks, with key a = 1 and key b = 2.
func open(t *testing.T, isolation string) drivers.DB {
	t.Helper()
	ctx := context.Background()
	db, err := driver{}.Open(ctx, drivers.Config{Isolation: isolation, CallTimeout: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	if err := db.Create(ctx, func(yield func(string, int64) bool) { _ = yield("a", 1) && yield("b", 2) }); err != nil {
		t.Fatal(err)
	}
	return db
}

func read(t *testing.T, x drivers.Tx, key string, want int64) {
	t.Helper()
	if v, _, err := x.Read(context.Background(), key); err != nil || v != want {
		t.Errorf("%s is %d, %v; want %d", key, v, err, want)
	}
}

func write(t *testing.T, x drivers.Tx, key string, value int64) {
	t.Helper()
	if found, err := x.Update(context.Background(), key, value); err != nil || !found {
		t.Errorf("update of %s: %v, %v", key, found, err)
	}
}

func commit(t *testing.T, x drivers.Tx) {
	t.Helper()
	if err := x.Commit(context.Background()); err != nil {
		t.Error(err)
	}
}

// busy fails unless err says that a lock was not available.
func busy(t *testing.T, err error, cause string) {
	t.Helper()
	drivertest.Class(t, cause, err, drivers.Aborted, false)
	if got := drivers.AsError(err).Cause; got != cause {
		t.Errorf("%s, want %s", got, cause)
	}
}

// TestStaleSnapshot: with WAL, readers see their snapshot, and cannot write once it is not the
// newest.
func TestStaleSnapshot(t *testing.T) {
	ctx := context.Background()
	db := open(t, "deferred")
	one, two := drivertest.Begin(t, db), drivertest.Begin(t, db)
	read(t, one, "a", 1)
	write(t, two, "b", 50)
	commit(t, two)
	read(t, one, "b", 2)
	_, err := one.Update(ctx, "a", 7)
	busy(t, err, "SQLITE_BUSY_SNAPSHOT")
	if err := one.Rollback(ctx); err != nil {
		t.Error(err)
	}
	again := drivertest.Begin(t, db)
	read(t, again, "a", 1)
	read(t, again, "b", 50)
}

// TestOneWriter: an immediate transaction prevents others from beginning.
func TestOneWriter(t *testing.T) {
	ctx := context.Background()
	for _, isolation := range []string{"immediate", "immediate" + inJournal} {
		db := open(t, isolation)
		one := drivertest.Begin(t, db)
		s, err := db.Connect(ctx)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		_, err = s.Begin(ctx)
		busy(t, err, "SQLITE_BUSY")
		commit(t, one)
		two, err := s.Begin(ctx) // the session remains usable
		if err != nil {
			t.Fatal(err)
		}
		commit(t, two)
	}
}

// TestJournal: with a rollback journal a commit fails during any read, has no effect then, and
// leaves the session usable.
func TestJournal(t *testing.T) {
	ctx := context.Background()
	db := open(t, "deferred"+inJournal)
	reader := drivertest.Begin(t, db)
	read(t, reader, "a", 1)
	s, err := db.Connect(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	writer, err := s.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	write(t, writer, "a", 7)
	busy(t, writer.Commit(ctx), "SQLITE_BUSY")
	read(t, reader, "a", 1)
	commit(t, reader)
	writer, err = s.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	read(t, writer, "a", 1)
	write(t, writer, "a", 8)
	commit(t, writer)
}

// TestReadUncommitted: only that isolation shows uncommitted values.
func TestReadUncommitted(t *testing.T) {
	ctx := context.Background()
	for isolation, want := range map[string]int64{readUncommitted: 7, "deferred": 1, "deferred" + inJournal: 1} {
		db := open(t, isolation)
		writer, reader := drivertest.Begin(t, db), drivertest.Begin(t, db)
		write(t, writer, "a", 7)
		read(t, reader, "a", want)
		commit(t, reader)
		if err := writer.Rollback(ctx); err != nil {
			t.Error(err)
		}
	}
}

// TestInterrupted: a scan ends with its context, and so does the session.
func TestInterrupted(t *testing.T) {
	gone, cancel := context.WithCancel(context.Background())
	x := drivertest.Begin(t, open(t, "deferred"))
	cancel()
	_, _, err := x.Read(gone, "a")
	drivertest.Class(t, "read", err, drivers.Aborted, true)
}

// TestDuplicate: an insertion of a key that exists fails.
func TestDuplicate(t *testing.T) {
	ctx := context.Background()
	x := drivertest.Begin(t, open(t, "deferred"))
	busy(t, x.Insert(ctx, "a", 7), "duplicate key")
	if err := x.Rollback(ctx); err != nil {
		t.Error(err)
	}
}

func TestLightweight(t *testing.T) { drivertest.Lightweight(t, driver{}, "") }

// TestLightweightBusy: if a lock is not available, nothing is done.
func TestLightweightBusy(t *testing.T) {
	ctx := context.Background()
	db := open(t, "deferred")
	writer, s := drivertest.Begin(t, db), drivertest.Light(t, db)
	write(t, writer, "a", 7)
	_, err := s.CompareAndSet(ctx, "a", 1, 5)
	busy(t, err, "SQLITE_BUSY")
	if err := writer.Rollback(ctx); err != nil {
		t.Error(err)
	}
	if v, _, err := s.ReadOne(ctx, "a"); err != nil || v != 1 {
		t.Errorf("a is %d, %v", v, err)
	}
}
