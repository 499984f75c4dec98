package mariadb

import (
	"context"
	"encoding/hex"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/drivers/sqlrows"
	"github.com/isohound/isohound/drivers/sqltable"
	"github.com/isohound/isohound/history/schema"
)

// dialect is MariaDB's. Texts are binary, so that no collation treats two texts as equal.
var dialect = &sqltable.Dialect{
	Quote: "`", Int: "BIGINT",
	Text: func(size int) string {
		if size == 0 {
			size = 255
		}
		return fmt.Sprintf("VARBINARY(%d)", size)
	},
	Options: " ENGINE=InnoDB",
	Concat:  func(a, b string) string { return "CONCAT(" + a + ", " + b + ")" },
}

// loadTimeout bounds creating tables with their rows.
const loadTimeout = 10 * time.Minute

// CreateTables implements drivers.TableDB.
func (d *db) CreateTables(ctx context.Context, tables schema.Schema, rows iter.Seq2[*schema.Table, schema.Row]) error {
	if err := d.info.CheckIndexes(tables); err != nil {
		return err
	}
	if d.name == autoRetry {
		return d.unusable(errRetried)
	}
	if err := d.createTables(ctx, tables, rows); err != nil {
		return d.unusable(errors.Wrap(err, "creating tables in "+d.schema))
	}
	return nil
}

