package badger

import (
	"context"

	"github.com/isohound/isohound/drivers"
)

// Badger has no conditional statements. A lightweight transaction is its own Badger transaction;
// it is atomic because Badger detects conflicts at the commit. A conflict is reported and not
// retried here, so that the history contains the attempt.

// ReadOne implements drivers.LWT.
func (s session) ReadOne(ctx context.Context, key string) (int64, bool, error) {
	t := s.store.NewTransaction(false)
	defer t.Discard()
	return tx{t: t}.Read(ctx, key)
}

// InsertIfAbsent implements drivers.LWT.
func (s session) InsertIfAbsent(ctx context.Context, key string, value int64) (bool, error) {
	return s.setIf(ctx, key, value, func(_ int64, found bool) bool { return !found })
}

// CompareAndSet implements drivers.LWT.
func (s session) CompareAndSet(ctx context.Context, key string, old, value int64) (bool, error) {
	return s.setIf(ctx, key, value, func(v int64, found bool) bool { return found && v == old })
}

// setIf sets key if its value passes the test wanted. If it does not, nothing is committed: the
// value was read from a snapshot taken during the call.
func (s session) setIf(ctx context.Context, key string, value int64, wanted func(v int64, found bool) bool) (bool, error) {
	t := s.store.NewTransaction(true)
	defer t.Discard()
	x := tx{t: t}
	v, found, err := x.Read(ctx, key)
	if err != nil || !wanted(v, found) {
		return false, err
	}
	if err := x.Insert(ctx, key, value); err != nil {
		return false, err
	}
	if err := x.Commit(ctx); err != nil {
		return false, err
	}
	return true, nil
}

var _ drivers.LWT = session{}
