// Package weak judges histories at the levels below snapshot isolation: causal consistency, read atomic,
// read committed, the session guarantees and read uncommitted.
//
// With unique values the transaction that a read is from is known. Each level then asks for a commit order:
// a total order of the transactions that contains session order (SO) and reads (WR), and in which a
// transaction that wrote a key, and that a reader of the key must see, comes before the one that it read
// from (Biswas and Enea, OOPSLA 2019). What a reader must see is the level's relation (relation.go). So
// the level allows the history if SO, WR and these forced edges have no cycle. The forced edges are found
// in the bounds of AWDIT (Møldrup and Pavlogiannis, PLDI 2025): O(n^1.5) at RC and RA, O(n·k) with k
// sessions at the others.
//
// SO and WR are sorted first. If that order agrees with all forced edges, it is the commit order, and no
// edge is stored. Only reads that did not return the latest version in that order can force an edge that
// contradicts it. If there is such an edge, all forced edges are collected, and the graph is sorted again.
//
// Values that are not unique make the problem NP-hard. Then the reads that several versions explain are
// left out. If the rest is violated, so is the history. Else versions are chosen for these reads: two guesses, and
// then those of a SAT solver, to which each violation is a clause about the choices on which it rests.
//
// Its files, in reading order:
//
//	weak.go      Engine.Judge, and the stages of a check
//	relation.go  what a reader must see at each level
//	index.go     versions: who wrote and read each
//	places.go    operations of one transaction on the same key
//	open.go      reads that several versions explain
//	lists.go     lists with append
//	order.go     topological order
//	forced.go    forced edges at RC, RA and RYW
//	wide.go      the same for transactions with many writes
//	chains.go    the writers of a key in each session; forced edges at MW
//	clock.go     forced edges at CC
//	seen.go      forced edges at MR and WFR
//	dirty.go     level RU: the known orders of versions
//	core.go      the part of the graph without topological order
//	cycles.go    short cycles in it
//	reasons.go   why an edge is forced
//	search.go    the choice of versions that reads returned
//	candidates.go, guess.go  which versions a read can have returned; the first choices
//	clauses.go   what a violation rests on
//	contradiction.go  the counterexample if there is no choice
//
// Letters: h is the history, c the check or the chains, x the index, s the sink; t is a transaction, w one
// that wrote, v a version, k a key; e is an entry of the chains, at the number of a read in the index.
package weak

