// Package baseline checks histories the plain way, for comparison: it writes
// the hyper-polygraph of a history (VeriStrong paper, Definition 3.1) down as
// clauses, as section 4 of that paper does, and has a SAT solver off the shelf
// (gophersat) find a compatible graph. The solver knows nothing of graphs, so a
// cycle of the graph that it found is excluded by a clause, and it is asked
// again.
//
// It is a second opinion: of the engines it shares only the anomalies of single
// reads (package single) and the words of a verdict. Nothing is pruned, nothing
// is guessed well, and the encoding grows with the square of a key's writers, so
// it is for histories of some thousand transactions. It has no counterexample
// to show for a cycle.
package baseline

import (
	"context"
	"slices"

	"github.com/isohound/isohound/checker/engine"
	"github.com/isohound/isohound/checker/explain"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/single"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// Name is the engine's name in results.
const Name = "baseline"

// NoCounterexample is the reason of a violated verdict without anomalies.
const NoCounterexample = "the baseline engine gives no counterexample; --engine polygraph does"

// Engine is the baseline engine.
type Engine struct{}

// Name is the engine's name.
func (Engine) Name() string { return Name }

// Levels are all levels but linearizability.
func (Engine) Levels() []level.Level {
	return slices.DeleteFunc(level.All(), func(l level.Level) bool { return l == level.LIN })
}

// Judge judges h against lvl, as engine.Engine says. It refuses a history whose
// encoding would be too large.
//
// A search that runs cannot be broken off. When ctx ends, Judge returns at once
// and leaves it behind, with its memory, until it ends by itself; the next search
// waits for that, since gophersat can run only one at a time.
func (e Engine) Judge(ctx context.Context, h *history.History, lvl level.Level, opt engine.Options) (*verdict.Result, error) {
	if err := engine.Suits(e, h, lvl); err != nil {
		return nil, err
	}
	if err := engine.ReadsValues(e, h, "this engine judges values only"); err != nil {
		return nil, err
	}
	res := &verdict.Result{Level: lvl, Engine: Name}
	stages := verdict.NewStages(res, opt.Progress)
	stages.Begin("index")
	found := single.NewCollector(h)
	x := newIndex(h, lvl, found)
	stages.Done("index")
	if res.Reason = found.Doubtful(); res.Reason != "" {
		return res, nil
	}
	if len(found.Anomalies) > 0 {
		res.Verdict = verdict.Violated
		if opt.VerdictOnly {
			return res, nil
		}
		res.Anomalies = found.Anomalies
		for n := range res.Anomalies {
			explain.Fill(h, lvl, &res.Anomalies[n])
		}
		return res, nil
	}
	stages.Begin("encode")
	f, err := encode(ctx, x)
	if err != nil {
		return nil, err
	}
	stages.Done("encode")
	stages.Begin("solve")
	order, err := f.solve(ctx)
	if err != nil {
		return nil, err
	}
	stages.Done("solve")
	res.Search = f.figures()
	if order == nil {
		res.Verdict, res.Reason = verdict.Violated, NoCounterexample
		return res, nil
	}
	f.orphans(found)
	if res.Reason = found.Orphaned(); res.Reason != "" {
		return res, nil
	}
	res.Verdict = verdict.Satisfied
	if opt.Proof {
		res.Witness = f.witness(order)
	}
	return res, nil
}
