package etcd

import (
	"context"
	"slices"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/isohound/isohound/drivers"
)

type session struct {
	c  *clientv3.Client
	db *db
}

// Begin sends nothing: the first read fixes the transaction's revision.
func (s *session) Begin(context.Context) (drivers.Tx, error) {
	return &tx{s: s, reads: map[string]version{}, writes: map[string]clientv3.Op{}, values: map[string]version{}}, nil
}

func (s *session) Close() { s.c.Close() }

// ReadOne implements drivers.LWT.
func (s *session) ReadOne(ctx context.Context, key string) (int64, bool, error) {
	v, _, err := s.get(ctx, key)
	return v.value, v.modified != 0, statementError(err)
}

// InsertIfAbsent implements drivers.LWT.
func (s *session) InsertIfAbsent(ctx context.Context, key string, value int64) (bool, error) {
	return s.putIf(ctx, key, value, clientv3.Compare(clientv3.CreateRevision(s.db.prefix+key), "=", 0))
}

// CompareAndSet implements drivers.LWT. An absent key has no value, so it equals no old value.
func (s *session) CompareAndSet(ctx context.Context, key string, old, value int64) (bool, error) {
	return s.putIf(ctx, key, value, clientv3.Compare(clientv3.Value(s.db.prefix+key), "=", encode(old)))
}

func (s *session) putIf(ctx context.Context, key string, value int64, cmp clientv3.Cmp) (bool, error) {
	resp, err := s.c.Txn(ctx).If(cmp).Then(clientv3.OpPut(s.db.prefix+key, encode(value))).Commit()
	if err != nil {
		return false, commitError(err)
	}
	return resp.Succeeded, nil
}

// version is the value of a key, and the revision at which it was written; 0 for an absent key.
type version struct{ value, modified int64 }

// get reads a key, and returns the store's revision at that moment.
func (s *session) get(ctx context.Context, key string, opts ...clientv3.OpOption) (v version, revision int64, err error) {
	resp, err := s.c.Get(ctx, s.db.prefix+key, opts...)
	if err != nil {
		return version{}, 0, err
	}
	if len(resp.Kvs) > 0 {
		v.modified = resp.Kvs[0].ModRevision
		if v.value, err = decode(resp.Kvs[0].Value); err != nil {
			return version{}, 0, err
		}
	}
	return v, resp.Header.Revision, nil
}

// tx is an optimistic transaction like those of etcd's package concurrency
// (client/v3/concurrency, stm.go). Its writes are sent with the commit, as one request, on the
// condition that every key that was read still has the modification revision that was read.
//
// Why serializable promises strict serializability: etcd applies requests that write one after
// the other, each at its own revision.
//
//   - A transaction that wrote: when its request was applied, all keys still
//     had the values that it had read (an absent key has modification
//     revision 0). So all its reads could have happened at that moment, and
//     it acts as one step between its first call and its last.
//   - A transaction that only read: all its reads return the state of the
//     store at one revision, that of its first read. That read is
//     linearizable, so the store had this revision at a moment during the
//     transaction, and the transaction acts then. Its commit needs no request.
//
// Serializable snapshot also requires that no written key was changed since that revision, which
// only aborts more. Repeatable reads compares as serializable does, but each read returns the
// key's current state at a member, which may be behind. So a transaction that only read must
// compare too, and acts when the comparison is done. Read committed compares nothing.
type tx struct {
	s      *session
	reads  map[string]version
	writes map[string]clientv3.Op
	// values are the values of the keys after the writes; an absent key has modified 0.
	values map[string]version
	// revision is the store's revision at the first read, 0 before.
	revision int64
	// committed is the revision of the writes.
	committed int64
	// at is the revision of the store when the request that committed was applied, 0 if there was none.
	at int64
}

// TxnID implements drivers.TxnIDer. It is the revision of the transaction's writes, known after
// the commit. It is unique, and the order of these ids is the order of the versions of every
// key. Transactions that only read have none.
func (x *tx) TxnID() int64 { return x.committed }

// Positions implements drivers.Positioner.
func (d *db) Positions() string { return "revisions" }

// Position implements drivers.Positioned. What a transaction of repeatable reads read may be of several revisions, but
// all of it was current when the commit compared it. Of one of serializable only its reads, not its writes, were
// compared with its first revision. At read committed nothing is compared.
func (x *tx) Position() drivers.Position {
	p := drivers.Position{Commit: x.at}
	switch isolation := x.s.db.isolation; {
	case len(x.writes) > 0 && isolation != serializableSnapshot:
	case isolation == readCommitted:
	case isolation == repeatableReads:
		p.Commit, p.Snapshot, p.Snapped = 0, x.at, x.at != 0
	default:
		p.Snapshot, p.Snapped = x.revision, x.revision != 0
	}
	return p
}