import (
	"context"

	"github.com/isohound/isohound/checker/engine"
	"github.com/isohound/isohound/checker/explain"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// Name is the engine's name in results.
const Name = "weak"

// Engine is the engine for weak levels.
type Engine struct{}

// Name is the engine's name.
func (Engine) Name() string { return Name }

// Levels are those below snapshot isolation that need no search if values are unique.
func (Engine) Levels() []level.Level {
	return []level.Level{level.CC, level.RA, level.RC, level.Session, level.RYW, level.MR, level.MW, level.WFR, level.RU}
}

// Judge judges h at lvl; see engine.Engine. It refuses a history if several versions may explain a read,
// and neither a choice that is allowed was found nor that there is none. The same goes for what appends to lists
// read.
func (e Engine) Judge(ctx context.Context, h *history.History, lvl level.Level, opt engine.Options) (*verdict.Result, error) {
	if err := engine.Suits(e, h, lvl); err != nil {
		return nil, err
	}
	c := &check{ctx: ctx, h: h, lvl: lvl, ru: lvl == level.RU, opt: opt, res: &verdict.Result{Level: lvl, Engine: Name}}
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
	lvl    level.Level
	ru     bool // lvl is RU, which has no session order and no reads in its commit order
	opt    engine.Options
	res    *verdict.Result
	stages *verdict.Stages
	// lenient: a read that an append to a list may have made is none. It only says what the append followed.
	lenient bool
	// refuted is the search for choices if it found none.
	refuted *choosing
}

// pollEvery is how many steps pass between checks of the context.
const pollEvery = 1 << 12

func (c *check) stopped() error {
	if c.ctx.Err() != nil {
		return context.Cause(c.ctx)
	}
	return nil
}

// finding is what the graph of a history says.
type finding struct {
	order   *order // a commit order if satisfied; otherwise one of SO and WR or, if these have a cycle, a part of it
	forced  *edges // nil if there are none, or if they were not stored
	initial []initialRead
	cyclic  bool
}

func (f *finding) violated() bool { return f.cyclic || len(f.initial) > 0 }

func (c *check) run() error {
	if engine.InventsReads(c.h, c.lvl) {
		return c.lists()
	}
	c.stages.Begin("index")
	x, err := newIndex(c, choices{})
	if err != nil {
		return err
	}
	c.stages.Done("index")
	if c.opt.VerdictOnly && len(x.Anomalies) > 0 {
		c.decide(x, &finding{})
		return nil
	}
	c.stages.Begin("order")
	f, err := x.judge()
	if err != nil {
		return err
	}
	c.stages.Done("order")
	if _, open := x.undecided(); open && !f.violated() && len(x.Anomalies) == 0 {
		c.stages.Begin("search")
		y, g, err := c.search(x, f.order)
		if err != nil {
			return err
		}
		c.stages.Done("search")
		if y == nil {
			return c.contradiction(x)
		}
		x, f = y, g
	}
	return c.conclude(x, f)
}

// conclude sets the verdict, with its anomalies or its witness.
func (c *check) conclude(x *index, f *finding) error {
	if f.violated() && !c.opt.VerdictOnly {
		c.stages.Begin("explain")
		found, err := x.explain(f)
		if err != nil {
			return err
		}
		x.Anomalies = append(x.Anomalies, found...)
		c.stages.Done("explain")
	}
	if c.decide(x, f); c.res.Verdict == verdict.Satisfied && c.opt.Proof {
		c.res.Witness = &verdict.Witness{Order: f.order.txns, Sources: x.sources()}
	}
	return nil
}

// judge finds the forced edges, and whether the graph has a cycle.
func (x *index) judge() (*finding, error) {
	if x.c.ru {
		return x.dirty()
	}
	o, ok, err := x.sort(nil)
	if err != nil || !ok {
		return &finding{order: o, cyclic: true}, err
	}
	known := append(x.listOrder(), x.given...)
	if len(known) > 0 {
		base := newEdges(len(x.h.Txns), known)
		if o, ok, err = x.sort(base); err != nil || !ok {
			return &finding{order: o, cyclic: true, forced: base}, err
		}
	}
	f := &finding{order: o}
	s := &sink{rank: o.rank}
	if s.stale, err = x.stale(o); err != nil || s.stale == nil {
		return f, err
	}
	if err := x.forced(o, s); err != nil {
		return nil, err
	}
	f.initial = s.initial
	if !s.backward || x.c.opt.VerdictOnly && len(f.initial) > 0 {
		return f, nil
	}
	s = &sink{rank: o.rank, keep: true}
	if err := x.forced(o, s); err != nil {
		return nil, err
	}
	f.initial, f.forced = s.initial, newEdges(len(x.h.Txns), append(s.list, known...))
	sorted, ok, err := x.sort(f.forced)
	if f.cyclic = !ok; ok {
		f.order = sorted
	}
	return f, err
}

// decide sets the verdict.
func (c *check) decide(x *index, f *finding) {
	switch c.res.Reason = x.Doubtful(); {
	case c.res.Reason != "":
	case len(x.Anomalies) > 0 || f.violated():
		c.res.Verdict = verdict.Violated
		if c.opt.VerdictOnly {
			break
		}
		c.res.Anomalies = x.Anomalies
		for n := range c.res.Anomalies {
			if c.refuted == nil { // else it is a closed part, which shows by itself what counts
				x.support(&c.res.Anomalies[n])
			}
			explain.Fill(c.h, c.lvl, &c.res.Anomalies[n])
		}
	case x.Orphaned() != "":
		c.res.Reason = x.Orphaned()
	default:
		c.res.Verdict = verdict.Satisfied
	}
}
