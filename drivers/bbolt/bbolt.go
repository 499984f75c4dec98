// Package bbolt drives an embedded bbolt store: one file, one writer at a time.
package bbolt

import (
	"context"
	"encoding/binary"
	"iter"
	"path/filepath"
	"runtime/debug"

	"github.com/pkg/errors"
	"go.etcd.io/bbolt"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/drivers/tablekv"
	"github.com/isohound/isohound/history/schema"
	"github.com/isohound/isohound/internal/scratch"
)

func init() { drivers.Register(driver{}) }

type driver struct{}

func (driver) Info() drivers.Info {
	return drivers.Info{
		Name:     "bbolt",
		Title:    "bbolt (embedded)",
		Embedded: true,
		Blind:    true,
		DSN:      "/var/tmp",
		DSNHelp:  "a folder, in which the store gets a folder of its own and syncs each commit; without it the store is in the system's temporary folder and does not sync",
		Isolations: []drivers.Isolation{
			// There is one writer at a time, and its commit is visible before it returns. So the
			// order of the transactions is the order in which they held the lock, which is
			// within the interval of each.
			{Name: "serializable", Promises: "sser", Lightweight: "lin", Source: "https://pkg.go.dev/go.etcd.io/bbolt#readme-transactions", Note: "one read-write transaction at a time"},
		},
		Can: []drivers.Capability{drivers.Transactions, drivers.Deletes, drivers.Tables, drivers.Predicates, drivers.Lightweight, drivers.Positions},
		Notes: []string{
			"Each transaction is a read-write transaction and waits for the one before it, because its operations are not known when it begins. Only lightweight reads use read-only transactions.",
		},
	}
}

// bucket holds everything. Keys of rows begin with a zero byte (tablekv.Key).
var bucket = []byte("isohound")

func (driver) Open(_ context.Context, cfg drivers.Config) (drivers.DB, error) {
	folder, err := scratch.In(cfg.DSN, "bbolt")
	if err != nil {
		if cfg.DSN == "" {
			return nil, err
		}
		return nil, &drivers.DSNError{Driver: "bbolt", Err: errors.Wrap(err, "expected an existing folder")}
	}
	d := &db{folder: folder, synced: cfg.DSN != "", writer: make(chan struct{}, 1)}
	opt := *bbolt.DefaultOptions
	opt.NoSync, opt.NoGrowSync = !d.synced, !d.synced
	opt.FreelistType = bbolt.FreelistMapType
	d.store, err = bbolt.Open(filepath.Join(folder.Path, "store"), 0o600, &opt)
	if err == nil {
		err = d.store.Update(func(t *bbolt.Tx) error {
			_, err := t.CreateBucket(bucket)
			return err
		})
	}
	if err != nil {
		if d.store != nil {
			d.store.Close()
		}
		folder.Remove()
		return nil, &drivers.UnreachableError{Driver: "bbolt", Err: err}
	}
	return d, nil
}

type db struct {
	store  *bbolt.DB
	folder *scratch.Folder
	synced bool
	// writer is held by the open transaction. Waiting for bbolt's own lock cannot be cancelled.
	// Therefore it is taken only by the holder of writer, for whom it is always free.
	writer chan struct{}
}

func (d *db) Server() string {
	version := "v1"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, dep := range info.Deps {
			if dep.Path == "go.etcd.io/bbolt" {
				version = dep.Version
			}
		}
	}
	if d.synced {
		return "bbolt " + version + ", each commit synced"
	}
	return "bbolt " + version + ", not synced"
}

func (d *db) lock(ctx context.Context) error {
	select {
	case d.writer <- struct{}{}:
		return nil
	default:
	}
	select {
	case d.writer <- struct{}{}:
		return nil
	case <-ctx.Done():
		return &drivers.Error{Class: drivers.Aborted, Cause: "waited too long for other writers", Err: context.Cause(ctx)}
	}
}

func (d *db) unlock() { <-d.writer }

func (d *db) Create(ctx context.Context, initial iter.Seq2[string, int64]) error {
	return d.fill(ctx, func(put func(k, v []byte) error) error {
		for key, value := range initial {
			if err := put([]byte(key), encode(value)); err != nil {
				return err
			}
		}
		return nil
	})
}

// CreateTables implements drivers.TableDB.
func (d *db) CreateTables(ctx context.Context, tables schema.Schema, rows iter.Seq2[*schema.Table, schema.Row]) error {
	if err := (driver{}).Info().CheckIndexes(tables); err != nil {
		return err
	}
	return d.fill(ctx, func(put func(k, v []byte) error) error {
		for t, row := range rows {
			for k, v := range tablekv.Pairs(t, row) {
				if err := put(k, v); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// fill runs f, which writes the initial content, in one transaction.
func (d *db) fill(ctx context.Context, f func(put func(k, v []byte) error) error) error {
	if err := d.lock(ctx); err != nil {
		return err
	}
	defer d.unlock()
	err := d.store.Update(func(t *bbolt.Tx) error {
		b := t.Bucket(bucket)
		return f(func(k, v []byte) error {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return b.Put(k, v)
		})
	})
	return errors.Wrap(err, "bbolt: initial values")
}

func (d *db) Connect(context.Context) (drivers.Session, error) { return &session{db: d}, nil }

// Close waits for an open transaction until ctx ends.
func (d *db) Close(ctx context.Context) error {
	if err := d.lock(ctx); err != nil {
		return errors.Wrap(err, "bbolt: a transaction is still open")
	}
	defer d.unlock()
	err := d.store.Close()
	if rerr := d.folder.Remove(); err == nil {
		err = rerr
	}
	return err
}

func encode(v int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(v)) }

func decode(b []byte) (int64, error) {
	if len(b) != 8 {
		return 0, errors.Errorf("value has %d bytes, not 8", len(b))
	}
	return int64(binary.BigEndian.Uint64(b)), nil
}
