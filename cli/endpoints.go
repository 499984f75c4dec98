//go:build !front

package cli

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/drivers/faults"
	"github.com/isohound/isohound/servers"
)

// maxEndpoints bounds the number of endpoints of a run.
const maxEndpoints = 100

// resolveEndpoints determines the DSNs of the database.
func (s *settings) resolveEndpoints() error {
	s.dsns = slices.DeleteFunc(s.dsns, func(dsn string) bool { return strings.TrimSpace(dsn) == "" })
	if len(s.dsns) == 0 && !s.info.Embedded && s.server == "" {
		for line := range strings.Lines(os.Getenv(dsnVariable)) {
			if line = strings.TrimSpace(line); line != "" {
				s.dsns = append(s.dsns, line)
			}
		}
		if len(s.dsns) == 0 {
			return usage("driver %s needs --dsn, for example %s, or the same in the environment as %s", s.driver, s.info.DSN, dsnVariable)
		}
		s.dsnGiven = true
	}
	switch {
	case len(s.dsns) > maxEndpoints:
		return usage("--dsn: %d endpoints, more than the %d that a run can have", len(s.dsns), maxEndpoints)
	case len(s.dsns) > 1 && !slices.Contains(s.info.Can, drivers.Endpoints):
		return usage("driver %s takes one --dsn, not %d; drivers that take several: %s", s.driver, len(s.dsns), strings.Join(capable([]drivers.Capability{drivers.Endpoints}), ", "))
	}
	return nil
}

// endpoints returns the DSNs for display, with passwords masked.
func (s *settings) endpoints() []string {
	var shown []string
	for _, dsn := range s.dsns {
		shown = append(shown, drivers.MaskDSN(s.engine, dsn))
	}
	return shown
}

// nodes names the endpoints if there are several.
func (s *settings) nodes() []string {
	if len(s.dsns) < 2 {
		return nil
	}
	return s.endpoints()
}

// resolveFaults reads the scripts of faults.
func (s *settings) resolveFaults() error {
	for _, script := range s.faults {
		events, err := faults.Parse(script, s.endpointCount())
		if err != nil {
			return usage("--fault: %v", err)
		}
		s.events = append(s.events, events...)
	}
	spec, _ := servers.ParseSpec(s.server)
	connections := slices.ContainsFunc(s.events, func(e faults.Event) bool { return e.Action.Connections() })
	for _, e := range s.events {
		switch {
		case e.Function != "" && !spec.Breaks():
			return usage("--fault: %q needs --server postgres: only its sessions can be stopped at a function", e)
		case e.Backends && slices.Contains(s.info.Can, drivers.Pauses):
		case e.Action.Server() && s.server == "":
			return usage("--fault: %q needs --server: isohound disturbs only servers that it has started", e)
		case e.Standby && !spec.Standby():
			return usage("--fault: %q needs a server with a standby: --server postgres-failover", e)
		case e.Action == faults.Fill && !spec.Disk():
			return usage("--fault: %q: --server %s cannot have a disk of its own", e, s.server)
		case e.Backends && s.driver != "postgres":
			return usage("--fault: %q: only PostgreSQL has a process for each session; pause the whole server instead", e)
		}
	}
	if connections && !slices.Contains(s.info.Can, drivers.Disturb) {
		return usage("--fault: driver %s has no connections to disturb; drivers with some: %s", s.driver, strings.Join(capable([]drivers.Capability{drivers.Disturb}), ", "))
	}
	return nil
}

// script spells all faults as one script.
func (s *settings) script() string {
	var texts []string
	for _, e := range s.events {
		texts = append(texts, e.String())
	}
	return strings.Join(texts, "; ")
}

// endpointCount is how many endpoints the run will have.
func (s *settings) endpointCount() int {
	if spec, err := servers.ParseSpec(s.server); err == nil {
		return spec.Nodes()
	}
	return max(len(s.dsns), 1)
}

// open connects to the database. The endpoints after the first become a.others.
func (a *app) open(s *settings) (drivers.DB, error) {
	if err := a.startServer(s); err != nil {
		return nil, err
	}
	dsns := s.dsns
	if len(dsns) == 0 {
		dsns = []string{""} // an embedded database in memory
	}
	if len(s.events) > 0 {
		a.faults = faults.New(s.events, len(dsns), s.seed)
		var env []string
		if len(s.dsns) > 0 {
			env = append(env, dsnVariable+"="+strings.Join(s.dsns, "\n"))
		}
		a.faults.Serve(a.server, a.outageNote(), env)
	}
	var first drivers.DB
	for n, dsn := range dsns {
		cfg := drivers.Config{DSN: dsn, Isolation: s.level.Name, CallTimeout: s.callTimeout, Positions: s.claims != "off" && !s.lightweight}
		if a.faults != nil && slices.Contains(s.info.Can, drivers.Disturb) {
			cfg.Dial = a.faults.Dial(n)
		}
		db, err := drivers.Open(a.stop, s.engine, cfg)
		if err != nil {
			if first != nil {
				a.closeDB(first)
			} else {
				a.stopServer()
			}
			if a.stop.Err() != nil {
				return nil, errInterrupted
			}
			return nil, s.atEndpoint(n, err)
		}
		if p, ok := db.(drivers.Pauser); ok && a.faults != nil {
			a.faults.Pause(p.PauseSession)
		}
		if n == 0 {
			first = db
		} else {
			a.others = append(a.others, db)
		}
	}
	if err := s.checkClaims(first); err != nil {
		a.closeDB(first)
		return nil, err
	}
	return first, nil
}

// joinLate is after how long a run says that an endpoint lacks what was created at the first one.
const joinLate = 3 * time.Second

// join makes the other endpoints use what was created at the first.
func (a *app) join(s *settings, first drivers.DB) error {
	for n, db := range a.others {
		late := time.AfterFunc(joinLate, func() {
			fmt.Fprintf(a.msg, "note: endpoint %d of %d does not have what was created at the first, waiting: is it one of the same database, and does it replicate?\n", n+2, len(s.dsns))
		})
		err := db.(drivers.Joiner).Join(a.stop, first)
		late.Stop()
		if err != nil {
			return s.atEndpoint(n+1, err)
		}
	}
	return nil
}

// atEndpoint adds to an error at which of several endpoints it occurred.
func (s *settings) atEndpoint(n int, err error) error {
	if len(s.dsns) < 2 {
		return err
	}
	return errors.WithMessagef(err, "endpoint %d of %d, %s", n+1, len(s.dsns), s.endpoints()[n])
}
