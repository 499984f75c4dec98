package badger

import (
	"context"

	"github.com/isohound/isohound/drivers"
)

// Badger has no statement that compares: a lightweight transaction is a
// transaction of its own, and what keeps it atomic is that conflicts are
// detected at its commit. A conflict is told, not tried again here, so that
// the history has the attempt.

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

// setIf sets key if what it holds is as wanted. What is not written commits
// nothing: it was seen in the snapshot, which is as new as the call.
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
