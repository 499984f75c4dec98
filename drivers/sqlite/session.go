package sqlite

import (
	"context"
	"database/sql"
	"strings"

	"github.com/pkg/errors"
	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/isohound/isohound/drivers"
)

// session is one connection. BEGIN and COMMIT are sent as statements, because database/sql has
// no BEGIN IMMEDIATE.
type session struct {
	c     *sql.Conn
	begin string
	db    *db
	// position is that of the open transaction's commit, 0 before, or if it changed nothing.
	position int64
}

func (s *session) Begin(ctx context.Context) (drivers.Tx, error) {
	if _, err := s.c.ExecContext(ctx, s.begin); err != nil {
		return nil, statementError(err)
	}
	s.position = 0
	return tx{s.c, s}, nil
}

// Close closes the file, which rolls back an open transaction.
func (s *session) Close() { _ = s.c.Close() }

// ReadOne implements drivers.LWT.
func (s *session) ReadOne(ctx context.Context, key string) (int64, bool, error) {
	return tx{s.c, s}.Read(ctx, key)
}

// InsertIfAbsent implements drivers.LWT.
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

type tx struct {
	c *sql.Conn
	s *session
}

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

// Commit is not interrupted when ctx ends: SQLite itself limits the wait, and its result is then
// certain.
func (x tx) Commit(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	_, err := x.c.ExecContext(ctx, "COMMIT")
	err = commitError(err)
	if e := (*drivers.Error)(nil); errors.As(err, &e) && e.Class == drivers.Aborted {
		// The transaction is still open.
		if _, rerr := x.c.ExecContext(ctx, "ROLLBACK"); rerr != nil {
			e.Broken = true
		}
	}
	return err
}

func (x tx) Rollback(ctx context.Context) error {
	_, err := x.c.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
	return statementError(err)
}

// statementError classifies an error of any call but a commit. Whatever it is,
// the transaction did not commit.
func statementError(err error) error {
	if err == nil {
		return nil
	}
	code, ok := primary(err)
	switch {
	case !ok || code == lib.SQLITE_INTERRUPT:
		// SQLite may have rolled back by itself.
		return &drivers.Error{Class: drivers.Aborted, Cause: lost(err), Broken: true, Err: err}
	case code == lib.SQLITE_BUSY || code == lib.SQLITE_LOCKED || code == lib.SQLITE_CONSTRAINT:
		return &drivers.Error{Class: drivers.Aborted, Cause: cause(err), Err: err}
	}
	return &drivers.Error{Class: drivers.Fatal, Cause: cause(err), Err: err}
}

// commitError classifies an error of a commit, or of a statement that commits by itself. It is
// only certain that nothing was done if a lock was not available.
func commitError(err error) error {
	if err == nil {
		return nil
	}
	if code, ok := primary(err); ok && (code == lib.SQLITE_BUSY || code == lib.SQLITE_LOCKED) {
		return &drivers.Error{Class: drivers.Aborted, Cause: cause(err), Err: err}
	}
	return &drivers.Error{Class: drivers.OutcomeUnknown, Cause: cause(err), Broken: true, Err: err}
}

// primary returns the primary result code of an extended one.
func primary(err error) (int, bool) {
	var se *sqlite.Error
	if !errors.As(err, &se) {
		return 0, false
	}
	return se.Code() & 0xff, true
}

// cause names the result code.
func cause(err error) string {
	var se *sqlite.Error
	if !errors.As(err, &se) {
		return lost(err)
	}
	switch se.Code() {
	case lib.SQLITE_BUSY:
		return "SQLITE_BUSY"
	case lib.SQLITE_BUSY_SNAPSHOT:
		return "SQLITE_BUSY_SNAPSHOT"
	case lib.SQLITE_LOCKED, lib.SQLITE_LOCKED_SHAREDCACHE:
		return "SQLITE_LOCKED"
	case lib.SQLITE_CONSTRAINT_PRIMARYKEY, lib.SQLITE_CONSTRAINT_UNIQUE:
		return "duplicate key"
	}
	return strings.Join(strings.Fields(se.Error()), " ")
}

// lost names an error that does not come from SQLite.
func lost(err error) string {
	if code, ok := primary(err); ok && code == lib.SQLITE_INTERRUPT ||
		errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return "call timed out"
	}
	return "connection error"
}
