//go:build !front

package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pkg/errors"
	"github.com/spf13/cobra"

	"github.com/isohound/isohound/bench"
	"github.com/isohound/isohound/checker/level"
)

// benching are the options of a benchmark.
type benching struct {
	growth, doubling, scans, weak, quick, asJSON, quiet bool
	levels, contestants, against, out, maxMemory        string
	scale                                               float64
	seed                                                uint64
	repeat, points                                      int
	timeout                                             time.Duration
	parsedLevels                                        []level.Level
	chosen                                              []bench.Contestant
}

// quickScale is the factor of --quick for the sizes, quickPoints how many points an axis of --growth has with it.
const (
	quickScale  = 0.02
	quickPoints = 3
)

func (a *app) benchCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "bench",
		Short: "Measure isohound itself",
		Args:  cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			var known []string
			for _, sub := range c.Commands() {
				known = append(known, sub.Name())
			}
			list := strings.Join(known, ", ")
			if len(args) == 0 {
				return usage("bench needs the name of a benchmark: %s; see isohound bench --help", list)
			}
			return usage("there is no benchmark %q; there are %s; see isohound bench --help", args[0], list)
		},
	}
	c.AddCommand(a.benchCheckerCommand(), a.benchExplainCommand(), a.benchVersionsCommand(), a.benchAbortRateCommand(), a.benchEndToEndCommand(), a.benchHarnessCommand(), a.benchEnduranceCommand(), a.benchEffectivenessCommand(), a.benchClosureCommand(), a.benchHuntCommand())
	return c
}

func (a *app) benchCheckerCommand() *cobra.Command {
	b := &benching{}
	var names []string
	for _, k := range bench.Contestants {
		names = append(names, k.Name+" ("+strings.Join(k.Flags, " ")+")")
	}
	c := &cobra.Command{
		Use:   "checker [FILE...]",
		Short: "Measure the checkers on large histories, or as histories grow",
		Long: `bench checker writes large synthetic valid histories into a temporary folder and
runs isohound check on each in a separate process. It measures reading time, checking
time, total time and peak memory. With FILEs it measures these instead. Every verdict
must be right: satisfied for generated histories; for FILEs the contestants must agree.

With --growth it makes histories that grow along six axes (sessions, transactions,
operations, keys, share of writes, share of duplicate values) as in Figure 10 of
the VeriStrong paper, and writes plots, a table in CSV and a report in Markdown to
--out. A contestant that does not decide a point within --timeout skips the larger
ones.

With --doubling it makes histories that are hard for their size (one transaction with
a million operations, values that are often repeated, very many writers of one key) at
an eighth, a quarter, half and all of that size. For each doubling it prints the factors
by which time and memory grow. It also verifies the proofs. If a size is not decided,
larger ones are skipped. With --scans it does so for histories with statements with
conditions: BlindW-Pred of the Vbox paper, and scans of narrow ranges of a large table
beside reads of the same rows by key.

With --weak it makes histories for rc, ra and cc: a million mini-transactions, one to
ten million transactions of 8 operations, and 1 to 1000 sessions. One row must be
violated. The largest file takes 2.5 GB in the temporary folder.

Contestants are ` + strings.Join(names, ", ") + `.
The baseline engine gives no counterexample.

Exit codes: 0 all verdicts right; 70 a wrong verdict, or contestants that disagree;
2 a target not decided within --timeout, or a FILE or an axis of --growth by no
contestant; 74 a --out that is not empty; others as for isohound check.`,
		Example: `  isohound bench checker
  isohound bench checker --quick
  isohound bench checker history.bincode --contestants polygraph,baseline
  isohound bench checker --doubling --timeout 1m
  isohound bench checker --scans --timeout 1m
  isohound bench checker --weak --scale 0.1
  isohound bench checker --growth --timeout 60s --out runs/growth`,
		RunE: func(c *cobra.Command, args []string) error {
			if err := b.resolve(args); err != nil {
				return err
			}
			return a.bench(b, args)
		},
	}
	f := c.Flags()
	f.SortFlags = false
	f.BoolVar(&b.growth, "growth", false, "measure how time and memory grow with the history")
	f.BoolVar(&b.doubling, "doubling", false, "measure histories that are hard for their size, at 1, 2, 4 and 8 times an eighth of it")
	f.BoolVar(&b.scans, "scans", false, "measure histories with statements with conditions, at the same sizes as --doubling")
	f.BoolVar(&b.weak, "weak", false, "measure histories for the weak levels")
	f.StringVar(&b.levels, "level", "", "levels to check, separated by commas (default ser,si; with --weak rc,ra,cc); histories are made for these")
	f.StringVar(&b.contestants, "contestants", "", "contestants, separated by commas (default polygraph; with FILEs polygraph,baseline; with --growth polygraph,paper,baseline; with --weak weak)")
	f.StringVar(&b.against, "against", "", "path of another isohound to compare with; the two are measured in turn")
	f.DurationVar(&b.timeout, "timeout", 0, "limit for each check, reading included (default 5m, with --growth 1m, with --doubling and --scans 20s); a check that goes on is killed after half as long again and 3 s")
	f.StringVar(&b.maxMemory, "max-memory", "", "limit for the memory of each check, 2GiB say (default that of isohound check)")
	f.IntVar(&b.repeat, "repeat", 1, "measure each check this often and take the median")
	f.Float64Var(&b.scale, "scale", 1, "factor for the numbers of transactions and keys")
	f.BoolVar(&b.quick, "quick", false, "the same as --scale "+strconv.FormatFloat(quickScale, 'g', -1, 64)+"; with --growth the same as --points "+strconv.Itoa(quickPoints))
	f.IntVar(&b.points, "points", 0, "with --growth, only the first points of each axis (default all)")
	f.Uint64Var(&b.seed, "seed", defaultSeed, "seed of the histories")
	f.StringVar(&b.out, "out", "", "with --growth, folder for plots and tables (default runs/bench-DATE-TIME)")
	f.BoolVar(&b.asJSON, "json", false, "print JSON, one line for each check")
	f.BoolVarP(&b.quiet, "quiet", "q", false, "print results only")
	return c
}

