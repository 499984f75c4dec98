//go:build !front && !embedded

package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"github.com/nats-io/nuid"
	"github.com/pkg/errors"
	"github.com/spf13/cobra"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/remote"
	"github.com/isohound/isohound/workloads"
)

// loadOptions are the flags of load.
type loadOptions struct {
	join     natsServer
	run      string
	dsn      string
	patience time.Duration
	quiet    bool
}

func (a *app) loadCommand() *cobra.Command {
	o := &loadOptions{}
	c := &cobra.Command{
		Use:   "load --join URL --dsn DSN",
		Short: "Add a load generator on this machine to a run on another one",
		Long: `load joins a run that was begun with isohound run --publish --loaders, and makes
transactions for it until the run ends. The run says what they are; it has the history
and the verdicts. --dsn names the same database as that of the run, as this machine
reaches it. A load generator that the run has given up, because it was not heard of for
too long, joins again, with new sessions.

Exit codes:
  0 the run has ended, or it was interrupted   64 usage   69 NATS server, run or
  database unreachable   74 cannot write`,
		Example: `  isohound load --join nats://127.0.0.1:4222 --dsn postgres://me@db.example.com/test
  isohound load --join tls://nats.example.com --nats-creds load.creds --run 8BPUKZ2VJ5XCYRMGLQKF1D`,
		Args: exactly(0, "flags only"),
		RunE: func(*cobra.Command, []string) error {
			if o.join.url == "" {
				return usage("load needs --join with the URL of a NATS server")
			}
			if o.patience <= 0 {
				return usage("--patience must be positive")
			}
			return a.load(o)
		},
	}
	f := c.Flags()
	f.SortFlags = false
	f.StringVar(&o.join.url, "join", "", "URL of the NATS server: nats://[USER:PASSWORD@|TOKEN@]HOST:PORT, or tls://")
	f.StringVar(&o.run, "run", "", "name of the run, which it prints (default the only one that may be joined)")
	f.StringVar(&o.dsn, "dsn", "", "where the database of the run is, for this machine (default $"+dsnVariable+")")
	f.StringVar(&o.join.creds, "nats-creds", "", natsCredsHelp)
	f.StringVar(&o.join.ca, "nats-ca", "", natsCAHelp)
	f.DurationVar(&o.patience, "patience", generator.DefaultPatience, "how long it tries to reach the run when it does not answer")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "print only what goes wrong")
	return c
}

// load joins a run, and joins it again when it was given up.
func (a *app) load(o *loadOptions) error {
	_, conn, err := a.dial("--join", o.join)
	if err != nil {
		return err
	}
	defer conn.Close()
	for {
		run, err := conn.Find(a.stop, o.run)
		if err != nil {
			return withCode(exitUnavailable, err)
		}
		err = a.loadOnce(conn, run, o)
		if !errors.Is(err, generator.ErrGivenUp) || a.stop.Err() != nil {
			return err
		}
		fmt.Fprintf(a.msg, "isohound: %v; it joins again\n", err)
		o.run = run
	}
}

