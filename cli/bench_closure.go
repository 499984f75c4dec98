//go:build !front

package cli

import (
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pkg/errors"
	"github.com/spf13/cobra"

	"github.com/isohound/isohound/accel/choose"
	"github.com/isohound/isohound/bench"
	"github.com/isohound/isohound/checker/engine"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/polygraph"
)

// closing are the options of a benchmark of closures.
type closing struct {
	level, maxMemory, histories, out     string
	sizes, sessions, workloads, backends []string
	quick, infer, compact, asJSON, quiet bool
	workers, repeat                      int
	seed                                 int64
	timeout                              time.Duration

	lvl     level.Level
	most    int64
	specs   []bench.GraphSpec
	chosen  []bench.ClosureBackend
	closeUp func()
}

// closureQuestions is how many edges are tested.
const closureQuestions = 1_000_000

func (a *app) benchClosureCommand() *cobra.Command {
	b := &closing{}
	c := &cobra.Command{
		Use:   "closure [FILE...]",
		Short: "Measure the backends of reachability on known graphs of histories",
		Long: `bench closure records histories on Badger in memory and builds the known graph of each: session
order, and reads that have only one possible writer. On this graph it measures every backend
that keeps a transitive closure: time, memory, and bytes moved compared with the memory
bandwidth, which it measures first. With FILEs it uses these histories instead. Every backend
answers the same million random edge tests and other queries. All answers must agree with one
another, with plain searches and, on a part, with Warshall's algorithm. Tables are in Markdown.

With --sessions n each transaction is its own session: the level is then the variant without
session order, on a history of ` + strconv.Itoa(bench.UsualSessions) + ` sessions.

With --compact it compares how long it takes to construct and update compact and full closures,
as in Figure 8 of the Vbox paper, with the paper's algorithms and the backend bitset, at a level
with real time. It writes pictures, a table in CSV and a report in Markdown to --out. The report
also lists algorithms that do not end within --timeout.

` + bench.TrafficHelp + `

Backends are ` + bench.ClosureBackendHelp + `.

Exit codes: 0 all measured, and all agree; 70 backends disagree or fail; 2 a backend did not
end within --timeout (not with --compact); others as for isohound check.`,
		Example: `  isohound bench closure
  isohound bench closure --quick
  isohound bench closure --sizes 100k --sessions 24,n --workloads ycsbt-BL --histories runs/histories
  isohound bench closure history.jsonl.zst --level si --infer
  isohound bench closure --compact --out runs/compact`,
		RunE: func(c *cobra.Command, args []string) error {
			if err := b.resolve(c, args); err != nil {
				return err
			}
			defer b.closeUp()
			return a.benchClosure(b)
		},
	}
	f := c.Flags()
	f.SortFlags = false
	f.StringSliceVar(&b.workloads, "workloads", nil, "workloads: "+strings.Join(workloadNames(), ", ")+" (default "+strings.Join(bench.ClosureNames, ",")+"; with --compact "+strings.Join(bench.CompactNames, ",")+")")
	f.StringSliceVar(&b.sizes, "sizes", []string{"10k", "100k", "200k"}, "transactions; with --compact 10k")
	f.StringSliceVar(&b.sessions, "sessions", []string{"1", "24", "1000", "n"}, "sessions, n for as many as transactions; with --compact 24")
	f.StringVar(&b.level, "level", "", "level of the graphs (default ser; with --compact sser)")
	f.BoolVar(&b.infer, "infer", false, "add the edges that saturation infers to the graphs")
	f.StringSliceVar(&b.backends, "backends", nil, "backends (default all that differ on this machine)")
	f.IntVar(&b.workers, "workers", 0, "goroutines of a backend (default as many as there are processors)")
	f.IntVar(&b.repeat, "repeat", 3, "compute each closure this often and take the median")
	f.DurationVar(&b.timeout, "timeout", 2*time.Minute, "limit for each closure; 0 is none (with --compact 1m by default, with --quick 5s)")
	f.StringVar(&b.maxMemory, "max-memory", "", "skip closures that need more memory, such as 2GiB (default three quarters of the available memory)")
	f.StringVar(&b.histories, "histories", "", "folder to keep recorded histories in and to reuse them from (default a temporary one)")
	f.Int64Var(&b.seed, "seed", 1, "seed of the histories and of the questions")
	f.BoolVar(&b.quick, "quick", false, "size 2k, sessions 24 and n, each closure computed once")
	f.BoolVar(&b.compact, "compact", false, "compare compact and full closures as in Figure 8 of the Vbox paper")
	f.StringVar(&b.out, "out", "", "with --compact, folder for pictures and tables (default runs/bench-DATE-TIME)")
	f.BoolVar(&b.asJSON, "json", false, "print JSON, one line for each graph and backend")
	f.BoolVarP(&b.quiet, "quiet", "q", false, "print results only")
	return c
}

func workloadNames() []string {
	var names []string
	for _, w := range bench.ClosureWorkloads {
		names = append(names, w.Name)
	}
	return names
}

