//go:build !front

package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/pkg/errors"
	"github.com/spf13/cobra"

	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/hunt"
	"github.com/isohound/isohound/internal/infile"
	"github.com/isohound/isohound/results"
	"github.com/isohound/isohound/results/pages"
	"github.com/isohound/isohound/servers"
)

// huntOptions are the flags of hunt.
type huntOptions struct {
	out, summary, webhook, metrics            string
	resume, list, report, init, schema, quiet bool
	start                                     hunt.Starting
}

const huntExits = `Exit codes:
  0 every cell that was run is as expected   1 a violation that is not expected, or an
  expected one that was not found   2 a verdict is unknown, or all runs of a cell ended
  early   3 a cell tested next to nothing   64 usage   65 the plan is invalid
  69, 70, 74 as for isohound --help, if no run of a cell could be made   130 interrupted
The first that occurs of 1, 70, 74, 69, 65, 130, 2, 3, 0. Cells that the night did not
reach change nothing.`

func (a *app) huntCommand() *cobra.Command {
	h := &huntOptions{}
	c := &cobra.Command{
		Use:   "hunt PLAN",
		Short: "Run a plan of many runs, and say in the morning what was found and what is new",
		Long: `hunt runs what a plan asks for: targets, isolations, workloads with parameters to draw
from, faults, until its budget is used up. It chooses which run is next, repeats violations
to learn how often they happen, and compares what it found with what is expected.
docs/hunt.md describes plans.

The folder --out receives index.html (the morning's page), summary.md, junit.xml with a
case for each cell, the folders of runs, and hunt.db, the index of all runs. Every further
hunt in the same folder is another night, and the page says what is new. A hunt that was
interrupted, or killed, goes on with --resume; if the last night is over, --resume begins
a new one.

` + huntExits,
		Example: `  isohound hunt --init plan.yaml --dsn postgres://me@127.0.0.1/test
  isohound hunt plan.yaml --list
  isohound hunt plan.yaml --summary "$GITHUB_STEP_SUMMARY"
  isohound hunt plan.yaml --resume`,
		Args: atMost(1, "one plan"),
		RunE: func(c *cobra.Command, args []string) error {
			path := ""
			if len(args) > 0 {
				path = args[0]
			}
			return a.hunt(h, path)
		},
	}
	f := c.Flags()
	f.SortFlags = false
	f.StringVar(&h.out, "out", "", "folder of the hunt (default hunts/NAME, NAME is that of the plan)")
	f.BoolVar(&h.resume, "resume", false, "go on with the last night if it was interrupted or killed")
	f.BoolVar(&h.list, "list", false, "only list the cells, in the order in which they would be run first")
	f.BoolVar(&h.report, "report", false, "only make the page, the summary and junit.xml of the last night again")
	f.BoolVar(&h.init, "init", false, "write a commented plan to PLAN, or print it, for --dsn, --server or --driver")
	f.StringVar(&h.start.DSN, "dsn", "", "with --init: where the database is")
	f.StringVar(&h.start.Server, "server", "", "with --init: a private server for each run: "+servers.SpecForms())
	f.StringVar(&h.start.Driver, "driver", "", "with --init: the driver")
	f.BoolVar(&h.schema, "schema", false, "only print the JSON schema of plans, for editors")
	f.StringVar(&h.summary, "summary", "", summaryHelp)
	f.StringVar(&h.webhook, "webhook", "", "address to which the night's outcome is posted as JSON (default $"+webhookVariable+"); see docs/hunt.md")
	f.BoolVarP(&h.quiet, "quiet", "q", false, "print only what is not satisfied, and the result")
	f.StringVar(&h.metrics, "metrics", "", "serve figures of the night to Prometheus at this address, :9090 say, as long as it goes on; see docs/hunt.md")
	c.AddCommand(a.huntCompareCommand())
	return c
}

