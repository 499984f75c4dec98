package sim

import (
	"bytes"
	"context"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/drivers/tablekv"
	"github.com/isohound/isohound/history/schema"
)

// Read implements drivers.Tx.
func (t *tx) Read(ctx context.Context, key string) (int64, bool, error) {
	raw, err := t.get(ctx, key)
	if err != nil || raw == nil {
		return 0, false, err
	}
	v, err := decode(raw)
	if err != nil {
		return 0, false, &drivers.Error{Class: drivers.Fatal, Cause: "not a number", Err: err}
	}
	s := t.s
	if len(t.writes[key]) == 0 && s.wrote[0] != 0 && !s.keeps(programOrder) {
		v = 2*s.wrote[1] - s.wrote[0]
	}
	if !s.keeps(checksums) {
		v ^= 1 << (40 + s.rng.IntN(16))
	}
	return v, true, nil
}

// Insert implements drivers.Tx.
func (t *tx) Insert(ctx context.Context, key string, value int64) error {
	t.s.wrote = [2]int64{t.s.wrote[1], value}
	return t.insert(ctx, key, encode(value))
}

func (t *tx) insert(ctx context.Context, key string, value []byte) error {
	absent, err := t.set(ctx, key, value, false)
	if err == nil && !absent {
		return aborted("duplicate key")
	}
	return err
}

// Update implements drivers.Tx.
func (t *tx) Update(ctx context.Context, key string, value int64) (bool, error) {
	t.s.wrote = [2]int64{t.s.wrote[1], value}
	return t.set(ctx, key, encode(value), true)
}

// Delete implements drivers.Tx.
func (t *tx) Delete(ctx context.Context, key string) (bool, error) {
	return t.set(ctx, key, nil, true)
}

// swap changes key if it holds old.
func (t *tx) swap(ctx context.Context, key string, old, value []byte) (bool, error) {
	unlock, err := t.call()
	if err != nil {
		return false, err
	}
	defer unlock()
	if err := t.lockWrite(ctx, key); err != nil {
		return false, err
	}
	t.keep(key)
	if !bytes.Equal(t.look(key, false), old) {
		return false, nil
	}
	t.write(key, value)
	return true, nil
}

// InsertRow implements drivers.TableTx. It is an error if the row exists, as in a database with
// its own tables.
func (t *tx) InsertRow(ctx context.Context, table *schema.Table, row schema.Row) error {
	for k, v := range tablekv.Pairs(table, row) {
		if err := t.insert(ctx, string(k), v); err != nil {
			return err
		}
	}
	return nil
}

// pairs implements tablekv.Store.
type pairs struct{ t *tx }

func (p pairs) Get(ctx context.Context, key []byte) ([]byte, error) { return p.t.get(ctx, string(key)) }

// Version implements tablekv.Versioner.
func (p pairs) Version(key []byte) (commit int64, told bool) { return p.t.Version(string(key)) }

func (p pairs) Put(ctx context.Context, key, value []byte) error {
	return p.t.put(ctx, string(key), bytes.Clone(value))
}

func (p pairs) Remove(ctx context.Context, key []byte) error { return p.t.put(ctx, string(key), nil) }

func (p pairs) Ascend(ctx context.Context, prefix []byte, f func(key, value []byte) bool) error {
	found, err := p.t.scan(ctx, string(prefix))
	for _, x := range found {
		if err != nil || !f([]byte(x.key), x.value) {
			break
		}
	}
	return err
}