func (d *db) createTables(ctx context.Context, tables schema.Schema, rows iter.Seq2[*schema.Table, schema.Row]) error {
	ctx, cancel := context.WithTimeout(ctx, loadTimeout)
	defer cancel()
	c, err := d.pool.Conn(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	exec := func(s sqltable.Statement) error {
		_, err := c.ExecContext(ctx, s.SQL, s.Args...)
		return err
	}
	if err := exec(sqltable.Statement{SQL: "USE " + d.schema}); err != nil {
		return err
	}
	for _, t := range tables {
		if err := exec(dialect.Create(t)); err != nil {
			return errors.Wrap(err, "table "+t.Name)
		}
	}
	pending := map[*schema.Table][]schema.Row{}
	flush := func(t *schema.Table) error {
		err := exec(dialect.Insert(t, pending[t]...).Done())
		pending[t] = pending[t][:0]
		return errors.Wrap(err, "rows of table "+t.Name)
	}
	for t, row := range rows {
		pending[t] = append(pending[t], row)
		if len(pending[t]) == perInsert {
			if err := flush(t); err != nil {
				return err
			}
		}
	}
	for t, left := range pending {
		if len(left) > 0 {
			if err := flush(t); err != nil {
				return err
			}
		}
	}
	for _, t := range tables {
		for i := range t.Indexes {
			if err := exec(dialect.Index(t, i)); err != nil {
				return errors.Wrap(err, "an index of table "+t.Name)
			}
		}
		// If the planner believes that a table is empty, it scans the whole table, and
		// serializable then locks all of it.
		if err := exec(sqltable.Statement{SQL: "ANALYZE TABLE `" + t.Name + "`"}); err != nil {
			return err
		}
	}
	return nil
}

// Get implements drivers.TableTx.
func (x tx) Get(ctx context.Context, t *schema.Table, key []any, groups []int) (schema.Row, bool, error) {
	row, found, err := sqlrows.Row(ctx, x.c, dialect.Get(t, key, groups), t, key, groups)
	return row, found, x.failed(err)
}

// InsertRow implements drivers.TableTx.
func (x tx) InsertRow(ctx context.Context, t *schema.Table, row schema.Row) error {
	x.writing()
	s := dialect.Insert(t, row).Done()
	_, err := x.c.ExecContext(ctx, s.SQL, s.Args...)
	x.wrote(err == nil)
	return x.failed(err)
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

// many runs a statement that returns rows.
func (x tx) many(ctx context.Context, s sqltable.Statement, t *schema.Table, groups []int) ([]schema.Row, error) {
	rows, err := sqlrows.Many(ctx, x.c, s, t, groups)
	return rows, x.failed(err)
}

// CountWhere implements drivers.TableTx.
func (x tx) CountWhere(ctx context.Context, t *schema.Table, where []schema.Condition) (n int, err error) {
	s := dialect.Count(t, where)
	err = x.c.QueryRowContext(ctx, s.SQL, s.Args...).Scan(&n)
	return n, x.failed(err)
}

// DeleteWhere implements drivers.TableTx with DELETE ... RETURNING, which only MariaDB has.
func (x tx) DeleteWhere(ctx context.Context, t *schema.Table, where []schema.Condition) ([][]any, error) {
	if !x.returning {
		return x.deleteWhereLocked(ctx, t, where)
	}
	x.writing()
	rows, err := x.many(ctx, dialect.DeleteWhere(t, where, " RETURNING "), t, nil)
	return sqltable.Keys(rows), err
}

// MariaDB has no UPDATE ... RETURNING. A user variable of the session records what an update
// leaves, while the statement computes it. The first assignment of each row records the row's
// key and the new values, computed by the same expressions from the same columns, before any of
// them changes. Reading the variable afterwards accesses no table. This is exact because the
// server evaluates assignments from left to right, once for each row that it updates, and
// because a statement that fails half-way aborts the transaction here.

const variable = "@isohound"

// Set implements drivers.TableTx.
func (x tx) Set(ctx context.Context, t *schema.Table, key []any, group int, exprs []schema.Expr) ([]any, bool, error) {
	depends, err := schema.Depends(exprs)
	if err != nil {
		return nil, false, err
	}
	if !depends {
		s := dialect.Update(t, group, exprs).Key(t, key).Done()
		found, err := x.write(ctx, s.SQL, s.Args...)
		return nil, found, err
	}
	if x.rereads {
		return x.setReread(ctx, t, key, group, exprs)
	}
	rows, err := x.caught(ctx, t, group, catching("UPDATE ", t).Add(" SET ").catch(t, group, exprs).Key(t, key).Done())
	if err != nil || len(rows) == 0 {
		return nil, false, err
	}
	return rows[0].Groups[group], true, nil
}

// SetWhere implements drivers.TableTx.
func (x tx) SetWhere(ctx context.Context, t *schema.Table, where []schema.Condition, group int, exprs []schema.Expr) ([]schema.Row, error) {
	if x.rereads {
		return x.setWhereReread(ctx, t, where, group, exprs)
	}
	rows, err := x.caught(ctx, t, group, catching("UPDATE ", t).Add(" SET ").catch(t, group, exprs).Where(where).Done())
	return sqltable.Sorted(t, schema.Predicate{}, rows), err
}

// Upsert implements drivers.TableTx with INSERT ... ON DUPLICATE KEY UPDATE, whose assignments
// are only evaluated if the row exists.
func (x tx) Upsert(ctx context.Context, t *schema.Table, row schema.Row, exprs []schema.Expr) ([]any, bool, error) {
	if x.rereads {
		return x.upsertReread(ctx, t, row, exprs)
	}
	b := &catcher{dialect.Insert(t, row).Add(" ON DUPLICATE KEY UPDATE ")}
	rows, err := x.caught(ctx, t, 0, b.catch(t, 0, exprs).Done())
	switch {
	case err != nil:
		return nil, false, err
	case len(rows) == 0:
		return row.Groups[0], true, nil
	}
	return rows[0].Groups[0], false, nil
}

// catcher builds statements that record what they do.
type catcher struct{ *sqltable.Builder }

func catching(verb string, t *schema.Table) *catcher {
	return &catcher{dialect.New().Add(verb).Name(t.Name)}
}

func (b *catcher) Add(text string) *catcher {
	b.Builder.Add(text)
	return b
}

// catch appends the assignments to the columns of a group. The first one records the primary key
// and the new values: numbers as they are, texts in hexadecimal, nulls as a minus, each followed by
// a semicolon.
func (b *catcher) catch(t *schema.Table, group int, exprs []schema.Expr) *sqltable.Builder {
	columns := t.Groups[group].Columns
	note := func(c schema.Column, value func()) {
		before, after := "", ""
		if c.Null {
			before, after = "IFNULL(", ", '-')"
		}
		if c.Type == schema.Text {
			before, after = before+"HEX(", ")"+after
		}
		b.Add(", " + before)
		value()
		b.Add(after + ", ';'")
	}
	b.Name(columns[0].Name).Add(" = IF((" + variable + " := CONCAT(" + variable)
	for _, c := range t.Key {
		note(c, func() { b.Name(c.Name) })
	}
	for i, c := range columns {
		note(c, func() { b.Expr(c.Name, exprs[i], "") })
	}
	b.Add(")) IS NULL, NULL, ").Expr(columns[0].Name, exprs[0], "").Add(")")
	for i, c := range columns[1:] {
		b.Add(", ").Name(c.Name).Add(" = ").Expr(c.Name, exprs[i+1], "")
	}
	return b.Builder
}

// caught runs a recording statement and reads what it recorded.
func (x tx) caught(ctx context.Context, t *schema.Table, group int, s sqltable.Statement) ([]schema.Row, error) {
	x.writing()
	if _, err := x.c.ExecContext(ctx, "SET "+variable+" = ''"); err != nil {
		return nil, x.failed(err)
	}
	if _, err := x.c.ExecContext(ctx, s.SQL, s.Args...); err != nil {
		return nil, x.failed(err)
	}
	var notes string
	if err := x.c.QueryRowContext(ctx, "SELECT "+variable).Scan(&notes); err != nil {
		return nil, x.failed(err)
	}
	groups := []int{group}
	rows, err := readNotes(t, groups, notes)
	if err != nil {
		return nil, &drivers.Error{Class: drivers.Fatal, Cause: "isohound's own mistake", Err: err}
	}
	return rows, nil
}

func readNotes(t *schema.Table, groups []int, notes string) ([]schema.Row, error) {
	columns := sqltable.Types(t, true, groups)
	fields := strings.Split(notes, ";")
	fields = fields[:len(fields)-1] // the text ends with a semicolon
	if len(fields)%len(columns) != 0 {
		return nil, errors.Errorf("the notes of an update are %.100q", notes)
	}
	var rows []schema.Row
	for ; len(fields) > 0; fields = fields[len(columns):] {
		values := make([]any, len(columns))
		for i, c := range columns {
			if c.Null && fields[i] == "-" {
				continue
			}
			if c.Type == schema.Text {
				text, err := hex.DecodeString(fields[i])
				if err != nil {
					return nil, errors.Wrap(err, "the notes of an update")
				}
				values[i] = string(text)
				continue
			}
			n, err := strconv.ParseInt(fields[i], 10, 64)
			if err != nil {
				return nil, errors.Wrap(err, "the notes of an update")
			}
			values[i] = n
		}
		rows = append(rows, sqltable.Unflatten(t, values, groups))
	}
	return rows, nil
}
