package duckdb

import (
	"context"
	"database/sql"

	"github.com/isohound/isohound/drivers"
)

// session is one connection. BEGIN and COMMIT are sent as statements, because the transactions of database/sql roll
// back by themselves when a context ends.
type session struct{ c *sql.Conn }

func (s *session) Begin(ctx context.Context) (drivers.Tx, error) {
	if _, err := s.c.ExecContext(ctx, "BEGIN"); err != nil {
		return nil, statementError(err)
	}
	return tx{s.c}, nil
}

// Close closes the connection, which rolls back an open transaction.
func (s *session) Close() { _ = s.c.Close() }

// ReadOne implements drivers.LWT.
func (s *session) ReadOne(ctx context.Context, key string) (int64, bool, error) {
	return tx{s.c}.Read(ctx, key)
}

// InsertIfAbsent implements drivers.LWT. DO NOTHING is for rows that the statement sees; for others the insertion
// fails, and nothing is done.
func (s *session) InsertIfAbsent(ctx context.Context, key string, value int64) (bool, error) {
	return s.alone(ctx, "INSERT INTO kv VALUES (?, ?) ON CONFLICT DO NOTHING", key, value)
}

// CompareAndSet implements drivers.LWT.
func (s *session) CompareAndSet(ctx context.Context, key string, old, value int64) (bool, error) {
	return s.alone(ctx, "UPDATE kv SET v = ? WHERE k = ? AND v = ?", value, key, old)
}

// alone runs a statement that writes, as its own transaction.
func (s *session) alone(ctx context.Context, query string, args ...any) (bool, error) {
	// An interrupted statement might already have committed.
	res, err := s.c.ExecContext(context.WithoutCancel(ctx), query, args...)
	if err != nil {
		return false, commitError(err)
	}
	n, err := res.RowsAffected()
	return n > 0, commitError(err)
}

type tx struct{ c *sql.Conn }

func (x tx) Read(ctx context.Context, key string) (value int64, found bool, err error) {
	err = x.c.QueryRowContext(ctx, "SELECT v FROM kv WHERE k = ?", key).Scan(&value)
	if err == sql.ErrNoRows {
		return 0, false, nil
	}
	return value, err == nil, statementError(err)
}

func (x tx) Insert(ctx context.Context, key string, value int64) error {
	_, err := x.write(ctx, "INSERT INTO kv VALUES (?, ?)", key, value)
	return err
}

func (x tx) Update(ctx context.Context, key string, value int64) (bool, error) {
	return x.write(ctx, "UPDATE kv SET v = ? WHERE k = ?", value, key)
}

func (x tx) Delete(ctx context.Context, key string) (bool, error) {
	return x.write(ctx, "DELETE FROM kv WHERE k = ?", key)
}

func (x tx) write(ctx context.Context, query string, args ...any) (bool, error) {
	res, err := x.c.ExecContext(ctx, query, args...)
	if err != nil {
		return false, statementError(err)
	}
	n, err := res.RowsAffected()
	return n > 0, statementError(err)
}

// Commit is not interrupted when ctx ends, so that its result is certain. DuckDB answers a COMMIT after a failed
// statement as if it had committed, and rolls back; the contract of drivers.Tx asks for Rollback then.
func (x tx) Commit(ctx context.Context) error {
	_, err := x.c.ExecContext(context.WithoutCancel(ctx), "COMMIT")
	return commitError(err)
}

func (x tx) Rollback(ctx context.Context) error {
	if _, err := x.c.ExecContext(context.WithoutCancel(ctx), "ROLLBACK"); err != nil {
		return &drivers.Error{Class: drivers.Aborted, Cause: cause(err), Broken: true, Err: err}
	}
	return nil
}
