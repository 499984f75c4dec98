//go:build !front

package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/drivers/faults"
	"github.com/isohound/isohound/servers"
)

// privateServer is a server that isohound has started for a run.
type privateServer interface {
	faults.Server
	DSN() string
	Stop()
}

// resolveServer reads --server, which also chooses the driver.
func (s *settings) resolveServer(c *cobra.Command) error {
	if s.server == "" {
		return nil
	}
	kind, folder, has := strings.Cut(s.server, "=")
	switch {
	case kind != "postgres" && kind != "mariadb" && kind != "firebird" || has && (kind != "postgres" || folder == ""):
		return usage("--server %s: expected postgres, mariadb, firebird, or postgres=FOLDER", s.server)
	case len(s.dsns) > 0:
		return usage("--server and --dsn do not go together")
	case c.Flags().Changed("driver") && s.driver != kind:
		return usage("--server %s is for --driver %s, not %s", s.server, kind, s.driver)
	}
	s.driver = kind
	return nil
}

// startServer starts the private server of a run, if one is asked for.
func (a *app) startServer(s *settings) error {
	if s.server == "" {
		return nil
	}
	kind, folder, has := strings.Cut(s.server, "=")
	opts := []servers.Option{servers.Context(a.stop)}
	if has {
		opts = append(opts, servers.Programs(folder))
	}
	var err error
	switch kind {
	case "postgres":
		var pg *servers.Postgres
		if pg, err = servers.StartPostgres(opts...); err == nil {
			a.server = pg
		}
	case "firebird":
		var fb *servers.Firebird
		if fb, err = servers.StartFirebird(opts...); err == nil {
			a.server = fb
		}
	default:
		var my *servers.MariaDB
		if my, err = servers.StartMariaDB(opts...); err == nil {
			a.server = my
		}
	}
	if err != nil {
		if a.stop.Err() != nil {
			return errInterrupted
		}
		return &drivers.UnreachableError{Driver: kind, Err: err}
	}
	s.dsns = []string{a.server.DSN()}
	return nil
}

// stopServer stops the private server and removes its data.
func (a *app) stopServer() {
	if a.server != nil {
		a.server.Stop()
		a.server = nil
	}
}
