package modeldb

import (
	"context"
	"fmt"
	"slices"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/history/schema"
)

// name is a primary key as a text; quotes separate its columns.
func name(key []any) string { return fmt.Sprintf("%#v", key) }

// fits reports how a row does not fit its table.
func fits(t *schema.Table, row schema.Row) error {
	if len(row.Groups) != len(t.Groups) {
		return errors.Errorf("a row of table %s has %d groups, not %d", t.Name, len(row.Groups), len(t.Groups))
	}
	if err := typed(t, t.Key, row.Key); err != nil {
		return err
	}
	for g, values := range row.Groups {
		if err := typed(t, t.Groups[g].Columns, values); err != nil {
			return err
		}
	}
	return nil
}

func typed(t *schema.Table, columns []schema.Column, values []any) error {
	if len(columns) != len(values) {
		return errors.Errorf("table %s: %d values for %d columns", t.Name, len(values), len(columns))
	}
	for i, c := range columns {
		switch v := values[i].(type) {
		case nil:
			if c.Null {
				continue
			}
		case int64:
			if c.Type == schema.Int {
				continue
			}
		case string:
			size := c.Size
			if size == 0 {
				size = 255
			}
			if c.Type == schema.Text && len(v) <= size {
				continue
			}
		}
		return errors.Errorf("table %s: %#v is no value of column %s", t.Name, values[i], c.Name)
	}
	return nil
}

// table finds the rows of a table.
func (x *tx) table(t *schema.Table) (map[string]schema.Row, error) {
	rows, ok := x.d.tables[t.Name]
	if !ok {
		return nil, mistake(errors.Errorf("there is no table %s", t.Name))
	}
	return rows, nil
}

// replace replaces a row, or removes it if row is nil.
func (x *tx) replace(rows map[string]schema.Row, at string, row *schema.Row) {
	before, there := rows[at]
	x.undo = append(x.undo, func() {
		if rows[at] = before; !there {
			delete(rows, at)
		}
	})
	if row == nil {
		delete(rows, at)
	} else {
		rows[at] = *row
	}
}

// some returns a row with some of its groups.
func some(row schema.Row, groups []int) schema.Row {
	out := schema.Row{Key: row.Key, Groups: make([][]any, len(row.Groups))}
	for _, g := range groups {
		out.Groups[g] = row.Groups[g]
	}
	return out
}

// change sets a group of an existing row.
func (x *tx) change(t *schema.Table, rows map[string]schema.Row, at string, group int, exprs []schema.Expr) ([]any, error) {
	row := rows[at]
	columns := t.Groups[group].Columns
	if len(exprs) != len(columns) {
		return nil, mistake(errors.Errorf("table %s: %d expressions for %d columns", t.Name, len(exprs), len(columns)))
	}
	after := make([]any, len(exprs))
	for i, e := range exprs {
		if e.Kind != schema.Constant && row.Groups[group][i] == nil {
			continue
		}
		switch e.Kind {
		case schema.Constant:
			after[i] = e.Value
		case schema.Plus:
			after[i] = row.Groups[group][i].(int64) + e.Value.(int64)
		case schema.Suffix:
			after[i] = row.Groups[group][i].(string) + e.Value.(string)
		}
	}
	if err := typed(t, columns, after); err != nil {
		return nil, mistake(err)
	}
	changed := schema.Row{Key: row.Key, Groups: slices.Clone(row.Groups)}
	changed.Groups[group] = after
	x.replace(rows, at, &changed)
	return after, nil
}

// Get implements drivers.TableTx.
func (x *tx) Get(_ context.Context, t *schema.Table, key []any, groups []int) (schema.Row, bool, error) {
	rows, err := x.table(t)
	if err != nil {
		return schema.Row{}, false, err
	}
	row, found := rows[name(key)]
	if !found {
		return schema.Row{}, false, nil
	}
	return some(row, groups), true, nil
}

