package postgres

import (
	"context"
	"iter"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/pkg/errors"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/drivers/sqltable"
	"github.com/isohound/isohound/history/schema"
)

// dialect is PostgreSQL's. Texts are ordered by their bytes.
var dialect = &sqltable.Dialect{
	Quote: `"`, Numbered: true, Int: "bigint",
	Text:   func(int) string { return `text COLLATE "C"` },
	Concat: func(a, b string) string { return a + " || " + b },
}

// loadTimeout bounds creating tables with their rows.
const loadTimeout = 10 * time.Minute

// perCopy is how many rows of a table are sent at once.
const perCopy = 10_000

// CreateTables implements drivers.TableDB.
func (d *db) CreateTables(ctx context.Context, tables schema.Schema, rows iter.Seq2[*schema.Table, schema.Row]) error {
	if err := d.info.CheckIndexes(tables); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, loadTimeout)
	defer cancel()
	err := d.admin(ctx, func(ctx context.Context, c *pgx.Conn) error {
		if _, err := c.Exec(ctx, "SET search_path = "+pgx.Identifier{d.schema}.Sanitize()); err != nil {
			return err
		}
		for _, t := range tables {
			if _, err := c.Exec(ctx, d.dialect.Create(t).SQL); err != nil {
				return errors.Wrap(err, "table "+t.Name)
			}
		}
		if err := copyRows(ctx, c, rows); err != nil {
			return err
		}
		for _, t := range tables {
			for i, index := range t.Indexes {
				if err := extend(ctx, c, index); err != nil {
					return err
				}
				if _, err := c.Exec(ctx, d.dialect.Index(t, i).SQL); err != nil {
					return errors.Wrap(err, "an index of table "+t.Name)
				}
			}
			// If the planner believes that a table is empty, it scans the whole table, and
			// serializable then locks all of it.
			if _, err := c.Exec(ctx, "ANALYZE "+pgx.Identifier{t.Name}.Sanitize()); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return d.unusable(errors.Wrap(plain(err), "creating tables in "+d.schema))
	}
	return nil
}

// extend installs the extension that an index of kind gin on integers and texts needs. It stays in
// the database, because other runs may use it.
func extend(ctx context.Context, c *pgx.Conn, index schema.Index) error {
	if index.Kind != schema.Gin {
		return nil
	}
	_, err := c.Exec(ctx, "CREATE EXTENSION IF NOT EXISTS btree_gin SCHEMA public")
	return errors.Wrap(err, "indexes of kind gin need PostgreSQL's extension btree_gin")
}

func copyRows(ctx context.Context, c *pgx.Conn, rows iter.Seq2[*schema.Table, schema.Row]) error {
	pending := map[*schema.Table][][]any{}
	flush := func(t *schema.Table) error {
		_, err := c.CopyFrom(ctx, pgx.Identifier{t.Name}, sqltable.Columns(t, true, t.All()), pgx.CopyFromRows(pending[t]))
		pending[t] = pending[t][:0]
		return errors.Wrap(err, "rows of table "+t.Name)
	}
	for t, row := range rows {
		pending[t] = append(pending[t], sqltable.Flat(row))
		if len(pending[t]) == perCopy {
			if err := flush(t); err != nil {
				return err
			}
		}
	}
	for t := range pending {
		if err := flush(t); err != nil {
			return err
		}
	}
	return nil
}

// Get implements drivers.TableTx.
func (x *tx) Get(ctx context.Context, t *schema.Table, key []any, groups []int) (schema.Row, bool, error) {
	values, found, err := x.one(ctx, x.db.dialect.Get(t, key, groups), sqltable.Types(t, false, groups), len(groups) == 0)
	if err != nil || !found {
		return schema.Row{}, false, err
	}
	return sqltable.Unflatten(t, append(key[:len(key):len(key)], values...), groups), true, nil
}

// one runs a statement that returns at most one row: columns, and one more number if extra.
func (x *tx) one(ctx context.Context, s sqltable.Statement, columns []schema.Column, extra bool) (values []any, found bool, err error) {
	var more []any
	if extra {
		more = []any{new(int64)}
	}
	to := sqltable.NewTargets(columns, more...)
	err = x.row(ctx, s.SQL, s.Args...).Scan(to.Into...)
	if err == pgx.ErrNoRows {
		return nil, false, nil
	}
	return to.Values(), err == nil, x.failed(err)
}

// InsertRow implements drivers.TableTx.
func (x *tx) InsertRow(ctx context.Context, t *schema.Table, row schema.Row) error {
	s := x.db.dialect.Insert(t, row).Done()
	_, err := x.write(ctx, s.SQL, s.Args...)
	return err
}

// Set implements drivers.TableTx with UPDATE ... RETURNING.
func (x *tx) Set(ctx context.Context, t *schema.Table, key []any, group int, exprs []schema.Expr) ([]any, bool, error) {
	b := x.db.dialect.Update(t, group, exprs).Key(t, key)
	depends, err := schema.Depends(exprs)
	if err != nil {
		return nil, false, err
	}
	if !depends {
		s := b.Done()
		found, err := x.write(ctx, s.SQL, s.Args...)
		return nil, found, err
	}
	s := b.Add(x.db.returning + ", ").Names(sqltable.Columns(t, false, []int{group})).Done()
	return x.returned(ctx, s, t, group)
}

// returned runs a statement that returns the transaction's id and a group.
func (x *tx) returned(ctx context.Context, s sqltable.Statement, t *schema.Table, group int, more ...any) ([]any, bool, error) {
	to := sqltable.NewTargets(t.Groups[group].Columns, more...)
	err := x.row(ctx, s.SQL, s.Args...).Scan(append([]any{&x.id}, to.Into...)...)
	if err == pgx.ErrNoRows {
		return nil, false, nil
	}
	return to.Values(), err == nil, x.failed(err)
}

// Upsert implements drivers.TableTx. A row version made by an insertion has no xmax. One made by
// an update has, because the row was locked first.
func (x *tx) Upsert(ctx context.Context, t *schema.Table, row schema.Row, exprs []schema.Expr) ([]any, bool, error) {
	if !x.db.recovers {
		return x.insertOrUpdate(ctx, t, row, exprs)
	}
	key := sqltable.Columns(t, true, nil)
	s := x.db.dialect.Insert(t, row).Add(" ON CONFLICT (").Names(key).Add(") DO UPDATE SET ").
		Assign(t, 0, exprs, pgx.Identifier{t.Name}.Sanitize()+".").
		Add(x.db.returning + ", ").Names(sqltable.Columns(t, false, []int{0})).
		Add(", " + pgx.Identifier{t.Name}.Sanitize() + ".xmax = 0").Done()
	inserted := false
	after, _, err := x.returned(ctx, s, t, 0, &inserted)
	return after, inserted, err
}

// insertOrUpdate is Upsert for databases whose rows do not show whether they are new. It uses
// two statements: an insertion that does nothing if the row exists, and then an update that
// returns what it left.
func (x *tx) insertOrUpdate(ctx context.Context, t *schema.Table, row schema.Row, exprs []schema.Expr) ([]any, bool, error) {
	s := x.db.dialect.Insert(t, row).Add(" ON CONFLICT (").Names(sqltable.Columns(t, true, nil)).Add(") DO NOTHING").Done()
	inserted, err := x.write(ctx, s.SQL, s.Args...)
	if err != nil || inserted {
		return row.Groups[0], inserted, err
	}
	s = x.db.dialect.Update(t, 0, exprs).Key(t, row.Key).Add(x.db.returning + ", ").Names(sqltable.Columns(t, false, []int{0})).Done()
	after, found, err := x.returned(ctx, s, t, 0)
	if err == nil && !found {
		err = &drivers.Error{Class: drivers.Aborted, Cause: "the row of an upsert vanished"}
	}
	return after, false, err
}

// DeleteRow implements drivers.TableTx.
func (x *tx) DeleteRow(ctx context.Context, t *schema.Table, key []any) (bool, error) {
	s := x.db.dialect.Delete(t, key).Done()
	return x.write(ctx, s.SQL, s.Args...)
}

// Scan implements drivers.TableTx.
func (x *tx) Scan(ctx context.Context, t *schema.Table, p schema.Predicate, groups []int) ([]schema.Row, error) {
	rows, err := x.many(ctx, x.db.dialect.Scan(t, p, groups), t, groups, false)
	return sqltable.Sorted(t, p, rows), err
}

// SetWhere implements drivers.TableTx with UPDATE ... RETURNING.
func (x *tx) SetWhere(ctx context.Context, t *schema.Table, where []schema.Condition, group int, exprs []schema.Expr) ([]schema.Row, error) {
	groups := []int{group}
	s := x.db.dialect.Update(t, group, exprs).Where(where).Add(x.db.returning + ", ").Names(sqltable.Columns(t, true, groups)).Done()
	rows, err := x.many(ctx, s, t, groups, true)
	return sqltable.Sorted(t, schema.Predicate{}, rows), err
}

// CountWhere implements drivers.TableTx.
func (x *tx) CountWhere(ctx context.Context, t *schema.Table, where []schema.Condition) (n int, err error) {
	s := x.db.dialect.Count(t, where)
	err = x.row(ctx, s.SQL, s.Args...).Scan(&n)
	return n, x.failed(err)
}

// DeleteWhere implements drivers.TableTx with DELETE ... RETURNING.
func (x *tx) DeleteWhere(ctx context.Context, t *schema.Table, where []schema.Condition) ([][]any, error) {
	rows, err := x.many(ctx, x.db.dialect.DeleteWhere(t, where, x.db.returning+", "), t, nil, true)
	return sqltable.Keys(rows), err
}

// many runs a statement that returns rows, each preceded by the transaction's id if withID.
func (x *tx) many(ctx context.Context, s sqltable.Statement, t *schema.Table, groups []int, withID bool) ([]schema.Row, error) {
	found, err := x.rows(ctx, s.SQL, s.Args...)
	if err != nil {
		return nil, x.failed(err)
	}
	defer found.Close()
	var rows []schema.Row
	columns := sqltable.Types(t, true, groups)
	for found.Next() {
		to := sqltable.NewTargets(columns)
		into := to.Into
		if withID {
			into = append([]any{&x.id}, into...)
		}
		if err := found.Scan(into...); err != nil {
			return nil, x.failed(err)
		}
		rows = append(rows, sqltable.Unflatten(t, to.Values(), groups))
	}
	return rows, x.failed(found.Err())
}
