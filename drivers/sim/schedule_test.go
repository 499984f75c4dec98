package sim

import (
	"context"
	"fmt"
	"testing"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/drivers/drivertest"
)

var ctx = context.Background()

func open(t *testing.T, isolation, dsn string) *db {
	t.Helper()
	return drivertest.Open(t, driver{}, dsn, isolation).(*db)
}

func read(t *testing.T, x *tx, key string, want int64) {
	t.Helper()
	if v, found, err := x.Read(ctx, key); err != nil || !found || v != want {
		t.Errorf("%s is %d, %v, %v; want %d", key, v, found, err, want)
	}
}

func update(t *testing.T, x *tx, key string, value int64) {
	t.Helper()
	if found, err := x.Update(ctx, key, value); err != nil || !found {
		t.Errorf("update of %s: %v, %v", key, found, err)
	}
}

// TestAbsentReads tests the defect of PostgreSQL before 12.4 and 11.9: a first transaction
// inserts a key and reads a; a second one updates the key; a third one, whose snapshot contains
// neither, finds the key absent and writes a. The first and the third would each have to come
// before the other.
func TestAbsentReads(t *testing.T) {
	for dsn, commits := range map[string]bool{"": false, "sim://?off=absent-reads&rate=1": true} {
		d := open(t, "serializable snapshot isolation", dsn)
		reader, inserter := d.connect().begin(false), d.connect().begin(false)
		read(t, inserter, "a", 1)
		if err := inserter.Insert(ctx, "new", 10); err != nil {
			t.Fatal(err)
		}
		if err := inserter.Commit(ctx); err != nil {
			t.Fatal(err)
		}
		updater := d.connect().begin(false)
		update(t, updater, "new", 11)
		if err := updater.Commit(ctx); err != nil {
			t.Fatal(err)
		}
		if _, found, err := reader.Read(ctx, "new"); found || err != nil {
			t.Fatal(found, err)
		}
		update(t, reader, "a", 2)
		err := reader.Commit(ctx)
		if commits && err != nil {
			t.Errorf("%s: %v", dsn, err)
		} else if !commits {
			drivertest.Class(t, "commit", err, drivers.Aborted, false)
		}
	}
}

// TestDeadlock: of two transactions that wait for each other, one gets an error, and the other
// continues when that one is rolled back.
func TestDeadlock(t *testing.T) {
	d := open(t, "serializable", "")
	one, two := d.connect().begin(false), d.connect().begin(false)
	update(t, one, "a", 10)
	update(t, two, "A", 20)
	results := make(chan error)
	try := func(x *tx, key string) {
		_, err := x.Update(ctx, key, 30)
		if err != nil {
			x.Rollback(ctx)
		} else {
			err = x.Commit(ctx)
		}
		results <- err
	}
	go try(one, "A")
	go try(two, "a")
	first, second := <-results, <-results
	drivertest.Class(t, "first", first, drivers.Aborted, false)
	if second != nil {
		t.Error(second)
	}
}

// TestWaiting: a transaction that waits for a lock stops when its context ends, and gets the
// lock when the session that holds it is closed.
func TestWaiting(t *testing.T) {
	d := open(t, "serializable", "")
	holder, waiter := d.connect(), d.connect()
	update(t, holder.begin(false), "a", 10)
	gone, cancel := context.WithCancel(ctx)
	x := waiter.begin(false)
	refused := make(chan error)
	go func() {
		_, _, err := x.Read(gone, "a")
		refused <- err
	}()
	cancel()
	drivertest.Class(t, "read", <-refused, drivers.Aborted, false)
	let := make(chan struct{})
	go func() {
		read(t, x, "a", 1)
		close(let)
	}()
	holder.Close()
	<-let
}

// TestReplicas: a replica shows commits late and in order; the replica of the session that
// committed shows its commit immediately.
func TestReplicas(t *testing.T) {
	d := open(t, "snapshot isolation, replicas", "sim://?lag=5&nodes=2")
	writer, other := d.connect(), d.connect()
	last, behind := int64(1), false
	for n := int64(2); n < 200; n++ {
		x := writer.begin(false)
		read(t, x, "a", n-1)
		update(t, x, "a", n)
		if err := x.Commit(ctx); err != nil {
			t.Fatal(err)
		}
		y := other.begin(false)
		v, _, err := y.Read(ctx, "a")
		if err != nil || v < last || v > n || v < n-6 {
			t.Fatalf("commit %d: the replica has %d behind %d, %v", n, v, last, err)
		}
		last, behind = v, behind || v < n
		if err := y.Rollback(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if !behind {
		t.Error("the replica is never behind")
	}
}

// TestForgetting: versions and deleted keys that nobody can read are removed, and those that a
// snapshot needs are kept.
func TestForgetting(t *testing.T) {
	d := open(t, "snapshot isolation", "")
	old := d.connect().begin(false)
	s := d.connect()
	write := func() {
		for n := range int64(500) {
			x := s.begin(false)
			update(t, x, "a", n)
			key := fmt.Sprint("new", n)
			var err error
			if n%2 == 0 {
				err = x.Insert(ctx, key, n)
			} else {
				_, err = x.Delete(ctx, fmt.Sprint("new", n-1))
			}
			if err == nil {
				err = x.Commit(ctx)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	update(t, s.begin(false), "A", 5)
	s.Close()
	x := s.begin(false)
	if found, err := x.Delete(ctx, "A"); err != nil || !found || x.Commit(ctx) != nil {
		t.Fatal(found, err)
	}
	write()
	read(t, old, "a", 1)
	read(t, old, "A", 2)
	if err := old.Rollback(ctx); err != nil {
		t.Fatal(err)
	}
	write()
	if n := len(d.keys); n > 30 || n != len(d.items) || d.items["A"] != nil {
		t.Errorf("%d keys are kept", n)
	}
	if n := len(d.items["a"].versions); n > 100 {
		t.Errorf("%d versions are kept", n)
	}
	if len(d.recent) > 0 || len(d.active) > 0 {
		t.Errorf("%d transactions are kept, and %d are open", len(d.recent), len(d.active))
	}
}
