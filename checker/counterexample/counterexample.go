// Package counterexample cuts out of a violated history the little that shows
// the violation: a closed sub-history (DESIGN rule 3) that violates the level by
// itself, and of which nothing can be left out.
//
// Closed: for every read that is kept, every transaction of the whole history
// that wrote that value to that key is kept with that write, whatever its
// outcome. An execution of the whole history is then one of the sub-history, too,
// when what is left out is struck from it, so that what the sub-history
// violates the whole one violates.
package counterexample

import (
	"context"
	"slices"
	"time"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/certify"
	"github.com/isohound/isohound/checker/explain"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// Counterexample is a closed sub-history that violates a level by itself.
type Counterexample struct {
	Level level.Level
	// History is the sub-history, with the ids, sessions and times of the whole
	// one, and with tables of names of its own.
	History *history.History
	// Txns are, for each transaction of History, its index in the whole history.
	Txns []int32
	// Anomaly is what the sub-history shows, in the numbers of the whole history:
	// the anomaly that it was cut out for, or, where a smaller one was found on
	// the way, that one.
	Anomaly verdict.Anomaly
	// Weakest is the weakest level, or one of them, that the anomaly refutes; Level
	// implies it. To keep the anomaly the sub-history is made minimal for that one:
	// what violates snapshot isolation violates strict serializability, too, but
	// that alone would often be shown by less.
	Weakest level.Level
	// Minimal says that every smaller closed sub-history satisfies Weakest. Where
	// it is false, time ran out.
	Minimal bool
	// Standing says which levels this sub-history refutes.
	checker.Standing
	// Known are the verdicts behind Standing. What the sub-history violates the
	// whole history violates.
	Known checker.Known
}

// Options limit the work on one counterexample.
type Options struct {
	// Timeout bounds the time for making it minimal; what is left then is a
	// counterexample all the same. 0 leaves it as it was found.
	Timeout time.Duration
}

// MinimizeFor is a time that suffices for all but the hardest histories.
const MinimizeFor = 5 * time.Second

var errNotShown = errors.New("the anomaly does not show by itself that the level is violated; this is a bug in isohound, please report it with the history")

// Of cuts out of h what a, an anomaly at lvl, rests on, makes it minimal by
// leaving out transactions, reads and unread writes as long as the rest
// violates the weakest level that it violates, and has the certifier judge what
// is left. It works for anomalies of every engine. The error is the cause of
// ctx's end, or says that what was found is no violation, which is a bug.
func Of(ctx context.Context, h *history.History, lvl level.Level, a *verdict.Anomaly, opt Options) (*Counterexample, error) {
	c := &cut{ctx: ctx, h: h, lvl: lvl, ops: map[int32][]int{}}
	c.seed(a)
	c.close()
	for bad, err := c.violates(); !bad; bad, err = c.violates() {
		if err != nil {
			return nil, err
		}
		// What the anomaly names does not suffice: everything else about its
		// transactions may matter.
		if !c.widen() {
			return nil, errNotShown
		}
	}
	known, err := c.levels()
	if err != nil {
		return nil, err
	}
	weakest := lvl
	for _, l := range known.Standing().Not {
		if lvl.Implies(l) {
			weakest = l
			break
		}
	}
	c.lvl = weakest
	minimal, err := c.minimize(opt.Timeout)
	if err != nil {
		return nil, err
	}
	out := &Counterexample{Level: lvl, Weakest: weakest, History: c.history(), Txns: c.txns(), Minimal: minimal, Anomaly: *a}
	if err := out.verify(ctx); err != nil {
		return nil, err
	}
	if !c.shows(a) {
		if err := out.rename(ctx, c); err != nil {
			return nil, err
		}
	}
	if out.Known, err = c.levels(); err != nil {
		return nil, err
	}
	out.Standing = out.Known.Standing()
	// An edge that was inferred stands for others, which may be anti-dependencies:
	// by the edges alone the cycle can look like one that snapshot isolation forbids.
	s, serial := lvl.Snapshots()
	if serial && len(out.Anomaly.Cycle) > 0 && slices.ContainsFunc(out.Holds, func(l level.Level) bool { return l.Implies(s) }) {
		out.Anomaly.Names = explain.Skews(out.Anomaly.Names)
	}
	return out, nil
}

// smallTxns are so few that judging them at every level takes no time.
const smallTxns = 64

// levels judges the part at the levels that its history can be judged at. A
// large one has only the verdict that is known.
func (c *cut) levels() (checker.Known, error) {
	known := checker.Known{c.lvl: verdict.Violated}
	if c.lvl == level.LIN || len(c.ops) > smallTxns {
		return known, nil
	}
	h := c.history()
	err := known.Judge(h, nil, func(l level.Level) (*verdict.Result, error) {
		return checker.Check(c.ctx, h, l, checker.Options{Timeout: MinimizeFor, Certify: true})
	})
	return known, err
}

// judgeSteps bounds the certifier's trial of every execution.
const judgeSteps = 5_000_000

// verify has the certifier judge the sub-history: by trying every execution, or,
// where these are too many, or writers may be missing, by what it makes of a
// proof.
func (c *Counterexample) verify(ctx context.Context) error {
	if c.History.Closed {
		switch allowed, decided := certify.Judge(c.History, c.Weakest, judgeSteps); {
		case allowed:
			return errNotShown
		case decided:
			return nil
		}
	}
	r, err := checker.Check(ctx, c.History, c.Weakest, checker.Options{Certify: true})
	if err == nil && r.Verdict == verdict.Satisfied {
		err = errNotShown
	}
	return err
}

// rename takes the anomaly that an engine finds in the sub-history by itself.
func (c *Counterexample) rename(ctx context.Context, from *cut) error {
	r, err := checker.Check(ctx, c.History, c.Weakest, checker.Options{})
	if err != nil || len(r.Anomalies) == 0 {
		return err
	}
	found := &r.Anomalies[0]
	for i := range found.Txns {
		found.Txns[i] = c.Txns[found.Txns[i]]
	}
	at := func(ref verdict.OpRef) verdict.OpRef {
		t := c.Txns[ref.Txn]
		return verdict.OpRef{Txn: t, Op: from.ops[t][ref.Op]}
	}
	for i := range found.Ops {
		found.Ops[i] = at(found.Ops[i])
	}
	for n, ref := range found.Forced {
		found.Forced[n] = at(ref)
	}
	for _, edges := range [][]verdict.Edge{found.Cycle, found.Context, found.Support} {
		for i := range edges {
			e := &edges[i]
			e.From, e.To = c.Txns[e.From], c.Txns[e.To]
			if e.Kind != verdict.SO && e.Kind != verdict.RT {
				from.whole(c.History, e)
			}
		}
	}
	found.Count, found.Refutation = 1, nil
	explain.Fill(from.h, c.Level, found)
	c.Anomaly = *found
	return nil
}

// violates judges the sub-history by itself.
func (c *cut) violates() (bool, error) {
	h := c.history()
	r, err := checker.Check(c.ctx, h, c.lvl, checker.Options{})
	if err != nil {
		return false, err
	}
	if r.Verdict == verdict.Unknown && h.Closed {
		allowed, decided := certify.Judge(h, c.lvl, judgeSteps)
		return decided && !allowed, nil
	}
	return r.Verdict == verdict.Violated, nil
}

// minimize leaves out whatever it can, and reports whether it tried everything.
// Leaving something out takes with it what is not closed then, and never makes a
// violation of what was none, so that what cannot be left out once never can. A
// history that was cut off is another matter: without an operation that only showed
// that a transaction of unknown outcome cannot have committed there may be more to
// tell of others, and all is tried again.
func (c *cut) minimize(limit time.Duration) (bool, error) {
	if limit <= 0 {
		return false, nil
	}
	whole := c.ctx
	ctx, stop := context.WithTimeout(whole, limit)
	defer stop()
	c.ctx = ctx
	defer func() { c.ctx = whole }()
	try := func(change func(next *cut)) error {
		next := c.clone()
		change(next)
		bad, err := next.violates()
		if bad && err == nil {
			c.ops = next.ops
		}
		return err
	}
	err := c.reduce(try)
	for left := -1; err == nil && !c.h.Closed && left != c.size()+len(c.ops); {
		left = c.size() + len(c.ops)
		err = c.reduce(try)
	}
	if err != nil && whole.Err() == nil && ctx.Err() != nil {
		return false, nil
	}
	return err == nil, err
}

// reduce tries to drop transactions, many at once while there are many, and
// then single operations.
func (c *cut) reduce(try func(change func(next *cut)) error) error {
	for size := len(c.ops) / 2; size >= 1; size /= 2 {
		if size > 1 && len(c.ops) < fewTxns {
			continue
		}
		list := c.txns()
		for from := 0; from < len(list); from += size {
			group := slices.DeleteFunc(slices.Clone(list[from:min(from+size, len(list))]), func(t int32) bool { return c.ops[t] == nil })
			if len(group) == 0 {
				continue
			}
			err := try(func(next *cut) {
				for _, t := range group {
					next.drop(t)
				}
			})
			if err != nil {
				return err
			}
		}
	}
	if c.lvl == level.LIN {
		return nil // a lightweight transaction is whole or not at all
	}
	for _, t := range c.txns() {
		for _, j := range slices.Clone(c.ops[t]) {
			if !slices.Contains(c.ops[t], j) {
				continue
			}
			if err := try(func(next *cut) { next.dropOp(t, j) }); err != nil {
				return err
			}
		}
	}
	return nil
}

// fewTxns are so few that groups of them are not worth a trial.
const fewTxns = 12
