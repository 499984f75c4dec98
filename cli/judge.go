//go:build !front && !embedded

package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/pkg/errors"
	"github.com/spf13/cobra"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/budget"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/rounds"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/file"
	"github.com/isohound/isohound/internal/scratch"
	"github.com/isohound/isohound/remote"
	natsserver "github.com/isohound/isohound/remote/server"
	"github.com/isohound/isohound/results"
)

func (a *app) natsCommands() []*cobra.Command {
	return []*cobra.Command{a.judgeCommand(), a.loadCommand(), a.natsCommand()}
}

// judgeOptions are the flags of judge.
type judgeOptions struct {
	from          natsServer
	idle          time.Duration
	memory        budget.Limit
	maxMemory     string
	asJSON, quiet bool
}

func (a *app) judgeCommand() *cobra.Command {
	o := &judgeOptions{}
	c := &cobra.Command{
		Use:   "judge --from URL",
		Short: "Judge windows of runs on other machines",
		Long: `judge takes windows that isohound run --publish has put on a NATS server, judges them
one at a time as the run has asked for, and gives the verdicts back. Any number of
judges may work on the windows of any number of runs, on any machine. It prints the
verdicts and goes on until it is interrupted: the first time it ends after the window
that it has, the second time at once, and another judge gets the window.

Exit codes:
  0 it was interrupted, or idle   64 usage   69 server unreachable   70 a proof did not
  hold   74 cannot write`,
		Example: `  isohound judge --from nats://127.0.0.1:4222
  isohound judge --from tls://nats.example.com --nats-creds judge.creds --idle 10m`,
		Args: exactly(0, "flags only"),
		RunE: func(*cobra.Command, []string) error {
			var err error
			if o.from.url == "" {
				return usage("judge needs --from with the URL of a NATS server")
			}
			if o.memory, err = parseMemory(o.maxMemory); err != nil {
				return err
			}
			if o.idle < 0 {
				return usage("--idle must not be negative")
			}
			return a.judgeWindows(o)
		},
	}
	f := c.Flags()
	f.SortFlags = false
	f.StringVar(&o.from.url, "from", "", "URL of the NATS server: nats://[USER:PASSWORD@|TOKEN@]HOST:PORT, or tls://")
	f.StringVar(&o.from.creds, "nats-creds", "", natsCredsHelp)
	f.StringVar(&o.from.ca, "nats-ca", "", natsCAHelp)
	f.DurationVar(&o.idle, "idle", 0, "end when there was no window for this time (default never)")
	f.StringVar(&o.maxMemory, "max-memory", "", memoryUsage)
	f.BoolVar(&o.asJSON, "json", false, "print JSON, one line for each window and level")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "print no verdicts")
	return c
}

// judgeWindows takes windows from a server and judges them.
func (a *app) judgeWindows(o *judgeOptions) error {
	server, conn, err := a.dial("--from", o.from)
	if err != nil {
		return err
	}
	defer conn.Close()
	folder, err := scratch.New("judge")
	if err != nil {
		return withCode(exitIO, err)
	}
	defer folder.Remove()
	a.work = a.ctx // the first signal ends the taking of windows
	if !o.quiet {
		fmt.Fprintf(a.msg, "judging windows from %s\n", server.Name())
	}
	err = conn.Work(a.ctx, a.stop, &remote.Worker{Dir: folder.Path, Idle: o.idle,
		Judge: func(ctx context.Context, t *remote.Task) (json.RawMessage, error) { return a.judgeTask(ctx, t, o) },
		Note:  func(line string) { fmt.Fprintf(a.msg, "isohound: %s\n", line) },
	})
	var local *remote.LocalError
	switch {
	case errors.As(err, &local):
		return withCode(exitIO, err)
	case a.ctx.Err() != nil:
		return errInterrupted
	}
	return withCode(exitUnavailable, err)
}

