package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/pkg/errors"
	"github.com/spf13/cobra"

	"github.com/isohound/isohound/internal/suggest"
	"github.com/isohound/isohound/results"
)

// app is one invocation of the command.
type app struct {
	in       *os.File
	out, msg *os.File // results, and everything else
	code     exitCode // the worst so far

	// stop ends at the first signal; running work may finish. ctx ends at the second signal;
	// nothing waits any more.
	ctx, stop context.Context
	// owns names what the run has created on the server, until it is dropped.
	owns atomic.Pointer[string]
	// stopSignals ends what listen began, for each command.
	stopSignals func()
	// work is the context for judging: stop, unless a run was interrupted.
	work context.Context
	// warned has the warnings already printed.
	warned sync.Map
	// printed are the outcomes of the current history that were printed as text.
	printed []results.Outcome
	running
}

var errInterrupted = errors.New("interrupted")

// lastMoment is the time for closing files after the second signal.
const lastMoment = 3 * time.Second

// listen makes the contexts end on signals.
func (a *app) listen() (done func()) {
	var cancel, cancelStop context.CancelCauseFunc
	a.ctx, cancel = context.WithCancelCause(context.Background())
	a.stop, cancelStop = context.WithCancelCause(a.ctx)
	a.work = a.stop
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // nohup ignores it
		signal.Notify(signals, syscall.SIGHUP)
	}
	// A broken pipe is an error of the write, which finish knows.
	signal.Ignore(syscall.SIGPIPE)
	go func() {
		if _, ok := <-signals; !ok {
			return
		}
		fmt.Fprintln(a.msg, "isohound: interrupted; finishing what runs, interrupt again to stop at once")
		cancelStop(errInterrupted)
		if _, ok := <-signals; !ok {
			return
		}
		cancel(errInterrupted)
		time.Sleep(lastMoment)
		a.sayLeft()
		os.Exit(int(exitInterrupted))
	}()
	return func() {
		signal.Stop(signals)
		close(signals)
		cancel(nil)
	}
}

// sayLeft says what a process that ends at once leaves on the server.
func (a *app) sayLeft() {
	if left := a.owns.Load(); left != nil {
		fmt.Fprintf(a.msg, "isohound: left behind: %s\n", *left)
	}
}

// found records the exit code of a result.
func (a *app) found(c exitCode) { a.code = worse(a.code, c) }

// module is the path of isohound's module.
const module = "github.com/isohound/isohound"

// program is what the user types: isohound, or the name of somebody else's program with this command line.
func program() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Path != module {
		return filepath.Base(os.Args[0])
	}
	return "isohound"
}

func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	v := info.Main.Version
	if info.Main.Path != module { // the main of somebody else
		v = "unknown"
		for _, dep := range info.Deps {
			if dep.Path == module {
				v = dep.Version
				if dep.Replace != nil {
					v = strings.TrimSpace(dep.Replace.Path + " " + dep.Replace.Version)
				}
			}
		}
		return v + " in " + info.Main.Path
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 && !strings.Contains(v, s.Value[:12]) {
			v += " (" + s.Value[:12] + ")"
		}
	}
	return v
}

func (a *app) root(args []string) *cobra.Command {
	root := &cobra.Command{
		Use:   "isohound",
		Short: "Hunt isolation bugs in databases",
		Long: `isohound drives a database with concurrent transactions, records every call and
result, and checks whether the isolation level allows the history.

` + exitHelp,
		Version:       version(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          noUnknown,
		PersistentPreRunE: func(c *cobra.Command, args []string) error {
			a.stopSignals = a.listen()
			return noEmpty(c, args)
		},
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SetOut(a.out)
	root.SetErr(a.msg)
	root.SetFlagErrorFunc(flagError)
	root.CompletionOptions = completion
	root.AddCommand(a.commands(args)...)
	root.InitDefaultCompletionCmd(args...)
	refuseShells(root)
	a.refuseHelp(root)
	root.SetArgs(args)
	return root
}

// noEmpty refuses an empty argument, such as "$FILE" of a script where FILE is not set. A shell that completes words may send one.
func noEmpty(c *cobra.Command, args []string) error {
	n := slices.Index(args, "")
	if n < 0 || c.Name() == cobra.ShellCompRequestCmd || c.Name() == cobra.ShellCompNoDescRequestCmd {
		return nil
	}
	return usage("argument %d is empty; expected %s", n+1, c.UseLine())
}

// noUnknown refuses arguments of the root, which are no commands.
func noUnknown(root *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var known []string
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() {
			known = append(known, c.Name())
		}
	}
	if meant := suggest.Closest(args[0], known); meant != "" {
		return usage("unknown command %q; did you mean %s? isohound --help lists the commands", args[0], meant)
	}
	return usage("unknown command %q; isohound --help lists the commands", args[0])
}

// refuseHelp makes a usage error of help on what is no command; cobra prints the help of the root then, with exit code 0.
func (a *app) refuseHelp(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	if c, _, err := root.Find([]string{"help"}); err == nil && c != root {
		c.Args = func(_ *cobra.Command, args []string) error {
			if found, _, _ := root.Find(args); found != root {
				return nil
			}
			return noUnknown(root, args)
		}
	}
	help := root.HelpFunc()
	root.SetHelpFunc(func(c *cobra.Command, args []string) {
		if err := noUnknown(root, root.Flags().Args()); err != nil { // a help function returns no error
			a.found(a.finish(err))
			return
		}
		help(c, args)
	})
}

// refuseShells makes a usage error of a shell that cobra writes no completion for; cobra's own command prints its help then, with
// exit code 0.
func refuseShells(root *cobra.Command) {
	c, _, err := root.Find([]string{"completion"})
	if err != nil || c == root {
		return
	}
	var shells []string
	for _, shell := range c.Commands() {
		shells = append(shells, shell.Name())
		shell.Args = exactly(0, "no argument")
	}
	c.Args = cobra.ArbitraryArgs
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) > 0 {
			return usage("completion: unknown shell %q; known are %s", args[0], strings.Join(shells, ", "))
		}
		return c.Help()
	}
}

// atMost is cobra.MaximumNArgs with a usage error.
func atMost(n int, what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) > n {
			return usage("expected %s, got %d arguments", what, len(args))
		}
		return nil
	}
}

// exactly is cobra.ExactArgs with a usage error.
func exactly(n int, what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != n {
			return usage("expected %s, got %d arguments", what, len(args))
		}
		return nil
	}
}
