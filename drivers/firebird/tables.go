package firebird

import (
	"context"
	"database/sql"
	"fmt"
	"hash/fnv"
	"iter"
	"slices"
	"time"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/drivers/sqlrows"
	"github.com/isohound/isohound/drivers/sqltable"
	"github.com/isohound/isohound/history/schema"
)

// dialect is Firebird's. Texts are binary, so that no collation treats two texts as equal.
var dialect = &sqltable.Dialect{
	Quote: `"`, Int: "BIGINT", Starting: true, Fetch: true,
	Text: func(size int) string {
		if size == 0 {
			size = 255
		}
		return fmt.Sprintf("VARCHAR(%d) CHARACTER SET OCTETS", size)
	},
	Concat: func(a, b string) string { return a + " || " + b },
}

// loadTimeout bounds creating tables with their rows.
const loadTimeout = 10 * time.Minute

func quoted(name string) string { return `"` + name + `"` }

// keys is the name of the table of keys.
func (d *db) keys() string { return d.schema + "$" }

// own returns a table under its name in the database. Names have at most 31 bytes, those of indexes included, which
// append a number, and the name of the run takes 21. So it is followed by a hash of the table's name.
func (d *db) own(t *schema.Table) *schema.Table {
	h := fnv.New32a()
	h.Write([]byte(t.Name))
	out := *t
	out.Name = fmt.Sprintf("%s_%06x", d.schema, h.Sum32()&0xffffff)
	return &out
}

// CreateTables implements drivers.TableDB.
func (d *db) CreateTables(ctx context.Context, tables schema.Schema, rows iter.Seq2[*schema.Table, schema.Row]) error {
	if err := info.CheckIndexes(tables); err != nil {
		return err
	}
	if err := d.createTables(ctx, tables, rows); err != nil {
		return d.notCreated(ctx, err)
	}
	return nil
}

func (d *db) createTables(ctx context.Context, tables schema.Schema, rows iter.Seq2[*schema.Table, schema.Row]) error {
	taken := map[string]string{}
	for _, t := range tables {
		name := d.own(t).Name
		if other, ok := taken[name]; ok {
			return errors.Errorf("tables %s and %s get the same name; rename one", other, t.Name)
		}
		taken[name] = t.Name
	}
	// A transaction does not see the tables that it makes, and an index is only used once it is committed.
	err := d.admin(ctx, loadTimeout, func(ctx context.Context, x *tx) error {
		for _, t := range tables {
			if _, err := x.c.ExecContext(ctx, dialect.Create(d.own(t)).SQL); err != nil {
				return errors.Wrap(err, "table "+t.Name)
			}
		}
		return nil
	})
	if err == nil {
		err = d.admin(ctx, loadTimeout, func(ctx context.Context, x *tx) error { return x.load(ctx, rows) })
	}
	if err == nil {
		err = d.admin(ctx, loadTimeout, func(ctx context.Context, x *tx) error {
			for _, t := range tables {
				for i := range t.Indexes {
					if _, err := x.c.ExecContext(ctx, dialect.Index(d.own(t), i).SQL); err != nil {
						return errors.Wrap(err, "an index of table "+t.Name)
					}
				}
			}
			return nil
		})
	}
	return err
}

// load inserts rows, one in each statement, since Firebird 3 has no other way.
func (x *tx) load(ctx context.Context, rows iter.Seq2[*schema.Table, schema.Row]) error {
	inserts := map[*schema.Table]*sql.Stmt{}
	for t, row := range rows {
		s := dialect.Insert(x.db.own(t), row).Done()
		if inserts[t] == nil {
			insert, err := x.c.PrepareContext(ctx, s.SQL)
			if err != nil {
				return errors.Wrap(err, "rows of table "+t.Name)
			}
			defer insert.Close()
			inserts[t] = insert
		}
		if _, err := inserts[t].ExecContext(ctx, s.Args...); err != nil {
			return errors.Wrap(err, "rows of table "+t.Name)
		}
	}
	return nil
}

// Get implements drivers.TableTx.
func (x *tx) Get(ctx context.Context, t *schema.Table, key []any, groups []int) (schema.Row, bool, error) {
	row, found, err := sqlrows.Row(ctx, x.c, dialect.Get(x.db.own(t), key, groups), t, key, groups)
	return row, found, statementError(err)
}

// InsertRow implements drivers.TableTx.
func (x *tx) InsertRow(ctx context.Context, t *schema.Table, row schema.Row) error {
	s := dialect.Insert(x.db.own(t), row).Done()
	_, err := x.write(ctx, s.SQL, s.Args...)
	return err
}

// Set implements drivers.TableTx with UPDATE ... RETURNING. If there is no such row, Firebird returns one of nulls, so
// the column of the primary key tells.
func (x *tx) Set(ctx context.Context, t *schema.Table, key []any, group int, exprs []schema.Expr) ([]any, bool, error) {
	depends, err := schema.Depends(exprs)
	if err != nil {
		return nil, false, err
	}
	b := dialect.Update(x.db.own(t), group, exprs).Key(t, key)
	if !depends {
		s := b.Done()
		found, err := x.write(ctx, s.SQL, s.Args...)
		return nil, found, err
	}
	return x.returned(ctx, b, t, group)
}

