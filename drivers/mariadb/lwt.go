package mariadb

import (
	"context"

	"github.com/go-sql-driver/mysql"
	"github.com/pkg/errors"

	"github.com/isohound/isohound/drivers"
)

// Single statements outside a transaction commit by themselves, at the session's isolation,
// because sessions have autocommit on.

// ReadOne implements drivers.LWT.
func (s *session) ReadOne(ctx context.Context, key string) (value int64, found bool, err error) {
	return s.tx.Read(ctx, key)
}

// InsertIfAbsent implements drivers.LWT. It is a plain INSERT, which fails if the key exists.
// INSERT IGNORE would turn other errors into warnings.
func (s *session) InsertIfAbsent(ctx context.Context, key string, value int64) (bool, error) {
	_, err := s.single(ctx, "INSERT INTO kv (k, v) VALUES (?, ?)", key, value)
	var me *mysql.MySQLError
	if errors.As(err, &me) && me.Number == duplicateKey {
		return false, nil
	}
	return err == nil, s.failed(err)
}

// CompareAndSet implements drivers.LWT. The count is the number of rows found (ClientFoundRows),
// so setting a key to the value it already has counts as applied.
func (s *session) CompareAndSet(ctx context.Context, key string, old, value int64) (bool, error) {
	n, err := s.single(ctx, "UPDATE kv SET v = ? WHERE k = ? AND v = ?", value, key, old)
	return n > 0, s.failed(err)
}

func (s *session) single(ctx context.Context, query string, args ...any) (int64, error) {
	res, err := s.tx.c.ExecContext(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// failed classifies an error of a write that commits by itself. An endpoint that is a replica
// refuses all writes.
func (s *session) failed(err error) error {
	if err != nil && s.tx.readOnly && isNumber(err, readOnly) {
		return s.tx.failed(err)
	}
	return singleError(err)
}

// singleError classifies an error of a write that commits by itself. It certainly had no effect
// if the server refused the statement or explicitly rolled it back. Any other error may have
// happened at its commit.
func singleError(err error) error {
	if err == nil {
		return nil
	}
	var me *mysql.MySQLError
	if errors.As(err, &me) && (me.Number == lockWaitTimeout || me.Number == recordChanged) {
		return statementError(err)
	}
	if e := statementError(err).(*drivers.Error); e.Class == drivers.Fatal && !isNumber(err, diskFull) {
		return e
	}
	return commitError(err)
}

var _ drivers.LWT = (*session)(nil)
