package sqlite

import (
	"context"
	"database/sql"
	"iter"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/drivers/sqlrows"
	"github.com/isohound/isohound/drivers/sqltable"
	"github.com/isohound/isohound/history/schema"
)

// dialect is SQLite's. Texts are compared by their bytes (collation BINARY). Strict tables
// prevent integers from becoming floating-point numbers.
var dialect = &sqltable.Dialect{
	Quote: `"`, Int: "INTEGER",
	Text:    func(int) string { return "TEXT" },
	Options: " STRICT",
	Glob:    true,
	Concat:  func(a, b string) string { return a + " || " + b },
}

// perInsert is how many rows are loaded with one statement.
const perInsert = 100

// CreateTables implements drivers.TableDB.
func (d *db) CreateTables(ctx context.Context, tables schema.Schema, rows iter.Seq2[*schema.Table, schema.Row]) error {
	if err := (driver{}).Info().CheckIndexes(tables); err != nil {
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
			for i := range table.Indexes {
				if err := exec(dialect.Index(table, i)); err != nil {
					return errors.Wrap(err, "index of table "+table.Name)
				}
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
	b := dialect.Update(t, group, exprs).Key(t, key)
	depends, err := schema.Depends(exprs)
	if err != nil {
		return nil, false, err
	}
	if !depends {
		s := b.Done()
		found, err := x.write(ctx, s.SQL, s.Args...)
		return nil, found, err
	}
	groups := []int{group}
	s := b.Add(" RETURNING ").Names(sqltable.Columns(t, false, groups)).Done()
	after, found, err := sqlrows.One(ctx, x.c, s, sqltable.Types(t, false, groups))
	return after, found, statementError(err)
}

// Upsert implements drivers.TableTx with an insertion that does nothing if the row exists,
// followed by an update in that case. The insertion takes SQLite's only write lock whether it
// inserts or not, so the two act as one statement. INSERT ... ON CONFLICT DO UPDATE would not
// report which of the two happened.
func (x tx) Upsert(ctx context.Context, t *schema.Table, row schema.Row, exprs []schema.Expr) ([]any, bool, error) {
	s := dialect.Insert(t, row).Add(" ON CONFLICT DO NOTHING").Done()
	inserted, err := x.write(ctx, s.SQL, s.Args...)
	if err != nil || inserted {
		return row.Groups[0], inserted, err
	}
	groups := []int{0}
	s = dialect.Update(t, 0, exprs).Key(t, row.Key).Add(" RETURNING ").Names(sqltable.Columns(t, false, groups)).Done()
	after, _, err := sqlrows.One(ctx, x.c, s, sqltable.Types(t, false, groups))
	return after, false, statementError(err)
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

// many runs a statement that returns rows.
func (x tx) many(ctx context.Context, s sqltable.Statement, t *schema.Table, groups []int) ([]schema.Row, error) {
	rows, err := sqlrows.Many(ctx, x.c, s, t, groups)
	return rows, statementError(err)
}
