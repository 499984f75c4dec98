package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/isohound/isohound/drivers"
)

// Remnants implements drivers.Cleaner. Sessions have the name of their schema as application_name, unless the DSN
// sets that.
func (d *db) Remnants(ctx context.Context) ([]drivers.Remnant, error) {
	count := "(SELECT count(*) FROM pg_stat_activity WHERE application_name = nspname)"
	if !d.recovers {
		count = "-1" // sessions of other nodes are not in pg_stat_activity
	}
	var list []drivers.Remnant
	err := d.admin(ctx, func(ctx context.Context, c *pgx.Conn) error {
		rows, err := c.Query(ctx, "SELECT nspname::text, "+count+" FROM pg_namespace WHERE nspname LIKE 'isohound%' ORDER BY 1")
		if err != nil {
			return err
		}
		var r drivers.Remnant
		_, err = pgx.ForEachRow(rows, []any{&r.Name, &r.Sessions}, func() error {
			if drivers.IsRunName(r.Name) {
				list = append(list, r)
			}
			return nil
		})
		return err
	})
	if err != nil {
		return nil, d.unusable(plain(err))
	}
	return list, nil
}

// Drop implements drivers.Cleaner.
func (d *db) Drop(ctx context.Context, name string) error {
	err := d.admin(ctx, func(ctx context.Context, c *pgx.Conn) error {
		_, err := c.Exec(ctx, "DROP SCHEMA IF EXISTS "+pgx.Identifier{name}.Sanitize()+" CASCADE")
		return err
	})
	if err != nil {
		return d.unusable(plain(err))
	}
	return nil
}
