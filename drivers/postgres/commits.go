package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/pkg/errors"

	"github.com/isohound/isohound/drivers"
)

// The order of commits comes from a temporary logical replication slot. It belongs to a connection of its own, which
// faults do not disturb. The server drops the slot when that connection ends, however it ends, so none is left behind.

// commitLog is the connection with the slot, nil if there is none.
type commitLog struct {
	c *pgx.Conn
}

const (
	// commitsTimeout bounds one reading of the log.
	commitsTimeout = 2 * time.Minute
	// slotTries and slotWait bound the wait for a slot that is going.
	slotTries = 50
	slotWait  = 50 * time.Millisecond
)

// Log implements drivers.Logger.
func (d *db) Log(ctx context.Context) (unavailable string) {
	if !d.recovers || d.standby {
		return "this server has no log of commits that isohound can read"
	}
	ctx, cancel := context.WithTimeout(ctx, setupTimeout)
	defer cancel()
	d.closeLog(ctx)
	conf := d.conf.Copy()
	conf.DialFunc = d.dial
	c, err := pgx.ConnectConfig(ctx, conf)
	if err != nil {
		return plain(err).Error()
	}
	var level string
	if err = c.QueryRow(ctx, "SHOW wal_level").Scan(&level); err == nil && level == "logical" {
		for try := 0; ; try++ {
			_, err = c.Exec(ctx, "SELECT pg_create_logical_replication_slot($1, 'test_decoding', true)", d.schema)
			if !isCode(err, duplicateObject) || try == slotTries {
				break
			}
			time.Sleep(slotWait) // that of a killed process, which the server is about to drop
		}
	}
	switch {
	case err == nil && level == "logical":
		d.commits.c = c
		return ""
	case err == nil:
		unavailable = fmt.Sprintf("wal_level is %s; with wal_level = logical in postgresql.conf, and a restart, the server tells the order of its commits", level)
	case isCode(err, insufficientPrivilege):
		unavailable = plain(err).Error() + "; to allow it: ALTER ROLE " + pgx.Identifier{conf.User}.Sanitize() + " REPLICATION"
	default:
		unavailable = plain(err).Error()
	}
	c.Close(context.WithoutCancel(ctx))
	return unavailable
}

// Commits implements drivers.Logger.
func (d *db) Commits(ctx context.Context) (*drivers.Commits, error) {
	if d.commits.c == nil {
		return nil, errors.New("no log was opened")
	}
	ctx, cancel := context.WithTimeout(ctx, commitsTimeout)
	defer cancel()
	out := &drivers.Commits{Positions: "commit LSNs", Short: true, At: map[int64]int64{}}
	rows, err := d.commits.c.Query(ctx, "SELECT (lsn - '0/0'::pg_lsn)::bigint, xid::text::bigint FROM pg_logical_slot_get_changes($1, NULL, NULL) WHERE data LIKE 'COMMIT%'", d.schema)
	if err != nil {
		return nil, plain(err)
	}
	var at, xid int64
	_, err = pgx.ForEachRow(rows, []any{&at, &xid}, func() error {
		out.At[xid] = at
		return nil
	})
	if err != nil {
		return nil, plain(err)
	}
	return out, nil
}

// closeLog ends the connection with the slot.
func (d *db) closeLog(ctx context.Context) {
	if d.commits.c != nil {
		d.commits.c.Close(ctx)
		d.commits.c = nil
	}
}
