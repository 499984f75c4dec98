//go:build !front

package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/pkg/errors"
	"github.com/spf13/cobra"

	"github.com/isohound/isohound/bench"
	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/generator"
)

// benchingRuns are the options of a benchmark of whole runs.
type benchingRuns struct {
	driver, dsn, server string
	si, ser, out        string
	levels              string
	scale               float64
	points              int
	seed                int64
	timeout             time.Duration
	asJSON, quiet       bool
}

func (b *benchingRuns) flags(c *cobra.Command) {
	f := c.Flags()
	f.SortFlags = false
	f.StringVar(&b.driver, "driver", "postgres", "database driver; isohound drivers lists them")
	f.StringVar(&b.dsn, "dsn", "", "where the database is (default $"+dsnVariable+")")
	f.StringVar(&b.server, "server", "", "as for isohound run: start a private server for all runs instead of --dsn")
	f.StringVar(&b.ser, "serializable", "", "the database's own name of the isolation that promises serializability (default the driver's first that does)")
	f.StringVar(&b.si, "snapshot", "", "the same for snapshot isolation")
	f.Float64Var(&b.scale, "scale", 1, "run this many times the transactions")
	f.IntVar(&b.points, "points", 0, "only the first points of each axis (default all)")
	f.Int64Var(&b.seed, "seed", 1, "seed of the workloads")
	f.DurationVar(&b.timeout, "timeout", time.Minute, "limit for each check")
	f.StringVar(&b.out, "out", "", "folder for plots and tables (default runs/bench-DATE-TIME)")
	f.BoolVar(&b.asJSON, "json", false, "print JSON, one line for each run")
	f.BoolVarP(&b.quiet, "quiet", "q", false, "print results only")
}

// resolve checks the flags, and resolves the names of isolations.
func (b *benchingRuns) resolve(c *cobra.Command) (drivers.Driver, error) {
	s := &settings{driver: b.driver, server: b.server}
	if b.dsn != "" {
		s.dsns = []string{b.dsn}
	}
	if err := s.resolveServer(c); err != nil {
		return nil, err
	}
	b.driver = s.driver
	d, err := findDriver(b.driver)
	if err != nil {
		return nil, err
	}
	info := d.Info()
	switch {
	case !(b.scale > 0 && b.scale <= 100):
		return nil, usage("--scale must be more than 0 and at most 100")
	case b.points < 0 || b.timeout < 0:
		return nil, usage("--points and --timeout must not be negative")
	}
	if b.dsn == "" && b.server == "" && !info.Embedded {
		if b.dsn = os.Getenv(dsnVariable); b.dsn == "" {
			return nil, usage("driver %s needs --server, or --dsn, for example %s, or the same in the environment as %s", b.driver, info.DSN, dsnVariable)
		}
	}
	for _, w := range []struct {
		name     *string
		promises string
	}{{&b.ser, "ser"}, {&b.si, "si"}} {
		iso, err := info.FindIsolation(*w.name)
		if err != nil {
			return nil, withCode(exitUsage, err)
		}
		if *w.name != "" {
			*w.name = iso.Name
			continue
		}
		for _, iso := range info.Isolations {
			if *w.name == "" && iso.Promises == w.promises {
				*w.name = iso.Name
			}
		}
	}
	return d, nil
}

func (a *app) benchAbortRateCommand() *cobra.Command {
	b := &benchingRuns{}
	c := &cobra.Command{
		Use:   "abort-rate",
		Short: "Compare abort rates of general and mini-transactions",
		Long: `bench abort-rate runs general transactions of 20 operations and mini-transactions
against a database, at snapshot isolation and serializability, with 2 to 64 sessions
and with more and more transactions for each key, as in Figure 11 of the MTC paper. Each
history is checked. It writes a plot, a table in CSV and a report in Markdown to --out.

Exit codes: 0 all checked and satisfied; 1 a history is violated; 3 a run was
too small to test anything, as with a low --scale; others as for isohound run.`,
		Example: `  isohound bench abort-rate --driver postgres --dsn "$DSN"
  isohound bench abort-rate --server mariadb --points 3`,
		Args: exactly(0, "flags only"),
		RunE: func(c *cobra.Command, _ []string) error {
			d, err := b.resolve(c)
			if err != nil {
				return err
			}
			if b.si == "" || b.ser == "" {
				return usage("driver %s lacks an isolation for serializability or one for snapshot isolation; name them with --serializable and --snapshot", b.driver)
			}
			return a.benchRuns(b, d, "abort-rate", bench.AbortRate(b.si, b.ser))
		},
	}
	b.flags(c)
	return c
}

