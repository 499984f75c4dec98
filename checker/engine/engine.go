// Package engine defines what the engines of the checker have in common. An engine is an algorithm
// with a name. It judges histories at some levels and refuses those that it cannot judge.
//
// An engine is a package with a type that implements Engine. The fields of that type are its
// configuration. The list of engines is in package checker.
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
	// Judge judges h at lvl. The error is a *Refusal, or the cause of ctx's end, which may be
	// wrapped in an *Unfinished. An error never means that h violates lvl.
	Judge(ctx context.Context, h *history.History, lvl level.Level, opt Options) (*verdict.Result, error)
}

// Options are what a caller may ask of any engine. By default a violated verdict has its anomalies,
// and a satisfied verdict has no witness.
type Options struct {
	// VerdictOnly leaves out the anomalies of a violated verdict, too.
	VerdictOnly bool
	// Violated are levels that the history is known to violate.
	Violated []level.Level
	// Proof asks for what package certify needs: the witness of a satisfied verdict,
	// and the refutations of the anomalies of a violated one.
	Proof bool
	// Progress, if set, is called with the name of each stage that begins.
	Progress func(stage string)
}

// Refusal says why an engine cannot judge a history.
type Refusal struct {
	// Engine is the name of the engine, or "" if no engine could judge it.
	Engine string
	Reason string
}

func (e *Refusal) Error() string {
	if e.Engine == "" {
		return e.Reason
	}
	return "the " + e.Engine + " engine does not apply: " + e.Reason
}

// InventsReads reports whether h may have reads that did not happen at lvl: those of appends to lists.
func InventsReads(h *history.History, lvl level.Level) bool {
	return h.Lists && !lvl.Search() && lvl != level.LIN
}

// Suits refuses a level that e does not judge, a level with real time if h has no times, and PC and PSI if appends
// to lists were read as registers. Weak levels know what such reads say.
func Suits(e Engine, h *history.History, lvl level.Level) error {
	levels := e.Levels()
	switch {
	case !slices.Contains(levels, lvl):
		all := func(level.Level) bool { return true }
		return &Refusal{e.Name(), fmt.Sprintf("it does not judge level %s, only %s", lvl, strings.Join(names(levels, all), ", "))}
	case h.OrderAssumed() && !CanAssume(lvl):
		return &Refusal{"", fmt.Sprintf("level %s is not judged with the order of versions that the database claims, only %s", lvl, strings.Join(names(level.All(), CanAssume), ", "))}
	case h.OrderAssumed() && !assumes(e):
		return &Refusal{e.Name(), "it cannot assume the order of versions that the database claims"}
	case lvl.Snapshot() && h.SnapshotsAssumed() && !assumes(e):
		return &Refusal{e.Name(), "it cannot assume the snapshots that the database claims"}
	case lvl.RealTime() && h.NoCommonClock:
		return &Refusal{"", fmt.Sprintf("level %s needs one clock, and the history was recorded by generators on several machines (no_common_clock); check a level without real time", lvl)}
	case lvl.RealTime() && !h.Timed():
		return &Refusal{"", fmt.Sprintf("level %s needs the begin and end of transactions, and the history does not have both; check a level without real time", lvl)}
	case InventsReads(h, lvl) && !lvl.Weak():
		return &Refusal{"", fmt.Sprintf("level %s cannot be judged: the history has appends to lists, which isohound reads as writes after a read of what they overwrite, and below snapshot isolation they need not have read it", lvl)}
	}
	return nil
}

func names(levels []level.Level, wanted func(level.Level) bool) []string {
	var out []string
	for _, l := range levels {
		if wanted(l) {
			out = append(out, l.String())
		}
	}
	return out
}

// Implies reports whether a history that satisfies l satisfies m, too. Where claimed snapshots are assumed
// (history.AssumeOrder), a serial execution need not be one with these snapshots.
func Implies(h *history.History, l, m level.Level) bool {
	return l.Implies(m) && !(h.SnapshotsAssumed() && l.Serial() && m.Snapshot())
}

// Assumer is an engine that can judge a history whose claimed order of versions and snapshots are assumed
// (history.AssumeOrder). The method only marks it.
type Assumer interface{ AssumesOrder() }

func assumes(e Engine) bool {
	_, ok := e.(Assumer)
	return ok
}

// CanAssume reports whether a history whose claimed order of versions is assumed can be judged at lvl.
func CanAssume(lvl level.Level) bool { return lvl.Search() || lvl == level.PC }

// ReadsValues refuses a history with a read that returned no value, with the reason why.
func ReadsValues(e Engine, h *history.History, why string) error {
	for i := range h.Txns {
		for _, op := range h.Ops(&h.Txns[i]) {
			if op.Kind == history.ReadNot {
				return &Refusal{e.Name(), fmt.Sprintf("transaction %d has a read of %s that returned no value, and %s",
					h.Txns[i].ID, h.KeyName(op.Key), why)}
			}
		}
	}
	return nil
}

// Unfinished says that a check was stopped before it was decided, and how far it got.
type Unfinished struct {
	Cause error
	// Result has the completed stages and the figures of the search. Its verdict is unknown.
	Result *verdict.Result
	// Progress describes how far the check got, or is "".
	Progress string
}

func (e *Unfinished) Error() string {
	if e.Progress == "" {
		return e.Cause.Error()
	}
	return e.Cause.Error() + "; " + e.Progress
}

func (e *Unfinished) Unwrap() error { return e.Cause }
