package catalogue

import (
	"context"
	"os"
	"path/filepath"

	"github.com/pkg/errors"
)

// place is where the scenarios of a group run: their target, which is started when the first one needs it, and anew
// when it has stopped answering.
type place struct {
	r *Runner
	s *Scenario // the first of the group

	target *running
	starts int
	// stale says that the target did not answer in the last run; err is why none could be started.
	stale bool
	err   error
}

// startError says why a target could not be started.
type startError struct{ error }

func (e *startError) Error() string { return "the target could not be started: " + e.error.Error() }

func (e *startError) Unwrap() error { return e.error }

// ready returns the target. A start that failed is not repeated.
func (p *place) ready(ctx context.Context) (*running, error) {
	if p.err != nil {
		return nil, p.err
	}
	if p.stale {
		p.stop()
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if p.target == nil {
		t, err := p.r.start(ctx, p.s)
		if err != nil {
			p.err = &startError{err}
			return nil, p.err
		}
		p.target = t
		p.starts++
		p.r.hold(t, true)
	}
	return p.target, nil
}

// silent reports whether the target did not answer in an attempt, or not in time.
func (p *place) silent(a *attempt) bool {
	p.stale = p.s.Target.Kind != Embedded && (a.late || a.code == codeUnavailable)
	return p.stale
}

// leave ends the use of the target, if there is one.
func (p *place) leave(ctx context.Context) {
	if p.target == nil {
		return
	}
	if p.r.Keep != nil && p.target.what != "" && ctx.Err() == nil {
		p.r.Keep(p.target.what)
	}
	p.stop()
}

// stop stops the target.
func (p *place) stop() {
	if err := p.keepLogs(); err != nil {
		p.r.note("logs of servers: " + err.Error())
	}
	p.target.stop()
	p.r.hold(p.target, false)
	p.target, p.stale = nil, false
}

// keepLogs writes the logs of the target's servers to the folder of the first scenario.
func (p *place) keepLogs() error {
	folder := "servers"
	if p.starts > 1 {
		folder += "-" + itoa(p.starts)
	}
	for name, log := range p.target.logs {
		dir := filepath.Join(p.r.Out, filepath.FromSlash(p.s.Name), folder)
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return errors.WithStack(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(log()), 0o666); err != nil {
			return errors.WithStack(err)
		}
	}
	return nil
}
