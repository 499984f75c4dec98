package firebird

import (
	"context"
	"strings"
	"time"

	"github.com/nakagami/firebirdsql"
	"github.com/pkg/errors"

	"github.com/isohound/isohound/drivers"
)

// mark is the variable of a session that holds the name of its run.
const mark = "ISOHOUND"

// Remnants implements drivers.Cleaner. A user who is not an administrator sees only its own sessions.
func (d *db) Remnants(ctx context.Context) (list []drivers.Remnant, err error) {
	err = d.admin(ctx, setupTimeout, func(ctx context.Context, x *tx) error {
		names, err := x.texts(ctx, "SELECT RDB$RELATION_NAME FROM RDB$RELATIONS WHERE RDB$RELATION_NAME STARTING WITH 'isohound_' ORDER BY 1")
		if err != nil {
			return err
		}
		used, err := x.texts(ctx, "SELECT MON$VARIABLE_VALUE FROM MON$CONTEXT_VARIABLES WHERE MON$VARIABLE_NAME = '"+mark+"' AND MON$ATTACHMENT_ID IS NOT NULL")
		if err != nil {
			return err
		}
		for _, table := range names {
			name := table[:min(len(table), len(d.schema))]
			if !drivers.IsRunName(name) || len(list) > 0 && list[len(list)-1].Name == name {
				continue
			}
			r := drivers.Remnant{Name: name}
			for _, by := range used {
				if by == name {
					r.Sessions++
				}
			}
			list = append(list, r)
		}
		return nil
	})
	if err != nil {
		return nil, unusable(err)
	}
	return list, nil
}

// texts runs a query for one column.
func (x *tx) texts(ctx context.Context, query string, args ...any) (out []string, err error) {
	rows, err := x.c.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			return nil, err
		}
		out = append(out, strings.TrimSpace(s)) // the catalogue has fixed lengths
	}
	return out, rows.Err()
}

// Drop implements drivers.Cleaner.
func (d *db) Drop(ctx context.Context, name string) error {
	if err := d.drop(ctx, name); err != nil {
		return unusable(err)
	}
	return nil
}

// drop drops the tables of a run. The server takes a moment to end the sessions of connections that were closed, and
// until then their tables are in use. Without a wait the server says so.
func (d *db) drop(ctx context.Context, name string) error {
	tables, err := d.tablesOf(ctx, name)
	if err != nil {
		return err
	}
	for _, table := range tables {
		for deadline := time.Now().Add(setupTimeout); ; time.Sleep(50 * time.Millisecond) {
			err := d.adminAt(ctx, firebirdsql.LevelReadCommittedNoWait, setupTimeout, func(ctx context.Context, x *tx) error {
				_, err := x.c.ExecContext(ctx, "DROP TABLE "+quoted(table))
				return err
			})
			var fe *firebirdsql.FbError
			if err == nil {
				break
			}
			if !errors.As(err, &fe) || !has(fe, firebirdsql.ISCObjInUse) && !has(fe, conflicts...) || time.Now().After(deadline) || ctx.Err() != nil {
				return err
			}
		}
	}
	return nil
}

// tablesOf lists the tables of a run.
func (d *db) tablesOf(ctx context.Context, name string) (tables []string, err error) {
	err = d.admin(ctx, setupTimeout, func(ctx context.Context, x *tx) error {
		tables, err = x.texts(ctx, "SELECT RDB$RELATION_NAME FROM RDB$RELATIONS WHERE RDB$RELATION_NAME STARTING WITH CAST(? AS VARCHAR(40))", name)
		return err
	})
	return tables, err
}

// Schema implements drivers.Resumer.
func (d *db) Schema() string { return d.schema }

// Resume implements drivers.Resumer.
func (d *db) Resume(ctx context.Context, schema string) error {
	if err := d.Attach(ctx, schema); err != nil {
		return err
	}
	d.created = true
	return nil
}

// Attach implements drivers.Attacher.
func (d *db) Attach(ctx context.Context, schema string) error {
	tables, err := d.tablesOf(ctx, schema)
	switch {
	case err != nil:
		return unusable(err)
	case len(tables) == 0:
		return unusable(errors.Errorf("the database has no tables of %s any more, so the run cannot go on", schema))
	}
	d.schema = schema
	return nil
}
