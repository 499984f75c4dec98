package generator

import (
	"context"
	"slices"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/schema"
)

// Operations on tables. Each group of a row that is read or written is one operation on one item
// of the history. An absent row is absent in each group. The operations panic if the database
// has no tables; the workload's needs are checked before a run.

func (t *Tx) tables() drivers.TableTx { return t.tx.(drivers.TableTx) }

// item appends an operation on an item; nil values mean absence.
func (t *Tx) item(kind history.OpKind, table *schema.Table, key []any, group int, values []any) {
	o := op{kind: kind, key: table.Item(key, group), none: values == nil, table: table, row: key, group: group}
	if values != nil {
		var number bool
		if o.text, o.value, number = schema.Content(values); !number {
			o.isText = true
		}
	}
	t.a.ops = append(t.a.ops, o)
	t.a.noteVersion(t.tx)
}

// groups finds groups by their names; without names it returns all.
func groups(table *schema.Table, names []string) []int {
	if len(names) == 0 {
		return table.All()
	}
	out := make([]int, len(names))
	for i, n := range names {
		out[i] = table.Group(n)
	}
	return out
}

// Row reads groups, or all, of the row with a primary key, and returns false if
// there is none.
func (t *Tx) Row(ctx context.Context, table *schema.Table, key []any, names ...string) (schema.Row, bool, error) {
	ctx, cancel := t.call(ctx)
	defer cancel()
	gs := groups(table, names)
	row, found, err := t.tables().Get(ctx, table, key, gs)
	if err != nil {
		return row, false, err
	}
	for _, g := range gs {
		if found {
			t.item(history.Read, table, key, g, row.Groups[g])
		} else {
			t.item(history.Read, table, key, g, nil)
		}
	}
	return row, found, nil
}

// InsertRow adds a row.
func (t *Tx) InsertRow(ctx context.Context, table *schema.Table, row schema.Row) error {
	ctx, cancel := t.call(ctx)
	defer cancel()
	for g := range table.Groups {
		t.item(history.Write, table, row.Key, g, row.Groups[g])
	}
	err := t.tables().InsertRow(ctx, table, row)
	t.a.noteID(t.tx)
	return err
}

// Set updates a group of a row, and returns false if the database found no such row. If the
// update depends on the old values, it is recorded as a read and a write, and after is what the
// database returned as the new values.
func (t *Tx) Set(ctx context.Context, table *schema.Table, key []any, group string, exprs ...schema.Expr) (after []any, found bool, err error) {
	depends, err := schema.Depends(exprs)
	if err != nil {
		return nil, false, mistake(err)
	}
	ctx, cancel := t.call(ctx)
	defer cancel()
	g, at := table.Group(group), len(t.a.ops)
	if !depends {
		t.item(history.Write, table, key, g, schema.After(nil, exprs))
	}
	after, found, err = t.tables().Set(ctx, table, key, g, exprs)
	t.a.noteID(t.tx)
	switch {
	case err != nil:
	case !found:
		t.a.ops = t.a.ops[:at]
		t.item(history.Read, table, key, g, nil)
	case depends:
		err = t.changed(table, key, g, after, exprs)
	default:
		after = schema.After(nil, exprs)
	}
	return after, found, err
}

// changed records a dependent update for which the database returned the new values.
func (t *Tx) changed(table *schema.Table, key []any, g int, after []any, exprs []schema.Expr) error {
	before, err := schema.Before(after, exprs)
	if err != nil {
		return mistake(err)
	}
	t.item(history.Read, table, key, g, before)
	t.item(history.Write, table, key, g, after)
	return nil
}

// Upsert inserts a row of a table with one group, or updates an existing row. It is recorded as
// a read, of absence or of the old values, and a write.
func (t *Tx) Upsert(ctx context.Context, table *schema.Table, row schema.Row, exprs ...schema.Expr) (after []any, inserted bool, err error) {
	depends, err := schema.Depends(exprs)
	if err != nil {
		return nil, false, mistake(err)
	}
	ctx, cancel := t.call(ctx)
	defer cancel()
	if !depends {
		t.item(history.Write, table, row.Key, 0, schema.After(nil, exprs))
	}
	after, inserted, err = t.tables().Upsert(ctx, table, row, exprs)
	t.a.noteID(t.tx)
	switch {
	case err != nil:
	case inserted:
		if !depends {
			t.a.ops = t.a.ops[:len(t.a.ops)-1]
		}
		t.item(history.Read, table, row.Key, 0, nil)
		t.item(history.Write, table, row.Key, 0, after)
	case depends:
		err = t.changed(table, row.Key, 0, after, exprs)
	}
	return after, inserted, err
}

