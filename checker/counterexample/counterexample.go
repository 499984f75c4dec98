// Package counterexample cuts a counterexample out of a violated history: a closed sub-history (see
// package shrink) that violates the level by itself and is minimal. It also finds which levels the
// history violates.
//
// Its files, in reading order:
//
//	explain.go         Explain: the counterexamples of a verdict, and the other levels
//	counterexample.go  Of: the counterexample of one anomaly
//	cut.go             the part of the history, and how it is judged
//	sources.go         who can have written what was read
//	choices.go         parts with choices of scans; names that all possibilities share
//	survey.go          how often there is each kind of anomaly
package counterexample

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/certify"
	"github.com/isohound/isohound/checker/engine"
	"github.com/isohound/isohound/checker/explain"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/shrink"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// Counterexample is a closed sub-history that violates a level by itself.
type Counterexample struct {
	Level level.Level
	// History is the sub-history. It has the ids, sessions and times of the whole history, and its
	// own tables of names.
	History *history.History
	// Txns are, for each transaction of History, its index in the whole history.
	Txns []int32
	// Anomaly is the anomaly of the sub-history, in the numbers of the whole history. It is the one
	// that the counterexample was made for or, if a smaller one was found on the way, that one.
	Anomaly verdict.Anomaly
	// Weakest is a weakest level that the anomaly violates; Level implies it. The sub-history is
	// made minimal for Weakest, so that the anomaly stays: a violation of snapshot isolation also
	// violates strict serializability, but a smaller part often violates only the latter.
	Weakest level.Level
	// Minimal says that every smaller closed sub-history satisfies Weakest. It is false if time ran
	// out.
	Minimal bool
	// ForName: a smaller one may violate Weakest, but a check gives its anomaly another name.
	ForName bool
	// byCycle: the names of Anomaly are those of a cycle, or of several.
	byCycle bool
	// Standing has the levels that the sub-history violates.
	checker.Standing
	// Known are the verdicts on which Standing rests. A level that the sub-history violates is
	// violated by the whole history, too.
	Known checker.Known
}

// Options limit the work on one counterexample.
type Options struct {
	// Timeout bounds the time for making it minimal. What is left when it ends is still a
	// counterexample. 0 leaves it as it was found.
	Timeout time.Duration
}

// MinimizeFor is enough time for all but the hardest histories.
const MinimizeFor = 5 * time.Second

var errNotShown = errors.New("the anomaly does not show by itself that the level is violated; this is a bug in isohound, please report it with the history")

