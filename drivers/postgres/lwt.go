package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/pkg/errors"

	"github.com/isohound/isohound/drivers"
)

// Single statements outside a transaction run at the session's default
// isolation, which Connect sets to the one that was requested.

// ReadOne implements drivers.LWT.
func (s *session) ReadOne(ctx context.Context, key string) (value int64, found bool, err error) {
	err = s.c.QueryRow(ctx, "SELECT v FROM kv WHERE k = $1", key).Scan(&value)
	if err == pgx.ErrNoRows {
		return 0, false, nil
	}
	return value, err == nil, statementError(err, s.c)
}

// InsertIfAbsent implements drivers.LWT. If the key was inserted by a transaction outside the
// statement's snapshot, read committed does nothing, and stronger isolations fail with 40001.
func (s *session) InsertIfAbsent(ctx context.Context, key string, value int64) (bool, error) {
	return s.single(ctx, "INSERT INTO kv (k, v) VALUES ($1, $2) ON CONFLICT DO NOTHING", key, value)
}

// CompareAndSet implements drivers.LWT. If a row changes while the statement waits for it, read
// committed evaluates it again, and stronger isolations fail with 40001.
func (s *session) CompareAndSet(ctx context.Context, key string, old, value int64) (bool, error) {
	return s.single(ctx, "UPDATE kv SET v = $3 WHERE k = $1 AND v = $2", key, old, value)
}

// single sends a write that commits by itself. The commit happens after the row count is sent
// and may still fail; Exec waits for its result.
func (s *session) single(ctx context.Context, sql string, args ...any) (bool, error) {
	tag, err := s.c.Exec(ctx, sql, args...)
	return err == nil && tag.RowsAffected() > 0, s.failed(err)
}

// failed classifies an error of a write that commits by itself. An endpoint that is a standby
// refuses all writes.
func (s *session) failed(err error) error {
	if s.db.standby && isCode(err, readOnlyTransaction) {
		return (&tx{c: s.c, db: s.db}).failed(err)
	}
	return singleError(err, s.c)
}

// singleError classifies an error of a write that commits by itself. It certainly had no effect
// if the server refused the statement, if the error proves an abort of a commit, or if nothing
// was sent.
func singleError(err error, c *pgx.Conn) error {
	if err == nil {
		return nil
	}
	var pe *pgconn.PgError
	if !errors.As(err, &pe) && pgconn.SafeToRetry(err) {
		return statementError(err, c)
	}
	if pe != nil && !fatal(pe) && (hopeless(pe.Code) || pe.Code == lockNotAvailable) {
		return statementError(err, c)
	}
	return commitError(err, c)
}

var _ drivers.LWT = (*session)(nil)