// loadOnce takes part in a run until it ends or gives this load generator up.
func (a *app) loadOnce(conn *remote.Conn, run string, o *loadOptions) error {
	j, err := conn.Join(run)
	if err != nil {
		return withCode(exitUnavailable, err)
	}
	defer j.Close()
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	var last atomic.Value // several calls may have the same to say
	link := generator.Link{
		Nudged: j.Nudged(), Patience: o.patience,
		Note: func(line string) {
			if last.Swap(line) != line {
				fmt.Fprintf(a.msg, "isohound: %s\n", line)
			}
		},
		Ask: func(ctx context.Context, call []byte) ([]byte, error) {
			out, err := j.Ask(ctx, call)
			if errors.As(err, new(*remote.TooLargeError)) {
				err = &drivers.Error{Class: drivers.Fatal, Cause: "too large", Err: err}
			}
			return out, err
		},
	}
	name := nuid.Next()
	plan, err := generator.Look(a.stop, link, name)
	if err != nil {
		return a.leftRun(j, run, err)
	}
	s, p, err := a.loadSettings(plan, o)
	if err != nil {
		return err
	}
	db, err := a.open(s)
	if err != nil {
		return err
	}
	defer a.closeDB(db)
	d, ok := db.(drivers.Attacher)
	if !ok {
		return usage("driver %s cannot be used by several processes in one run", s.driver)
	}
	if err := d.Attach(a.stop, p.Schema); err != nil {
		return err
	}
	// The run waits for this load generator from now on, so nothing may be left that can fail.
	m, err := generator.Join(a.stop, link, name, fmt.Sprintf("%s/%d", host, os.Getpid()))
	if err != nil {
		return a.leftRun(j, run, err)
	}
	if !o.quiet {
		fmt.Fprintf(a.msg, "load generator %d of run %s: %s, %s, %s, %d sessions\n", m.Number(), run, db.Server(), s.level.Name, s.workload, s.sessions)
	}
	runner := generator.NewRunner(generator.Config{
		Sessions: s.sessions, Txns: s.txns, Rate: s.rate, Retries: s.retries, CallTimeout: s.callTimeout, Patience: s.patience,
		Seed: s.seed, Note: link.Note, Panicked: a.panicked, Member: m,
	}, db, s.work, m.Recorder(a.ctx, s.positions(db) != ""))
	err = runner.RunMember(a.ctx, a.stop)
	if st := runner.Meter().Stats(); !o.quiet {
		fmt.Fprintf(a.msg, "made %d committed, %d aborted and %d unknown transactions in %.1f s\n", st.Committed, st.Aborted, st.Unknown, st.Seconds)
	}
	return a.leftRun(j, run, err)
}

// leftRun says why a load generator does not take part any more.
func (a *app) leftRun(j *remote.Joiner, run string, err error) error {
	var silent *generator.SilentError
	switch {
	case err == nil, errors.Is(err, generator.ErrGivenUp):
		return err
	case a.stop.Err() != nil && a.ctx.Err() == nil && !errors.As(err, &silent):
		return nil
	case errors.Is(err, generator.ErrRunEnded):
		return withCode(exitUnavailable, errors.Errorf("run %s has ended", run))
	case errors.As(err, &silent):
		return withCode(exitUnavailable, errors.Errorf("the run did not answer for %s: %s", silent.For, j.Why()))
	}
	return withCode(exitUnavailable, err)
}

// loadSettings are the settings of a run that is to be joined, by what it says that there is to do.
func (a *app) loadSettings(plan json.RawMessage, o *loadOptions) (*settings, *loadPlan, error) {
	p := &loadPlan{}
	if err := json.Unmarshal(plan, p); err != nil || p.Protocol != loadProtocol {
		return nil, nil, withCode(exitUnavailable, errors.Errorf("the run is one of isohound %s, and this is %s; use the same on all machines", p.Version, version()))
	}
	s := &settings{
		driver: p.Driver, isolation: p.Isolation, workload: p.Workload, sessions: p.Sessions, txns: p.Txns, keys: p.Keys, dist: p.Dist, skew: p.Skew,
		rate: p.Rate, seed: p.Seed, retries: p.Retries, callTimeout: p.CallTimeout, patience: p.Patience, claims: p.Claims, loaders: p.Loaders, quiet: true,
	}
	if o.dsn != "" {
		s.dsns = []string{o.dsn}
	}
	var err error
	if s.engine, err = findDriver(s.driver); err != nil {
		return nil, nil, err
	}
	s.info = s.engine.Info()
	if err := s.resolveEndpoints(); err != nil {
		return nil, nil, err
	}
	if len(s.dsns) > 1 {
		return nil, nil, usage("$%s has %s; a load generator uses one", dsnVariable, plural(len(s.dsns), "endpoint"))
	}
	if s.level, err = s.info.FindIsolation(s.isolation); err != nil {
		return nil, nil, err
	}
	spec, err := workloads.Find(s.workload)
	if err != nil {
		return nil, nil, err
	}
	for _, name := range sortedNames(p.Params) {
		s.params = append(s.params, name+"="+p.Params[name])
	}
	if s.values, err = spec.Resolve(s.params); err != nil {
		return nil, nil, err
	}
	return s, p, s.makeWork(spec)
}

func sortedNames(m map[string]string) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
