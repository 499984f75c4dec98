package mariadb

import (
	"context"
	"time"

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
		return errors.New("an endpoint can only join one that has created the database")
	}
	d.schema = f.schema
	if _, err := f.pool.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS "+d.schema+".joined (k BIGINT PRIMARY KEY) ENGINE=InnoDB"); err != nil {
		return f.unusable(err)
	}
	var readOnly string // a number, or since MariaDB 12 a word
	if err := d.pool.QueryRowContext(ctx, "SELECT @@read_only").Scan(&readOnly); err != nil {
		return d.unusable(err)
	}
	if d.readOnly = readOnly != "0" && readOnly != "OFF"; d.readOnly {
		d.notes = append(d.notes, "an endpoint is read_only: transactions that write there abort (1290), unless the user is exempt, and then the replica diverges; reads there lag behind the first endpoint")
	}
	deadline := time.Now().Add(catchUp)
	for {
		var tables int
		err := d.pool.QueryRowContext(ctx, "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = ? AND table_name = 'joined'", d.schema).Scan(&tables)
		switch {
		case err != nil:
			return d.unusable(err)
		case tables > 0:
			return nil
		case time.Now().After(deadline):
			return d.unusable(errors.Errorf("what the first endpoint created, database %s, is not here after %v; is this an endpoint of the same database, and does it replicate?", d.schema, catchUp))
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(20 * time.Millisecond):
		}
	}
}
