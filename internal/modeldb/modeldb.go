// Package modeldb is a database of plain maps, for tests: it shows what a workload must see when
// its transactions run one after another. It supports one transaction at a time. Except for the
// evaluation of conditions it shares no code with the drivers. It is not registered.
package modeldb

import (
	"context"
	"iter"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/history/schema"
)

// Driver makes model databases.
type Driver struct {
	// Blind makes it comparable with a store that does not report whether a key or a row existed
	// before a write: an update or deletion of a key always succeeds, and an insertion
	// overwrites.
	Blind bool
}

// Info implements drivers.Driver.
func (Driver) Info() drivers.Info {
	return drivers.Info{
		Name: "model", Title: "Model", Embedded: true,
		Isolations: []drivers.Isolation{{Name: "serial", Promises: "sser"}},
		Can:        []drivers.Capability{drivers.Transactions, drivers.Deletes, drivers.Tables, drivers.Predicates, drivers.Lightweight},
	}
}

// Open implements drivers.Driver.
func (d Driver) Open(context.Context, drivers.Config) (drivers.DB, error) {
	return &db{blind: d.Blind, keys: map[string]int64{}, tables: map[string]map[string]schema.Row{}}, nil
}

type db struct {
	blind  bool
	keys   map[string]int64
	tables map[string]map[string]schema.Row // by name, then by primary key
	open   bool                             // a transaction is open
}

func (d *db) Server() string { return "model" }

func (d *db) Create(_ context.Context, initial iter.Seq2[string, int64]) error {
	for k, v := range initial {
		d.keys[k] = v
	}
	return nil
}

// CreateTables implements drivers.TableDB.
func (d *db) CreateTables(_ context.Context, tables schema.Schema, rows iter.Seq2[*schema.Table, schema.Row]) error {
	if err := (Driver{}).Info().CheckIndexes(tables); err != nil {
		return err
	}
	for _, t := range tables {
		d.tables[t.Name] = map[string]schema.Row{}
	}
	for t, row := range rows {
		if err := fits(t, row); err != nil {
			return err
		}
		at := name(row.Key)
		if _, twice := d.tables[t.Name][at]; twice {
			return errors.Errorf("table %s has the row %s twice", t.Name, at)
		}
		d.tables[t.Name][at] = row
	}
	return nil
}

func (d *db) Connect(context.Context) (drivers.Session, error) { return session{d}, nil }

func (d *db) Close(context.Context) error { return nil }

type session struct{ d *db }

func (s session) Begin(context.Context) (drivers.Tx, error) {
	if s.d.open {
		return nil, mistake(errors.New("the model knows one transaction at a time"))
	}
	s.d.open = true
	return &tx{d: s.d}, nil
}

func (session) Close() {}

// tx changes the database immediately and can undo its changes.
type tx struct {
	d    *db
	undo []func()
}

func (x *tx) put(key string, value int64) {
	before, there := x.d.keys[key]
	x.undo = append(x.undo, func() {
		if x.d.keys[key] = before; !there {
			delete(x.d.keys, key)
		}
	})
	x.d.keys[key] = value
}

func (x *tx) Read(_ context.Context, key string) (int64, bool, error) {
	v, found := x.d.keys[key]
	return v, found, nil
}

func (x *tx) Insert(_ context.Context, key string, value int64) error {
	if _, there := x.d.keys[key]; there && !x.d.blind {
		return duplicate
	}
	x.put(key, value)
	return nil
}

func (x *tx) Update(_ context.Context, key string, value int64) (bool, error) {
	if _, there := x.d.keys[key]; !there && !x.d.blind {
		return false, nil
	}
	x.put(key, value)
	return true, nil
}

func (x *tx) Delete(_ context.Context, key string) (bool, error) {
	if _, there := x.d.keys[key]; !there {
		return x.d.blind, nil
	}
	x.put(key, 0)
	delete(x.d.keys, key)
	return true, nil
}

func (x *tx) Commit(context.Context) error {
	x.d.open = false
	return nil
}

func (x *tx) Rollback(context.Context) error {
	for i := len(x.undo) - 1; i >= 0; i-- {
		x.undo[i]()
	}
	x.d.open = false
	return nil
}

// duplicate is the error for a second row with the same key.
var duplicate = &drivers.Error{Class: drivers.Aborted, Cause: "duplicate key"}

func mistake(err error) error {
	return &drivers.Error{Class: drivers.Fatal, Cause: "a mistake of the workload", Err: err}
}
