// Package tablekv stores tables in a transactional store of ordered keys: one pair for each
// group of each row. A scan reads all rows whose primary key begins with the values that the
// predicate fixes. So whatever protects single pairs in the store protects rows, and whatever
// protects ranges protects predicates.
package tablekv

import (
	"context"
	"encoding/binary"
	"iter"
	"slices"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/history/schema"
)

// Store is a transaction of a store. Its errors are those of a driver.
type Store interface {
	// Get returns nil for a key that does not exist.
	Get(ctx context.Context, key []byte) (value []byte, err error)
	Put(ctx context.Context, key, value []byte) error
	Remove(ctx context.Context, key []byte) error
	// Ascend calls f for each pair whose key begins with prefix, in the order of the keys'
	// bytes, until f returns false. f must not keep its arguments.
	Ascend(ctx context.Context, prefix []byte, f func(key, value []byte) bool) error
}

// Torn is a Store whose reads need not be of one state until the transaction commits. So a row may be there in part
// only. Torn makes an error of that the driver's.
type Torn interface{ Torn(err error) error }

// Versioner is a Store that knows which commit wrote what it has returned: see drivers.Versioned.
type Versioner interface {
	Version(key []byte) (commit int64, told bool)
}

// RowVersion implements drivers.VersionedRows.
func (x Tx) RowVersion(t *schema.Table, key []any, group int) (commit int64, told bool) {
	if s, ok := x.Store.(Versioner); ok {
		return s.Version(Key(t, group, key))
	}
	return 0, false
}

// Tx implements drivers.TableTx on a Store.
type Tx struct{ Store Store }

// Get implements drivers.TableTx.
func (x Tx) Get(ctx context.Context, t *schema.Table, key []any, groups []int) (schema.Row, bool, error) {
	row := schema.Row{Key: key, Groups: make([][]any, len(t.Groups))}
	for _, g := range groups {
		b, err := x.Store.Get(ctx, Key(t, g, key))
		if err != nil || b == nil {
			return schema.Row{}, false, err
		}
		if row.Groups[g], err = decode(t.Groups[g].Columns, b); err != nil {
			return schema.Row{}, false, err
		}
	}
	return row, true, nil
}

// InsertRow implements drivers.TableTx. An existing row is overwritten, because a store has no
// separate insertion.
func (x Tx) InsertRow(ctx context.Context, t *schema.Table, row schema.Row) error {
	for k, v := range Pairs(t, row) {
		if err := x.Store.Put(ctx, k, v); err != nil {
			return err
		}
	}
	return nil
}

// Set implements drivers.TableTx by a read and a write.
func (x Tx) Set(ctx context.Context, t *schema.Table, key []any, group int, exprs []schema.Expr) ([]any, bool, error) {
	k := Key(t, group, key)
	b, err := x.Store.Get(ctx, k)
	if err != nil || b == nil {
		return nil, false, err
	}
	before, err := decode(t.Groups[group].Columns, b)
	if err != nil {
		return nil, false, err
	}
	after := schema.After(before, exprs)
	return after, true, x.Store.Put(ctx, k, encode(t.Groups[group].Columns, after))
}

// Upsert implements drivers.TableTx by a read and a write.
func (x Tx) Upsert(ctx context.Context, t *schema.Table, row schema.Row, exprs []schema.Expr) ([]any, bool, error) {
	after, found, err := x.Set(ctx, t, row.Key, 0, exprs)
	if err != nil || found {
		return after, false, err
	}
	return row.Groups[0], true, x.Store.Put(ctx, Key(t, 0, row.Key), encode(t.Groups[0].Columns, row.Groups[0]))
}

// DeleteRow implements drivers.TableTx by a read and a removal.
func (x Tx) DeleteRow(ctx context.Context, t *schema.Table, key []any) (bool, error) {
	b, err := x.Store.Get(ctx, Key(t, 0, key))
	if err != nil || b == nil {
		return false, err
	}
	for g := range t.Groups {
		if err := x.Store.Remove(ctx, Key(t, g, key)); err != nil {
			return false, err
		}
	}
	return true, nil
}

// Scan implements drivers.TableTx. Groups that the predicate does not need are only read for the
// rows within the limit.
func (x Tx) Scan(ctx context.Context, t *schema.Table, p schema.Predicate, groups []int) ([]schema.Row, error) {
	looked := p.Columns(t)
	if len(looked) == 0 {
		looked = slices.Clone(groups[:min(1, len(groups))])
	}
	if len(looked) == 0 {
		looked = []int{0}
	}
	rows, err := x.rows(ctx, t, p, looked)
	if err != nil {
		return nil, err
	}
	rows = p.Arrange(t, rows)
	for i := range rows {
		for g := range rows[i].Groups {
			switch wanted := slices.Contains(groups, g); {
			case !wanted:
				rows[i].Groups[g] = nil
			case rows[i].Groups[g] == nil:
				if rows[i].Groups[g], err = x.group(ctx, t, rows[i].Key, g); err != nil {
					return nil, err
				}
			}
		}
	}
	return rows, nil
}

// rows reads the rows that fulfil the conditions of p, with groups.
func (x Tx) rows(ctx context.Context, t *schema.Table, p schema.Predicate, groups []int) ([]schema.Row, error) {
	first := groups[0]
	prefix, head := Key(t, first, p.Leading(t)), len(Key(t, first, nil))
	var rows []schema.Row
	var failed error
	err := x.Store.Ascend(ctx, prefix, func(k, v []byte) bool {
		row := schema.Row{Groups: make([][]any, len(t.Groups))}
		if row.Key, failed = decode(t.Key, k[head:]); failed == nil {
			row.Groups[first], failed = decode(t.Groups[first].Columns, v)
		}
		rows = append(rows, row)
		return failed == nil
	})
	if err == nil {
		err = failed
	}
	if err != nil {
		return nil, err
	}
	out := rows[:0]
	for _, r := range rows {
		if !possible(t, p, r) {
			continue
		}
		for _, g := range groups[1:] {
			if r.Groups[g], err = x.group(ctx, t, r.Key, g); err != nil {
				return nil, err
			}
		}
		if p.Matches(t, r) {
			out = append(out, r)
		}
	}
	return out, nil
}

