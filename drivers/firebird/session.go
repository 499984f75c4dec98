package firebird

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"time"

	"github.com/isohound/isohound/drivers"
)

// session is one connection at a time.
type session struct {
	db    *db
	tx    *tx
	begun int
}

// The client keeps each transaction of a connection until the connection is closed, so a session changes to a new
// connection after perConnection transactions.
const perConnection = 20_000

// renew connects, and leaves a mark by which Remnants finds the session.
func (s *session) renew(ctx context.Context) error {
	if s.tx != nil {
		s.tx.Close()
	}
	x, err := s.db.connect(ctx, sql.LevelReadCommitted)
	if err != nil {
		return err
	}
	err = x.within(ctx, func(ctx context.Context, x *tx) error {
		var was int
		return x.c.QueryRowContext(ctx, "SELECT RDB$SET_CONTEXT('USER_SESSION', '"+mark+"', CAST(? AS VARCHAR(40))) FROM RDB$DATABASE", s.db.schema).Scan(&was)
	})
	if err != nil {
		x.Close()
		return err
	}
	x.level = sqldriver.IsolationLevel(s.db.level)
	s.tx, s.begun = x, 0
	return nil
}

func (s *session) Begin(ctx context.Context) (drivers.Tx, error) {
	if s.begun == perConnection {
		if err := s.renew(ctx); err != nil {
			return nil, connectError(err)
		}
	}
	s.begun++
	if err := s.tx.begin(ctx); err != nil {
		e := statementError(err).(*drivers.Error)
		e.Broken = true // the client has no transaction any more
		return nil, e
	}
	return s.tx, nil
}

func (s *session) Close() { s.tx.Close() }

// tx is a connection with its transaction in progress. The transactions of database/sql roll back by themselves when a
// context ends, so those of the client are used.
type tx struct {
	c     *sql.Conn
	db    *db
	level sqldriver.IsolationLevel
	t     sqldriver.Tx
	call  call
}

// call is the context of the current call. The client takes the context of a commit with the begin of the transaction.
type call struct{ context.Context }

func (x *tx) begin(ctx context.Context) error {
	x.call.Context = ctx
	return x.c.Raw(func(c any) (err error) {
		x.t, err = c.(sqldriver.ConnBeginTx).BeginTx(&x.call, sqldriver.TxOptions{Isolation: x.level})
		return err
	})
}

func (x *tx) commit(ctx context.Context) error {
	x.call.Context = ctx
	return x.c.Raw(func(any) error { return x.t.Commit() })
}

// within runs f in a transaction.
func (x *tx) within(ctx context.Context, f func(context.Context, *tx) error) error {
	if err := x.begin(ctx); err != nil {
		return err
	}
	if err := f(ctx, x); err != nil {
		_ = x.Rollback(ctx)
		return err
	}
	return x.commit(ctx)
}

// passed is a context whose deadline has passed, and which has not ended.
type passed struct{ context.Context }

func (passed) Deadline() (time.Time, bool) { return time.Unix(1, 0), true }

func (passed) Done() <-chan struct{} { return make(chan struct{}) }

// Close drops the connection, which makes the server roll back. Otherwise the client would roll back each transaction
// that the connection ever had, one after another. A call that fails for its deadline makes it drop the connection.
func (x *tx) Close() {
	_ = x.c.Raw(func(c any) error { return c.(sqldriver.Pinger).Ping(passed{context.Background()}) })
	_ = x.c.Close()
}

func (x *tx) Read(ctx context.Context, key string) (value int64, found bool, err error) {
	err = x.c.QueryRowContext(ctx, "SELECT v FROM "+quoted(x.db.keys())+" WHERE k = ?", key).Scan(&value)
	if err == sql.ErrNoRows {
		return 0, false, nil
	}
	return value, err == nil, statementError(err)
}

func (x *tx) Insert(ctx context.Context, key string, value int64) error {
	_, err := x.write(ctx, "INSERT INTO "+quoted(x.db.keys())+" (k, v) VALUES (?, ?)", key, value)
	return err
}

func (x *tx) Update(ctx context.Context, key string, value int64) (bool, error) {
	return x.write(ctx, "UPDATE "+quoted(x.db.keys())+" SET v = ? WHERE k = ?", value, key)
}

func (x *tx) Delete(ctx context.Context, key string) (bool, error) {
	return x.write(ctx, "DELETE FROM "+quoted(x.db.keys())+" WHERE k = ?", key)
}

func (x *tx) write(ctx context.Context, query string, args ...any) (bool, error) {
	begun := time.Now()
	res, err := x.c.ExecContext(ctx, query, args...)
	if err != nil {
		return false, x.db.failed(begun, err)
	}
	n, err := res.RowsAffected()
	return n > 0, statementError(err)
}

func (x *tx) Commit(ctx context.Context) error { return commitError(x.commit(ctx)) }

func (x *tx) Rollback(context.Context) error {
	err := x.c.Raw(func(any) error { return x.t.Rollback() })
	if err == nil {
		return nil
	}
	e := statementError(err).(*drivers.Error)
	e.Broken = true
	return e
}