// Of cuts out of h the part on which anomaly a at lvl rests. It makes the part minimal: it removes
// transactions, reads and unread writes as long as the rest violates the weakest level that a
// violates. Then the certifier judges the rest. It works for anomalies of every engine. The error
// is the cause of ctx's end, or says that the part is no violation, which is a bug.
func Of(ctx context.Context, h *history.History, lvl level.Level, a *verdict.Anomaly, opt Options) (*Counterexample, error) {
	c := seed(h, lvl, a)
	for bad := false; !bad; {
		var err error
		if bad, err = c.violates(ctx, c.history()); err != nil {
			return nil, err
		}
		// If what the anomaly names is not enough, the other operations of its transactions may
		// matter.
		if !bad && !c.Widen() {
			if !c.asWhole && h.Distinct() {
				c = seed(h, lvl, a)
				c.asWhole = true
				continue
			}
			if a.Kind == verdict.NoChoice {
				return nil, errOpen
			}
			return nil, errNotShown
		}
	}
	known, err := c.levels(ctx)
	if err != nil {
		return nil, err
	}
	for _, l := range known.Standing(h).Not {
		if engine.Implies(h, lvl, l) {
			c.lvl = l
			break
		}
	}
	before := c.Clone()
	minimal, err := c.minimize(ctx, opt.Timeout, c.trial)
	if err != nil {
		return nil, err
	}
	kept, renamed := false, !c.shows(a)
	if minimal && !renamed && a.Kind != verdict.NoChoice && a.Name() != explain.LostWrite {
		small := c.Part
		if kept, renamed, err = c.keepName(ctx, lvl, a.Name(), before, opt.Timeout); err != nil {
			return nil, err
		}
		if kept && len(a.Cycle) > 0 {
			known, err := c.levels(ctx)
			if err != nil {
				return nil, err
			}
			if !slices.Contains(explain.Possible(a.Names, c.lvl, c.holding(known)), a.Name()) { // a level takes the name away
				c.Part, kept, renamed = small, false, true
			}
		}
	}
	renamed = renamed || !c.shows(a)
	out := &Counterexample{Level: lvl, Weakest: c.lvl, History: c.history(), Txns: c.Txns(), Minimal: minimal, ForName: kept, Anomaly: *a}
	if err := out.verify(ctx); err != nil {
		return nil, err
	}
	if a.Kind == verdict.NoChoice {
		found, err := c.chosen(ctx, c.lvl)
		if err != nil {
			return nil, err
		}
		if found != nil {
			out.Anomaly = *found
		}
	} else if renamed {
		if err := out.rename(ctx, c); err != nil {
			return nil, err
		}
	}
	if out.Known, err = c.levels(ctx); err != nil {
		return nil, err
	}
	out.Standing = out.Known.Standing(h)
	out.Undecided = slices.DeleteFunc(out.Undecided, func(l level.Level) bool { return engine.InventsReads(h, l) }) // they were not judged, see levels
	// An inferred edge stands for others, which may be anti-dependencies. By its edges alone, such
	// a cycle may look as if snapshot isolation forbids it.
	s, serial := lvl.Snapshots()
	holds := c.holding(out.Known)
	shared, err := out.share(ctx, holds)
	if err != nil {
		return nil, err
	}
	out.byCycle = len(out.Anomaly.Cycle) > 0 || shared
	if out.byCycle {
		out.Anomaly.Names = explain.Possible(out.Anomaly.Names, out.Weakest, holds)
	}
	if serial && out.byCycle && slices.ContainsFunc(out.Holds, func(l level.Level) bool { return l.Implies(s) }) {
		out.Anomaly.Names = explain.Skews(out.Anomaly.Names)
	}
	return out, nil
}

// minimize reports whether it tried everything within limit.
func (c *cut) minimize(ctx context.Context, limit time.Duration, trial shrink.Judge) (bool, error) {
	if limit <= 0 {
		return false, nil
	}
	limited, stop := context.WithTimeout(ctx, limit)
	defer stop()
	err := c.Minimize(limited, trial, shrink.Judgement{Violated: true})
	if err != nil && ctx.Err() == nil && limited.Err() != nil {
		return false, nil
	}
	return err == nil, err
}

// keepName is for a part that was made minimal and has all that an anomaly names. If a check at lvl gives it other names
// only, because an operation counts for the name that no edge needs, such as the later write of an intermediate read, then
// before, from which the part was made, is made minimal with the condition that the name stays: kept. renamed: before has other
// names only, too, or is large, or that takes longer than limit.
func (c *cut) keepName(ctx context.Context, lvl level.Level, name string, before *shrink.Part, limit time.Duration) (kept, renamed bool, err error) {
	other, err := c.otherwise(ctx, c.history(), lvl, name)
	if err != nil || !other {
		return false, false, err
	}
	small := c.Part
	c.Part = before
	other, err = c.otherwise(ctx, c.history(), lvl, name)
	if err == nil && other && c.Widen() {
		other, err = c.otherwise(ctx, c.history(), lvl, name)
	}
	bad := false // where claimed positions are assumed, a larger part may violate nothing
	if err == nil && !other && len(c.Txns()) <= smallTxns {
		bad, err = c.violates(ctx, c.history())
	}
	if bad && err == nil {
		trial := func(ctx context.Context, h *history.History) (shrink.Judgement, error) {
			j, err := c.trial(ctx, h)
			if err != nil || !j.Violated {
				return j, err
			}
			other, err := c.otherwise(ctx, c.alone(h), lvl, name)
			return shrink.Judgement{Violated: !other}, err
		}
		// What has to stay for the name may be left out when other operations are gone.
		done, until := true, time.Now().Add(limit)
		for left := -1; err == nil && done && left != c.Size(); {
			left = c.Size()
			done, err = c.minimize(ctx, time.Until(until), trial)
		}
		if done || err != nil {
			return true, false, err
		}
	}
	c.Part = small
	return false, true, err
}

