// Package baseline is a simple checker, for comparison. It encodes the hyper-polygraph of a history
// (VeriStrong paper, Definition 3.1) as clauses, as section 4 of that paper does, and an
// off-the-shelf SAT solver (gophersat) finds a compatible graph. The solver does not know about
// graphs. So if the graph has cycles, clauses exclude them, and the solver is called again.
//
// It is independent of the other engines: it shares with them only the anomalies of single reads
// (package single) and the types of a verdict. It does not prune and has no good guess, and the
// encoding grows with the square of a key's writers. So it is for histories of some thousand
// transactions. It has no counterexample for a cycle.
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
	return slices.DeleteFunc(level.All(), func(l level.Level) bool { return !l.Search() })
}

// Judge judges h at lvl; see engine.Engine. It refuses a history whose encoding would be too large.
//
// A running search cannot be interrupted. When ctx ends, Judge returns at once. The search and its
// memory stay until it ends by itself. The next search waits for that, because gophersat can run
// only one at a time.
func (e Engine) Judge(ctx context.Context, h *history.History, lvl level.Level, opt engine.Options) (*verdict.Result, error) {
	if err := engine.Suits(e, h, lvl); err != nil {
		return nil, err
	}
	if !h.Closed {
		if err := engine.ReadsValues(e, h, "the history was cut off: a write that is missing may have been read"); err != nil {
			return nil, err
		}
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
	if x.impossible {
		res.Verdict, res.Reason = verdict.Violated, NoCounterexample
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
