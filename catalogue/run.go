package catalogue

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/results"
	"github.com/isohound/isohound/servers/docker"
)

// endTime is how long a run may take to end after an interrupt.
const endTime = 30 * time.Second

// attempt is one run of a scenario.
type attempt struct {
	judged     []Judged
	invariants []generator.InvariantResult
	// code is the exit code of isohound, msg the last line of its output.
	code int
	msg  string
	late bool
}

// Exit codes of isohound run and check with which there are verdicts to compare.
const (
	codeVacuous     = 3
	codeUsage       = 64
	codeUnavailable = 69
	codeInterrupted = 130
)

// isohound runs the command until it ends or exceeds limit.
func (r *Runner) isohound(ctx context.Context, a *attempt, limit time.Duration, env []string, args ...string) error {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	c := own(exec.CommandContext(limited, r.Command, args...))
	c.Env = append(append(c.Env, r.Env...), env...)
	c.Cancel = func() error { return interrupt(c.Process) }
	c.WaitDelay = endTime
	var out, msg bytes.Buffer
	c.Stdout, c.Stderr = &out, &msg
	err := c.Run()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	a.late = a.late || limited.Err() != nil
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return errors.Wrap(err, r.Command)
	}
	if code := c.ProcessState.ExitCode(); code != 0 {
		a.code = code
		a.msg = strings.TrimPrefix(docker.LastLine(msg.String()), "isohound: ")
	}
	for dec := json.NewDecoder(&out); dec.More(); {
		var o results.Outcome
		if err := dec.Decode(&o); err != nil {
			return errors.Wrap(err, "what isohound printed")
		}
		a.judged = append(a.judged, judged(&o))
		if len(o.Invariants) > 0 {
			a.invariants = o.Invariants
		}
	}
	return nil
}

// try runs a scenario once and writes its results to dir.
func (r *Runner) try(ctx context.Context, s *Scenario, target *running, seed int64, dir string) (*attempt, error) {
	a := &attempt{}
	if s.History != "" {
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return nil, errors.WithStack(err)
		}
		path, err := s.keepHistory(dir)
		if err != nil {
			return nil, errors.WithStack(err)
		}
		for n, engine := range Engines {
			before := len(a.judged)
			if args := s.CheckArgs(path, engine); args != nil {
				if err := r.isohound(ctx, a, s.limit(), nil, append(args, "--json", "--quiet")...); err != nil {
					return nil, err
				}
			}
			for i := before; i < len(a.judged); i++ {
				a.judged[i].Second = n > 0
			}
		}
		return a, nil
	}
	dsns, err := s.dsns(target)
	if err != nil {
		return nil, err
	}
	var env []string
	if s.Target.Kind != Embedded {
		// Only the environment has the DSN: the server and its address no longer exist when
		// somebody repeats the run.
		env, dsns = []string{dsnVariable + "=" + strings.Join(dsns, "\n")}, nil
	}
	if target.disturb != nil {
		disturbing, stop := context.WithCancel(ctx)
		done := make(chan struct{})
		go func() {
			defer close(done)
			target.disturb(disturbing)
		}()
		defer func() { stop(); <-done }()
	}
	err = r.isohound(ctx, a, s.limit(), env, append(s.Args(dsns, seed, dir), "--json", "--quiet", "--no-progress")...)
	return a, err
}

// dsnVariable is the environment variable with the endpoints, one per line.
const dsnVariable = "ISOHOUND_DSN"

// decide fills in the result of an attempt.
func (res *Result) decide(s *Scenario, a *attempt) {
	res.Judged, res.Invariants, res.Findings, res.Code, res.Reason = a.judged, a.invariants, nil, 0, ""
	switch {
	case a.late:
		res.Status, res.Reason = Undecided, "it did not end within "+s.limit().String()
	case a.code > codeVacuous:
		res.Status, res.Code, res.Reason = Failed, a.code, a.msg
		if a.msg == "" {
			res.Reason = "isohound ended with exit code " + itoa(a.code)
		}
	case a.code < 0:
		res.Status, res.Code, res.Reason = Failed, codeUnavailable, "isohound was killed"
	default:
		res.Findings = compare(s.Expect, a.judged, a.invariants)
		res.Status = sum(res.Findings)
		if len(a.judged) == 0 {
			res.Reason = a.msg
		}
	}
}

// describe adds information from a run's folder.
func (res *Result) describe(dir string) {
	if run, err := results.Load(dir); err == nil {
		res.Server, res.Committed = strings.TrimSpace(run.Config.Server), run.Stats.Committed
		res.Report = filepath.Join(res.Dir, "report.html")
	}
}

// own gives a command its own process group, so that signals of the terminal only go to
// isohound, which ends what it has started.
func own(c *exec.Cmd) *exec.Cmd {
	c.SysProcAttr = ownGroup
	c.Env = os.Environ()
	return c
}