// InsertRow implements drivers.TableTx.
func (x *tx) InsertRow(_ context.Context, t *schema.Table, row schema.Row) error {
	rows, err := x.table(t)
	if err != nil {
		return err
	}
	if err := fits(t, row); err != nil {
		return mistake(err)
	}
	if _, there := rows[name(row.Key)]; there && !x.d.blind {
		return duplicate
	}
	x.replace(rows, name(row.Key), &row)
	return nil
}

// Set implements drivers.TableTx.
func (x *tx) Set(_ context.Context, t *schema.Table, key []any, group int, exprs []schema.Expr) ([]any, bool, error) {
	rows, err := x.table(t)
	if err != nil {
		return nil, false, err
	}
	if _, there := rows[name(key)]; !there {
		return nil, false, nil
	}
	after, err := x.change(t, rows, name(key), group, exprs)
	return after, err == nil, err
}

// Upsert implements drivers.TableTx.
func (x *tx) Upsert(ctx context.Context, t *schema.Table, row schema.Row, exprs []schema.Expr) ([]any, bool, error) {
	rows, err := x.table(t)
	if err != nil {
		return nil, false, err
	}
	if _, there := rows[name(row.Key)]; !there {
		return row.Groups[0], true, x.InsertRow(ctx, t, row)
	}
	after, err := x.change(t, rows, name(row.Key), 0, exprs)
	return after, false, err
}

// DeleteRow implements drivers.TableTx.
func (x *tx) DeleteRow(_ context.Context, t *schema.Table, key []any) (bool, error) {
	rows, err := x.table(t)
	if err != nil {
		return false, err
	}
	if _, there := rows[name(key)]; !there {
		return false, nil
	}
	x.replace(rows, name(key), nil)
	return true, nil
}

// Scan implements drivers.TableTx.
func (x *tx) Scan(_ context.Context, t *schema.Table, p schema.Predicate, groups []int) ([]schema.Row, error) {
	found, err := x.matching(t, &p)
	if err != nil {
		return nil, err
	}
	for i, row := range found {
		found[i] = some(row, groups)
	}
	return found, nil
}

// SetWhere implements drivers.TableTx.
func (x *tx) SetWhere(_ context.Context, t *schema.Table, where []schema.Condition, group int, exprs []schema.Expr) ([]schema.Row, error) {
	p := schema.Where(where...)
	found, err := x.matching(t, &p)
	if err != nil {
		return nil, err
	}
	rows := x.d.tables[t.Name]
	for i, row := range found {
		if _, err := x.change(t, rows, name(row.Key), group, exprs); err != nil {
			return nil, err
		}
		found[i] = some(rows[name(row.Key)], []int{group})
	}
	return found, nil
}

// CountWhere implements drivers.TableTx.
func (x *tx) CountWhere(_ context.Context, t *schema.Table, where []schema.Condition) (int, error) {
	p := schema.Where(where...)
	found, err := x.matching(t, &p)
	return len(found), err
}

// DeleteWhere implements drivers.TableTx.
func (x *tx) DeleteWhere(_ context.Context, t *schema.Table, where []schema.Condition) ([][]any, error) {
	p := schema.Where(where...)
	found, err := x.matching(t, &p)
	if err != nil {
		return nil, err
	}
	keys := make([][]any, len(found))
	for i, row := range found {
		x.replace(x.d.tables[t.Name], name(row.Key), nil)
		keys[i] = row.Key
	}
	return keys, nil
}

// matching returns the rows that a predicate selects, in its order.
func (x *tx) matching(t *schema.Table, p *schema.Predicate) ([]schema.Row, error) {
	rows, err := x.table(t)
	if err != nil {
		return nil, err
	}
	var found []schema.Row
	for _, row := range rows {
		if p.Matches(t, row) {
			found = append(found, row)
		}
	}
	return p.Arrange(t, found), nil
}
