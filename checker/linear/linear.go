// Package linear checks histories of mini-transactions with unique values in linear time, after the
// MTC paper: CheckSER, CheckSI and CheckSSER on the graph of BuildDependency without the transitive
// closure of WW (sections IV-B and IV-C), and VL-LWT for lightweight transactions (section IV-E).
//
// In such a history every read determines the one transaction that wrote its value, and every write
// follows a read of the version that it overwrites. So the dependency graph is known. The only
// exception is a version that two transactions overwrote (Definition 10), which alone violates
// every level here.
//
// The paper leaves some points open:
//
//   - A transaction of unknown outcome counts if a transaction that counts read from it.
//   - Real-time order needs no edges (see topo.go), while the paper has Θ(n²).
//   - A scan may return any number of rows. A row that it did not find is a class read (classes.go).
//   - For SI each transaction is split into its start and its commit. So only the cycles that SI
//     forbids are cycles of the graph.
//
// Its files, in reading order:
//
//	linear.go     Engine.Judge, and the stages of a check
//	shape.go      which transactions it takes
//	index.go      versions: who wrote, read and overwrote each; package values finds them
//	topo.go       the topological order, which decides every level but lin
//	realtime.go   real time in that order, without edges
//	classes.go    scans, and other reads that only say which versions they did not see
//	places.go     operations of one transaction on the same key
//	core.go       the part of the graph without topological order
//	cycles.go     short cycles in that graph
//	anomalies.go  anomalies that need no cycle
//	lwt.go        level lin: the chain of versions of each key
//	failures.go   level lin: failed compare-and-sets that returned no value
//
// Letters: h is the history, c the check, x its index; t is a transaction and i its index in the
// history, op an operation and j its index in the transaction; k is a key, v a version; s is the
// sorter in topo.go and the search in cycles.go; g is the graph of core.go; l is the state of level
// lin.
package linear

import (
	"context"
	"slices"

	"github.com/isohound/isohound/checker/engine"
	"github.com/isohound/isohound/checker/explain"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// Name is the engine's name in results.
const Name = "linear"

// Engine is the linear engine.
type Engine struct{}

// Name is the engine's name.
func (Engine) Name() string { return Name }

// Levels are those of serializability and snapshot isolation, and linearizability.
func (Engine) Levels() []level.Level {
	return slices.DeleteFunc(level.All(), func(l level.Level) bool { return !l.Search() && l != level.LIN })
}

// Judge judges h at lvl; see engine.Engine. It refuses a history whose transactions are not
// mini-transactions (at level lin, lightweight transactions), or whose values are not unique. It also
// refuses one if several versions may explain what a scan did not find, and it finds no execution.
func (e Engine) Judge(ctx context.Context, h *history.History, lvl level.Level, opt engine.Options) (*verdict.Result, error) {
	if err := engine.Suits(e, h, lvl); err != nil {
		return nil, err
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

// check is the state of one call of Judge.
type check struct {
	ctx    context.Context
	h      *history.History
	lvl    level.Level
	opt    engine.Options
	res    *verdict.Result
	stages *verdict.Stages
	// shape says why the operations of a transaction are not one that the level's algorithm takes,
	// or returns "".
	shape func(x *index, i int32, ops []history.Op) string
}

// pollEvery is how many steps pass between checks of the context.
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

	if c.opt.VerdictOnly && len(x.Anomalies) > 0 {
		c.decide(x, false)
		return nil
	}
	c.stages.Begin("order")
	order, err := x.topological(c, nil)
	if err != nil {
		return err
	}
	cyclic := len(order.nodes) < order.total
	if !cyclic {
		if order, err = x.place(c, order); err != nil {
			return err
		}
	}
	c.stages.Done("order")

	if cyclic && !c.opt.VerdictOnly {
		c.stages.Begin("explain")
		x.collectReaders()
		cycles, err := x.cycles(c, order)
		if err != nil {
			return err
		}
		x.Anomalies = append(x.Anomalies, cycles...)
		c.stages.Done("explain")
	}
	if c.decide(x, cyclic) && c.opt.Proof {
		c.res.Witness = order.witness()
	}
	return nil
}

// decide sets the verdict. cyclic says whether the dependency graph has a cycle. decide reports
// whether the history is satisfied.
func (c *check) decide(x *index, cyclic bool) bool {
	switch c.res.Reason = x.Doubtful(); {
	case c.res.Reason != "":
	case len(x.Anomalies) > 0 || cyclic:
		c.res.Verdict = verdict.Violated
		if c.opt.VerdictOnly {
			break
		}
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
