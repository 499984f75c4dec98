// Package sqlrows runs the statements of package sqltable with database/sql. It is apart because package sqltable also
// words counterexamples, in a program without database/sql.
package sqlrows

import (
	"context"
	"database/sql"

	"github.com/isohound/isohound/drivers/sqltable"
	"github.com/isohound/isohound/history/schema"
)

// Querier runs statements, as *sql.Conn does.
type Querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// Many runs a statement whose columns are those of sqltable.Columns(t, true, groups), and returns the rows. Errors are the
// client's.
func Many(ctx context.Context, q Querier, s sqltable.Statement, t *schema.Table, groups []int) ([]schema.Row, error) {
	found, err := q.QueryContext(ctx, s.SQL, s.Args...)
	if err != nil {
		return nil, err
	}
	defer found.Close()
	var rows []schema.Row
	columns := sqltable.Types(t, true, groups)
	for found.Next() {
		to := sqltable.NewTargets(columns)
		if err := found.Scan(to.Into...); err != nil {
			return nil, err
		}
		rows = append(rows, sqltable.Unflatten(t, to.Values(), groups))
	}
	return rows, found.Err()
}

// One runs a statement that returns at most one row, of columns, and scans it. Errors are the client's.
func One(ctx context.Context, q Querier, s sqltable.Statement, columns []schema.Column, more ...any) (values []any, found bool, err error) {
	to := sqltable.NewTargets(columns, more...)
	err = q.QueryRowContext(ctx, s.SQL, s.Args...).Scan(to.Into...)
	if err == sql.ErrNoRows {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	return to.Values(), true, nil
}

// Row runs a statement of sqltable.Dialect.Get. Errors are the client's.
func Row(ctx context.Context, q Querier, s sqltable.Statement, t *schema.Table, key []any, groups []int) (row schema.Row, found bool, err error) {
	var more []any
	if len(groups) == 0 {
		more = []any{new(int64)}
	}
	values, found, err := One(ctx, q, s, sqltable.Types(t, false, groups), more...)
	if err != nil || !found {
		return schema.Row{}, false, err
	}
	return sqltable.Unflatten(t, append(key[:len(key):len(key)], values...), groups), true, nil
}
