// Package engine says what the engines of the checker have in common: each is an
// algorithm with a name that judges histories at some levels, and refuses those
// that it cannot judge.
//
// An engine is a package of its own with a type that implements Engine. The fields
// of that type are its configuration. The list of engines is in package checker.
package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// Engine is an algorithm that judges histories.
type Engine interface {
	// Name is the engine's name in options and results.
	Name() string
	// Levels are the levels that the engine judges.
	Levels() []level.Level
	// Judge judges h against lvl. The error is a *Refusal, or the cause of ctx's
	// end, which may be wrapped in an *Unfinished; it never means that h violates
	// lvl.
	Judge(ctx context.Context, h *history.History, lvl level.Level, opt Options) (*verdict.Result, error)
}

// Options are what the caller of any engine may ask for. By default a violated
// verdict comes with its anomalies, and a satisfied one without a witness.
type Options struct {
	// VerdictOnly leaves the anomalies of a violated verdict out, too.
	VerdictOnly bool
	// Violated are levels that the history is known to violate.
	Violated []level.Level
	// Proof asks for what package certify needs: the witness of a satisfied verdict,
	// and the refutations of the anomalies of a violated one.
	Proof bool
	// Progress, if set, is told which stage begins.
	Progress func(stage string)
}

// Refusal says why an engine cannot judge a history.
type Refusal struct {
	// Engine is the name of the engine, "" where no engine could.
	Engine string
	Reason string
}

func (e *Refusal) Error() string {
	if e.Engine == "" {
		return e.Reason
	}
	return "the " + e.Engine + " engine does not apply: " + e.Reason
}

// Suits refuses a level that e does not judge, and a level with real time where h
// has no times.
func Suits(e Engine, h *history.History, lvl level.Level) error {
	levels := e.Levels()
	switch {
	case !slices.Contains(levels, lvl):
		var names []string
		for _, l := range levels {
			names = append(names, l.String())
		}
		return &Refusal{e.Name(), fmt.Sprintf("it does not judge level %s, only %s", lvl, strings.Join(names, ", "))}
	case lvl.RealTime() && !h.Timed():
		return &Refusal{"", fmt.Sprintf("level %s needs the begin and end of transactions, and the history has none; check a level without real time", lvl)}
	}
	return nil
}

// ReadsValues refuses a history in which a read returned no value, and says why.
func ReadsValues(e Engine, h *history.History, why string) error {
	for i := range h.Txns {
		for _, op := range h.Ops(&h.Txns[i]) {
			if op.Kind == history.ReadNot {
				return &Refusal{e.Name(), fmt.Sprintf("transaction %d has a failed compare-and-set on %s that returned no value, and %s",
					h.Txns[i].ID, h.KeyName(op.Key), why)}
			}
		}
	}
	return nil
}

// Unfinished says that a judgement was broken off, and what it had learnt.
type Unfinished struct {
	Cause error
	// Result has the stages that were done and the figures of the search; its
	// verdict is unknown.
	Result *verdict.Result
	// Progress tells in words how far the judgement came, "" where that is not worth
	// telling.
	Progress string
}

func (e *Unfinished) Error() string {
	if e.Progress == "" {
		return e.Cause.Error()
	}
	return e.Cause.Error() + "; " + e.Progress
}

func (e *Unfinished) Unwrap() error { return e.Cause }
