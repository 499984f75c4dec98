package bbolt

import (
	"bytes"
	"context"

	"go.etcd.io/bbolt"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/drivers/tablekv"
)

type session struct {
	db   *db
	open *tx // the transaction in progress, which holds db.writer
}

// Begin waits until no other transaction is open, or until ctx ends.
func (s *session) Begin(ctx context.Context) (drivers.Tx, error) {
	if err := s.db.lock(ctx); err != nil {
		return nil, err
	}
	t, err := s.db.store.Begin(true)
	if err != nil {
		s.db.unlock()
		return nil, failure(err)
	}
	b := t.Bucket(bucket)
	s.open = &tx{s: s, t: t, b: b, id: int64(t.ID()), Tx: tablekv.Tx{Store: pairs{b}}}
	return s.open, nil
}

// Close rolls back an open transaction.
func (s *session) Close() {
	if s.open != nil {
		s.open.end(s.open.t.Rollback)
	}
}

// ReadOne implements drivers.LWT with a read-only transaction, which sees everything committed
// before it began and never waits.
func (s *session) ReadOne(_ context.Context, key string) (value int64, found bool, err error) {
	err = s.db.store.View(func(t *bbolt.Tx) error {
		value, found, err = read(t.Bucket(bucket), key)
		return err
	})
	return value, found, failure(err)
}

// InsertIfAbsent implements drivers.LWT.
func (s *session) InsertIfAbsent(ctx context.Context, key string, value int64) (bool, error) {
	return s.alone(ctx, key, value, func(_ int64, found bool) bool { return !found })
}

// CompareAndSet implements drivers.LWT.
func (s *session) CompareAndSet(ctx context.Context, key string, old, value int64) (bool, error) {
	return s.alone(ctx, key, value, func(now int64, found bool) bool { return found && now == old })
}

// alone sets key in its own transaction if its value passes the test.
func (s *session) alone(ctx context.Context, key string, value int64, test func(now int64, found bool) bool) (bool, error) {
	begun, err := s.Begin(ctx)
	if err != nil {
		return false, err
	}
	x := begun.(*tx)
	now, found, err := read(x.b, key)
	if err == nil && test(now, found) {
		if err = x.b.Put([]byte(key), encode(value)); err == nil {
			err := x.Commit(ctx)
			return err == nil, err
		}
	}
	if rerr := x.Rollback(ctx); err == nil {
		err = rerr
	}
	return false, failure(err)
}

type tx struct {
	s *session
	t *bbolt.Tx
	b *bbolt.Bucket
	// id is kept because bbolt forgets it when the transaction ends.
	id int64
	tablekv.Tx
}

// TxnID implements drivers.TxnIDer. The ids of committed transactions grow in the order of the
// commits. The id of a rolled-back transaction is reused by the next one.
func (x *tx) TxnID() int64 { return x.id }

// Positions implements drivers.Positioner.
func (*db) Positions() string { return "transaction ids" }

// Position implements drivers.Positioned. A transaction sees all those before it.
func (x *tx) Position() drivers.Position {
	return drivers.Position{Commit: x.id, Snapshot: x.id - 1, Snapped: true}
}

func (x *tx) Read(_ context.Context, key string) (int64, bool, error) {
	v, found, err := read(x.b, key)
	return v, found, failure(err)
}

func read(b *bbolt.Bucket, key string) (int64, bool, error) {
	raw := b.Get([]byte(key))
	if raw == nil {
		return 0, false, nil
	}
	v, err := decode(raw)
	return v, err == nil, err
}

// Insert sets the key. bbolt has no separate insertion.
func (x *tx) Insert(_ context.Context, key string, value int64) error {
	return failure(x.b.Put([]byte(key), encode(value)))
}

// Update sets the key. bbolt does not report whether it existed.
func (x *tx) Update(_ context.Context, key string, value int64) (bool, error) {
	return true, failure(x.b.Put([]byte(key), encode(value)))
}

// Delete removes the key. bbolt does not report whether it existed.
func (x *tx) Delete(_ context.Context, key string) (bool, error) {
	return true, failure(x.b.Delete([]byte(key)))
}

func (x *tx) Commit(context.Context) error {
	if err := x.end(x.t.Commit); err != nil {
		return &drivers.Error{Class: drivers.OutcomeUnknown, Cause: "error at commit", Broken: true, Err: err}
	}
	return nil
}

func (x *tx) Rollback(context.Context) error { return x.end(x.t.Rollback) }

// end ends the transaction by calling how, once, and lets the next one begin.
func (x *tx) end(how func() error) error {
	if x.s.open != x {
		return bbolt.ErrTxClosed
	}
	err := how()
	if err != nil {
		// A failed commit may leave the transaction open. If the commit closed it, Rollback only
		// returns an error that it is closed.
		x.t.Rollback()
	}
	x.s.open = nil
	x.s.db.unlock()
	return err
}

// failure classifies an error of any call but a commit. Such errors are permanent.
func failure(err error) error {
	if err == nil {
		return nil
	}
	return &drivers.Error{Class: drivers.Fatal, Cause: "bbolt error", Err: err}
}

// pairs implements tablekv.Store.
type pairs struct{ b *bbolt.Bucket }

func (p pairs) Get(_ context.Context, key []byte) ([]byte, error) { return p.b.Get(key), nil }

func (p pairs) Put(_ context.Context, key, value []byte) error { return failure(p.b.Put(key, value)) }

func (p pairs) Remove(_ context.Context, key []byte) error { return failure(p.b.Delete(key)) }

func (p pairs) Ascend(ctx context.Context, prefix []byte, f func(key, value []byte) bool) error {
	c := p.b.Cursor()
	for k, v := c.Seek(prefix); k != nil && bytes.HasPrefix(k, prefix); k, v = c.Next() {
		if ctx.Err() != nil {
			return &drivers.Error{Class: drivers.Aborted, Cause: "call timed out", Err: context.Cause(ctx)}
		}
		if !f(k, v) {
			return nil
		}
	}
	return nil
}
