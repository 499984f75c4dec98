// Package psi judges histories at parallel snapshot isolation (Cerone, Bernardi and Gotsman, CONCUR 2015):
// causal consistency without lost updates. Transactions may see the writes of others in different orders,
// but the writers of one key see each other.
//
// The level allows a history if the writers of each key can be ordered (WW) so that happens-before,
// (SO ∪ WR ∪ WW)+, has no cycle, and every read is of the last writer of its key that happened before the
// reader. In terms of dependencies, no cycle has fewer than two anti-dependencies. Starts and commits as
// nodes of one graph cannot say that, because anti-dependencies of different pairs of transactions would
// compose. So the package has its own search:
//
//   - Causal consistency is judged first. If it is violated, so is this level.
//   - Saturation adds to happens-before what every execution must have: if a writer of a key happened
//     before a reader of another version, it also happened before the writer of that version.
//   - The search orders the transactions, and so the writers of each key, and computes happens-before. Each
//     wrong read becomes a clause: one of the WW edges on the path that makes the reader see the wrong
//     writer is the other way round, or that writer comes before the one that was read. A SAT solver then
//     changes the order, until no read is wrong or no order is left.
//
// This needs unique values. If values are not unique, a history that satisfies snapshot isolation also
// satisfies this level; otherwise the verdict is unknown.
//
// Its files, in reading order:
//
//	psi.go     Engine.Judge, and the steps of a check
//	index.go   transactions that count, reads with their sources, writers by key and session
//	graph.go   happens-before: edges, topological order, clocks, paths
//	search.go  saturation and the search
//	core.go    what a violation rests on, and the counterexample
//
// Letters: h is the history, c the check, x the index, g the graph, s the search; t is a transaction, u and
// w are writers, r is the number of a read, e that of an edge, k a key.
package psi

import (
	"context"
	"slices"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/checker/engine"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/polygraph"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/checker/weak"
	"github.com/isohound/isohound/history"
)

// Name is the engine's name in results.
const Name = "psi"

// Engine judges parallel snapshot isolation.
type Engine struct{}

// Name is the engine's name.
func (Engine) Name() string { return Name }

// Levels is parallel snapshot isolation.
func (Engine) Levels() []level.Level { return []level.Level{level.PSI} }

// Judge judges h at lvl; see engine.Engine. It refuses a history with values that are not unique, with
// reads that returned no value, with judged scans, or with too many sessions for its size, unless causal
// consistency or snapshot isolation decides it.
func (e Engine) Judge(ctx context.Context, h *history.History, lvl level.Level, opt engine.Options) (*verdict.Result, error) {
	if err := engine.Suits(e, h, lvl); err != nil {
		return nil, err
	}
	c := &check{ctx: ctx, h: h, opt: opt, res: &verdict.Result{Level: lvl, Engine: Name}}
	c.stages = verdict.NewStages(c.res, opt.Progress)
	if err := c.run(); err != nil {
		return nil, err
	}
	return c.res, nil
}

// check is the state of one call of Judge.
type check struct {
	ctx    context.Context
	h      *history.History
	opt    engine.Options
	res    *verdict.Result
	stages *verdict.Stages
}

func (c *check) run() error {
	c.stages.Begin("causal")
	r, err := weak.Engine{}.Judge(c.ctx, c.h, level.CC, engine.Options{VerdictOnly: c.opt.VerdictOnly})
	switch {
	case errors.As(err, new(*engine.Refusal)):
		return c.bySnapshots(err)
	case err != nil:
		return err
	case r.Verdict == verdict.Violated:
		c.follow(r)
		return nil
	case r.Verdict == verdict.Unknown:
		return c.bySnapshots(&engine.Refusal{Reason: r.Reason})
	}
	c.stages.Done("causal")
	c.stages.Begin("index")
	x, err := newIndex(c.ctx, c.h)
	if errors.As(err, new(*engine.Refusal)) {
		return c.bySnapshots(err)
	}
	if err != nil {
		return err
	}
	c.stages.Done("index")
	c.stages.Begin("search")
	s, err := x.search(c.ctx)
	if err != nil {
		return err
	}
	c.stages.Done("search")
	if s.allowed {
		c.res.Verdict = verdict.Satisfied
		if c.opt.Proof {
			c.res.Witness = &verdict.Witness{Order: s.g.order}
		}
		return nil
	}
	return c.violated(s)
}

// follow takes the verdict of another level.
func (c *check) follow(r *verdict.Result) {
	c.res.Verdict, c.res.FollowsFrom, c.res.Reason = r.Verdict, r.Level, "follows from "+r.Level.String()
	c.res.Anomalies, c.res.Witness = r.Anomalies, r.Witness
}

// bySnapshots judges snapshot isolation, because refused says that this package cannot judge the history.
func (c *check) bySnapshots(refused error) error {
	if slices.Contains(c.opt.Violated, level.SI) {
		return refused
	}
	c.stages.Begin("snapshot isolation")
	r, err := polygraph.Engine{}.Judge(c.ctx, c.h, level.SI, engine.Options{VerdictOnly: true, Violated: c.opt.Violated, Proof: c.opt.Proof})
	switch {
	case errors.As(err, new(*engine.Refusal)):
		return refused
	case err != nil:
		return err
	case r.Verdict != verdict.Satisfied:
		return refused
	}
	c.follow(r)
	c.stages.Done("snapshot isolation")
	return nil
}
