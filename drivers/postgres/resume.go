package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/pkg/errors"
)

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
	var there bool
	err := d.admin(ctx, func(ctx context.Context, c *pgx.Conn) error {
		return c.QueryRow(ctx, "SELECT EXISTS (SELECT 1 FROM information_schema.schemata WHERE schema_name = $1)", schema).Scan(&there)
	})
	switch {
	case err != nil:
		return d.unusable(plain(err))
	case !there:
		return d.unusable(errors.Errorf("the server has no schema %s any more, so the run cannot go on", schema))
	}
	d.schema = schema
	return nil
}
