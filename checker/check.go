// Package checker is the front door to the checkers: it picks an engine,
// keeps it within its limits, and has its proof verified.
package checker

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/accel/choose"
	"github.com/isohound/isohound/checker/baseline"
	"github.com/isohound/isohound/checker/budget"
	"github.com/isohound/isohound/checker/certify"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/linear"
	"github.com/isohound/isohound/checker/polygraph"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// Engine chooses an algorithm.
type Engine string

const (
	// Auto picks the fastest engine that can judge the history.
	Auto Engine = "auto"
	// Linear judges histories of mini-transactions with unique values, and of
	// lightweight transactions.
	Linear Engine = linear.Name
	// Polygraph judges every history, at every level but linearizability.
	Polygraph Engine = polygraph.Name
	// Baseline does so too, by a SAT solver off the shelf, for comparison. It is
	// slow, and has no counterexample for a cycle.
	Baseline Engine = baseline.Name
)

// Engines lists the engines, for help texts.
var Engines = []Engine{Auto, Linear, Polygraph, Baseline}

// ParseEngine checks the name of an engine.
func ParseEngine(name string) (Engine, error) {
	var names []string
	for _, e := range Engines {
		if string(e) == name {
			return e, nil
		}
		names = append(names, string(e))
	}
	return "", errors.Errorf("unknown engine %q; known are %s", name, strings.Join(names, ", "))
}

// Options limit and direct a check. The zero value is a check without limits
// and without verification of its proof.
type Options struct {
	Engine Engine // "" is Auto
	// Timeout ends the check with the verdict unknown; 0 is none.
	Timeout time.Duration
	// MaxMemory does the same when the process takes more bytes; 0 is no limit.
	MaxMemory int64
	// Pipeline configures the polygraph engine, for comparison.
	Pipeline polygraph.Config
	// Accel chooses how the polygraph engine computes reachability; "" is auto.
	Accel choose.Choice
	// Certify has the proof verified by independent code.
	Certify bool
	// Progress, if set, is told which stage begins.
	Progress func(stage string)
	// Warn, if set, is told, in a line, of what was asked for and cannot be had. Any
	// goroutine may call it.
	Warn func(line string)
}

// ProofError says that a verdict's proof did not hold, so that the verdict
// must not be used: isohound itself has a bug.
type ProofError struct {
	Level   level.Level
	Verdict verdict.Verdict
	Err     error
}

func (e *ProofError) Error() string {
	return "the proof of the verdict " + e.Verdict.String() + " at level " + e.Level.String() +
		" does not hold; this is a bug in isohound, please report it with the history: " + e.Err.Error()
}

func (e *ProofError) Unwrap() error { return e.Err }

var errTimeout = errors.New("the time for checking ran out")

// Check judges h against lvl. Running out of time or memory, and a history
// that no engine can judge, are the verdict unknown. The error is a
// *ProofError, or the cause of ctx's end.
func Check(ctx context.Context, h *history.History, lvl level.Level, opt Options) (*verdict.Result, error) {
	begun := time.Now()
	limited, stop := budget.Memory(ctx, opt.MaxMemory)
	defer stop()
	if opt.Timeout > 0 {
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeoutCause(limited, opt.Timeout, errTimeout)
		defer cancel()
	}
	r, err := decide(limited, h, lvl, opt)
	if err != nil {
		r, err = undecided(lvl, opt.Engine, err)
		if r != nil {
			r.Took = time.Since(begun)
		}
		return r, err
	}
	if opt.Certify && r.Verdict != verdict.Unknown {
		if opt.Progress != nil {
			opt.Progress("certify")
		}
		if r.Verdict == verdict.Violated && len(r.Anomalies) == 0 {
			// A verdict without a proof is none.
			return &verdict.Result{Level: lvl, Engine: r.Engine, Stages: r.Stages, Search: r.Search, Accel: r.Accel, Took: time.Since(begun),
				Reason: "a violation was found, but " + r.Reason}, nil
		}
		last := time.Now()
		if err := certify.Result(h, r); errors.Is(err, certify.ErrTooLarge) {
			// A verdict without a proof is none: the refutation grew too large.
			return &verdict.Result{Level: lvl, Engine: r.Engine, Stages: r.Stages, Search: r.Search, Accel: r.Accel, Took: time.Since(begun),
				Reason: fmt.Sprintf("a violation was found, but %v: it has %d transactions", err, len(r.Anomalies[0].Txns))}, nil
		} else if err != nil {
			return nil, &ProofError{Level: lvl, Verdict: r.Verdict, Err: err}
		}
		r.Certified = true
		r.Stages = append(r.Stages, verdict.Stage{Name: "certify", Took: time.Since(last)})
	}
	r.Took = time.Since(begun)
	return r, nil
}

// decide asks the engine that was chosen, or else the linear one first and then
// the one for every history.
func decide(ctx context.Context, h *history.History, lvl level.Level, opt Options) (*verdict.Result, error) {
	if opt.Engine == Baseline {
		return baseline.Check(ctx, h, lvl, baseline.Options{Witness: opt.Certify, Progress: opt.Progress})
	}
	if opt.Engine != Polygraph {
		r, err := linear.Check(ctx, h, lvl, linear.Options{Witness: opt.Certify, Progress: opt.Progress})
		var na *linear.NotApplicable
		if opt.Engine == Linear || lvl == level.LIN || !errors.As(err, &na) || na.Txn < 0 {
			return r, err
		}
	}
	return polygraph.Check(ctx, h, lvl, polygraph.Options{Witness: opt.Certify, Config: opt.Pipeline, Progress: opt.Progress,
		Accel: polygraph.Acceleration{Choice: opt.Accel, Warn: opt.Warn}})
}

// undecided turns what kept an engine from deciding into the verdict unknown.
func undecided(lvl level.Level, engine Engine, err error) (*verdict.Result, error) {
	var na *linear.NotApplicable
	var pna *polygraph.NotApplicable
	var bna *baseline.NotApplicable
	var mem *budget.MemoryError
	var part *polygraph.Unfinished
	r := &verdict.Result{}
	if errors.As(err, &part) {
		engine, r = Polygraph, part.Result
	}
	switch {
	case errors.As(err, &na):
		engine = Linear
	case errors.As(err, &pna):
		engine = Polygraph
	}
	switch {
	case errors.As(err, &na), errors.As(err, &pna), errors.As(err, &bna), errors.As(err, &mem), errors.Is(err, errTimeout):
		return &verdict.Result{Level: lvl, Verdict: verdict.Unknown, Engine: string(engine), Reason: err.Error(), Stages: r.Stages, Search: r.Search, Accel: r.Accel}, nil
	}
	return nil, err
}
