//go:build !front

package main

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
	case "require":
	default:
		return usage("--claims %s: expected auto, off or require", s.claims)
	}
	switch can := slices.Contains(s.info.Can, drivers.Positions); {
	case !can:
		return usage("--claims require: driver %s does not tell in which order transactions committed; %s do", s.driver, strings.Join(capable([]drivers.Capability{drivers.Positions}), ", "))
	case s.lightweight:
		return usage("--claims require: no driver tells where it placed lightweight transactions, as in workload %s", s.workload)
	}
	return nil
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
	if s.claims == "require" && s.positions(db) == "" {
		return usage("--claims require: %s does not tell in which order transactions committed at isolation %q", db.Server(), s.level.Name)
	}
	return nil
}