// defaultSeed is the seed of generated histories.
const defaultSeed = 1

// resolve checks the flags.
func (b *benching) resolve(args []string) error {
	var err error
	switch {
	case b.kinds() > 0 && len(args) > 0:
		return usage("--growth, --doubling, --scans and --weak make their own histories; give either one of those or files")
	case b.kinds() > 1:
		return usage("give one of --growth, --doubling, --scans and --weak")
	case !b.growth && b.out != "":
		return usage("--out is for the plots and tables of --growth; without it results are printed, with --json for programs")
	case !b.growth && b.points != 0:
		return usage("--points goes with --growth")
	case len(args) > 0 && (b.quick || b.scale != 1 || b.seed != defaultSeed):
		return usage("--quick, --scale and --seed are for histories that are made; give either those or files")
	case b.timeout < 0:
		return usage("--timeout must not be negative")
	case b.repeat < 1:
		return usage("--repeat must be at least 1")
	case !(b.scale > 0 && b.scale <= 100):
		return usage("--scale must be more than 0 and at most 100")
	case b.points < 0:
		return usage("--points must not be negative")
	case b.quick && b.growth && b.points != 0:
		return usage("--growth --quick is --growth --points %d; give one of --quick and --points", quickPoints)
	case b.quick && !b.growth && b.scale != 1:
		return usage("--quick is --scale %v; give one of the two", quickScale)
	case slices.Contains(args, "-"):
		return usage("each check reads the history anew, and standard input can be read once; give a file")
	}
	if b.timeout == 0 {
		b.timeout = 5 * time.Minute
		switch {
		case b.growth:
			b.timeout = time.Minute
		case b.doubling, b.scans:
			b.timeout = 20 * time.Second
		}
	}
	if _, err = parseMemory(b.maxMemory); err != nil {
		return err
	}
	if b.levels == "" {
		if b.levels = "ser,si"; b.weak {
			b.levels = "rc,ra,cc"
		}
	}
	if b.parsedLevels, err = level.ParseList(b.levels); err != nil {
		return withCode(exitUsage, err)
	}
	for _, l := range b.parsedLevels {
		if b.weak && !level.CC.Implies(l) {
			return usage("the histories of --weak are causally consistent, and not made for level %s", l)
		}
		if len(args) == 0 && !b.scans && l.RealTime() {
			return usage("level %s needs times, and generated histories have none; give files", l)
		}
	}
	switch {
	case b.quick && b.growth:
		b.points = quickPoints
	case b.quick:
		b.scale = quickScale
	}
	if b.contestants == "" {
		b.contestants = "polygraph"
		switch {
		case b.growth:
			b.contestants = "polygraph,paper,baseline"
		case b.weak:
			b.contestants = "weak"
		case len(args) > 0:
			b.contestants = "polygraph,baseline"
		}
	}
	if b.chosen, err = bench.FindContestants(b.contestants); err != nil {
		return withCode(exitUsage, err)
	}
	if err := once("--contestants", strings.Split(b.contestants, ",")); err != nil {
		return err
	}
	if b.against != "" {
		if _, err := exec.LookPath(b.against); err != nil {
			return usage("--against: %v", err)
		}
		b.chosen = bench.Against(b.chosen, b.against)
	}
	return nil
}

// kinds counts the flags that choose a benchmark.
func (b *benching) kinds() int {
	n := 0
	for _, chosen := range []bool{b.growth, b.doubling, b.scans, b.weak} {
		if chosen {
			n++
		}
	}
	return n
}

