package embedtest

import (
	"context"
	"fmt"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/drivers/drivertest"
	_ "github.com/isohound/isohound/drivers/etcd"
)

func find(t *testing.T) drivers.Driver {
	t.Helper()
	d, err := drivers.Find("etcd")
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestDriver(t *testing.T) { drivertest.Run(t, find(t), newServer(t).client, true) }

func read(t *testing.T, x drivers.Tx, key string, want int64) {
	t.Helper()
	if v, found, err := x.Read(context.Background(), key); err != nil || found != (want != 0) || v != want {
		t.Errorf("%s is %d, %v, %v; want %d", key, v, found, err, want)
	}
}

func write(t *testing.T, x drivers.Tx, key string, value int64) {
	t.Helper()
	if _, err := x.Update(context.Background(), key, value); err != nil {
		t.Error(err)
	}
}

func commit(t *testing.T, x drivers.Tx) {
	t.Helper()
	if err := x.Commit(context.Background()); err != nil {
		t.Error(err)
	}
}

// TestIsolations: what each isolation allows and prevents. In each case a second transaction
// overtakes the first: it changes the keys a and A and deletes "a ". The key "new" never exists.
func TestIsolations(t *testing.T) {
	server := newServer(t)
	for _, tc := range []struct {
		name  string
		first func(t *testing.T, x drivers.Tx, overtake func())
		stop  map[string]bool // isolations that abort the first
	}{
		{"lost update", func(t *testing.T, x drivers.Tx, overtake func()) {
			read(t, x, "a", 1)
			overtake()
			write(t, x, "a", 100)
		}, map[string]bool{"serializable": true, "serializable snapshot": true, "repeatable reads": true}},
		{"write skew", func(t *testing.T, x drivers.Tx, overtake func()) {
			read(t, x, "a", 1)
			overtake()
			write(t, x, "ü'\"\\", 100)
		}, map[string]bool{"serializable": true, "serializable snapshot": true, "repeatable reads": true}},
		{"a key that was read is deleted", func(t *testing.T, x drivers.Tx, overtake func()) {
			read(t, x, "a ", 3)
			overtake()
			write(t, x, "ü'\"\\", 100)
		}, map[string]bool{"serializable": true, "serializable snapshot": true, "repeatable reads": true}},
		{"a key that was read absent appears", func(t *testing.T, x drivers.Tx, overtake func()) {
			read(t, x, "born", 0)
			overtake()
			write(t, x, "ü'\"\\", 100)
		}, map[string]bool{"serializable": true, "serializable snapshot": true, "repeatable reads": true}},
		{"absent and still absent", func(t *testing.T, x drivers.Tx, overtake func()) {
			read(t, x, "new", 0)
			overtake()
			write(t, x, "ü'\"\\", 100)
		}, nil},
		{"blind write", func(t *testing.T, x drivers.Tx, overtake func()) {
			overtake()
			write(t, x, "a", 100)
		}, nil},
		{"write after the snapshot", func(t *testing.T, x drivers.Tx, overtake func()) {
			read(t, x, "ü'\"\\", -4)
			overtake()
			write(t, x, "a", 100)
		}, map[string]bool{"serializable snapshot": true}},
		{"only reads of what has changed", func(t *testing.T, x drivers.Tx, overtake func()) {
			read(t, x, "a", 1)
			overtake()
		}, map[string]bool{"repeatable reads": true}},
	} {
		for _, isolation := range find(t).Info().Isolations {
			t.Run(tc.name+" "+isolation.Name, func(t *testing.T) {
				ctx := context.Background()
				db := drivertest.Open(t, find(t), server.client, isolation.Name)
				first, other := drivertest.Begin(t, db), drivertest.Begin(t, db)
				tc.first(t, first, func() {
					write(t, other, "a", 50)
					write(t, other, "A", 51)
					write(t, other, "born", 52)
					if _, err := other.Delete(ctx, "a "); err != nil {
						t.Error(err)
					}
					commit(t, other)
				})
				err := first.Commit(ctx)
				if tc.stop[isolation.Name] {
					drivertest.Class(t, "commit", err, drivers.Aborted, false)
				} else if err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// TestSnapshot: reads are at the revision of the first read, if that is promised.
func TestSnapshot(t *testing.T) {
	server := newServer(t)
	for isolation, want := range map[string]int64{
		"serializable": 2, "serializable snapshot": 2, "repeatable reads": 51, "read committed": 51,
	} {
		db := drivertest.Open(t, find(t), server.client, isolation)
		first, other := drivertest.Begin(t, db), drivertest.Begin(t, db)
		read(t, first, "a", 1)
		write(t, other, "a", 50)
		write(t, other, "A", 51)
		commit(t, other)
		read(t, first, "A", want)
		read(t, first, "a", 1) // as before, everywhere
	}
}

// TestRevision: the id of a transaction that wrote is the revision of its writes, and is unique.
func TestRevision(t *testing.T) {
	ctx := context.Background()
	server := newServer(t)
	db := drivertest.Open(t, find(t), server.client, "")
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{server.client}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	last := int64(0)
	for n := range 20 {
		x := drivertest.Begin(t, db)
		write(t, x, "a", int64(n))
		write(t, x, fmt.Sprint("k", n), int64(n))
		if id := x.(drivers.TxnIDer).TxnID(); id != 0 {
			t.Errorf("id %d before the commit", id)
		}
		commit(t, x)
		id := x.(drivers.TxnIDer).TxnID()
		if id <= last {
			t.Errorf("id %d after %d", id, last)
		}
		last = id
	}
	resp, err := c.Get(ctx, "isohound_", clientv3.WithPrefix())
	if err != nil {
		t.Fatal(err)
	}
	newest := int64(0)
	for _, kv := range resp.Kvs {
		newest = max(newest, kv.ModRevision)
	}
	if newest != last {
		t.Errorf("the last id is %d, the last write was at revision %d", last, newest)
	}
	for name, do := range map[string]func(drivers.Tx){
		"read":                  func(x drivers.Tx) { read(t, x, "a", 19) },
		"deletion of an absent": func(x drivers.Tx) { x.Delete(ctx, "nobody") },
	} {
		x := drivertest.Begin(t, db)
		do(x)
		commit(t, x)
		if id := x.(drivers.TxnIDer).TxnID(); id != 0 {
			t.Errorf("%s has id %d", name, id)
		}
	}
}

func TestVersions(t *testing.T) {
	drivertest.Versions(t, find(t), newServer(t).client, "serializable")
}

func TestLightweight(t *testing.T) { drivertest.Lightweight(t, find(t), newServer(t).client) }

// TestErrors: requests that the server refuses have no effect. Without an answer the outcome is
// unknown if writes were sent, and aborted if not.
func TestErrors(t *testing.T) {
	ctx := context.Background()
	server := newServer(t)
	db, err := find(t).Open(ctx, drivers.Config{DSN: server.client, Isolation: "serializable"})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Create(ctx, func(func(string, int64) bool) {}); err != nil {
		t.Fatal(err)
	}
	big := drivertest.Begin(t, db)
	for i := range 200 {
		write(t, big, fmt.Sprint("k", i), 1)
	}
	drivertest.Class(t, "200 writes", big.Commit(ctx), drivers.Fatal, true)

	s, err := db.Connect(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	reading, writing := drivertest.Begin(t, db), drivertest.Begin(t, db)
	read(t, writing, "a", 0)
	write(t, writing, "a", 7)
	server.kill()
	short, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
	defer cancel()
	_, _, err = reading.Read(short, "a")
	drivertest.Class(t, "read", err, drivers.Aborted, true)
	drivertest.Class(t, "commit", writing.Commit(short), drivers.OutcomeUnknown, true)
	_, _, err = s.(drivers.LWT).ReadOne(short, "a")
	drivertest.Class(t, "read of one", err, drivers.Aborted, true)
	_, err = s.(drivers.LWT).InsertIfAbsent(short, "b", 1)
	drivertest.Class(t, "insertion", err, drivers.OutcomeUnknown, true)
	_, err = db.Connect(short)
	drivertest.Class(t, "connect", err, drivers.Aborted, true)
	server.start(t)
	if err := db.Close(ctx); err != nil {
		t.Error(err)
	}
}
