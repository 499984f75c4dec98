// Package linear checks histories of mini-transactions with unique values in
// linear time, after the MTC paper: CheckSER, CheckSI and CheckSSER on the
// graph of BuildDependency without the closure of WW (sections IV-B and IV-C),
// and VL-LWT for lightweight transactions (section IV-E).
//
// In such a history every read names the one transaction that wrote its value,
// and every write follows a read of the version that it overwrites, so the
// dependency graph is known; only where two transactions overwrite the same
// version (Definition 10) is it not, and that alone violates every level here.
//
// What the paper leaves open is settled so: transactions of unknown outcome
// count when a counted one reads from them; real-time order costs no edges at
// all (see topo.go), where the paper has Θ(n²); cycles through anti-
// dependencies are told apart for SI by splitting a transaction into its start
// and its commit.
package linear

import (
	"context"
	"fmt"

	"github.com/isohound/isohound/checker/explain"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// Name is the engine's name in results.
const Name = "linear"

// Options are the wishes of the caller.
type Options struct {
	// Witness asks for the proof of a satisfied verdict.
	Witness bool
	// Progress, if set, is told what is going on, in stages.
	Progress func(stage string)
}

// NotApplicable says why a history is outside what this engine can judge.
type NotApplicable struct {
	// Txn is the index of the first transaction that does not fit, or -1 when
	// the history as a whole does not.
	Txn    int
	Reason string
}

func (e *NotApplicable) Error() string {
	return "the linear engine does not apply: " + e.Reason
}

// Check judges h against lvl. The error is a *NotApplicable, or the context's
// cause when it ended; it never means that h violates lvl.
func Check(ctx context.Context, h *history.History, lvl level.Level, opt Options) (*verdict.Result, error) {
	if lvl.RealTime() && !h.Timed() {
		return nil, &NotApplicable{Txn: -1, Reason: fmt.Sprintf(
			"level %s needs the begin and end of transactions, and the history has none; check a level without real time", lvl)}
	}
	c := &check{ctx: ctx, h: h, lvl: lvl, opt: opt, res: &verdict.Result{Level: lvl, Engine: Name}}
	c.stages = verdict.NewStages(c.res, opt.Progress)
	run := c.dependencies
	c.shape = miniTransaction
	if lvl == level.LIN {
		run = c.lightweight
		c.shape = lightweightTransaction
	}
	if err := run(); err != nil {
		return nil, err
	}
	return c.res, nil
}

// check is the state of one call of Check.
type check struct {
	ctx    context.Context
	h      *history.History
	lvl    level.Level
	opt    Options
	res    *verdict.Result
	stages *verdict.Stages
	// shape says why operations are not of the transactions that the level's
	// algorithm takes, or returns "".
	shape func(*history.Symbols, []history.Op) string
}

// pollEvery is how many steps pass between looks at the context.
const pollEvery = 1 << 16

func (c *check) stopped() error {
	if c.ctx.Err() != nil {
		return context.Cause(c.ctx)
	}
	return nil
}

// dependencies decides every level but linearizability.
func (c *check) dependencies() error {
	c.stages.Begin("index")
	x, err := buildIndex(c)
	if err != nil {
		return err
	}
	c.stages.Done("index")

	c.stages.Begin("order")
	order, err := x.topological(c)
	if err != nil {
		return err
	}
	c.stages.Done("order")

	if len(order.nodes) < order.total {
		c.stages.Begin("explain")
		x.collectReaders()
		cycles, err := x.cycles(c, order)
		if err != nil {
			return err
		}
		x.Anomalies = append(x.Anomalies, cycles...)
		c.stages.Done("explain")
	}
	if c.decide(x) && c.opt.Witness {
		c.res.Witness = order.witness()
	}
	return nil
}

// decide sets the verdict by what x has found, and reports whether it is
// satisfied.
func (c *check) decide(x *index) bool {
	switch c.res.Reason = x.Doubtful(); {
	case c.res.Reason != "":
	case len(x.Anomalies) > 0:
		c.res.Verdict = verdict.Violated
		c.res.Anomalies = x.Anomalies
		for n := range c.res.Anomalies {
			x.support(&c.res.Anomalies[n])
			explain.Fill(c.h, c.lvl, &c.res.Anomalies[n])
		}
	case x.Orphaned() != "":
		c.res.Reason = x.Orphaned()
	default:
		c.res.Verdict = verdict.Satisfied
	}
	return c.res.Verdict == verdict.Satisfied
}
