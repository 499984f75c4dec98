package cassandra

import (
	"context"

	"github.com/gocql/gocql"
	"github.com/pkg/errors"

	"github.com/isohound/isohound/drivers"
)

type session struct {
	s  *gocql.Session
	db *db
}

// Begin implements drivers.Session. Cassandra has no transactions.
func (s *session) Begin(context.Context) (drivers.Tx, error) {
	return nil, &drivers.Error{Class: drivers.Fatal, Cause: "no transactions", Err: errors.New("Cassandra has lightweight transactions only")}
}

func (s *session) Close() { s.s.Close() }

func (s *session) query(ctx context.Context, stmt string, args ...any) *gocql.Query {
	return s.s.Query(stmt, args...).WithContext(ctx).Idempotent(false)
}

// ReadOne implements drivers.LWT.
func (s *session) ReadOne(ctx context.Context, key string) (int64, bool, error) {
	var v int64
	err := s.query(ctx, "SELECT v FROM "+s.db.keyspace+".kv WHERE k = ?", []byte(key)).Consistency(s.db.iso.read).Scan(&v)
	if errors.Is(err, gocql.ErrNotFound) {
		return 0, false, nil
	}
	return v, err == nil, readError(err)
}

// InsertIfAbsent implements drivers.LWT.
func (s *session) InsertIfAbsent(ctx context.Context, key string, value int64) (bool, error) {
	return s.conditional(ctx, "INSERT INTO "+s.db.keyspace+".kv (k, v) VALUES (?, ?) IF NOT EXISTS", []byte(key), value)
}

// CompareAndSet implements drivers.LWT.
func (s *session) CompareAndSet(ctx context.Context, key string, old, value int64) (bool, error) {
	return s.conditional(ctx, "UPDATE "+s.db.keyspace+".kv SET v = ? WHERE k = ? IF v = ?", value, []byte(key), old)
}

// conditional returns the value of [applied] in the server's answer. The rest of the answer, the
// row's content if the condition failed, is not read.
func (s *session) conditional(ctx context.Context, stmt string, args ...any) (bool, error) {
	it := s.query(ctx, stmt, args...).Consistency(s.db.iso.write).SerialConsistency(s.db.iso.serial).Iter()
	row := map[string]any{}
	it.MapScan(row)
	if err := it.Close(); err != nil {
		return false, writeError(err)
	}
	applied, ok := row["[applied]"].(bool)
	if !ok {
		return false, &drivers.Error{Class: drivers.OutcomeUnknown, Cause: "answer not understood", Broken: true, Err: errors.Errorf("%v has no [applied]", row)}
	}
	return applied, nil
}
