// Package badger drives an embedded Badger store, an engine that needs no installation.
package badger

import (
	"context"
	"encoding/binary"
	"iter"
	"os"
	"runtime/debug"

	"github.com/dgraph-io/badger/v4"
	"github.com/pkg/errors"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/drivers/tablekv"
)

func init() { drivers.Register(driver{}) }

const unprotected = "DetectConflicts=false"

type driver struct{}

func (driver) Info() drivers.Info {
	return drivers.Info{
		Name:     "badger",
		Title:    "Badger (embedded)",
		Embedded: true,
		Blind:    true,
		DSN:      "/var/tmp",
		DSNHelp:  "a folder, in which the store gets a folder of its own; without it the store is in memory",
		Isolations: []drivers.Isolation{
			{Name: "serializable", Promises: "ser", Scans: "si", Lightweight: "lin", Source: "https://pkg.go.dev/github.com/dgraph-io/badger/v4#DB.NewTransaction", Note: "snapshot reads, conflicts of keys detected at commit (DetectConflicts=true)"},
			{Name: unprotected, Promises: "pc", Lightweight: "pc", Source: "https://pkg.go.dev/github.com/dgraph-io/badger/v4#Options.WithDetectConflicts", Note: "snapshot reads, nothing detected"},
		},
		Can: []drivers.Capability{drivers.Transactions, drivers.Deletes, drivers.Tables, drivers.Predicates, drivers.Lightweight, drivers.Positions},
		Notes: []string{
			"Conflicts are detected key by key, also for keys that were found absent. A range scan does not protect against keys that appear in it later (phantoms).",
			"Conflict detection compares 64-bit fingerprints of keys, so it may abort one transaction too many, never one too few.",
		},
	}
}

func (driver) Open(_ context.Context, cfg drivers.Config) (drivers.DB, error) {
	d := &db{}
	if cfg.DSN != "" {
		folder, err := os.MkdirTemp(cfg.DSN, "isohound-badger-")
		if err != nil {
			return nil, &drivers.DSNError{Driver: "badger", Err: errors.Wrap(err, "expected an existing folder")}
		}
		d.folder = folder
	}
	opt := badger.DefaultOptions(d.folder).
		WithInMemory(d.folder == "").
		WithLogger(nil).
		WithDetectConflicts(cfg.Isolation != unprotected).
		WithMemTableSize(16 << 20).
		WithNumVersionsToKeep(1)
	store, err := badger.Open(opt)
	if err != nil {
		d.remove()
		return nil, &drivers.UnreachableError{Driver: "badger", Err: err}
	}
	d.store, d.positions = store, cfg.Positions
	return d, nil
}

type db struct {
	store  *badger.DB
	folder string // "" in memory
	// positions: transactions find out their commit timestamps.
	positions bool
}

func (d *db) Server() string {
	version := "v4"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, dep := range info.Deps {
			if dep.Path == "github.com/dgraph-io/badger/v4" {
				version = dep.Version
			}
		}
	}
	if d.folder == "" {
		return "Badger " + version + ", in memory"
	}
	return "Badger " + version + ", on disk"
}

func (d *db) Create(ctx context.Context, initial iter.Seq2[string, int64]) error {
	batch := d.store.NewWriteBatch()
	defer batch.Cancel()
	for key, value := range initial {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := batch.Set([]byte(key), encode(value)); err != nil {
			return errors.Wrap(err, "badger: initial keys")
		}
	}
	return errors.Wrap(batch.Flush(), "badger: initial keys")
}

func (d *db) Connect(context.Context) (drivers.Session, error) {
	return session{d.store, d.positions}, nil
}

func (d *db) Close(context.Context) error {
	err := d.store.Close()
	if rerr := d.remove(); err == nil {
		err = rerr
	}
	return err
}

func (d *db) remove() error {
	if d.folder == "" {
		return nil
	}
	return os.RemoveAll(d.folder)
}

type session struct {
	store     *badger.DB
	positions bool
}

func (s session) Begin(context.Context) (drivers.Tx, error) {
	t := s.store.NewTransaction(true)
	x := tx{t: t}
	if s.positions {
		x.placed = &placed{}
	}
	x.Tx = tablekv.Tx{Store: pairs{t, x.placed}}
	return x, nil
}

func (session) Close() {}

type tx struct {
	t *badger.Txn
	*placed
	tablekv.Tx
}

func (x tx) Read(_ context.Context, key string) (int64, bool, error) {
	item, err := x.t.Get([]byte(key))
	if err == badger.ErrKeyNotFound {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, classify(err)
	}
	x.saw(item)
	var value int64
	err = item.Value(func(b []byte) error {
		value, err = decode(b)
		return err
	})
	return value, true, classify(err)
}

func (x tx) Insert(_ context.Context, key string, value int64) error {
	return classify(x.set(x.t, []byte(key), encode(value)))
}

// Update sets the key. Badger does not report whether it existed.
func (x tx) Update(_ context.Context, key string, value int64) (bool, error) {
	return true, classify(x.set(x.t, []byte(key), encode(value)))
}

func (x tx) Delete(_ context.Context, key string) (bool, error) {
	return true, classify(x.remove(x.t, []byte(key)))
}

func (x tx) Commit(context.Context) error {
	if err := x.mark(x.t); err != nil {
		return classify(err)
	}
	err := x.t.Commit()
	if err == nil || err == badger.ErrConflict {
		return classify(err)
	}
	return &drivers.Error{Class: drivers.OutcomeUnknown, Cause: "error at commit", Err: err}
}

func (x tx) Rollback(context.Context) error {
	x.t.Discard()
	return nil
}

func classify(err error) error {
	switch err {
	case nil:
		return nil
	case badger.ErrConflict:
		return &drivers.Error{Class: drivers.Aborted, Cause: "conflict"}
	case badger.ErrTxnTooBig:
		return &drivers.Error{Class: drivers.Fatal, Cause: "transaction too big", Err: err}
	}
	return &drivers.Error{Class: drivers.Fatal, Cause: "badger error", Err: err}
}

func encode(v int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(v)) }

func decode(b []byte) (int64, error) {
	if len(b) != 8 {
		return 0, errors.Errorf("value has %d bytes, not 8", len(b))
	}
	return int64(binary.BigEndian.Uint64(b)), nil
}