// otherwise reports whether a check of a part at lvl finds anomalies, and none of this name. Large parts are not checked.
func (c *cut) otherwise(ctx context.Context, h *history.History, lvl level.Level, name string) (bool, error) {
	if len(h.Txns) > smallTxns {
		return false, nil
	}
	if !h.Timed() {
		lvl = lvl.WithoutRealTime()
	}
	r, err := check(ctx, h, lvl, checker.Options{})
	if err != nil || len(r.Anomalies) == 0 {
		return false, err
	}
	return !slices.ContainsFunc(r.Anomalies, func(a verdict.Anomaly) bool { return slices.Contains(a.Names, name) }), nil
}

// verify makes the certifier judge the sub-history by trying every execution. If that takes too
// many steps, or if writers may be missing, the certifier verifies a proof.
func (c *Counterexample) verify(ctx context.Context) error {
	if c.History.Closed {
		switch allowed, decided, err := certify.JudgeContext(ctx, c.History, c.Weakest, judgeSteps); {
		case err != nil:
			return err
		case allowed:
			return errNotShown
		case decided:
			return nil
		}
	}
	r, err := check(ctx, c.History, c.Weakest, checker.Options{Certify: true})
	if err == nil && r.Verdict == verdict.Satisfied {
		err = errNotShown
	}
	return err
}

// contradiction is the name of an anomaly that has no better one.
const contradiction = "Contradiction"

// share names an anomaly that has no name, because it is open what statements saw, by the names that it has
// whatever that was.
func (c *Counterexample) share(ctx context.Context, holds func(level.Level) bool) (shared bool, err error) {
	if c.Anomaly.Name() != contradiction && c.Anomaly.Kind != verdict.NoChoice {
		return false, nil
	}
	list, err := names(ctx, c.History, c.Weakest)
	if err == nil && len(list) == 0 {
		list, err = names(ctx, c.History, c.Level)
	}
	if err != nil || len(list) == 0 || list[0] == contradiction {
		return false, err
	}
	list = explain.Possible(list, c.Weakest, holds)
	c.Anomaly.Names = list
	if c.Anomaly.Kind != verdict.NoChoice {
		c.Anomaly.Text += fmt.Sprintf("\nWhatever they saw, and whoever wrote it: each possibility leads to an anomaly of the kind %s.", list[0])
	}
	return true, nil
}

// rename replaces the anomaly by one that an engine finds in the sub-history.
func (c *Counterexample) rename(ctx context.Context, from *cut) error {
	lvl := c.Level
	r, err := checker.Check(ctx, c.History, lvl, checker.Options{})
	if err == nil && len(r.Anomalies) == 0 {
		lvl = c.Weakest
		r, err = checker.Check(ctx, c.History, lvl, checker.Options{})
	}
	if err != nil || len(r.Anomalies) == 0 {
		return err
	}
	found := &r.Anomalies[0]
	for i := range r.Anomalies {
		if slices.Contains(r.Anomalies[i].Names, c.Anomaly.Name()) {
			found = &r.Anomalies[i]
			break
		}
	}
	names := found.Names
	from.lift(c.History, from.Parts(), found)
	found.Count, found.Refutation = 1, nil
	explain.Fill(from.h, lvl, found)
	if !slices.Contains(found.Names, explain.LostWrite) { // a part does not tell which of its transactions belong to a final read
		found.Names = names
	}
	c.Anomaly = *found
	return nil
}

// lift translates an anomaly of a sub-history, which has these parts, to the whole history.
func (c *cut) lift(sub *history.History, parts []history.Part, a *verdict.Anomaly) {
	for i := range a.Txns {
		a.Txns[i] = parts[a.Txns[i]].Txn
	}
	at := func(ref verdict.OpRef) verdict.OpRef {
		return verdict.OpRef{Txn: parts[ref.Txn].Txn, Op: parts[ref.Txn].Ops[ref.Op]}
	}
	for i := range a.Ops {
		a.Ops[i] = at(a.Ops[i])
	}
	for n, ref := range a.Forced {
		a.Forced[n] = at(ref)
	}
	for _, edges := range [][]verdict.Edge{a.Cycle, a.Context, a.Support} {
		for i := range edges {
			e := &edges[i]
			e.From, e.To = parts[e.From].Txn, parts[e.To].Txn
			if e.Kind != verdict.SO && e.Kind != verdict.RT {
				c.whole(sub, e)
			}
		}
	}
}
