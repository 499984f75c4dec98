package duckdb

import (
	"context"
	"database/sql"
	"iter"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/drivers/sqlrows"
	"github.com/isohound/isohound/drivers/sqltable"
	"github.com/isohound/isohound/history/schema"
)

// dialect is DuckDB's. Texts are compared by their bytes, and LIKE is case-sensitive.
var dialect = &sqltable.Dialect{
	Quote: `"`, Int: "BIGINT",
	Text:   func(int) string { return "VARCHAR" },
	Concat: func(a, b string) string { return a + " || " + b },
}

// perInsert is how many rows are loaded with one statement.
const perInsert = 100

// CreateTables implements drivers.TableDB.
func (d *db) CreateTables(ctx context.Context, tables schema.Schema, rows iter.Seq2[*schema.Table, schema.Row]) error {
	if err := info.CheckIndexes(tables); err != nil {
		return err
	}
	return d.fill(ctx, func(t *sql.Tx) error {
		exec := func(s sqltable.Statement) error {
			_, err := t.ExecContext(ctx, s.SQL, s.Args...)
			return err
		}
		for _, table := range tables {
			if err := exec(dialect.Create(table)); err != nil {
				return errors.Wrap(err, "table "+table.Name)
			}
			for i := range table.Indexes {
				if err := exec(dialect.Index(table, i)); err != nil {
					return errors.Wrap(err, "index of table "+table.Name)
				}
			}
		}
		pending := map[*schema.Table][]schema.Row{}
		flush := func(table *schema.Table) error {
			if len(pending[table]) == 0 {
				return nil
			}
			err := exec(dialect.Insert(table, pending[table]...).Done())
			pending[table] = pending[table][:0]
			return errors.Wrap(err, "rows of table "+table.Name)
		}
		for table, row := range rows {
			if pending[table] = append(pending[table], row); len(pending[table]) == perInsert {
				if err := flush(table); err != nil {
					return err
				}
			}
		}
		for _, table := range tables {
			if err := flush(table); err != nil {
				return err
			}
		}
		return nil
	})
}

// Get implements drivers.TableTx.
func (x tx) Get(ctx context.Context, t *schema.Table, key []any, groups []int) (schema.Row, bool, error) {
	row, found, err := sqlrows.Row(ctx, x.c, dialect.Get(t, key, groups), t, key, groups)
	return row, found, statementError(err)
}

// InsertRow implements drivers.TableTx.
func (x tx) InsertRow(ctx context.Context, t *schema.Table, row schema.Row) error {
	s := dialect.Insert(t, row).Done()
	_, err := x.write(ctx, s.SQL, s.Args...)
	return err
}

// Set implements drivers.TableTx with UPDATE ... RETURNING.
func (x tx) Set(ctx context.Context, t *schema.Table, key []any, group int, exprs []schema.Expr) ([]any, bool, error) {
	depends, err := schema.Depends(exprs)
	if err != nil {
		return nil, false, err
	}
	b := dialect.Update(t, group, exprs).Key(t, key)
	if !depends {
		s := b.Done()
		found, err := x.write(ctx, s.SQL, s.Args...)
		return nil, found, err
	}
	return x.returned(ctx, b, t, group)
}

// returned runs an update of one row that returns a group.
func (x tx) returned(ctx context.Context, b *sqltable.Builder, t *schema.Table, group int) ([]any, bool, error) {
	groups := []int{group}
	s := b.Add(" RETURNING ").Names(sqltable.Columns(t, false, groups)).Done()
	after, found, err := sqlrows.One(ctx, x.c, s, sqltable.Types(t, false, groups))
	return after, found, statementError(err)
}

// Upsert implements drivers.TableTx: an update, and an insertion if there was no row. Both see one snapshot, and the
// insertion fails if another transaction has inserted the row since. INSERT ... ON CONFLICT DO UPDATE would not report
// which of the two happened.
func (x tx) Upsert(ctx context.Context, t *schema.Table, row schema.Row, exprs []schema.Expr) ([]any, bool, error) {
	after, found, err := x.returned(ctx, dialect.Update(t, 0, exprs).Key(t, row.Key), t, 0)
	if err != nil || found {
		return after, false, err
	}
	return row.Groups[0], true, x.InsertRow(ctx, t, row)
}

// DeleteRow implements drivers.TableTx.
func (x tx) DeleteRow(ctx context.Context, t *schema.Table, key []any) (bool, error) {
	s := dialect.Delete(t, key).Done()
	return x.write(ctx, s.SQL, s.Args...)
}

// Scan implements drivers.TableTx.
func (x tx) Scan(ctx context.Context, t *schema.Table, p schema.Predicate, groups []int) ([]schema.Row, error) {
	rows, err := x.many(ctx, dialect.Scan(t, p, groups), t, groups)
	return sqltable.Sorted(t, p, rows), err
}

// SetWhere implements drivers.TableTx with UPDATE ... RETURNING.
func (x tx) SetWhere(ctx context.Context, t *schema.Table, where []schema.Condition, group int, exprs []schema.Expr) ([]schema.Row, error) {
	groups := []int{group}
	s := dialect.Update(t, group, exprs).Where(where).Add(" RETURNING ").Names(sqltable.Columns(t, true, groups)).Done()
	rows, err := x.many(ctx, s, t, groups)
	return sqltable.Sorted(t, schema.Predicate{}, rows), err
}

// CountWhere implements drivers.TableTx.
func (x tx) CountWhere(ctx context.Context, t *schema.Table, where []schema.Condition) (n int, err error) {
	s := dialect.Count(t, where)
	err = x.c.QueryRowContext(ctx, s.SQL, s.Args...).Scan(&n)
	return n, statementError(err)
}

// DeleteWhere implements drivers.TableTx with DELETE ... RETURNING.
func (x tx) DeleteWhere(ctx context.Context, t *schema.Table, where []schema.Condition) ([][]any, error) {
	rows, err := x.many(ctx, dialect.DeleteWhere(t, where, " RETURNING "), t, nil)
	return sqltable.Keys(rows), err
}

func (x tx) many(ctx context.Context, s sqltable.Statement, t *schema.Table, groups []int) ([]schema.Row, error) {
	rows, err := sqlrows.Many(ctx, x.c, s, t, groups)
	return rows, statementError(err)
}
