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
	"fmt"

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

// Options are the wishes of the caller.
type Options struct {
	// Witness asks for the proof of a satisfied verdict.
	Witness bool
	// Progress, if set, is told what is going on, in stages.
	Progress func(stage string)
}

// NotApplicable says why the engine cannot judge a history.
type NotApplicable struct{ Reason string }

func (e *NotApplicable) Error() string { return "the baseline engine does not apply: " + e.Reason }

// Check judges h against lvl. The error is a *NotApplicable, or the context's
// cause when it ended; it never means that h violates lvl.
//
// A search that runs cannot be broken off. When ctx ends, Check returns at once
// and leaves it behind, with its memory, until it ends by itself; a further
// check waits for that, since gophersat can run only one search at a time.
func Check(ctx context.Context, h *history.History, lvl level.Level, opt Options) (*verdict.Result, error) {
	if err := applies(h, lvl); err != nil {
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
		res.Verdict, res.Anomalies = verdict.Violated, found.Anomalies
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
	if opt.Witness {
		res.Witness = f.witness(order)
	}
	return res, nil
}

// applies reports what the engine cannot judge.
func applies(h *history.History, lvl level.Level) error {
	if lvl == level.LIN {
		return &NotApplicable{"level lin is judged by the linear engine"}
	}
	if lvl.RealTime() && !h.Timed() {
		return &NotApplicable{fmt.Sprintf(
			"level %s needs the begin and end of transactions, and the history has none; check a level without real time", lvl)}
	}
	for i := range h.Txns {
		for _, op := range h.Ops(&h.Txns[i]) {
			if op.Kind == history.ReadNot {
				return &NotApplicable{fmt.Sprintf("transaction %d has a failed compare-and-set on %s that returned no value, which only level lin can judge",
					h.Txns[i].ID, h.KeyName(op.Key))}
			}
		}
	}
	return nil
}