func (a *app) hunt(h *huntOptions, path string) error {
	asked := 0
	for _, on := range []bool{h.resume, h.list, h.report, h.init, h.schema} {
		if on {
			asked++
		}
	}
	switch {
	case asked > 1:
		return usage("--resume, --list, --report, --init and --schema do not go together")
	case h.start != hunt.Starting{} && !h.init:
		return usage("--dsn, --server and --driver go with --init; a plan names its targets")
	case h.metrics != "" && asked > 0 && !h.resume:
		return usage("--metrics is for a night that goes on")
	case h.schema:
		_, err := a.out.Write(hunt.Schema())
		return withCode(exitIO, err)
	case h.init:
		return a.draft(h, path)
	case path == "":
		return usage("hunt needs a plan; isohound hunt --init PLAN writes one")
	}
	var err error
	if h.webhook, err = webhookOf(h.webhook); err != nil {
		return err
	}
	text, err := infile.ReadText(a.stop, path)
	if err != nil {
		return a.interruptedOr(withCode(exitData, err))
	}
	read := hunt.Read
	if h.report {
		read = func(file string, text []byte) (*hunt.Plan, error) { return hunt.Reread(file, text, h.driverBefore) }
	}
	plan, err := read(path, text)
	if err != nil {
		return withCode(exitData, err)
	}
	cells, left, err := plan.Cells(a.checkRun)
	if err != nil {
		return withCode(exitData, err)
	}
	h.out = h.folder(plan.Name)
	switch {
	case h.list:
		return a.listHunt(h, plan, cells, left)
	case h.report:
		return a.reportHunt(h, plan, cells, left)
	}
	return a.night(h, plan, cells, left)
}

// folder is the folder of the hunt of a plan.
func (h *huntOptions) folder(plan string) string {
	if h.out == "" {
		return filepath.Join("hunts", plan)
	}
	return h.out
}

// driverBefore is the driver of a target in the hunt of a plan, "" if that is not known. Errors come again when the report
// opens the index.
func (h *huntOptions) driverBefore(plan, target string) string {
	state, err := hunt.Open(h.folder(plan), false)
	if err != nil {
		return ""
	}
	defer state.Close()
	driver, _ := state.DriverOf(target)
	return driver
}