// returned runs an update of one row that returns a group.
func (x *tx) returned(ctx context.Context, b *sqltable.Builder, t *schema.Table, group int) ([]any, bool, error) {
	columns := append([]schema.Column{t.Key[0]}, t.Groups[group].Columns...)
	names := make([]string, len(columns))
	for i := range columns {
		columns[i].Null = true
		names[i] = columns[i].Name
	}
	s := b.Add(" RETURNING ").Names(names).Done()
	begun := time.Now()
	values, found, err := sqlrows.One(ctx, x.c, s, columns)
	if err != nil || !found || values[0] == nil {
		return nil, false, x.db.failed(begun, err)
	}
	return values[1:], true, nil
}

// Upsert implements drivers.TableTx: an update, and an insertion if there was no row. The insertion fails if another
// transaction has inserted the row since. MERGE does the same, and does not say which of the two it did.
func (x *tx) Upsert(ctx context.Context, t *schema.Table, row schema.Row, exprs []schema.Expr) ([]any, bool, error) {
	after, found, err := x.returned(ctx, dialect.Update(x.db.own(t), 0, exprs).Key(t, row.Key), t, 0)
	if err != nil || found {
		return after, false, err
	}
	return row.Groups[0], true, x.InsertRow(ctx, t, row)
}

// DeleteRow implements drivers.TableTx.
func (x *tx) DeleteRow(ctx context.Context, t *schema.Table, key []any) (bool, error) {
	s := dialect.Delete(x.db.own(t), key).Done()
	return x.write(ctx, s.SQL, s.Args...)
}

// Scan implements drivers.TableTx.
func (x *tx) Scan(ctx context.Context, t *schema.Table, p schema.Predicate, groups []int) ([]schema.Row, error) {
	rows, err := x.many(ctx, dialect.Scan(x.db.own(t), p, groups), t, groups)
	return sqltable.Sorted(t, p, rows), err
}

// many runs a query for rows.
func (x *tx) many(ctx context.Context, s sqltable.Statement, t *schema.Table, groups []int) ([]schema.Row, error) {
	begun := time.Now()
	rows, err := sqlrows.Many(ctx, x.c, s, t, groups)
	return rows, x.db.failed(begun, err)
}

// CountWhere implements drivers.TableTx.
func (x *tx) CountWhere(ctx context.Context, t *schema.Table, where []schema.Condition) (n int, err error) {
	s := dialect.Count(x.db.own(t), where)
	err = x.c.QueryRowContext(ctx, s.SQL, s.Args...).Scan(&n)
	return n, statementError(err)
}

// Firebird 3 returns the row of an update or a deletion only if it is a single one. Statements on rows that fulfil
// conditions first lock the rows with SELECT ... WITH LOCK, which reads what the statement would change and has the same
// conflicts, and then change each by its key, if it still fulfils the conditions: at read committed, a recorded run had
// rows that another transaction changed after they were selected, and that were locked although they did not fulfil the
// conditions any more.

func (x *tx) locked(ctx context.Context, t *schema.Table, where []schema.Condition) ([]schema.Row, error) {
	s := dialect.Scan(x.db.own(t), schema.Where(where...), nil)
	s.SQL += " WITH LOCK"
	rows, err := x.many(ctx, s, t, nil)
	return sqltable.Sorted(t, schema.Predicate{}, rows), err
}

// still is the conditions of a statement, for the row with a primary key.
func still(t *schema.Table, key []any, where []schema.Condition) []schema.Condition {
	all := slices.Clone(where)
	for i, c := range t.Key {
		all = append(all, schema.Is(c.Name, key[i]))
	}
	return all
}

// SetWhere implements drivers.TableTx.
func (x *tx) SetWhere(ctx context.Context, t *schema.Table, where []schema.Condition, group int, exprs []schema.Expr) ([]schema.Row, error) {
	rows, err := x.locked(ctx, t, where)
	if err != nil {
		return nil, err
	}
	var changed []schema.Row
	for _, row := range rows {
		after, found, err := x.returned(ctx, dialect.Update(x.db.own(t), group, exprs).Where(still(t, row.Key, where)), t, group)
		if err != nil {
			return nil, err
		}
		if found {
			row.Groups[group] = after
			changed = append(changed, row)
		}
	}
	return changed, nil
}

// DeleteWhere implements drivers.TableTx.
func (x *tx) DeleteWhere(ctx context.Context, t *schema.Table, where []schema.Condition) ([][]any, error) {
	rows, err := x.locked(ctx, t, where)
	if err != nil {
		return nil, err
	}
	var keys [][]any
	for _, row := range rows {
		s := dialect.New().Add("DELETE FROM ").Name(x.db.own(t).Name).Where(still(t, row.Key, where)).Done()
		found, err := x.write(ctx, s.SQL, s.Args...)
		if err != nil {
			return nil, err
		}
		if found {
			keys = append(keys, row.Key)
		}
	}
	return keys, nil
}
