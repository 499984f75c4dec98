package postgres

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/pkg/errors"

	"github.com/isohound/isohound/drivers"
)

// catchUp bounds how long an endpoint may lag behind at the beginning.
var catchUp = 60 * time.Second

// Join implements drivers.Joiner. Changes arrive in order: once a table created last at the
// first endpoint is here, everything created before is here too.
func (d *db) Join(ctx context.Context, first drivers.DB) error {
	f, ok := first.(*db)
	if !ok || !f.created {
		return errors.New("an endpoint can only join one that has created the schema")
	}
	if d.standby && d.level == pgx.Serializable {
		return d.unusable(errors.New("this endpoint is a hot standby, which has no serializable isolation; request \"repeatable read\""))
	}
	d.schema = f.schema
	mark := pgx.Identifier{d.schema, "joined"}.Sanitize()
	err := f.admin(ctx, func(ctx context.Context, c *pgx.Conn) error {
		_, err := c.Exec(ctx, "CREATE TABLE IF NOT EXISTS "+mark+" (k bigint PRIMARY KEY)")
		return err
	})
	if err != nil {
		return f.unusable(plain(err))
	}
	deadline := time.Now().Add(catchUp)
	for {
		var visible bool
		err := d.admin(ctx, func(ctx context.Context, c *pgx.Conn) error {
			return c.QueryRow(ctx, "SELECT to_regclass($1) IS NOT NULL", mark).Scan(&visible)
		})
		switch {
		case err != nil:
			return d.unusable(plain(err))
		case visible:
			return nil
		case time.Now().After(deadline):
			return d.unusable(errors.Errorf("what the first endpoint created, schema %s, is not here after %v; is this an endpoint of the same database, and does it replicate?", d.schema, catchUp))
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Notes implements drivers.Noter.
func (d *db) Notes() []string {
	if !d.standby {
		return d.notes
	}
	return append(slices.Clone(d.notes), "an endpoint is a hot standby: transactions that write there abort (25006), and reads there lag behind the primary, so real time and read-your-writes do not hold across endpoints")
}
