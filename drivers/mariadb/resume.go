package mariadb

import (
	"context"

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
	ctx, cancel := context.WithTimeout(ctx, setupTimeout)
	defer cancel()
	var there int
	err := d.pool.QueryRowContext(ctx, "SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name = ?", schema).Scan(&there)
	switch {
	case err != nil:
		return d.unusable(err)
	case there == 0:
		return d.unusable(errors.Errorf("the server has no database %s any more, so the run cannot go on", schema))
	}
	d.schema = schema
	return nil
}