func (a *app) benchEndToEndCommand() *cobra.Command {
	b := &benchingRuns{}
	c := &cobra.Command{
		Use:   "end-to-end",
		Short: "Compare general and mini-transactions, generation and checking",
		Long: `bench end-to-end runs general transactions and mini-transactions against a database.
The polygraph engine checks the general ones, the linear engine the mini ones. The
numbers of transactions, operations and keys vary as in Figures 10 and 17 of the MTC
paper. It writes plots of time and memory, tables in CSV and reports in Markdown to --out.

Exit codes: 0 all checked and satisfied; 1 a history is violated; 3 a run was
too small to test anything, as with a low --scale; others as for isohound run.`,
		Example: `  isohound bench end-to-end --driver postgres --dsn "$DSN"
  isohound bench end-to-end --server postgres --level si --points 3`,
		Args: exactly(0, "flags only"),
		RunE: func(c *cobra.Command, _ []string) error {
			d, err := b.resolve(c)
			if err != nil {
				return err
			}
			var all []*bench.Runs
			for _, l := range []struct{ level, isolation string }{{"ser", b.ser}, {"si", b.si}} {
				switch {
				case b.levels != "" && b.levels != l.level && b.levels != "ser,si":
				case l.isolation == "":
					return usage("no isolation of driver %s promises %s; name one, or choose the other level with --level", b.driver, l.level)
				default:
					all = append(all, bench.EndToEnd(l.isolation, l.level))
				}
			}
			if len(all) == 0 {
				return usage("--level %s: expected ser, si or ser,si", b.levels)
			}
			return a.benchRuns(b, d, "end-to-end", all...)
		},
	}
	b.flags(c)
	c.Flags().StringVar(&b.levels, "level", "ser,si", "levels: ser, si or ser,si")
	return c
}

func (a *app) benchRuns(b *benchingRuns, d drivers.Driver, name string, all ...*bench.Runs) error {
	self, err := os.Executable()
	if err != nil {
		return errors.WithStack(err)
	}
	drop, err := newFolder(&b.out, "bench")
	if err != nil {
		return err
	}
	defer drop()
	words := []string{"isohound", "bench", name, "--driver", b.driver}
	if b.server != "" {
		s := &settings{driver: b.driver, server: b.server, quiet: b.quiet, engine: d, level: d.Info().Isolations[0], callTimeout: generator.DefaultCallTimeout}
		if err := a.startServer(s); err != nil {
			return err
		}
		defer a.stopServer()
		b.dsn = strings.Join(s.dsns, "\n")
		words = append(words, "--server", s.server)
	}
	r := &bench.Runner{Command: self, Flags: []string{"--driver", b.driver}, Scale: b.scale, Points: b.points, Seed: b.seed, Timeout: b.timeout}
	if b.dsn != "" {
		r.Env = []string{dsnVariable + "=" + b.dsn} // not visible to other users there
		if d.Info().Embedded {
			r.Flags = append(r.Flags, "--dsn", b.dsn)
		}
	}
	if !b.quiet {
		r.Progress = func(line string) { fmt.Fprintln(a.msg, line) }
	}
	for _, f := range [][2]string{{"--serializable", b.ser}, {"--snapshot", b.si}, {"--level", b.levels}} {
		if f[1] != "" {
			words = append(words, f[0], f[1])
		}
	}
	repeat := commandLine(append(words, "--scale", strconv.FormatFloat(b.scale, 'g', -1, 64), "--points", strconv.Itoa(b.points),
		"--seed", strconv.FormatInt(b.seed, 10), "--timeout", b.timeout.String())...)
	about := fmt.Sprintf("%s: isohound %s, %s, %s/%s, %d cores, driver %s.", time.Now().Format("2006-01-02"), version(), runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), b.driver)
	for _, runs := range all {
		err := benchError(r.Measure(a.work, runs))
		if err != nil && len(runs.Points) == 0 {
			return err
		}
		report, serr := runs.Save(b.out, repeat, about)
		if serr != nil {
			serr = withCode(exitIO, errors.Wrap(serr, "cannot write the results"))
		}
		for _, p := range runs.Points {
			if b.asJSON && serr == nil {
				serr = withCode(exitIO, json.NewEncoder(a.out).Encode(p))
			}
			a.found(codeOf(p.Verdict))
		}
		for _, line := range runs.Violated() {
			fmt.Fprintf(a.msg, "isohound: %s\n", line)
		}
		if line := runs.Vacuous(); line != "" {
			fmt.Fprintf(a.msg, "isohound: vacuous: %s; raise --scale\n", line)
		}
		if serr == nil && !b.asJSON {
			fmt.Fprintf(a.out, "report: %s\n", report)
		}
		for _, e := range []error{err, serr} {
			if e != nil {
				return e
			}
		}
	}
	return nil
}
