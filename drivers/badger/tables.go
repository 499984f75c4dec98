package badger

import (
	"context"
	"iter"

	"github.com/dgraph-io/badger/v4"
	"github.com/pkg/errors"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/drivers/tablekv"
	"github.com/isohound/isohound/history/schema"
)

// CreateTables implements drivers.TableDB.
func (d *db) CreateTables(ctx context.Context, tables schema.Schema, rows iter.Seq2[*schema.Table, schema.Row]) error {
	if err := (driver{}).Info().CheckIndexes(tables); err != nil {
		return err
	}
	batch := d.store.NewWriteBatch()
	defer batch.Cancel()
	for t, row := range rows {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		for k, v := range tablekv.Pairs(t, row) {
			if err := batch.Set(k, v); err != nil {
				return errors.Wrap(err, "badger: initial rows")
			}
		}
	}
	return errors.Wrap(batch.Flush(), "badger: initial rows")
}

// pairs implements tablekv.Store.
type pairs struct {
	t *badger.Txn
	*placed
}

func (p pairs) Get(_ context.Context, key []byte) ([]byte, error) {
	item, err := p.t.Get(key)
	if err == badger.ErrKeyNotFound {
		return nil, nil
	}
	if err != nil {
		return nil, classify(err)
	}
	p.saw(item)
	value, err := item.ValueCopy(nil)
	return value, classify(err)
}

func (p pairs) Put(_ context.Context, key, value []byte) error {
	return classify(p.set(p.t, key, value))
}

func (p pairs) Remove(_ context.Context, key []byte) error { return classify(p.remove(p.t, key)) }

func (p pairs) Ascend(ctx context.Context, prefix []byte, f func(key, value []byte) bool) error {
	// Values are small and stored with their keys. Prefetching them starts a goroutine for each,
	// which takes longer than reading them.
	it := p.t.NewIterator(badger.IteratorOptions{Prefix: prefix})
	defer it.Close()
	for it.Rewind(); it.Valid(); it.Next() {
		if ctx.Err() != nil {
			return &drivers.Error{Class: drivers.Aborted, Cause: "call timed out", Err: context.Cause(ctx)}
		}
		more := false
		item := it.Item()
		p.saw(item)
		err := item.Value(func(v []byte) error {
			more = f(item.KeyCopy(nil), v)
			return nil
		})
		if err != nil {
			return classify(err)
		}
		if !more {
			return nil
		}
	}
	return nil
}