// resolve checks the flags.
func (b *closing) resolve(c *cobra.Command, files []string) error {
	b.closeUp = func() {}
	usual := func(flag string, list *[]string, compact, quick []string) {
		switch {
		case c.Flags().Changed(flag):
		case b.quick:
			*list = quick
		case b.compact:
			*list = compact
		}
	}
	usual("sizes", &b.sizes, []string{"10k"}, []string{"2k"})
	usual("sessions", &b.sessions, []string{"24"}, []string{"24", "n"})
	if b.compact && !c.Flags().Changed("sessions") {
		b.sessions = []string{"24"}
	}
	if b.quick && !c.Flags().Changed("repeat") {
		b.repeat = 1
	}
	switch {
	case c.Flags().Changed("timeout"):
	case b.quick:
		b.timeout = 5 * time.Second
	case b.compact:
		b.timeout = time.Minute
	}
	if b.level == "" {
		b.level = "ser"
		if b.compact {
			b.level = "sser"
		}
	}
	var err error
	if b.lvl, err = level.Parse(b.level); err != nil {
		return withCode(exitUsage, err)
	}
	switch {
	case !slices.Contains(polygraph.Engine{}.Levels(), b.lvl):
		return usage("--level %s has no known graph", b.lvl)
	case b.compact && !b.lvl.RealTime():
		return usage("--compact needs a level with real time, and %s has none; take sser or strong-si", b.lvl)
	case b.repeat < 1:
		return usage("--repeat must be at least 1")
	case b.timeout < 0 || b.workers < 0:
		return usage("--timeout and --workers must not be negative")
	case b.compact && (b.infer || len(b.backends) > 0 || b.workers > 0):
		return usage("--compact cannot be combined with --infer, --backends or --workers")
	case len(files) > 0 && slices.ContainsFunc([]string{"workloads", "sizes", "sessions", "histories"}, c.Flags().Changed):
		return usage("--workloads, --sizes, --sessions and --histories are for histories that are made; give either those or files")
	case b.out != "" && !b.compact:
		return usage("--out goes with --compact; without it the tables are printed")
	}
	if b.most, err = parseSize("max-memory", b.maxMemory); err != nil {
		return err
	}
	if b.most == 0 {
		b.most = choose.Here().Free() / 4 * 3
	}
	if b.workloads == nil {
		b.workloads = bench.ClosureNames
		if b.compact {
			b.workloads = bench.CompactNames
		}
	}
	if err := firstError(b.plan(files), once("--backends", b.backends)); err != nil {
		return err
	}
	if !b.compact {
		b.chosen, b.closeUp, err = bench.FindClosureBackends(b.backends, b.workers)
	}
	return withCode(exitUsage, err)
}

func (a *app) benchClosure(b *closing) error {
	var progress func(string)
	if !b.quiet {
		progress = func(line string) { fmt.Fprintln(a.msg, line) }
	}
	r, done, err := b.recorder(progress)
	if err != nil {
		return err
	}
	defer done()
	if b.compact {
		return a.benchCompact(b, r)
	}
	c := &bench.Closures{Histories: r, Infer: b.infer, Seed: b.seed, Repeat: b.repeat, Timeout: b.timeout, MaxMemory: b.most,
		Questions: closureQuestions, Backends: b.chosen, Progress: progress}
	err = b.refusal(benchError(c.MeasureClosures(a.work, b.specs)))
	// Measurements before an error are shown too.
	var perr error
	if b.asJSON {
		for i := range c.Measurements {
			perr = firstError(perr, json.NewEncoder(a.out).Encode(&c.Measurements[i]))
		}
	} else if len(c.Measurements) > 0 {
		if perr = c.Table(a.out); perr == nil {
			_, perr = fmt.Fprintf(a.out, "\n%s\n\n    %s\n", b.about(), b.repeatLine())
		}
	}
	if c.TimedOut() {
		a.found(exitUnknown)
	}
	return firstError(withCode(exitIO, errors.Wrap(perr, "standard output")), a.disagree(append(c.Wrong, c.Failed()...), err))
}

// refusal makes a usage error of a history that cannot be judged at the level.
func (b *closing) refusal(err error) error {
	var refused *engine.Refusal
	if errors.As(err, &refused) {
		return usage("--level %s: %v", b.lvl, refused)
	}
	return err
}

// disagree prints wrong closures, and returns err.
func (a *app) disagree(lines []string, err error) error {
	for _, line := range lines {
		a.found(exitInternal)
		fmt.Fprintf(a.msg, "isohound: wrong closure: %s\n", line)
	}
	return err
}

// about describes the machine.
func (b *closing) about() string {
	text := fmt.Sprintf("%s: isohound %s, %s, %s/%s, %d cores.", time.Now().Format("2006-01-02"), version(), runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	for _, c := range b.chosen {
		if c.Device != "" && !strings.Contains(text, c.Device) {
			text += " " + c.Device + "."
		}
	}
	return text
}

// repeatLine is the command that repeats the measurement.
func (b *closing) repeatLine() string {
	words := []string{"isohound", "bench", "closure"}
	for i := range b.specs {
		if p := b.specs[i].Path; p != "" {
			words = append(words, p)
		}
	}
	if len(words) == 3 {
		words = append(words, "--workloads", strings.Join(b.workloads, ","), "--sizes", strings.Join(b.sizes, ","), "--sessions", strings.Join(b.sessions, ","))
	}
	words = append(words, "--level", b.lvl.String())
	if b.compact {
		words = append(words, "--compact", "--repeat", strconv.Itoa(b.repeat))
	} else {
		var names []string
		for _, c := range b.chosen {
			names = append(names, c.Name)
		}
		words = append(words, "--backends", strings.Join(names, ","), "--workers", strconv.Itoa(b.workers), "--repeat", strconv.Itoa(b.repeat))
	}
	if b.infer {
		words = append(words, "--infer")
	}
	words = append(words, "--timeout", b.timeout.String(), "--seed", strconv.FormatInt(b.seed, 10))
	if b.maxMemory != "" {
		words = append(words, "--max-memory", b.maxMemory)
	}
	return commandLine(words...)
}
