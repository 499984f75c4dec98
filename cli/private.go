//go:build !front

package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/pkg/errors"
	"github.com/spf13/cobra"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/drivers/faults"
	"github.com/isohound/isohound/internal/scratch"
	"github.com/isohound/isohound/servers"
	"github.com/isohound/isohound/servers/fetch"
)

// resolveServer reads --server, which also chooses the driver.
func (s *settings) resolveServer(c *cobra.Command) error {
	if s.server == "" {
		return nil
	}
	spec, err := servers.ParseSpec(s.server)
	switch {
	case err != nil:
		return usage("--server %s: %v", s.server, err)
	case len(s.dsns) > 0:
		return usage("--server and --dsn do not go together")
	case c.Flags().Changed("driver") && s.driver != spec.Driver:
		return usage("--server %s is for --driver %s, not %s", s.server, spec.Driver, s.driver)
	}
	s.driver = spec.Driver
	return nil
}

// startServer starts the private server of a run, if one is asked for. A version becomes that of the package that
// runs, so that the run can be repeated with the same one.
func (a *app) startServer(s *settings) error {
	if s.server == "" {
		return nil
	}
	spec, err := servers.ParseSpec(s.server)
	if err != nil {
		return err
	}
	opts := []servers.Option{servers.Context(a.stop), servers.Ready(s.ready)}
	if !s.quiet {
		opts = append(opts, servers.Note(func(text string) { fmt.Fprintln(a.msg, text) }))
	}
	switch {
	case (spec.Kind == "postgres" || spec.Kind == "docker-postgres") && (s.claims == "log" || s.claims == "require"):
		opts = append(opts, servers.Set("wal_level", "logical"))
	case (spec.Kind == "mariadb" || spec.Kind == "docker-mariadb") && s.claims == "require":
		opts = append(opts, servers.Set("log_bin", "log"))
	case spec.Kind == "galera" && s.claims == "require":
		opts = append(opts, servers.Set("wsrep_gtid_mode", "ON"))
	}
	if slices.ContainsFunc(s.events, func(e faults.Event) bool { return e.Action == faults.Fill }) {
		opts = append(opts, servers.Disk())
	}
	server, err := spec.Begin(opts...)
	if err != nil {
		if a.stop.Err() != nil {
			return errInterrupted
		}
		if errors.As(err, new(*scratch.Error)) { // the server is not to blame
			return err
		}
		if errors.As(err, new(*fetch.NoPackageError)) {
			return usage("--server %s: %v", s.server, err)
		}
		return withCode(exitUnavailable, errors.Errorf("cannot start --server %s: %s", s.server, strings.Join(strings.Fields(err.Error()), " ")))
	}
	a.server = server
	if e, ok := server.(servers.Exacter); ok && spec.Version != "" {
		spec.Version = e.Exact()
	}
	s.server = spec.String()
	s.dsns = spec.DSNs(a.server.DSN())
	return nil
}

// ready reports whether the driver can use a server.
func (s *settings) ready(ctx context.Context, dsn string) error {
	db, err := drivers.Open(ctx, s.engine, drivers.Config{DSN: dsn, Isolation: s.level.Name, CallTimeout: s.callTimeout})
	if err != nil {
		return err
	}
	return db.Close(ctx)
}

// stopServer stops the private server and removes its data.
func (a *app) stopServer() {
	if a.server != nil {
		a.server.Stop()
		a.server = nil
	}
}
