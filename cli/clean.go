//go:build !front

package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/isohound/isohound/drivers"
)

// cleanOptions are the flags of clean.
type cleanOptions struct {
	driver string
	dsn    string
	drop   []string
	asJSON bool
}

// dropAll is the value of --drop for all that no session uses.
const dropAll = "all"

func (a *app) cleanCommand() *cobra.Command {
	o := &cleanOptions{}
	c := &cobra.Command{
		Use:   "clean --dsn DSN [--drop all | --drop NAME]",
		Short: "List and drop what killed runs have left on a server",
		Long: `A run creates a schema, a database or keys of its own, isohound_ and a random number,
and drops them at its end. A run that is killed leaves them. clean lists them with the
number of sessions that use them, if the server tells it. It drops nothing unless it is
told to: --drop all drops those that no session uses, --drop NAME drops the one of that
name. Where the server does not tell who uses what, --drop all drops nothing.
A run that was killed cannot be resumed (isohound run --resume) after that.

Exit codes:
  0 done   64 usage   69 server unreachable, or something could not be dropped`,
		Example: `  isohound clean --dsn postgres://me@127.0.0.1/test
  isohound clean --dsn postgres://me@127.0.0.1/test --drop all
  isohound clean --driver etcd --dsn http://127.0.0.1:2379 --drop isohound_0a1b2c3d4e5f`,
		Args: exactly(0, "flags only"),
		RunE: func(*cobra.Command, []string) error { return a.clean(o) },
	}
	f := c.Flags()
	f.SortFlags = false
	f.StringVar(&o.driver, "driver", "", "database driver (default that of the DSN's scheme); isohound drivers lists them")
	f.StringVar(&o.dsn, "dsn", "", "where the database is (default $"+dsnVariable+")")
	f.StringSliceVar(&o.drop, "drop", nil, "all, or the name of one; may be repeated")
	f.BoolVar(&o.asJSON, "json", false, "print JSON")
	return c
}

// remnant is a line of clean's output.
type remnant struct {
	Name     string `json:"name"`
	Sessions *int   `json:"sessions,omitempty"` // absent if the server does not tell
	Dropped  bool   `json:"dropped"`
}

func (a *app) clean(o *cleanOptions) error {
	if o.driver == "" {
		first, _, _ := strings.Cut(strings.TrimSpace(cmp.Or(o.dsn, os.Getenv(dsnVariable))), "\n")
		if o.driver = drivers.OfScheme(first); o.driver == "" {
			return usage("clean needs --driver, or a --dsn (or $%s) whose scheme is a driver's; isohound drivers lists them", dsnVariable)
		}
	}
	engine, err := findDriver(o.driver)
	if err != nil {
		return err
	}
	s := &settings{driver: o.driver, engine: engine, info: engine.Info()}
	if s.info.Embedded {
		return usage("driver %s keeps its data in a folder or in memory; there is no server to clean", o.driver)
	}
	if o.dsn != "" {
		s.dsns = []string{o.dsn}
	}
	if err := s.resolveEndpoints(); err != nil {
		return err
	}
	for _, name := range o.drop {
		if name != dropAll && !drivers.IsRunName(name) {
			return usage("--drop %s: expected all, or a name such as isohound_0a1b2c3d4e5f", name)
		}
	}
	db, err := drivers.Open(a.stop, engine, drivers.Config{DSN: s.dsns[0], Isolation: s.info.Isolations[0].Name})
	if err != nil {
		return s.atEndpoint(0, err)
	}
	defer db.Close(context.WithoutCancel(a.stop)) // it has created nothing
	cleaner, ok := db.(drivers.Cleaner)
	if !ok {
		return usage("driver %s cannot tell what runs have left", o.driver)
	}
	found, err := cleaner.Remnants(a.stop)
	if err != nil {
		return withCode(exitUnavailable, err)
	}
	for _, name := range o.drop {
		if name != dropAll && !slices.ContainsFunc(found, func(r drivers.Remnant) bool { return r.Name == name }) {
			return usage("--drop %s: the server has nothing of this name", name)
		}
	}
	var list []remnant
	for _, r := range found {
		line := remnant{Name: r.Name}
		if r.Sessions >= 0 {
			line.Sessions = &r.Sessions
		}
		if slices.Contains(o.drop, r.Name) || slices.Contains(o.drop, dropAll) && r.Sessions == 0 {
			if err := cleaner.Drop(a.stop, r.Name); err != nil {
				return withCode(exitUnavailable, err)
			}
			line.Dropped = true
		}
		list = append(list, line)
	}
	return a.printRemnants(o, list)
}

func (a *app) printRemnants(o *cleanOptions, list []remnant) error {
	if o.asJSON {
		if list == nil {
			list = []remnant{}
		}
		e := json.NewEncoder(a.out)
		e.SetIndent("", "  ")
		return withCode(exitIO, e.Encode(list))
	}
	left, unsure := 0, 0
	for _, r := range list {
		use := "no session uses it"
		switch {
		case r.Sessions == nil:
			use = "the server does not tell who uses it"
		case *r.Sessions > 0:
			use = "used by " + plural(*r.Sessions, "session")
		}
		switch {
		case r.Dropped:
			use = "dropped"
		case r.Sessions == nil:
			unsure++
		case *r.Sessions == 0:
			left++
		}
		fmt.Fprintf(a.out, "%s  %s\n", r.Name, use)
	}
	var hints []string
	if left > 0 {
		hints = append(hints, "--drop all drops what no session uses")
	}
	if unsure > 0 {
		hints = append(hints, "--drop NAME drops one; be sure that no run uses it")
	}
	switch {
	case len(list) == 0:
		fmt.Fprintln(a.msg, "runs have left nothing here")
	case len(hints) > 0:
		fmt.Fprintln(a.msg, strings.Join(hints, "; "))
	}
	return nil
}
