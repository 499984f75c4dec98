//go:build !front

package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pkg/errors"
	"github.com/spf13/cobra"

	"github.com/isohound/isohound/bench"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/generator/dist"
	"github.com/isohound/isohound/workloads"
)

// hunting are the options of a benchmark of effectiveness.
type hunting struct {
	driver, isolation, out string
	dsns, params           []string
	sizes, workloads       []string
	scale                  float64
	seed                   int64
	timeout                time.Duration
	asJSON, quiet          bool
	bench.Effectiveness
}

// effectTxns is the number of transactions of a trial in section V-F2 of the MTC paper.
const effectTxns = 3000

func (a *app) benchEffectivenessCommand() *cobra.Command {
	b := &hunting{}
	var names []string
	for _, k := range bench.EffectContestants {
		names = append(names, k.Name)
	}
	c := &cobra.Command{
		Use:   "effectiveness",
		Short: "Compare how many trials of each workload find a defect in the same time",
		Long: `bench effectiveness counts how many trials of the workloads mini, append and register
find a defect in the same time, as their transactions get longer (Figure 13 of the MTC
paper). A trial is a run of ` + strconv.Itoa(effectTxns) + ` transactions with a fresh seed on few keys; it succeeds if
the check finds a violation. Driver, DSN and isolation choose the defect. It writes a
plot, a table in CSV and a report in Markdown to --out.

Exit codes: 0 all measured; 2 a trial was not decided, or of a
workload and size none ended within --duration; others as for isohound run.`,
		Example: `  isohound bench effectiveness --driver badger --isolation DetectConflicts=false --level si
  isohound bench effectiveness --driver mariadb --isolation "repeatable read" --level si --duration 5m
  isohound bench effectiveness --driver mariadb --dsn "$NODE1" --dsn "$NODE2" --dsn "$NODE3" --isolation serializable --level ser`,
		Args: exactly(0, "flags only"),
		RunE: func(*cobra.Command, []string) error {
			if err := b.resolve(names); err != nil {
				return err
			}
			return a.benchEffectiveness(b)
		},
	}
	f := c.Flags()
	f.SortFlags = false
	f.StringVar(&b.driver, "driver", "badger", "database driver; isohound drivers lists them")
	f.StringArrayVar(&b.dsns, "dsn", nil, "where the database is; repeated, sessions are spread over the endpoints in turn (default $"+dsnVariable+", one a line)")
	f.StringVar(&b.isolation, "isolation", "", "isolation to request, by the database's own name (default the driver's first)")
	f.StringVar(&b.Level, "level", "ser", "the level at which a violation counts")
	f.StringSliceVar(&b.workloads, "workloads", names, "workloads to compare")
	f.StringSliceVar(&b.sizes, "sizes", []string{"4", "8", "12", "16", "20"}, "maximum operations of a transaction; for mini always "+strconv.Itoa(bench.MiniLength))
	f.DurationVar(&b.Budget, "duration", time.Minute, "time for each workload and size (the paper took 30m)")
	f.IntVar(&b.MaxTrials, "trials", 0, "no more trials than this for each (default no limit)")
	f.Float64Var(&b.scale, "scale", 1, "run this many times the transactions in a trial")
	f.IntVar(&b.Sessions, "sessions", 10, "concurrent sessions")
	f.IntVar(&b.Keys, "keys", 10, "keys")
	f.StringVar(&b.Dist, "dist", "exponential", "distribution of keys: "+distNames())
	f.Int64Var(&b.seed, "seed", 1, "seed of the first trial of each; each further trial adds 1")
	f.DurationVar(&b.timeout, "timeout", time.Minute, "limit for each check")
	f.StringVar(&b.out, "out", "", "folder for plots and tables (default runs/bench-DATE-TIME)")
	f.BoolVar(&b.asJSON, "json", false, "print JSON, one line for each workload and size")
	f.BoolVarP(&b.quiet, "quiet", "q", false, "print results only")
	return c
}