// draft writes a plan to begin with.
func (a *app) draft(h *huntOptions, path string) error {
	if h.start.Server != "" && h.start.DSN != "" {
		return usage("--server and --dsn do not go together")
	}
	text, err := hunt.Draft(h.start)
	if err != nil {
		return withCode(exitUsage, err)
	}
	if path == "" {
		_, err := fmt.Fprint(a.out, text)
		return withCode(exitIO, err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if os.IsExist(err) {
		return withCode(exitIO, errors.Errorf("%s exists and is not overwritten; name another file", path))
	} else if err != nil {
		return withCode(exitIO, err)
	}
	_, err = f.WriteString(text)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		_, err = fmt.Fprintf(a.out, "%s\nlook what it would run: isohound hunt %s --list\n", path, commandLine(path))
	}
	return withCode(exitIO, err)
}

// checkRun checks the arguments of isohound run as run does before it connects.
func (a *app) checkRun(args []string) error {
	s, check := &settings{}, ""
	c := a.runCommand()
	c.ResetFlags()
	s.flags(c)
	c.Flags().StringVar(&check, "check", "claimed", "")
	if err := c.ParseFlags(args[1:]); err != nil {
		return flagError(c, err)
	}
	if err := s.resolve(context.Background(), c); err != nil {
		return err
	}
	if _, err := checked(check, level.SER.String()); err != nil {
		return err
	}
	if !s.info.Embedded || !s.info.OwnURL {
		return nil
	}
	dsn := ""
	if len(s.dsns) > 0 {
		dsn = s.dsns[0]
	}
	db, err := drivers.Open(a.stop, s.engine, drivers.Config{DSN: dsn, Isolation: s.level.Name, CallTimeout: generator.DefaultCallTimeout})
	if err != nil {
		return err
	}
	return db.Close(a.stop)
}

func (a *app) listHunt(h *huntOptions, plan *hunt.Plan, cells []*hunt.Cell, left []hunt.LeftOut) error {
	state, err := hunt.Open(h.out, false)
	if err == nil {
		defer state.Close()
	} else if !os.IsNotExist(errors.Cause(err)) {
		return withCode(exitIO, err)
	} else {
		state = nil
	}
	order, err := hunt.Order(plan, cells, state, version())
	if err != nil {
		return err
	}
	var b strings.Builder
	for n, x := range order {
		fmt.Fprintf(&b, "%3d. %s  (%s)\n     isohound %s\n", n+1, x.Cell.ID(), x.Why, commandLine(x.Command...))
	}
	for _, l := range hunt.Together(left) {
		fmt.Fprintf(&b, "not run: %s: %s\n", l.Cell, l.Why)
	}
	fmt.Fprintf(&b, "%s, %s for each at least; seeds and values here are examples, drawn by %s\n", plural(len(order), "cell"), runTimes(order), plan.ChosenBy())
	_, err = fmt.Fprint(a.out, b.String())
	return withCode(exitIO, err)
}

func runTimes(order []hunt.Next) string {
	low, high := order[0].Time, order[0].Time
	for _, x := range order {
		low, high = min(low, x.Time), max(high, x.Time)
	}
	if low == high {
		return low.String()
	}
	return low.String() + " to " + high.String()
}

func (a *app) reportHunt(h *huntOptions, plan *hunt.Plan, cells []*hunt.Cell, left []hunt.LeftOut) error {
	state, err := hunt.Open(h.out, false)
	if err != nil {
		return withCode(exitData, err)
	}
	defer state.Close()
	m, err := state.Morning(plan, cells, left)
	if errors.Is(err, hunt.ErrNoNight) {
		return withCode(exitData, err)
	} else if err != nil {
		return err
	}
	page, err := m.Write(h.out, pages.Draw)
	if err == nil {
		err = appendSummary(h.summary, func() string { return m.SummaryFrom(wayTo(h.out, h.summary)) })
	}
	if err != nil {
		return withCode(exitIO, err)
	}
	_, err = fmt.Fprintf(a.out, "%s\n%s\n", m.Words(), page)
	return withCode(exitIO, err)
}

// wayTo is the path of a folder from where a file is, with slashes; an absolute one where there is no such path.
func wayTo(dir, file string) string {
	to, err := filepath.Abs(dir)
	if err != nil {
		return filepath.ToSlash(dir)
	}
	if from, err := filepath.Abs(filepath.Dir(file)); err == nil {
		if rel, err := filepath.Rel(from, to); err == nil {
			to = rel
		}
	}
	return filepath.ToSlash(to)
}

// huntLock is how long a hunt waits for another one in the same folder: what a killed hunt has started ends soon
// after it.
const huntLock = 30 * time.Second

// lockHunt keeps other hunts out of a folder until the file is closed.
func (a *app) lockHunt(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, hunt.LockFile), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, withCode(exitIO, err)
	}
	told := false
	for begun := time.Now(); ; {
		if err = lockFile(f); err == nil {
			return f, nil
		}
		if time.Since(begun) > huntLock || a.stop.Err() != nil {
			f.Close()
			return nil, withCode(exitIO, errors.Errorf("another hunt goes on in %s, or a process that it started", dir))
		}
		if !told {
			fmt.Fprintf(a.msg, "another hunt uses %s; waiting %s for its end\n", dir, huntLock)
			told = true
		}
		select {
		case <-a.stop.Done():
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// night hunts one night.
func (a *app) night(h *huntOptions, plan *hunt.Plan, cells []*hunt.Cell, left []hunt.LeftOut) error {
	self, err := os.Executable()
	if err != nil {
		return errors.WithStack(err)
	}
	if results.Holds(h.out) {
		return withCode(exitIO, errors.Errorf("--out %s is the folder of a run; name another one", h.out))
	}
	tell := a.tellHunt(h)
	if h.metrics != "" {
		m := newHuntMetrics(plan)
		at, stop, err := serveCollectors(h.metrics, m.collectors()...)
		if err != nil {
			return err
		}
		defer stop()
		fmt.Fprintf(a.msg, "metrics at %s\n", at)
		printed := tell
		tell = func(e hunt.Event) {
			m.tell(e)
			printed(e)
		}
	}
	if err := os.MkdirAll(h.out, 0o755); err != nil {
		return withCode(exitIO, errors.Wrap(err, "--out"))
	}
	lock, err := a.lockHunt(h.out)
	if err != nil {
		return err
	}
	defer lock.Close()
	state, err := hunt.Open(h.out, true)
	if err != nil {
		return withCode(exitIO, err)
	}
	defer state.Close()
	for _, l := range hunt.Together(left) {
		if !h.quiet {
			fmt.Fprintf(a.msg, "not run: %s: %s\n", l.Cell, l.Why)
		}
	}
	night, done, err := hunt.Hunt(a.stop, a.ctx, hunt.Config{
		Plan: plan, Cells: cells, State: state, Dir: h.out, Program: self, Version: version(), Lock: lock, Resume: h.resume, Tell: tell,
	})
	err = withCode(exitIO, err) // all that ends a hunt is about its folder and its processes
	if night == nil {
		return err
	}
	if !done && err == nil {
		a.found(exitInterrupted)
	}
	return firstError(err, a.morning(h, plan, cells, left, state, night, done))
}

// tellHunt prints what happens.
func (a *app) tellHunt(h *huntOptions) func(hunt.Event) {
	var mu sync.Mutex
	return func(e hunt.Event) {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case e.Note != "":
			fmt.Fprintln(a.msg, e.Note)
		case e.Begun != nil && !h.quiet:
			fmt.Fprintf(a.msg, "%s  run %d: %s, %s\n", e.Begun.Began.Format("15:04:05"), e.Begun.ID, e.Begun.Cell, e.Begun.Why)
		case e.Done != nil:
			if h.quiet && e.Judged.Status == hunt.Satisfied {
				return
			}
			text := ""
			if e.Judged.Text != "" {
				text = ": " + e.Judged.Text
			}
			fmt.Fprintf(a.out, "run %d  %s  %s%s  (%s commits, %s)\n", e.Done.ID, e.Done.Cell, e.Judged.Status, text, results.Thousands(e.Done.Commits), e.Done.Round())
		}
	}
}

// morning writes what the night found, and its exit code.
func (a *app) morning(h *huntOptions, plan *hunt.Plan, cells []*hunt.Cell, left []hunt.LeftOut, state *hunt.State, night *hunt.Night, done bool) error {
	m, err := state.Morning(plan, cells, left)
	if err != nil {
		return err
	}
	for _, code := range m.ExitCodes() {
		a.found(exitCode(code))
	}
	if done {
		if err := state.Finish(night, int(a.code)); err != nil {
			return err
		}
		if m, err = state.Morning(plan, cells, left); err != nil {
			return err
		}
	}
	page, err := m.Write(h.out, pages.Draw)
	if err == nil {
		err = appendSummary(h.summary, func() string { return m.SummaryFrom(wayTo(h.out, h.summary)) })
	}
	if err != nil {
		return withCode(exitIO, err)
	}
	if _, err := fmt.Fprintf(a.out, "\n%s: %s, %s\npage: %s\n", m.Words(), plural(m.Total.Runs, "run"), m.Night.Lasted(), page); err != nil {
		return withCode(exitIO, err)
	}
	for _, g := range m.Fresh() {
		if x := g.Shrunk; x != nil && len(x.Changes) > 0 {
			if _, err := fmt.Fprintf(a.out, "%s on %s, %s: %s\n  %s\n", g.Name, g.Target, g.Isolation, x.Words(), x.Command()); err != nil {
				return withCode(exitIO, err)
			}
		}
	}
	a.tellNight(h.webhook, m, page)
	if !done {
		fmt.Fprintln(a.msg, "the night is not over; isohound hunt --resume goes on with it")
	}
	return nil
}
