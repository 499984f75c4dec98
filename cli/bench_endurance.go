//go:build !front

package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"github.com/pkg/errors"
	"github.com/spf13/cobra"

	"github.com/isohound/isohound/bench"
	"github.com/isohound/isohound/checker/level"
)

func (a *app) benchEnduranceCommand() *cobra.Command {
	var driver, dsn, server, isolation, at, cutEvery, share, disk, out string
	var sessions int
	var keys, seed int64
	var duration time.Duration
	var asJSON, quiet bool
	c := &cobra.Command{
		Use:   "endurance",
		Short: "Measure a long run that is judged as it goes on",
		Long: `bench endurance runs isohound run in windows at full speed, and samples its memory, its
disk space and how far the checker is behind. It writes a plot, the samples and a report
with the targets to --out: memory of the last quarter within 5% of the second, windows
on disk under --disk, every verdict within 10 s, cuts less than 2% of the time.
The folder run in --out is that of the run.

Exit codes: those of isohound run. A target that is missed changes none.`,
		Example: `  isohound bench endurance --duration 1h
  isohound bench endurance --driver postgres --server postgres --duration 10m`,
		Args: exactly(0, "flags only"),
		RunE: func(*cobra.Command, []string) error {
			d, err := findDriver(driver)
			if err != nil {
				return err
			}
			bound, err := parseSize("disk", disk)
			if err != nil {
				return err
			}
			if duration <= 0 {
				return usage("--duration must be positive")
			}
			if _, err := level.Parse(at); err != nil { // a list is none
				return withCode(exitUsage, err)
			}
			self, err := os.Executable()
			if err != nil {
				return errors.WithStack(err)
			}
			if out == "" {
				out = filepath.Join("runs", time.Now().Format("bench-20060102-150405"))
			}
			settings := []string{"--driver", driver}
			if server != "" {
				settings = append(settings, "--server", server)
			}
			if isolation != "" {
				settings = append(settings, "--isolation", isolation)
			}
			settings = append(settings, "--duration", duration.String(), "--cut-every", cutEvery, "--judge-share", share,
				"--sessions", strconv.Itoa(sessions), "--keys", strconv.FormatInt(keys, 10), "--seed", strconv.FormatInt(seed, 10))
			flags := append([]string{"--check", at, "--keep", "violated"}, settings...)
			e := &bench.Endurance{Command: self, Flags: flags, DiskBound: bound}
			if dsn != "" {
				e.Env = []string{dsnVariable + "=" + dsn}
				if d.Info().Embedded {
					e.Flags = append(e.Flags, "--dsn", dsn)
				}
			}
			if !quiet {
				e.Progress = func(line string) { fmt.Fprintln(a.msg, line) }
			}
			// The run makes the folder, once it can write a history.
			if err := benchError(e.Measure(a.work, filepath.Join(out, "run"))); err != nil {
				return err
			}
			a.found(codeOf(e.Sum.Verdict))
			repeat := commandLine(append([]string{"isohound", "bench", "endurance", "--level", at, "--disk", disk}, settings...)...)
			about := fmt.Sprintf("%s: isohound %s, %s, %s/%s, %d cores, driver %s.", time.Now().Format("2006-01-02"), version(), runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), driver)
			report, err := e.Save(out, repeat, about)
			if err != nil {
				return withCode(exitIO, errors.Wrap(err, "cannot write the results"))
			}
			if asJSON {
				return withCode(exitIO, json.NewEncoder(a.out).Encode(e.Sum))
			}
			for _, line := range e.Targets() {
				fmt.Fprintln(a.out, line)
			}
			fmt.Fprintf(a.out, "%s after %.0f s: %d commits, %.0f a second, %s; one core reads and judges %.0f transactions a second\nreport: %s\n",
				e.Sum.Verdict, e.Sum.Seconds, e.Sum.Committed, e.Sum.CommitsPerSecond, plural(e.Sum.Windows, "window"), e.Sum.JudgedPerSecond, report)
			return nil
		},
	}
	f := c.Flags()
	f.SortFlags = false
	f.StringVar(&driver, "driver", "badger", "database driver; isohound drivers lists them")
	f.StringVar(&dsn, "dsn", "", "where the database is (default $"+dsnVariable+")")
	f.StringVar(&server, "server", "", "as for isohound run: start a private server for the run instead of --dsn")
	f.StringVar(&isolation, "isolation", "", "isolation to request (default the driver's first)")
	f.StringVar(&at, "level", "ser", "level to judge the windows at")
	f.DurationVar(&duration, "duration", time.Hour, "how long to run")
	f.StringVar(&cutEvery, "cut-every", "auto", "as for isohound run")
	f.StringVar(&share, "judge-share", "100%", "as for isohound run")
	f.IntVar(&sessions, "sessions", 20, "concurrent sessions")
	f.Int64Var(&keys, "keys", 10000, "keys")
	f.Int64Var(&seed, "seed", 1, "seed of the workload")
	f.StringVar(&disk, "disk", "1GB", "bound of the disk space for windows")
	f.StringVar(&out, "out", "", "folder for the plot and the report (default runs/bench-DATE-TIME)")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	f.BoolVarP(&quiet, "quiet", "q", false, "print results only")
	return c
}
