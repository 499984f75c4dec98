package dgraph

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/dgraph-io/dgo/v250"
	"github.com/dgraph-io/dgo/v250/protos/api"
	"github.com/pkg/errors"

	"github.com/isohound/isohound/drivers"
)

type session struct {
	client *client
	db     *db
}

// Begin sends nothing: the first request of a transaction takes its snapshot.
func (s *session) Begin(context.Context) (drivers.Tx, error) {
	return &tx{db: s.db, txn: s.client.NewTxn(), nodes: map[string]string{}}, nil
}

func (s *session) Close() { s.client.close() }

// tx is a transaction. A key is a node with two predicates, its name and its value. The server
// keeps writes private until the commit. The commit fails if another transaction has committed a
// write to the same value, or of the same key, since the snapshot.
type tx struct {
	db  *db
	txn *dgo.Txn
	// nodes are the nodes of keys that this transaction has read or created. They do not change
	// during the transaction.
	nodes   map[string]string
	startTs uint64
	// commitTs is the commit timestamp, 0 if nothing was changed.
	commitTs uint64
}

// TxnID implements drivers.TxnIDer. It is the timestamp of the snapshot, which is unique.
func (x *tx) TxnID() int64 { return int64(x.startTs) }

// node is the result of the query of a key.
type node struct {
	UID   string `json:"uid"`
	Value *int64 `json:"v"`
}

// query finds the node of a key.
func (p place) query() string {
	return fmt.Sprintf(`{ q(func: eq(%s, %q)) { uid v: %s } }`, p.key, p.text, p.value)
}

// quads are the triples that give a node a key and a value.
func (p place) quads(uid string, value int64) string {
	return fmt.Sprintf("%s <%s> %q .\n%s", uid, p.key, p.text, p.quad(uid, value))
}

func (p place) quad(uid string, value int64) string {
	return fmt.Sprintf("%s <%s> \"%d\"^^<xs:int> .\n", uid, p.value, value)
}

// only returns the single node in an answer, nil if there is none. Two nodes would be two keys
// with one name, which @upsert prevents.
func only(key string, answer []byte) (*node, error) {
	var out struct {
		Q []node `json:"q"`
	}
	if err := json.Unmarshal(answer, &out); err != nil {
		return nil, &drivers.Error{Class: drivers.Fatal, Cause: "answer not understood", Broken: true, Err: err}
	}
	switch len(out.Q) {
	case 0:
		return nil, nil
	case 1:
		return &out.Q[0], nil
	}
	return nil, &drivers.Error{Class: drivers.Fatal, Cause: "two nodes with one key", Err: errors.Errorf("Dgraph has %d nodes with key %q, in spite of @upsert", len(out.Q), key)}
}

func (x *tx) find(ctx context.Context, key string) (*node, error) {
	resp, err := x.txn.Query(ctx, x.db.place(key).query())
	if err != nil {
		return nil, statementError(err)
	}
	x.startTs = resp.GetTxn().GetStartTs()
	n, err := only(key, resp.Json)
	if n != nil {
		x.nodes[key] = n.UID
	}
	return n, err
}

// Read implements drivers.Tx. A node without a value counts as an absent key, because no
// transaction leaves such a node.
func (x *tx) Read(ctx context.Context, key string) (int64, bool, error) {
	n, err := x.find(ctx, key)
	if err != nil || n == nil || n.Value == nil {
		return 0, false, err
	}
	return *n.Value, true, nil
}

// uid returns the node of a key, "" if there is none.
func (x *tx) uid(ctx context.Context, key string) (string, error) {
	if uid, ok := x.nodes[key]; ok {
		return uid, nil
	}
	n, err := x.find(ctx, key)
	if n == nil {
		return "", err
	}
	return n.UID, err
}

func (x *tx) mutate(ctx context.Context, m *api.Mutation) (*api.Response, error) {
	resp, err := x.txn.Mutate(ctx, m)
	if err != nil {
		return nil, statementError(err)
	}
	x.startTs = resp.GetTxn().GetStartTs()
	return resp, nil
}

func (x *tx) Insert(ctx context.Context, key string, value int64) error {
	uid, err := x.uid(ctx, key)
	if err != nil {
		return err
	}
	if uid != "" {
		return &drivers.Error{Class: drivers.Aborted, Cause: "duplicate key"}
	}
	resp, err := x.mutate(ctx, &api.Mutation{SetNquads: []byte(x.db.place(key).quads("_:n", value))})
	if err != nil {
		return err
	}
	x.nodes[key] = resp.Uids["n"]
	return nil
}

func (x *tx) Update(ctx context.Context, key string, value int64) (bool, error) {
	uid, err := x.uid(ctx, key)
	if err != nil || uid == "" {
		return false, err
	}
	_, err = x.mutate(ctx, &api.Mutation{SetNquads: []byte(x.db.place(key).quad("<"+uid+">", value))})
	return err == nil, err
}

func (x *tx) Delete(ctx context.Context, key string) (bool, error) {
	uid, err := x.uid(ctx, key)
	if err != nil || uid == "" {
		return false, err
	}
	p := x.db.place(key)
	_, err = x.mutate(ctx, &api.Mutation{DelNquads: fmt.Appendf(nil, "<%s> <%s> * .\n<%s> <%s> * .\n", uid, p.key, uid, p.value)})
	delete(x.nodes, key)
	return err == nil, err
}

// Commit implements drivers.Tx. A transaction that only read needs no request.
func (x *tx) Commit(ctx context.Context) error {
	return commitError(x.txn.Commit(context.WithValue(ctx, commitKey{}, &x.commitTs)))
}

// Rollback discards the transaction. It does not matter whether the server receives the message:
// without a commit the transaction has no effect, and it blocks nobody.
func (x *tx) Rollback(ctx context.Context) error { return statementError(x.txn.Discard(ctx)) }
