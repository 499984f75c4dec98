package mariadb

import (
	"context"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/drivers/sqlrows"
	"github.com/isohound/isohound/drivers/sqltable"
	"github.com/isohound/isohound/history/schema"
)

// TiDB neither evaluates assignments in MariaDB's order nor has RETURNING, which MySQL lacks, too.
// Statements on rows that fulfil conditions first lock the rows with SELECT ... FOR UPDATE, which
// reads what an UPDATE or DELETE with these conditions would change, and then change each by its key.
// What an update left is read by key afterwards: a transaction sees its own writes, and nobody else
// can write a row that it has locked, or its commit fails (TiDB's optimistic transactions).

// errVanished: a locked row is not there any more.
var errVanished = &drivers.Error{Class: drivers.Aborted, Cause: "a locked row vanished"}

// setReread is Set.
func (x tx) setReread(ctx context.Context, t *schema.Table, key []any, group int, exprs []schema.Expr) ([]any, bool, error) {
	s := dialect.Update(t, group, exprs).Key(t, key).Done()
	found, err := x.write(ctx, s.SQL, s.Args...)
	if err != nil || !found {
		return nil, false, err
	}
	groups := []int{group}
	s = dialect.Get(t, key, groups)
	after, found, err := sqlrows.One(ctx, x.c, s, sqltable.Types(t, false, groups))
	if err == nil && !found {
		return nil, false, errVanished
	}
	return after, found, x.failed(err)
}

// upsertReread is Upsert: an update, and an insertion if there was no row. The insertion fails if
// another transaction has inserted the row since.
func (x tx) upsertReread(ctx context.Context, t *schema.Table, row schema.Row, exprs []schema.Expr) ([]any, bool, error) {
	after, found, err := x.setReread(ctx, t, row.Key, 0, exprs)
	if err != nil || found {
		return after, false, err
	}
	return row.Groups[0], true, x.InsertRow(ctx, t, row)
}

// locked locks the rows that fulfil conditions, and returns their keys.
func (x tx) locked(ctx context.Context, t *schema.Table, where []schema.Condition) ([]schema.Row, error) {
	x.writing()
	s := dialect.Scan(t, schema.Where(where...), nil)
	s.SQL += " FOR UPDATE"
	rows, err := x.many(ctx, s, t, nil)
	return sqltable.Sorted(t, schema.Predicate{}, rows), err
}

// setWhereReread is SetWhere.
func (x tx) setWhereReread(ctx context.Context, t *schema.Table, where []schema.Condition, group int, exprs []schema.Expr) ([]schema.Row, error) {
	rows, err := x.locked(ctx, t, where)
	if err != nil {
		return nil, err
	}
	for i := range rows {
		after, found, err := x.setReread(ctx, t, rows[i].Key, group, exprs)
		if err != nil {
			return nil, err
		}
		if !found {
			return nil, errVanished
		}
		rows[i].Groups[group] = after
	}
	return rows, nil
}

// deleteWhereLocked is DeleteWhere.
func (x tx) deleteWhereLocked(ctx context.Context, t *schema.Table, where []schema.Condition) ([][]any, error) {
	rows, err := x.locked(ctx, t, where)
	if err != nil {
		return nil, err
	}
	for i := range rows {
		found, err := x.DeleteRow(ctx, t, rows[i].Key)
		if err != nil {
			return nil, err
		}
		if !found {
			return nil, errVanished
		}
	}
	return sqltable.Keys(rows), nil
}
