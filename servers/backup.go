package servers

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/pkg/errors"
)

// notCopied are folders whose content a copy of a running server must not have, or does not need. pg_wal is copied last.
var notCopied = []string{"pg_wal", "pg_replslot", "pg_dynshmem", "pg_notify", "pg_serial", "pg_snapshots", "pg_stat_tmp", "pg_subtrans"}

// backup fills the folder of a standby with a copy of the running server, as PostgreSQL's documentation describes it
// (Making a Base Backup Using the Low Level API). It needs no pg_basebackup, which packages of exact versions lack.
func (s *Postgres) backup(ctx context.Context, standby *Postgres) error {
	major, err := strconv.Atoi(s.version[:strings.IndexFunc(s.version+".", func(r rune) bool { return r < '0' || r > '9' })])
	if err != nil || major < 12 {
		return errors.Errorf("a standby needs PostgreSQL 12 or later, not %s", s.version)
	}
	begin, end := "pg_backup_start('isohound', true)", "pg_backup_stop(false)"
	if major < 15 {
		begin, end = "pg_start_backup('isohound', true, false)", "pg_stop_backup(false, false)"
	}
	c, err := pgx.Connect(ctx, s.DSN()) // the backup ends with its connection
	if err != nil {
		return errors.WithStack(err)
	}
	defer c.Close(context.WithoutCancel(ctx))
	if _, err := c.Exec(ctx, "SELECT "+begin); err != nil {
		return errors.WithStack(err)
	}
	if err := standby.copyFrom(s.data, "."); err != nil {
		return err
	}
	var label string
	if err := c.QueryRow(ctx, "SELECT labelfile FROM "+end).Scan(&label); err != nil {
		return errors.WithStack(err)
	}
	if err := standby.copyFrom(s.data, "pg_wal"); err != nil {
		return err
	}
	auto, err := os.ReadFile(filepath.Join(standby.data, "postgresql.auto.conf"))
	if err != nil {
		return errors.WithStack(err)
	}
	// The last value of a setting counts.
	settings := fmt.Sprintf("%s\nprimary_conninfo = 'host=127.0.0.1 port=%d user=isohound application_name=%s'\nsynchronous_standby_names = ''\n", auto, s.port, standby.name)
	for name, text := range map[string]string{"backup_label": label, "standby.signal": "", "postgresql.auto.conf": settings} {
		path := filepath.Join(standby.data, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return errors.WithStack(err)
		}
		if err := standby.give(path); err != nil {
			return err
		}
	}
	return nil
}

// copyFrom copies a folder below the data of a running server, which may remove and write files meanwhile. The log repairs
// what was copied while it was written.
func (s *Postgres) copyFrom(data, below string) error {
	return filepath.WalkDir(filepath.Join(data, below), func(path string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return errors.WithStack(err)
		}
		name, err := filepath.Rel(data, path)
		if err != nil {
			return errors.WithStack(err)
		}
		to := filepath.Join(s.data, name)
		switch {
		case name == "postmaster.pid" || name == "postmaster.opts" || strings.HasPrefix(e.Name(), "pgsql_tmp"):
			return nil
		case !e.IsDir():
			text, err := os.ReadFile(path)
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err == nil {
				err = os.WriteFile(to, text, 0o600)
			}
			if err != nil {
				return errors.WithStack(err)
			}
			return s.give(to)
		}
		if err := os.MkdirAll(to, 0o700); err != nil {
			return errors.WithStack(err)
		}
		if err := s.give(to); err != nil {
			return err
		}
		if below == "." && slices.Contains(notCopied, name) {
			return fs.SkipDir
		}
		return nil
	})
}

// Promote makes a standby the primary, with all that it has received.
func (s *Postgres) Promote() error {
	return s.Admin(func(ctx context.Context, c *pgx.Conn) error {
		var done bool
		err := c.QueryRow(ctx, "SELECT pg_promote()").Scan(&done)
		if err == nil && !done {
			err = errors.New("the standby was not promoted in time")
		}
		return errors.WithStack(err)
	})
}
