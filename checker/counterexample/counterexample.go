// Package counterexample cuts out of a violated history the little that shows
// the violation: a closed sub-history (see package shrink) that violates the level
// by itself, and of which nothing can be left out. It also finds which levels the
// history violates.
//
// Its files, in reading order:
//
//	explain.go         Explain: the counterexamples of a verdict, and the other levels
//	counterexample.go  Of: the counterexample of one anomaly
//	cut.go             the part of the history, and who judges it
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
	"github.com/isohound/isohound/checker/shrink"
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
	c := seed(h, lvl, a)
	for bad := false; !bad; {
		var err error
		if bad, err = c.violates(ctx, c.history()); err != nil {
			return nil, err
		}
		// Where what the anomaly names does not suffice, everything else about its
		// transactions may matter.
		if !bad && !c.Widen() {
			return nil, errNotShown
		}
	}
	known, err := c.levels(ctx)
	if err != nil {
		return nil, err
	}
	for _, l := range known.Standing().Not {
		if lvl.Implies(l) {
			c.lvl = l
			break
		}
	}
	minimal, err := c.minimize(ctx, opt.Timeout)
	if err != nil {
		return nil, err
	}
	out := &Counterexample{Level: lvl, Weakest: c.lvl, History: c.history(), Txns: c.Txns(), Minimal: minimal, Anomaly: *a}
	if err := out.verify(ctx); err != nil {
		return nil, err
	}
	if !c.shows(a) {
		if err := out.rename(ctx, c); err != nil {
			return nil, err
		}
	}
	if out.Known, err = c.levels(ctx); err != nil {
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

// minimize reports whether it tried everything.
func (c *cut) minimize(ctx context.Context, limit time.Duration) (bool, error) {
	if limit <= 0 {
		return false, nil
	}
	limited, stop := context.WithTimeout(ctx, limit)
	defer stop()
	err := c.Minimize(limited, c.trial, shrink.Judgement{Violated: true})
	if err != nil && ctx.Err() == nil && limited.Err() != nil {
		return false, nil
	}
	return err == nil, err
}

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
	parts := from.Parts()
	at := func(ref verdict.OpRef) verdict.OpRef {
		return verdict.OpRef{Txn: parts[ref.Txn].Txn, Op: parts[ref.Txn].Ops[ref.Op]}
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