// DeleteRow removes a row. If the database finds none, the observation is that the row does not
// exist.
func (t *Tx) DeleteRow(ctx context.Context, table *schema.Table, key []any) (found bool, err error) {
	ctx, cancel := t.call(ctx)
	defer cancel()
	at := len(t.a.ops)
	for g := range table.Groups {
		t.item(history.Write, table, key, g, nil)
	}
	found, err = t.tables().DeleteRow(ctx, table, key)
	t.a.noteID(t.tx)
	if err == nil && !found {
		for i := range t.a.ops[at:] {
			t.a.ops[at+i].kind = history.Read
		}
	}
	return found, err
}

// Scan reads groups, or all, of the rows that a predicate selects. It is
// recorded as a predicate read; the rows that it returned count as reads of
// items too.
func (t *Tx) Scan(ctx context.Context, table *schema.Table, p schema.Predicate, names ...string) ([]schema.Row, error) {
	if err := p.Check(table); err != nil {
		return nil, mistake(err)
	}
	ctx, cancel := t.call(ctx)
	defer cancel()
	gs := groups(table, names)
	rows, err := t.tables().Scan(ctx, table, p, gs)
	if err != nil {
		return nil, err
	}
	from := len(t.a.ops)
	for _, r := range rows {
		for _, g := range gs {
			t.item(history.Read, table, r.Key, g, r.Groups[g])
		}
	}
	t.predicate(history.ScanRead, table, p, gs, from)
	return rows, nil
}

// SetWhere updates a group of all rows that fulfil conditions. It is recorded
// as a predicate update, with the rows that it changed.
func (t *Tx) SetWhere(ctx context.Context, table *schema.Table, where []schema.Condition, group string, exprs ...schema.Expr) ([]schema.Row, error) {
	p := schema.Where(where...)
	depends, err := schema.Depends(exprs)
	if err == nil {
		err = p.Check(table)
	}
	if err != nil {
		return nil, mistake(err)
	}
	ctx, cancel := t.call(ctx)
	defer cancel()
	g := table.Group(group)
	rows, err := t.tables().SetWhere(ctx, table, where, g, exprs)
	t.a.noteID(t.tx)
	if err != nil {
		return nil, err
	}
	from := len(t.a.ops)
	for _, r := range rows {
		if depends {
			if err := t.changed(table, r.Key, g, r.Groups[g], exprs); err != nil {
				return nil, err
			}
		} else {
			t.item(history.Write, table, r.Key, g, r.Groups[g])
		}
	}
	t.predicate(history.ScanUpdate, table, p, []int{g}, from)
	return rows, nil
}

// Count returns the number of rows that fulfil conditions. It is recorded as a predicate count,
// without operations.
func (t *Tx) Count(ctx context.Context, table *schema.Table, where []schema.Condition) (int, error) {
	p := schema.Where(where...)
	if err := p.Check(table); err != nil {
		return 0, mistake(err)
	}
	ctx, cancel := t.call(ctx)
	defer cancel()
	n, err := t.tables().CountWhere(ctx, table, where)
	if err != nil {
		return 0, err
	}
	t.predicate(history.ScanCount, table, p, nil, len(t.a.ops))
	t.a.rec.Predicates[len(t.a.rec.Predicates)-1].Count = n
	return n, nil
}

// DeleteWhere removes all rows that fulfil conditions, and returns their primary keys. It is recorded
// as a predicate deletion, with a write of absence to each group of the rows that it removed. The keys
// are sorted, so that the record does not depend on the database's order.
func (t *Tx) DeleteWhere(ctx context.Context, table *schema.Table, where []schema.Condition) (keys [][]any, err error) {
	p := schema.Where(where...)
	if err := p.Check(table); err != nil {
		return nil, mistake(err)
	}
	ctx, cancel := t.call(ctx)
	defer cancel()
	keys, err = t.tables().DeleteWhere(ctx, table, where)
	t.a.noteID(t.tx)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(keys, func(a, b []any) int { return slices.CompareFunc(a, b, schema.Compare) })
	from := len(t.a.ops)
	for _, key := range keys {
		for g := range table.Groups {
			t.item(history.Write, table, key, g, nil)
		}
	}
	t.predicate(history.ScanDelete, table, p, table.All(), from)
	return keys, nil
}

func (t *Tx) predicate(kind string, table *schema.Table, p schema.Predicate, gs []int, from int) {
	rec := history.Predicate{Statement: &history.Statement{Kind: kind, Table: table.Name, Predicate: p}, Ops: [2]int{from, len(t.a.ops)}}
	for _, g := range gs {
		if name := table.Groups[g].Name; name != "" {
			rec.Groups = append(rec.Groups, name)
		}
	}
	t.a.rec.Predicates = append(t.a.rec.Predicates, rec)
}

// mistake is an error of the workload or a driver, not of the database. Continuing would record
// operations that did not happen.
func mistake(err error) error {
	return &drivers.Error{Class: drivers.Fatal, Cause: "isohound's own mistake", Err: err}
}
