package servers

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/pkg/errors"
)

// StartStandby makes a copy of the server and starts it as a hot standby with streaming
// replication. There may be several. Settings are those of the standby; it does not copy the
// primary's.
//
// A commit waits for each standby that is Synchronous, as the session's synchronous_commit says:
// until it is on the standby's disk (on, the default), until it is applied there (remote_apply),
// or not at all (local, off). It waits forever once such a standby is stopped.
func (s *Postgres) StartStandby(opts ...Option) (*Postgres, error) {
	c, err := configure(opts)
	if err != nil {
		return nil, err
	}
	standby, err := newPostgres(c, "standby", s.bin, func(copied *Postgres) error {
		return s.backup(c.ctx, copied)
	})
	if err != nil || !c.synchronous {
		return standby, err
	}
	if err := s.waitFor(c.ctx, standby); err != nil {
		standby.Stop()
		return nil, err
	}
	return standby, nil
}

// waitFor makes commits wait for a standby, from its return on.
func (s *Postgres) waitFor(ctx context.Context, standby *Postgres) error {
	quoted := []string{}
	names := append(s.waitsFor[:len(s.waitsFor):len(s.waitsFor)], standby.name)
	for _, n := range names {
		quoted = append(quoted, pgx.Identifier{n}.Sanitize())
	}
	all := fmt.Sprintf("FIRST %d (%s)", len(names), strings.Join(quoted, ", "))
	err := s.admin(ctx, func(ctx context.Context, c *pgx.Conn) error {
		if _, err := c.Exec(ctx, "ALTER SYSTEM SET synchronous_standby_names = '"+all+"'"); err != nil {
			return err
		}
		_, err := c.Exec(ctx, "SELECT pg_reload_conf()")
		return err
	})
	if err != nil {
		return err
	}
	s.waitsFor = names
	return s.await(ctx, func(ctx context.Context) error {
		return s.admin(ctx, func(ctx context.Context, c *pgx.Conn) error {
			var state string
			err := c.QueryRow(ctx, "SELECT coalesce(max(sync_state), 'nothing') FROM pg_stat_replication WHERE application_name = $1", standby.name).Scan(&state)
			if err == nil && state != "sync" {
				err = errors.Errorf("the standby is %s, not sync", state)
			}
			return err
		})
	})
}