// group reads one group of a row that is there.
func (x Tx) group(ctx context.Context, t *schema.Table, key []any, g int) ([]any, error) {
	b, err := x.Store.Get(ctx, Key(t, g, key))
	if err != nil {
		return nil, err
	}
	if b == nil {
		err := errors.Errorf("row %s is there in part only", t.Item(key, g))
		if s, ok := x.Store.(Torn); ok {
			return nil, s.Torn(err)
		}
		return nil, err
	}
	return decode(t.Groups[g].Columns, b)
}

// SetWhere implements drivers.TableTx by a scan and a write of each row.
func (x Tx) SetWhere(ctx context.Context, t *schema.Table, where []schema.Condition, group int, exprs []schema.Expr) ([]schema.Row, error) {
	rows, err := x.Scan(ctx, t, schema.Where(where...), []int{group})
	if err != nil {
		return nil, err
	}
	for i := range rows {
		after := schema.After(rows[i].Groups[group], exprs)
		if err := x.Store.Put(ctx, Key(t, group, rows[i].Key), encode(t.Groups[group].Columns, after)); err != nil {
			return nil, err
		}
		rows[i].Groups[group] = after
	}
	return rows, nil
}

// CountWhere implements drivers.TableTx by a scan.
func (x Tx) CountWhere(ctx context.Context, t *schema.Table, where []schema.Condition) (int, error) {
	rows, err := x.Scan(ctx, t, schema.Where(where...), nil)
	return len(rows), err
}

// DeleteWhere implements drivers.TableTx by a scan and a removal of each row.
func (x Tx) DeleteWhere(ctx context.Context, t *schema.Table, where []schema.Condition) ([][]any, error) {
	rows, err := x.Scan(ctx, t, schema.Where(where...), nil)
	if err != nil {
		return nil, err
	}
	keys := make([][]any, len(rows))
	for i := range rows {
		keys[i] = rows[i].Key
		for g := range t.Groups {
			if err := x.Store.Remove(ctx, Key(t, g, keys[i])); err != nil {
				return nil, err
			}
		}
	}
	return keys, nil
}

// possible reports whether a row may match, by the columns that were read.
func possible(t *schema.Table, p schema.Predicate, r schema.Row) bool {
	read := schema.Predicate{}
	for _, c := range p.Where {
		if _, ok := t.Value(r, c.Column); ok {
			read.Where = append(read.Where, c)
		}
	}
	return read.Matches(t, r)
}

// Pairs yields the pairs of a row in a store.
func Pairs(t *schema.Table, row schema.Row) iter.Seq2[[]byte, []byte] {
	return func(yield func([]byte, []byte) bool) {
		for g, values := range row.Groups {
			if !yield(Key(t, g, row.Key), encode(t.Groups[g].Columns, values)) {
				return
			}
		}
	}
}

// Key is the key of a group of a row. Given only the first columns of a primary key, it is the
// common prefix of the keys of all such rows. No table's keys have a prefix of another table.
func Key(t *schema.Table, group int, key []any) []byte {
	b := append([]byte{0}, t.Name...)
	b = append(b, 0, byte(group))
	return append(b, encode(t.Key, key)...)
}

// encode preserves the order of values: the sign bit of integers is inverted; texts end with two
// zero bytes, and each zero byte in them is followed by a 1. A column that may be null has a byte
// before its value, 0 for a null and else 1. There may be fewer values than columns.
func encode(columns []schema.Column, values []any) []byte {
	var b []byte
	for i, v := range values {
		if columns[i].Null && v == nil {
			b = append(b, 0)
			continue
		}
		if columns[i].Null {
			b = append(b, 1)
		}
		switch v := v.(type) {
		case int64:
			b = binary.BigEndian.AppendUint64(b, uint64(v)^1<<63)
		case string:
			for i := range len(v) {
				if b = append(b, v[i]); v[i] == 0 {
					b = append(b, 1)
				}
			}
			b = append(b, 0, 0)
		}
	}
	return b
}

func decode(columns []schema.Column, b []byte) ([]any, error) {
	out := make([]any, len(columns))
	for i, c := range columns {
		if c.Null {
			if len(b) == 0 {
				return nil, errors.Errorf("column %s is cut off", c.Name)
			}
			isNull := b[0] == 0
			if b = b[1:]; isNull {
				continue
			}
		}
		if c.Type == schema.Int {
			if len(b) < 8 {
				return nil, errors.Errorf("column %s is cut off", c.Name)
			}
			out[i] = int64(binary.BigEndian.Uint64(b) ^ 1<<63)
			b = b[8:]
			continue
		}
		var text []byte
		for {
			if len(b) == 0 || b[0] == 0 && len(b) == 1 {
				return nil, errors.Errorf("column %s is cut off", c.Name)
			}
			if b[0] == 0 && b[1] == 0 {
				b = b[2:]
				break
			}
			text = append(text, b[0])
			if b[0] == 0 {
				b = b[1:]
			}
			b = b[1:]
		}
		out[i] = string(text)
	}
	if len(b) > 0 {
		return nil, errors.Errorf("%d bytes are left over", len(b))
	}
	return out, nil
}
