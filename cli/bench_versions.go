//go:build !front

package cli

import (
	"fmt"
	"os"
	"time"

	"github.com/pkg/errors"
	"github.com/spf13/cobra"

	"github.com/isohound/isohound/bench"
)

func (a *app) benchVersionsCommand() *cobra.Command {
	var scale float64
	var repeat int
	var seed uint64
	var timeout time.Duration
	var certify, asJSON, quiet, shares bool
	var out string
	c := &cobra.Command{
		Use:   "versions",
		Short: "Measure checks with and without the order that the database claims",
		Long: `bench versions makes valid histories with the order that a database claims, and runs
isohound check on each with --versions hint, assume and ignore, each in a separate
process: 100,000 transactions of 5 operations, as many with scans, a million of
8 operations, and 10,000 on hot keys whose values are often repeated. With assume the
order is not tried as an execution first.

With --shares it measures how long a check takes if only a share of the transactions
has a position, from all of them to none (King Cobra's experiment). --out is a folder
for the points and their picture.

Exit codes: 0 all verdicts right; 70 a wrong verdict; others as for isohound check.
That a check without the claim is not decided within --timeout is a result.`,
		Example: `  isohound bench versions
  isohound bench versions --scale 0.1 --repeat 3 --certify
  isohound bench versions --shares --out runs/shares`,
		Args: exactly(0, "flags only"),
		RunE: func(*cobra.Command, []string) error {
			switch {
			case !(scale > 0 && scale <= 100):
				return usage("--scale must be more than 0 and at most 100")
			case repeat < 1:
				return usage("--repeat must be at least 1")
			case timeout < 0:
				return usage("--timeout must not be negative")
			case out != "" && !shares:
				return usage("--out is for the points of --shares; without it results are printed, with --json for programs")
			}
			self, err := os.Executable()
			if err != nil {
				return errors.WithStack(err)
			}
			checker := &bench.Checker{Command: self, Timeout: timeout, Repeat: repeat}
			if certify {
				checker.Flags = append(checker.Flags, "--certify")
			}
			if !quiet {
				checker.Progress = func(line string) { fmt.Fprintln(a.msg, line) }
			}
			if shares && out != "" {
				drop, err := newFolder(&out, "bench")
				if err != nil {
					return err
				}
				defer drop()
			}
			r := &bench.Report{}
			points := bench.NewShares(scale, seed)
			if shares {
				err = checker.MeasureShares(a.work, points)
				r.Measurements, r.Wrong = points.Measurements(), points.Wrong
			} else {
				err = checker.MeasureClaims(a.work, bench.ClaimedRows(scale, seed), r)
			}
			err = benchError(err)
			// Measurements before an error are shown too.
			if perr := a.printMeasurements(r.Measurements, asJSON); perr != nil {
				return perr
			}
			if err == nil && out != "" {
				err = withCode(exitIO, points.Save(out))
			}
			return a.wrong(r.Wrong, err)
		},
	}
	f := c.Flags()
	f.SortFlags = false
	f.Float64Var(&scale, "scale", 1, "factor for the numbers of transactions")
	f.IntVar(&repeat, "repeat", 1, "measure each check this often and take the median")
	f.DurationVar(&timeout, "timeout", time.Minute, "limit for each check, reading included")
	f.BoolVar(&certify, "certify", false, "verify the proofs, too")
	f.Uint64Var(&seed, "seed", defaultSeed, "seed of the histories")
	f.BoolVar(&shares, "shares", false, "measure checks in which only a share of the positions is known")
	f.StringVar(&out, "out", "", "with --shares, folder for the points and their picture")
	f.BoolVar(&asJSON, "json", false, "print JSON, one line for each check")
	f.BoolVarP(&quiet, "quiet", "q", false, "print results only")
	return c
}
