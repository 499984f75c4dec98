//go:build !front

package cli

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/history/file"
	joining "github.com/isohound/isohound/history/join"
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
		return usage("--claims log: driver %s has no log that tells in which order transactions committed; %s do", s.driver, strings.Join(capable([]drivers.Capability{drivers.CommitLog}), ", "))
	case !tells && !logs:
		return usage("--claims require: driver %s does not tell in which order transactions committed; %s do", s.driver, strings.Join(append(capable([]drivers.Capability{drivers.Positions}), capable([]drivers.Capability{drivers.CommitLog})...), ", "))
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

// openLog makes the server keep a log of commits, if that is wanted. It reports whether it does.
func (a *app) openLog(s *settings, db drivers.DB) (bool, error) {
	if !s.wantsLog() {
		return false, nil
	}
	why := db.(drivers.Logger).Log(a.stop)
	switch {
	case why == "":
		return true, nil
	case a.stop.Err() != nil:
		return false, errInterrupted
	case s.claims == "require":
		return false, usage("--claims require: %s does not tell in which order transactions committed: %s", db.Server(), why)
	}
	fmt.Fprintf(a.msg, "isohound: the order of the commits is not recorded: %s\n", why)
	return false, nil
}

// joinCommits adds the order of the commits to the history of a run. If that fails it prints why, and the history stays
// as it was.
func (a *app) joinCommits(s *settings, db drivers.DB, path string) {
	notes, err := a.rewriteWith(db.(drivers.Logger), path)
	if err != nil {
		fmt.Fprintf(a.msg, "isohound: the order of the commits is not recorded: %v\n", err)
		return
	}
	if !s.quiet {
		for _, n := range notes {
			fmt.Fprintln(a.msg, n)
		}
	}
}

func (a *app) rewriteWith(db drivers.Logger, path string) (notes []string, err error) {
	commits, err := db.Commits(a.ctx)
	if err != nil {
		return nil, err
	}
	f, done, err := a.openHistory(a.ctx, path, file.Native)
	if err != nil {
		return nil, err
	}
	defer done()
	joined, err := joining.New(f.Source, joining.Of(commits.Positions, commits.At, commits.Short))
	if err != nil {
		return nil, err
	}
	f.Source = joined
	next := path + ".joining"
	w, err := createHistory(next)
	if err != nil {
		return nil, err
	}
	err = file.WriteNative(a.ctx, w, f, strings.HasSuffix(path, ".zst"), false)
	if cerr := w.Close(); err == nil {
		err = errors.WithStack(cerr)
	}
	if err == nil {
		err = errors.WithStack(os.Rename(next, path))
	}
	if err != nil {
		os.Remove(next)
	}
	return joined.Joined(), err
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
