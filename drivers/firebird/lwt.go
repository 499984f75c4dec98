package firebird

import (
	"context"

	"github.com/nakagami/firebirdsql"
	"github.com/pkg/errors"

	"github.com/isohound/isohound/drivers"
)

// Each statement has its own transaction at the requested isolation.

// ReadOne implements drivers.LWT.
func (s *session) ReadOne(ctx context.Context, key string) (value int64, found bool, err error) {
	if _, err = s.Begin(ctx); err != nil {
		return 0, false, err
	}
	if value, found, err = s.tx.Read(ctx, key); err != nil {
		return 0, false, s.undo(ctx, err)
	}
	if err := s.tx.commit(ctx); err != nil {
		e := statementError(err).(*drivers.Error) // a read has no effect that could be unknown
		e.Broken = true
		return 0, false, e
	}
	return value, found, nil
}

// InsertIfAbsent implements drivers.LWT. It is a plain INSERT, which fails if the key exists.
func (s *session) InsertIfAbsent(ctx context.Context, key string, value int64) (bool, error) {
	applied, err := s.single(ctx, "INSERT INTO "+quoted(s.db.keys())+" (k, v) VALUES (?, ?)", key, value)
	var fe *firebirdsql.FbError
	if e := drivers.AsError(err); err != nil && !e.Broken && errors.As(err, &fe) && has(fe, firebirdsql.ISCUniqueKeyViolation, firebirdsql.ISCNoDup) {
		return false, nil
	}
	return applied, err
}

// CompareAndSet implements drivers.LWT. The count is the number of rows found, so setting a key to the value it already
// has counts as applied.
func (s *session) CompareAndSet(ctx context.Context, key string, old, value int64) (bool, error) {
	return s.single(ctx, "UPDATE "+quoted(s.db.keys())+" SET v = ? WHERE k = ? AND v = ?", value, key, old)
}

// single runs a write in its own transaction.
func (s *session) single(ctx context.Context, query string, args ...any) (bool, error) {
	if _, err := s.Begin(ctx); err != nil {
		return false, err
	}
	applied, err := s.tx.write(ctx, query, args...)
	if err != nil {
		return false, s.undo(ctx, err)
	}
	if err := s.tx.Commit(ctx); err != nil {
		return false, err
	}
	return applied, nil
}

// undo rolls back after an error of a statement, and returns that error.
func (s *session) undo(ctx context.Context, err error) error {
	e := drivers.AsError(err)
	if !e.Broken && s.tx.Rollback(ctx) != nil {
		e.Broken = true
	}
	return e
}

var _ drivers.LWT = (*session)(nil)
