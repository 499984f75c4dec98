// Package mapdb drives a database that is a map in memory: what a driver of your own looks like. Transactions
// work on copies and compare, at the commit, what they have read.
package mapdb

import (
	"context"
	"iter"
	"maps"
	"sync"

	"github.com/isohound/isohound/drivers"
)

// Driver implements drivers.Driver.
type Driver struct{}

// careless is the isolation whose transactions compare nothing.
const careless = "last writer wins"

// Info says what the command line shows, and what can be requested.
func (Driver) Info() drivers.Info {
	return drivers.Info{
		Name: "mapdb", Title: "a map in memory", Embedded: true, DSNHelp: "nothing",
		Isolations: []drivers.Isolation{ // the default first, with what the database's documentation promises
			{Name: "serializable", Promises: "sser", Source: "examples/driver", Note: "what was read is compared at the commit"},
			{Name: careless, Promises: "rc", Source: "examples/driver", Note: "nothing is compared"},
		},
		Can: []drivers.Capability{drivers.Transactions, drivers.Deletes},
	}
}

// Open connects. A database that cannot be reached is a drivers.UnreachableError.
func (Driver) Open(_ context.Context, cfg drivers.Config) (drivers.DB, error) {
	return &db{careless: cfg.Isolation == careless, rows: map[string]row{}}, nil
}

// row is a value with the number of the commit that wrote it; a deleted one is not alive.
type row struct {
	value, version int64
	alive          bool
}

type db struct {
	careless bool
	mu       sync.Mutex
	commits  int64
	rows     map[string]row
}

func (d *db) Server() string { return "mapdb 1.0" }

// Create makes what this run needs, apart from what other runs use, with the initial keys.
func (d *db) Create(_ context.Context, initial iter.Seq2[string, int64]) error {
	for k, v := range initial {
		d.rows[k] = row{value: v, alive: true}
	}
	return nil
}

func (d *db) Connect(context.Context) (drivers.Session, error) { return session{d}, nil }

// Close drops what Create made.
func (d *db) Close(context.Context) error { return nil }

type session struct{ db *db }

func (s session) Begin(context.Context) (drivers.Tx, error) {
	return &tx{db: s.db, read: map[string]row{}, written: map[string]row{}}, nil
}

func (s session) Close() {}

// tx keeps what it has read and what it will write.
type tx struct {
	db            *db
	read, written map[string]row
}

// get returns the row as the transaction sees it.
func (t *tx) get(key string) row {
	if r, ok := t.written[key]; ok {
		return r
	}
	r, ok := t.read[key]
	if !ok {
		t.db.mu.Lock()
		r = t.db.rows[key]
		t.db.mu.Unlock()
		t.read[key] = r
	}
	return r
}

func (t *tx) Read(_ context.Context, key string) (int64, bool, error) {
	r := t.get(key)
	return r.value, r.alive, nil
}

func (t *tx) Insert(_ context.Context, key string, value int64) error {
	if t.get(key).alive {
		return &drivers.Error{Class: drivers.Aborted, Cause: "duplicate key"}
	}
	t.written[key] = row{value: value, alive: true}
	return nil
}

func (t *tx) Update(_ context.Context, key string, value int64) (bool, error) {
	if !t.get(key).alive {
		return false, nil
	}
	t.written[key] = row{value: value, alive: true}
	return true, nil
}

func (t *tx) Delete(_ context.Context, key string) (bool, error) {
	if !t.get(key).alive {
		return false, nil
	}
	t.written[key] = row{}
	return true, nil
}

// Commit says with class Aborted that the transaction certainly did not commit. Any other error means that
// nobody knows: a connection that breaks here, for example.
func (t *tx) Commit(context.Context) error {
	d := t.db
	d.mu.Lock()
	defer d.mu.Unlock()
	for key, r := range t.read {
		if !d.careless && d.rows[key] != r {
			return &drivers.Error{Class: drivers.Aborted, Cause: "conflict"}
		}
	}
	d.commits++
	for key, r := range t.written {
		r.version = d.commits
		t.written[key] = r
	}
	maps.Copy(d.rows, t.written)
	return nil
}

func (t *tx) Rollback(context.Context) error { return nil }
