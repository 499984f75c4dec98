package redis

import (
	"context"
	"slices"

	"github.com/gomodule/redigo/redis"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/drivers/tablekv"
)

type session struct {
	c  *conn
	db *db
}

// Begin sends nothing.
func (s *session) Begin(context.Context) (drivers.Tx, error) { return s.begin(s.db.watch), nil }

// Look implements drivers.Looker without WATCH, which compares each key with all that the connection watches already:
// 20,000 keys take minutes. Nothing is lost, since only EXEC looks at what was watched.
func (s *session) Look(context.Context) (drivers.Tx, error) { return s.begin(false), nil }

func (s *session) begin(watch bool) *tx {
	x := &tx{s: s, watch: watch, writes: map[string]write{}}
	x.Tx = tablekv.Tx{Store: store{x}}
	return x
}

func (s *session) Close() { s.c.Close() }

var _ drivers.Looker = (*session)(nil)

// write is what a transaction leaves of a key: a value, or nothing.
type write struct {
	value  string
	absent bool
}

// tx is an optimistic transaction. It collects its writes and sends them with the commit, between MULTI and EXEC.
//
// Why WATCH promises strict serializability on one server: Redis executes commands one after the other, and all
// that stands between MULTI and EXEC at once, when EXEC arrives. A key is watched before it is read, and what a scan
// finds is a key of its own, which is watched, too. EXEC does nothing if a watched key was written after its WATCH.
// So when EXEC is executed, all that the transaction has read is still what the keys hold, and it writes at the same
// moment: it acts as one step then, between its first call and its last. A transaction that only read ends with an
// EXEC, too, that only compares. What a transaction has read before it aborts need not be of one state.
//
// Without WATCH each read is of the newest commit, and the writes become visible at once, which is read committed.
type tx struct {
	s        *session
	watch    bool // reads watch their keys
	watching bool
	writes   map[string]write
	tablekv.Tx
}

// fetch runs a command that reads keys, which are watched before if the transaction watches.
func (x *tx) fetch(ctx context.Context, name string, keys []any, args ...any) (any, error) {
	read := command{name, slices.Concat(keys, args)}
	if !x.watch {
		return x.s.c.one(ctx, read.name, read.args...)
	}
	x.watching = true
	replies, err := x.s.c.all(ctx, command{"WATCH", keys}, read)
	if err != nil {
		return nil, err
	}
	return replies[1], nil
}

// get reads a key, given without the name of the run.
func (x *tx) get(ctx context.Context, key string) (value string, found bool, err error) {
	if w, ok := x.writes[key]; ok {
		return w.value, !w.absent, nil
	}
	reply, err := x.fetch(ctx, "GET", []any{x.s.db.name + ":" + key})
	if err != nil {
		return "", false, statementError(err)
	}
	return text(reply), reply != nil, nil
}

func (x *tx) Read(ctx context.Context, key string) (int64, bool, error) {
	s, found, err := x.get(ctx, plain(key))
	if err != nil || !found {
		return 0, false, err
	}
	v, err := decode(s)
	return v, true, err
}

// Insert sets the key at commit, whether it exists or not.
func (x *tx) Insert(_ context.Context, key string, value int64) error {
	x.writes[plain(key)] = write{value: encode(value)}
	return nil
}

// Update sets the key at commit. It does not check whether the key exists.
func (x *tx) Update(ctx context.Context, key string, value int64) (bool, error) {
	return true, x.Insert(ctx, key, value)
}

// Delete removes the key at commit. It does not check whether the key exists.
func (x *tx) Delete(_ context.Context, key string) (bool, error) {
	x.writes[plain(key)] = write{absent: true}
	return true, nil
}

func (x *tx) Commit(ctx context.Context) error {
	writes := x.commands()
	if len(writes) == 0 && !x.watching {
		return nil
	}
	cmds := slices.Concat([]command{{"MULTI", nil}}, writes, []command{{"EXEC", nil}})
	replies, err := x.s.c.exchange(ctx, cmds...)
	if err != nil && len(writes) == 0 {
		return statementError(err)
	}
	if err != nil {
		return writeError(err)
	}
	return outcome(cmds, replies)
}

// commands are the writes, in the order of their keys.
func (x *tx) commands() []command {
	keys := make([]string, 0, len(x.writes))
	for k := range x.writes {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	var out []command
	for _, k := range keys {
		w, key := x.writes[k], x.s.db.name+":"+k
		if w.absent {
			out = append(out, command{"DEL", []any{key}})
		} else {
			out = append(out, command{"SET", []any{key, w.value}})
		}
		if entry, ok := x.s.db.entry(k, w.absent); ok {
			out = append(out, entry)
		}
	}
	return out
}

// outcome reads the answers to MULTI, the writes and EXEC.
func outcome(cmds []command, replies []any) error {
	last := len(replies) - 1
	if e, ok := replies[0].(redis.Error); ok {
		// What follows a MULTI that is refused is executed command by command.
		class := drivers.OutcomeUnknown
		if last == 1 {
			class = drivers.Aborted
		}
		return &drivers.Error{Class: class, Cause: "MULTI refused", Broken: true, Err: &answerError{"MULTI", e}}
	}
	switch r := replies[last].(type) {
	case nil:
		return &drivers.Error{Class: drivers.Aborted, Cause: "conflict"}
	case redis.Error:
		// A command that was not queued says why.
		for n, q := range replies[1:last] {
			if e, ok := q.(redis.Error); ok && code(r) == "EXECABORT" {
				return answered(cmds[n+1].name, e, drivers.Aborted)
			}
		}
		return answered("EXEC", reason(r), drivers.OutcomeUnknown)
	case []any:
		for n, q := range r {
			// Redis does not undo the others.
			if e, ok := q.(redis.Error); ok {
				return &drivers.Error{Class: drivers.OutcomeUnknown, Cause: "a command failed within EXEC", Err: &answerError{cmds[n+1].name, e}}
			}
		}
		if len(r) == last-1 {
			return nil
		}
	}
	return &drivers.Error{Class: drivers.OutcomeUnknown, Cause: "unexpected answer to EXEC", Broken: true}
}

// Rollback forgets the writes, and what was watched.
func (x *tx) Rollback(ctx context.Context) error {
	if !x.watching {
		return nil
	}
	_, err := x.s.c.one(ctx, "UNWATCH")
	return statementError(err)
}
