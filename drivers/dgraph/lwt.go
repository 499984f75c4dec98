package dgraph

import (
	"context"
	"fmt"

	"github.com/dgraph-io/dgo/v250/protos/api"
)

// Lightweight transactions are upsert blocks: one request runs a query, writes depending on its
// result, and commits.

// ReadOne implements drivers.LWT.
func (s *session) ReadOne(ctx context.Context, key string) (int64, bool, error) {
	resp, err := s.client.NewReadOnlyTxn().Query(ctx, s.db.place(key).query())
	if err != nil {
		return 0, false, statementError(err)
	}
	n, err := only(key, resp.Json)
	if err != nil || n == nil || n.Value == nil {
		return 0, false, err
	}
	return *n.Value, true, nil
}

// InsertIfAbsent implements drivers.LWT.
func (s *session) InsertIfAbsent(ctx context.Context, key string, value int64) (bool, error) {
	p := s.db.place(key)
	found, err := s.upsert(ctx, key,
		fmt.Sprintf(`{ q(func: eq(%s, %q)) { n as uid } }`, p.key, p.text),
		&api.Mutation{Cond: "@if(eq(len(n), 0))", SetNquads: []byte(p.quads("_:n", value))})
	return err == nil && !found, err
}

// CompareAndSet implements drivers.LWT.
func (s *session) CompareAndSet(ctx context.Context, key string, old, value int64) (bool, error) {
	p := s.db.place(key)
	return s.upsert(ctx, key,
		fmt.Sprintf(`{ var(func: eq(%s, %q)) { n as uid w as %s } q(func: uid(n)) @filter(eq(val(w), %d)) { m as uid } }`, p.key, p.text, p.value, old),
		&api.Mutation{SetNquads: []byte(p.quad("uid(m)", value))})
}

// upsert reports whether the query found a node.
func (s *session) upsert(ctx context.Context, key, query string, m *api.Mutation) (bool, error) {
	resp, err := s.client.NewTxn().Do(ctx, &api.Request{Query: query, Mutations: []*api.Mutation{m}, CommitNow: true})
	if err != nil {
		return false, commitError(err)
	}
	n, err := only(key, resp.Json)
	return n != nil, err
}
