//go:build !front

package cli

import (
	"slices"
	"strings"

	"github.com/isohound/isohound/drivers"
)

// resolveClaims checks --claims.
func (s *settings) resolveClaims() error {
	switch s.claims {
	case "auto", "off":
		return nil
	case "log", "require":
	default:
		return usage("--claims %s: expected auto, log, off or require", s.claims)
	}
	tells, logs := slices.Contains(s.info.Can, drivers.Positions), slices.Contains(s.info.Can, drivers.CommitLog)
	switch {
	case s.claims == "log" && !logs:
		return usage("--claims log: driver %s has no log that tells in which order transactions committed; drivers with one: %s", s.driver, strings.Join(capable([]drivers.Capability{drivers.CommitLog}), ", "))
	case !tells && !logs:
		return usage("--claims require: driver %s does not tell in which order transactions committed; drivers that tell it: %s", s.driver, strings.Join(append(capable([]drivers.Capability{drivers.Positions}), capable([]drivers.Capability{drivers.CommitLog})...), ", "))
	case s.lightweight:
		return usage("--claims %s: no driver tells where it placed lightweight transactions, as in workload %s", s.claims, s.workload)
	case s.wantsLog() && len(s.dsns) > 1:
		return usage("--claims %s: the log of %s tells the order of commits of one server; give one --dsn", s.claims, s.driver)
	}
	return nil
}

// wantsLog reports whether the order of the commits is read from a log of the server after the run.
func (s *settings) wantsLog() bool {
	return s.claims == "log" || s.claims == "require" && slices.Contains(s.info.Can, drivers.CommitLog)
}

// positions is what the positions are that are recorded, or "".
func (s *settings) positions(db drivers.DB) string {
	if p, ok := db.(drivers.Positioner); ok && s.claims != "off" && !s.lightweight {
		return p.Positions()
	}
	return ""
}

// checkClaims returns an error if positions are required and this database tells none.
func (s *settings) checkClaims(db drivers.DB) error {
	if s.claims == "require" && !s.wantsLog() && s.positions(db) == "" {
		if u, ok := db.(drivers.Untold); ok && u.Untold() != "" {
			return usage("--claims require: %s does not tell in which order transactions committed: %s", db.Server(), u.Untold())
		}
		return usage("--claims require: %s does not tell in which order transactions committed at isolation %q", db.Server(), s.level.Name)
	}
	return nil
}
