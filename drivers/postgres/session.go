package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/isohound/isohound/drivers"
)

type session struct {
	c   *pgx.Conn
	db  *db
	opt pgx.TxOptions
}

func (s *session) Begin(ctx context.Context) (drivers.Tx, error) {
	t, err := s.c.BeginTx(ctx, s.opt)
	if err != nil {
		return nil, statementError(err, s.c)
	}
	return &tx{t: t, c: s.c, db: s.db}, nil
}

func (s *session) Close() {
	// A broken connection may not close properly; it is cut after the timeout.
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	s.c.Close(ctx)
}

type tx struct {
	t  pgx.Tx
	c  *pgx.Conn
	db *db
	id int64
	// asked: the first statement was sent. snapshot is what the server said with its answer.
	asked    bool
	snapshot *drivers.Snapshot
	// versions are the positions of what the latest reads of keys returned, if the server tells them. wrote has the keys that the
	// transaction wrote.
	versions map[string]int64
	wrote    map[string]bool
}

func (x *tx) Read(ctx context.Context, key string) (value int64, found bool, err error) {
	if x.db.placed {
		var written string
		err = x.row(ctx, "SELECT v, "+writtenAt+" FROM kv WHERE k = $1", key).Scan(&value, &written)
		x.saw(key, written)
	} else {
		err = x.row(ctx, "SELECT v FROM kv WHERE k = $1", key).Scan(&value)
	}
	if err == pgx.ErrNoRows {
		return 0, false, nil
	}
	return value, err == nil, statementError(err, x.c)
}

// ReadMany implements drivers.ManyReader.
func (x *tx) ReadMany(ctx context.Context, keys []string) ([]drivers.Found, error) {
	var key string
	var value int64
	columns, written := "k, v", ""
	into := []any{&key, &value}
	if x.db.placed {
		columns, into = columns+", "+writtenAt, append(into, &written)
	}
	rows, err := x.rows(ctx, "SELECT "+columns+" FROM kv WHERE k = ANY($1)", keys)
	if err != nil {
		return nil, statementError(err, x.c)
	}
	found := make(map[string]int64, len(keys))
	if _, err := pgx.ForEachRow(rows, into, func() error {
		found[key] = value
		x.saw(key, written)
		return nil
	}); err != nil {
		return nil, statementError(err, x.c)
	}
	return drivers.InOrder(keys, found), nil
}

// Writes return the transaction's id, which costs no extra round trip.

func (x *tx) Insert(ctx context.Context, key string, value int64) error {
	x.noteWrite(key)
	_, err := x.write(ctx, "INSERT INTO kv (k, v) VALUES ($1, $2)", key, value)
	return err
}

func (x *tx) Update(ctx context.Context, key string, value int64) (bool, error) {
	x.noteWrite(key)
	return x.write(ctx, "UPDATE kv SET v = $2 WHERE k = $1", key, value)
}

func (x *tx) Delete(ctx context.Context, key string) (bool, error) {
	x.noteWrite(key)
	return x.write(ctx, "DELETE FROM kv WHERE k = $1", key)
}

func (x *tx) write(ctx context.Context, sql string, args ...any) (bool, error) {
	err := x.row(ctx, sql+x.db.returning, args...).Scan(&x.id)
	if err == pgx.ErrNoRows {
		return false, nil
	}
	return err == nil, x.failed(err)
}

// failed classifies an error of a statement. A standby refuses writes; this must not end a run
// that has a primary.
func (x *tx) failed(err error) error {
	e := statementError(err, x.c)
	if x.db.standby && isCode(err, readOnlyTransaction) {
		e.(*drivers.Error).Class = drivers.Refused
	}
	return e
}

func (x *tx) TxnID() int64 { return x.id }

func (x *tx) Commit(ctx context.Context) error { return commitError(x.t.Commit(ctx), x.c) }

func (x *tx) Rollback(ctx context.Context) error {
	if err := x.t.Rollback(ctx); err != nil && err != pgx.ErrTxClosed {
		return statementError(err, x.c)
	}
	return nil
}