// Version implements drivers.Versioned. It is the modification revision.
func (x *tx) Version(key string) (commit int64, told bool) {
	if _, wrote := x.values[key]; wrote {
		return 0, false
	}
	v := x.reads[key]
	return v.modified, v.modified != 0
}

func (x *tx) Read(ctx context.Context, key string) (int64, bool, error) {
	v, ok := x.values[key]
	if !ok {
		v, ok = x.reads[key]
	}
	if !ok {
		var err error
		var revision int64
		if v, revision, err = x.s.get(ctx, key, x.options()...); err != nil {
			return 0, false, statementError(err)
		}
		if x.revision == 0 {
			x.revision = revision
		}
		x.reads[key] = v
	}
	return v.value, v.modified != 0, nil
}

// options are the options of the next read.
func (x *tx) options() []clientv3.OpOption {
	switch {
	case x.s.db.isolation == repeatableReads || x.s.db.isolation == readCommitted:
		return []clientv3.OpOption{clientv3.WithSerializable()}
	case x.revision != 0:
		return []clientv3.OpOption{clientv3.WithRev(x.revision)}
	}
	return nil
}

// own stands for the revision of the transaction's own writes.
const own = 1

// Insert sets the key at commit, whether it exists or not.
func (x *tx) Insert(_ context.Context, key string, value int64) error {
	x.writes[key] = clientv3.OpPut(x.s.db.prefix+key, encode(value))
	x.values[key] = version{value, own}
	return nil
}

// Update sets the key at commit. It does not check whether the key exists.
func (x *tx) Update(ctx context.Context, key string, value int64) (bool, error) {
	return true, x.Insert(ctx, key, value)
}

// Delete removes the key at commit. It does not check whether the key exists.
func (x *tx) Delete(_ context.Context, key string) (bool, error) {
	x.writes[key] = clientv3.OpDelete(x.s.db.prefix + key)
	x.values[key] = version{}
	return true, nil
}

func (x *tx) Commit(ctx context.Context) error {
	isolation := x.s.db.isolation
	if len(x.writes) == 0 && (len(x.reads) == 0 || isolation != repeatableReads) {
		return nil
	}
	then := x.operations()
	if len(then) == 0 {
		// A member would answer a request that only compares from its own state, which may be
		// behind. A linearizable read in the request makes the member catch up first.
		then = append(then, clientv3.OpGet(x.s.db.prefix, clientv3.WithCountOnly()))
	}
	resp, err := x.s.c.Txn(ctx).If(x.conditions()...).Then(then...).Commit()
	if err != nil && len(x.writes) == 0 {
		return statementError(err)
	}
	if err != nil {
		return commitError(err)
	}
	if !resp.Succeeded {
		return &drivers.Error{Class: drivers.Aborted, Cause: "conflict"}
	}
	x.at = resp.Header.Revision
	// Deleting an absent key creates no revision.
	for _, r := range resp.Responses {
		if r.GetResponsePut() != nil || r.GetResponseDeleteRange().GetDeleted() > 0 {
			x.committed = resp.Header.Revision
		}
	}
	return nil
}

// conditions are the conditions of the writes.
func (x *tx) conditions() []clientv3.Cmp {
	isolation := x.s.db.isolation
	if isolation == readCommitted {
		return nil
	}
	var out []clientv3.Cmp
	for k, v := range x.reads {
		out = append(out, clientv3.Compare(clientv3.ModRevision(x.s.db.prefix+k), "=", v.modified))
	}
	if isolation == serializableSnapshot && x.revision != 0 {
		for k := range x.writes {
			if _, read := x.reads[k]; !read {
				out = append(out, clientv3.Compare(clientv3.ModRevision(x.s.db.prefix+k), "<", x.revision+1))
			}
		}
	}
	return out
}

// operations are the writes, in the order of their keys.
func (x *tx) operations() []clientv3.Op {
	keys := make([]string, 0, len(x.writes))
	for k := range x.writes {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	out := make([]clientv3.Op, len(keys))
	for i, k := range keys {
		out[i] = x.writes[k]
	}
	return out
}

// Rollback has nothing to undo.
func (*tx) Rollback(context.Context) error { return nil }
