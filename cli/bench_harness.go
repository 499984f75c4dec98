//go:build !front

package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/isohound/isohound/bench"
	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/generator"
)

func (a *app) benchHarnessCommand() *cobra.Command {
	s := &settings{}
	var rounds int
	var asJSON, compress bool
	c := &cobra.Command{
		Use:   "harness",
		Short: "Measure what generating and recording cost",
		Long: `bench harness runs a workload alternately with recording to a file, intents
included, and without recording. By default it drives a database that does nothing, so
it measures isohound alone. With --driver or --server it measures how much recording reduces the
throughput of a database.`,
		Example: `  isohound bench harness
  isohound bench harness --driver postgres --dsn "$DSN" --duration 5s --rounds 9`,
		Args: exactly(0, "flags only"),
		RunE: func(c *cobra.Command, _ []string) error {
			nothing := !c.Flags().Changed("driver") && s.server == ""
			if nothing && s.duration == 0 && !c.Flags().Changed("txns") {
				s.txns = nothingTxns
			}
			if rounds < 1 {
				return usage("--rounds must be at least 1")
			}
			if err := s.resolve(a.stop, c); err != nil {
				return err
			}
			return a.benchHarness(s, nothing, rounds, compress, asJSON)
		},
	}
	s.flags(c)
	f := c.Flags()
	f.Lookup("driver").Usage, f.Lookup("driver").DefValue = "database driver (default one that does nothing)", ""
	f.IntVar(&rounds, "rounds", 5, "how often to measure each; medians count")
	f.BoolVar(&compress, "compress", false, "record with zstd, as run does")
	f.BoolVar(&asJSON, "json", false, "print JSON, one line for each round")
	return c
}

// nothingTxns is a number of transactions per session that takes about a second on a database
// that does nothing.
const nothingTxns = 30_000

func (a *app) benchHarness(s *settings, nothing bool, rounds int, compress, asJSON bool) error {
	if _, ok := s.work.(generator.Tables); ok {
		return usage("bench harness needs a workload on keys, and %s uses tables", s.workload)
	}
	h := &bench.Harness{
		Workload: s.work, Driver: s.driver, Rounds: rounds, Compressed: compress, Open: bench.OpenNothing,
		Config: generator.Config{Sessions: s.sessions, Txns: s.txns, Duration: s.duration, Rate: s.rate, Retries: s.retries, Patience: generator.DefaultPatience, Seed: s.seed},
	}
	server := "a database that does nothing"
	if !nothing {
		if err := a.startServer(s); err != nil {
			return err
		}
		defer a.stopServer()
		s.server = "" // open would start another one
		if !s.info.Embedded {
			h.Config.CallTimeout = s.callTimeout
		}
		h.Open = func(ctx context.Context) (drivers.DB, error) {
			db, err := a.open(s)
			if err == nil {
				server = db.Server() + ", " + s.level.Name
			}
			return db, err
		}
	}
	h.Progress = func(r bench.HarnessRound) {
		if asJSON {
			_ = json.NewEncoder(a.out).Encode(r)
		} else if !s.quiet {
			fmt.Fprintf(a.msg, "%.0f transactions/s recorded, %.0f/s not recorded\n", r.Recorded, r.Unrecorded)
		}
	}
	all, err := h.Measure(a.work)
	if err != nil {
		return err
	}
	how := "as text"
	if compress {
		how = "compressed"
	}
	if asJSON {
		return nil
	}
	_, err = fmt.Fprintf(a.out, "%s: %s, %d sessions, recorded %s: %.0f transactions/s, %.1f %% less than without recording (medians of %d rounds)\n",
		strings.TrimSpace(server), s.workload, s.sessions, how, bench.Rate(all), 100*bench.Cost(all), rounds)
	return withCode(exitIO, err)
}
