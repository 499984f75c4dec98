package redis

import (
	"bytes"
	"context"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/drivers/tablekv"
	"github.com/isohound/isohound/history/schema"
)

// A row has a key for each of its groups, and the sorted set of its table and group has the key as a member. All
// members have the same score, so that Redis orders them by their bytes. A set changes only when a row is added or
// removed.

// row is the key of a run, after its name and a colon, for a key of tablekv.
func row(key []byte) string { return "r" + string(key) }

// index is the key of the sorted set for keys of tablekv with a prefix: a zero byte, the table, a zero byte, the
// group.
func index(key string) string {
	end := 1 + strings.IndexByte(key[1:], 0) + 2
	return "i" + key[:end]
}

// entry is the command that keeps the sorted set right when a key is written, if it is that of a row.
func (d *db) entry(key string, absent bool) (command, bool) {
	member, ok := strings.CutPrefix(key, "r")
	if !ok {
		return command{}, false
	}
	set := d.name + ":" + index(member)
	if absent {
		return command{"ZREM", []any{set, member}}, true
	}
	return command{"ZADD", []any{set, 0, member}}, true
}

// CreateTables implements drivers.TableDB.
func (d *db) CreateTables(ctx context.Context, tables schema.Schema, rows iter.Seq2[*schema.Table, schema.Row]) error {
	if !d.watch {
		// A row that one transaction deletes and another one updates would be there in part.
		return errors.Errorf("redis: tables need isolation %s", watch)
	}
	if err := (driver{}).Info().CheckIndexes(tables); err != nil {
		return err
	}
	return d.fill(ctx, "rows", func(yield func(string, string) bool) {
		for t, r := range rows {
			for k, v := range tablekv.Pairs(t, r) {
				if !yield(row(k), string(v)) {
					return
				}
			}
		}
	}, func(key string) (command, bool) { return d.entry(key, false) })
}

// store implements tablekv.Store.
type store struct{ x *tx }

func (s store) Get(ctx context.Context, key []byte) ([]byte, error) {
	value, found, err := s.x.get(ctx, row(key))
	if err != nil || !found {
		return nil, err
	}
	return []byte(value), nil
}

func (s store) Put(_ context.Context, key, value []byte) error {
	s.x.writes[row(key)] = write{value: string(value)}
	return nil
}

func (s store) Remove(_ context.Context, key []byte) error {
	s.x.writes[row(key)] = write{absent: true}
	return nil
}

// Torn implements tablekv.Torn: transactions were committed between the reads, so this one will abort.
func (s store) Torn(err error) error { return changed(err) }

func changed(err error) error {
	return &drivers.Error{Class: drivers.Aborted, Cause: "conflict while reading", Err: err}
}

// Ascend reads the sorted set and then the rows, all of which are watched.
func (s store) Ascend(ctx context.Context, prefix []byte, f func(key, value []byte) bool) error {
	x, name := s.x, s.x.s.db.name+":"
	next := bytes.Clone(prefix)
	for next[len(next)-1] == 0xff { // the first byte is 0
		next = next[:len(next)-1]
	}
	next[len(next)-1]++
	reply, err := x.fetch(ctx, "ZRANGEBYLEX", []any{name + index(string(prefix))}, "["+string(prefix), "("+string(next))
	if err != nil {
		return statementError(err)
	}
	rows := map[string]string{}
	members, _ := reply.([]any)
	for some := range slices.Chunk(members, batch) {
		var keys []any
		for _, m := range some {
			keys = append(keys, name+row([]byte(text(m))))
		}
		reply, err := x.fetch(ctx, "MGET", keys)
		if err != nil {
			return statementError(err)
		}
		values, _ := reply.([]any)
		for n, m := range some {
			if n >= len(values) || values[n] == nil {
				return changed(errors.New("a row was removed while a scan read it"))
			}
			rows[text(m)] = text(values[n])
		}
	}
	for k, w := range x.writes {
		key, ok := strings.CutPrefix(k, row(prefix))
		switch key = string(prefix) + key; {
		case !ok:
		case w.absent:
			delete(rows, key)
		default:
			rows[key] = w.value
		}
	}
	for _, key := range slices.Sorted(maps.Keys(rows)) {
		if !f([]byte(key), []byte(rows[key])) {
			return nil
		}
	}
	return nil
}

var (
	_ drivers.TableDB = (*db)(nil)
	_ drivers.TableTx = (*tx)(nil)
	_ tablekv.Torn    = store{}
)