func (a *app) bench(b *benching, files []string) error {
	self, err := os.Executable()
	if err != nil {
		return errors.WithStack(err)
	}
	c := &bench.Checker{Command: self, Timeout: b.timeout, Repeat: b.repeat}
	if !b.quiet {
		c.Progress = func(line string) { fmt.Fprintln(a.msg, line) }
	}
	if b.maxMemory != "" {
		c.Flags = append(c.Flags, "--max-memory", b.maxMemory)
	}
	switch {
	case b.growth:
		return a.benchGrowth(b, c)
	case b.doubling, b.scans:
		return a.benchDoubling(b, c)
	}
	r := &bench.Report{}
	switch {
	case len(files) > 0:
		err = c.MeasureFiles(a.work, files, b.parsedLevels, b.chosen, r)
	case b.weak:
		err = c.MeasureWeak(a.work, bench.WeakRows(b.scale, b.seed), b.parsedLevels, b.chosen, r)
	default:
		err = c.MeasureTargets(a.work, bench.Targets(b.scale, b.seed), b.parsedLevels, b.chosen, r)
	}
	err = benchError(err)
	// Measurements before an error are shown too.
	if perr := a.printMeasurements(r.Measurements, b.asJSON); perr != nil {
		return perr
	}
	if len(files) == 0 && r.Undecided() > 0 || r.Open() > 0 {
		a.found(exitUnknown)
	}
	return a.wrong(r.Wrong, err)
}

// benchError gives an error the exit code with which a process of isohound ended.
func benchError(err error) error {
	var failed *bench.CheckError
	if errors.As(err, &failed) {
		return withCode(exitCode(failed.ExitCode), err)
	}
	return err
}

// wrong prints wrong verdicts, and returns err.
func (a *app) wrong(lines []string, err error) error {
	for _, line := range lines {
		a.found(exitInternal)
		fmt.Fprintf(a.msg, "isohound: wrong verdict: %s\n", line)
	}
	return err
}

func (a *app) printMeasurements(ms []bench.Measurement, asJSON bool) error {
	if !asJSON && len(ms) > 0 {
		return withCode(exitIO, bench.Table(a.out, ms))
	}
	if !asJSON {
		return nil
	}
	for _, m := range ms {
		if err := json.NewEncoder(a.out).Encode(m); err != nil {
			return withCode(exitIO, errors.Wrap(err, "standard output"))
		}
	}
	return nil
}

func (a *app) benchDoubling(b *benching, c *bench.Checker) error {
	c.Flags = append(c.Flags, "--certify")
	shapes, d := bench.Shapes(b.scans, b.scale), &bench.Doubling{}
	err := c.MeasureDoubling(a.work, shapes, b.parsedLevels, b.chosen, b.seed, d)
	err = benchError(err)
	// Measurements before an error are shown too.
	var perr error
	if b.asJSON {
		for i := range d.Steps {
			perr = firstError(perr, json.NewEncoder(a.out).Encode(&d.Steps[i]))
		}
	} else {
		perr = bench.DoublingTable(a.out, shapes, d)
	}
	if perr != nil {
		return withCode(exitIO, errors.Wrap(perr, "standard output"))
	}
	if d.Undecided() > 0 {
		a.found(exitUnknown)
	}
	return a.wrong(d.Wrong, err)
}

func (a *app) benchGrowth(b *benching, c *bench.Checker) error {
	drop, err := newFolder(&b.out, "bench")
	if err != nil {
		return err
	}
	defer drop()
	g := &bench.Growth{Axes: bench.Axes(b.points), Levels: b.parsedLevels, Contestants: b.chosen, Scale: b.scale, Seed: b.seed}
	err = benchError(c.MeasureGrowth(a.work, g))
	if err != nil && len(g.Points) == 0 {
		return err
	}
	about := fmt.Sprintf("%s: isohound %s, %s, %s/%s, %d cores, at most %v a check.", time.Now().Format("2006-01-02"), version(),
		runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), b.timeout)
	report, serr := g.Save(b.out, b.repeatLine(), about)
	if b.asJSON {
		var ms []bench.Measurement
		for _, p := range g.Points {
			ms = append(ms, p.Measurement)
		}
		if perr := a.printMeasurements(ms, true); serr == nil {
			serr = perr
		}
	}
	if serr != nil {
		serr = withCode(exitIO, errors.Wrap(serr, "cannot write the results"))
	} else if !b.asJSON {
		fmt.Fprintf(a.out, "report: %s\n", report)
	}
	if g.Open() > 0 {
		a.found(exitUnknown)
	}
	return a.wrong(g.Wrong, firstError(err, serr))
}

// repeatLine is the command that repeats the measurement.
func (b *benching) repeatLine() string {
	words := []string{"isohound", "bench", "checker", "--growth", "--level", b.levels, "--contestants", b.contestants, "--timeout", b.timeout.String(),
		"--repeat", strconv.Itoa(b.repeat), "--scale", strconv.FormatFloat(b.scale, 'g', -1, 64), "--points", strconv.Itoa(b.points), "--seed", strconv.FormatUint(b.seed, 10)}
	if b.against != "" {
		words = append(words, "--against", b.against)
	}
	if b.maxMemory != "" {
		words = append(words, "--max-memory", b.maxMemory)
	}
	return commandLine(words...)
}