// resolve checks the flags.
func (b *hunting) resolve(known []string) error {
	d, err := findDriver(b.driver)
	if err != nil {
		return err
	}
	info := d.Info()
	iso, err := info.FindIsolation(b.isolation)
	if err != nil {
		return withCode(exitUsage, err)
	}
	b.isolation = iso.Name
	l, err := level.Parse(b.Level)
	if err != nil {
		return withCode(exitUsage, err)
	}
	b.Level = l.String()
	if _, err := dist.Parse(b.Dist, int64(max(1, b.Keys)), 0); err != nil {
		return withCode(exitUsage, err)
	}
	switch {
	case l == level.LIN:
		return usage("--level lin: these workloads have no lightweight transactions")
	case !(b.scale > 0 && b.scale <= 100):
		return usage("--scale must be more than 0 and at most 100")
	case len(b.sizes) == 0 || len(b.workloads) == 0:
		return usage("--sizes and --workloads must not be empty")
	case b.Budget <= 0 || b.MaxTrials < 0 || b.timeout < 0:
		return usage("--duration must be positive, --trials and --timeout not negative")
	case b.Sessions < 1 || b.Sessions > maxSessions || b.Keys < 1 || b.Keys > maxKeys:
		return usage("--sessions and --keys must be at least 1")
	case len(b.dsns) == 0 && !info.Embedded && os.Getenv(dsnVariable) == "":
		return usage("driver %s needs --dsn, for example %s, or the same in the environment as %s", b.driver, info.DSN, dsnVariable)
	}
	b.Txns = max(b.Sessions, int(effectTxns*b.scale))
	for _, text := range b.sizes {
		n, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil || n < 1 || n > 1000 {
			return usage("--sizes %s: expected whole numbers from 1 to 1000, separated by commas", text)
		}
		b.Sizes = append(b.Sizes, n)
	}
	return firstError(once("--sizes", b.sizes), once("--workloads", b.workloads), b.contestants(info, known))
}

// contestants finds the workloads that the driver can run.
func (b *hunting) contestants(info drivers.Info, known []string) error {
	for _, name := range b.workloads {
		n := slices.Index(known, strings.TrimSpace(name))
		if n < 0 {
			return usage("--workloads %s: known are %s", name, strings.Join(known, ", "))
		}
		spec, err := workloads.Find(known[n])
		if err != nil {
			return withCode(exitUsage, err)
		}
		for _, need := range spec.Needs {
			if !slices.Contains(info.Can, need) {
				return usage("workload %s needs %s, which driver %s does not have; leave it out with --workloads", spec.Name, need, b.driver)
			}
		}
		b.Contestants = append(b.Contestants, bench.EffectContestants[n])
	}
	return nil
}

func (a *app) benchEffectiveness(b *hunting) error {
	self, err := os.Executable()
	if err != nil {
		return errors.WithStack(err)
	}
	drop, err := newFolder(&b.out, "bench")
	if err != nil {
		return err
	}
	defer drop()
	d, err := findDriver(b.driver)
	if err != nil {
		return err
	}
	r := &bench.Runner{Command: self, Flags: []string{"--driver", b.driver, "--isolation", b.isolation}, Seed: b.seed, Timeout: b.timeout}
	words := []string{"isohound", "bench", "effectiveness", "--driver", b.driver}
	for _, dsn := range b.dsns {
		words = append(words, "--dsn", drivers.MaskDSN(d, dsn))
		if d.Info().Embedded {
			r.Flags = append(r.Flags, "--dsn", dsn)
		}
	}
	if len(b.dsns) > 0 && !d.Info().Embedded {
		r.Env = []string{dsnVariable + "=" + strings.Join(b.dsns, "\n")} // not visible to other users there
	}
	if !b.quiet {
		r.Progress = func(line string) { fmt.Fprintln(a.msg, line) }
	}
	words = append(words, "--isolation", b.isolation, "--level", b.Level, "--workloads", strings.Join(b.workloads, ","), "--sizes", strings.Join(b.sizes, ","),
		"--duration", b.Budget.String(), "--trials", strconv.Itoa(b.MaxTrials), "--scale", strconv.FormatFloat(b.scale, 'g', -1, 64), "--sessions", strconv.Itoa(b.Sessions),
		"--keys", strconv.Itoa(b.Keys), "--dist", b.Dist, "--seed", strconv.FormatInt(b.seed, 10), "--timeout", b.timeout.String())
	about := fmt.Sprintf("%s: isohound %s, %s, %s/%s, %d cores, driver %s, %s.", time.Now().Format("2006-01-02"), version(), runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), b.driver, b.isolation)
	if err = benchError(r.Effectiveness(a.work, &b.Effectiveness)); err != nil && len(b.Points) == 0 {
		return err
	}
	report, serr := b.Save(b.out, commandLine(words...), about)
	if serr != nil {
		serr = withCode(exitIO, errors.Wrap(serr, "cannot write the results"))
	}
	if b.Undecided() {
		a.found(exitUnknown)
	}
	for _, line := range b.Empty() {
		fmt.Fprintf(a.msg, "isohound: %s; raise --duration, or lower --scale\n", line)
		a.found(exitUnknown)
	}
	for _, p := range b.Points {
		if b.asJSON && serr == nil {
			serr = withCode(exitIO, json.NewEncoder(a.out).Encode(p))
		}
	}
	if serr == nil && !b.asJSON {
		fmt.Fprintf(a.out, "report: %s\n", report)
	}
	return firstError(err, serr)
}
