//go:build !front

package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/pkg/errors"
	"github.com/spf13/cobra"

	"github.com/isohound/isohound/bench"
	"github.com/isohound/isohound/checker/level"
)

func (a *app) benchExplainCommand() *cobra.Command {
	var levels string
	var count int
	var seed uint64
	var timeout time.Duration
	var asJSON, quiet bool
	c := &cobra.Command{
		Use:   "explain [FILE...]",
		Short: "Measure the explanations of violated histories",
		Long: `bench explain makes violated histories of 300 transactions, or takes FILEs, and
measures how long isohound check takes for each without and with its explanation:
the counterexample, made minimal, and the other levels. One process judges all files of
a level, so that starting does not count. Files that are not violated do not count
either.

Exit codes: 0 all decided; 2 a history was not decided within --timeout; others as for
isohound check.`,
		Example: `  isohound bench explain
  isohound bench explain --level ser their/*.bincode`,
		RunE: func(_ *cobra.Command, args []string) error {
			list, err := level.ParseList(levels)
			switch {
			case err != nil:
				return withCode(exitUsage, err)
			case count < 1:
				return usage("--count must be at least 1")
			case timeout < 0:
				return usage("--timeout must not be negative")
			case slices.Contains(args, "-"):
				return usage("each history is read several times, and standard input can be read once; give a file")
			}
			for _, l := range list {
				if len(args) == 0 && !bench.Breaks(l) {
					return usage("no histories are made that violate level %s, only for ser, si, ser-noso and si-noso; give files", l)
				}
			}
			self, err := os.Executable()
			if err != nil {
				return errors.WithStack(err)
			}
			checker := &bench.Checker{Command: self, Timeout: timeout}
			if !quiet {
				checker.Progress = func(line string) { fmt.Fprintln(a.msg, line) }
			}
			all, err := checker.MeasureExplaining(a.work, args, count, list, seed)
			err = benchError(err)
			return a.explained(all, asJSON, err)
		},
	}
	f := c.Flags()
	f.SortFlags = false
	f.StringVar(&levels, "level", "ser,si", "levels to check, separated by commas")
	f.IntVar(&count, "count", 50, "histories to make for each level")
	f.DurationVar(&timeout, "timeout", time.Minute, "limit for each check")
	f.Uint64Var(&seed, "seed", defaultSeed, "seed of the histories")
	f.BoolVar(&asJSON, "json", false, "print JSON, one line for each level")
	f.BoolVarP(&quiet, "quiet", "q", false, "print results only")
	return c
}

// explained prints the measurements before err, and returns err.
func (a *app) explained(all []bench.Explaining, asJSON bool, err error) error {
	var perr error
	if asJSON {
		for i := range all {
			perr = firstError(perr, json.NewEncoder(a.out).Encode(&all[i]))
		}
	} else if len(all) > 0 {
		perr = bench.ExplainingTable(a.out, all)
	}
	if perr != nil {
		return withCode(exitIO, errors.Wrap(perr, "standard output"))
	}
	for _, x := range all {
		if x.Undecided > 0 {
			a.found(exitUnknown)
		}
	}
	return err
}