// judgeTask judges one window.
func (a *app) judgeTask(ctx context.Context, t *remote.Task, o *judgeOptions) (json.RawMessage, error) {
	k, err := checksOf(t, o.memory)
	if err != nil {
		return nil, err
	}
	j := a.newWindowJudge(t.Path, k)
	j.number, j.digest = t.Window-1, t.After
	v := windowVerdict{}
	alone, entered := false, false
	j.carry = func(h *history.History) error {
		if h.Window == nil && t.Window != 1 || h.Window != nil && h.Window.Number != t.Window {
			return errors.Errorf("this is not window %d", t.Window)
		}
		if alone = rounds.Alone(h); alone {
			return nil
		}
		raw, err := t.Before(ctx)
		if err != nil || raw == nil {
			return err
		}
		var s rounds.State
		err = json.Unmarshal(raw, &s)
		j.state = rounds.Restore(s)
		return err
	}
	j.entered = func(*history.History) error {
		entered = true
		if alone {
			return t.Entered(ctx, nil)
		}
		s := j.state.State()
		v.State = &s
		raw, err := json.Marshal(&s)
		if err != nil {
			return err
		}
		return t.Entered(ctx, raw)
	}
	j.finish = func(_ *history.History, out *results.Outcome) { v.Outcomes = append(v.Outcomes, *out) }
	if err := j.next(t.Path); err != nil {
		return nil, err
	}
	switch v.Tested = j.tested; {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case !entered:
		return nil, errors.Errorf("it could not be read: %s", v.Outcomes[0].Reason)
	case len(v.Outcomes) == 0 || len(v.Outcomes) < j.judged():
		return nil, errors.New("the proof of a verdict did not hold")
	}
	for _, out := range v.Outcomes {
		if out.Path = t.Run + "/" + filepath.Base(t.File); !o.quiet {
			if err := a.print(out, o.asJSON); err != nil {
				return nil, &remote.LocalError{Err: err}
			}
		}
	}
	return json.Marshal(&v)
}

// judged is how many levels are judged in each window.
func (j *windowJudge) judged() int {
	judged, more := j.levels()
	return len(judged) + len(more)
}

// checksOf reads what a run asks for.
func checksOf(t *remote.Task, memory budget.Limit) (*checking, error) {
	var c checks
	if err := json.Unmarshal(t.Checks, &c); err != nil {
		return nil, errors.WithStack(err)
	}
	k := &checking{timeout: c.Timeout, explain: c.Explain, certify: c.Certify, memory: memory, quiet: true, noProgress: true, format: file.Native}
	for _, name := range c.Levels {
		lvl, err := level.Parse(name)
		if err != nil {
			return nil, err
		}
		k.levels = append(k.levels, lvl)
	}
	var err error
	if k.engine, err = checker.ParseEngine(c.Engine); err != nil {
		return nil, err
	}
	if c.Versions != "" {
		if k.versions, err = checker.ParseVersions(c.Versions, k.engine); err != nil {
			return nil, err
		}
	}
	k.accel, err = checker.ParseAccel(c.Accel, k.engine)
	return k, err
}

func (a *app) natsCommand() *cobra.Command {
	o := natsserver.Options{}
	var maxStore string
	c := &cobra.Command{
		Use:   "nats",
		Short: "Start a NATS server for isohound run --publish and isohound judge",
		Long: `nats runs a NATS server with JetStream until it is interrupted. It is there for judges on
one machine, and for a first try: without --config it listens on the loopback address
only and asks for no password. --config is a file of nats-server, with users, TLS and
clusters. For many machines use nats-server itself, or its chart for Kubernetes.
The server prints its URL when it is ready.`,
		Example: `  isohound nats --store /var/tmp/isohound-nats --max-store 20GiB
  isohound nats --config nats.conf
  isohound nats runs --from nats://127.0.0.1:4222
  isohound nats drop --from nats://127.0.0.1:4222 --killed`,
		Args: exactly(0, "flags only"),
		RunE: func(*cobra.Command, []string) error {
			var err error
			if o.MaxStore, err = parseSize("max-store", maxStore); err != nil {
				return err
			}
			if o.Dir == "" && o.File == "" {
				if o.Dir, err = defaultStore(); err != nil {
					return withCode(exitIO, err)
				}
			}
			o.Log = func(line string) { fmt.Fprintf(a.msg, "nats: %s\n", line) }
			s, err := natsserver.Start(o)
			if err != nil {
				return withCode(exitUnavailable, err)
			}
			defer s.Stop()
			if o.Dir != "" {
				limit := ""
				if o.MaxStore > 0 {
					limit = " of at most " + humanize.IBytes(uint64(o.MaxStore))
				}
				fmt.Fprintf(a.msg, "JetStream is in %s%s\n", o.Dir, limit)
			}
			if _, err := fmt.Fprintln(a.out, s.URL()); err != nil {
				return withCode(exitIO, errors.Wrap(err, "standard output"))
			}
			<-a.stop.Done()
			return nil
		},
	}
	f := c.Flags()
	f.SortFlags = false
	f.StringVar(&o.Listen, "listen", "", "address to listen on; port 0 is a free one (default 127.0.0.1:4222, or that of --config)")
	f.StringVar(&o.Dir, "store", "", "folder of JetStream (default isohound-nats in the user's cache folder, or that of --config)")
	f.StringVar(&maxStore, "max-store", "", "limit of that folder, such as 20GiB (default three quarters of the free disk)")
	f.StringVar(&o.File, "config", "", "file of configuration of nats-server")
	c.AddCommand(a.natsRunsCommand(), a.natsDropCommand())
	return c
}

// defaultStore is the folder of JetStream if none is named.
func defaultStore() (string, error) {
	dir, err := os.UserCacheDir()
	return filepath.Join(dir, "isohound-nats"), err
}
