package counterexample

import (
	"context"
	"slices"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/certify"
	"github.com/isohound/isohound/checker/engine"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/shrink"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// cut is a part of a history with the level that it violates.
type cut struct {
	*shrink.Part
	h   *history.History
	lvl level.Level
	// asWhole: in the part, the versions of reads say what they say in the whole history. See alone.
	asWhole bool
}

// seed returns the closed part that an anomaly names: its transactions with the operations of its
// edges and those that show it.
func seed(h *history.History, lvl level.Level, a *verdict.Anomaly) *cut {
	if a.Kind == verdict.NoChoice {
		return seedChoices(h, lvl, a)
	}
	c := &cut{Part: shrink.New(h, shrink.Rules{Level: lvl}), h: h, lvl: lvl}
	for _, t := range a.Txns {
		c.Add(t)
	}
	for _, r := range a.Ops {
		c.Add(r.Txn, r.Op)
		if a.Kind != verdict.Contradiction && a.Kind != verdict.DuplicateRow {
			c.addKey(r.Txn, c.ops(r.Txn)[r.Op].Key)
		}
	}
	if a.Kind != verdict.Contradiction {
		edges := slices.Concat(a.Cycle, a.Support)
		if lvl.Weak() {
			edges = append(edges, a.Context...)
		}
		for _, e := range edges {
			for _, t := range []int32{e.From, e.To} {
				c.Add(t)
				if e.Kind != verdict.SO && e.Kind != verdict.RT {
					c.addEnd(t, e)
				}
			}
		}
	}
	for _, r := range a.Forced {
		c.Add(r.Txn, r.Op)
	}
	c.Close()
	c.addHolders()
	if a.Kind == verdict.Contradiction {
		return c
	}
	// An edge of a read that only says which versions it did not see follows from all changes of
	// its key.
	for _, e := range a.Cycle {
		if c.deniesEnd(e) {
			for _, t := range c.Txns() {
				c.addKey(t, e.Key)
			}
		}
	}
	c.Close()
	return c
}

// deniesEnd reports whether the reader of an edge only says which versions it did not see.
func (c *cut) deniesEnd(e verdict.Edge) bool {
	reader := e.From
	switch e.Kind {
	case verdict.WR:
		reader = e.To
	case verdict.RW:
	default:
		return false
	}
	return !slices.ContainsFunc(c.ops(reader), func(op history.Op) bool { return op.Key == e.Key && op.Kind != history.ReadNot })
}

func (c *cut) ops(t int32) []history.Op { return c.h.Ops(&c.h.Txns[t]) }

// addEnd adds t's operations for an edge: its read of the version, and its final write to the key.
func (c *cut) addEnd(t int32, e verdict.Edge) {
	read, last := -1, -1
	for j, op := range c.ops(t) {
		if op.Key != e.Key {
			continue
		}
		if op.Kind == history.Read && op.Value == e.Value && read < 0 && last < 0 {
			read = j
		}
		if op.Kind == history.ReadNot && c.deniesEnd(e) {
			c.Add(t, j)
		}
		if op.Kind == history.Write {
			last = j
		}
	}
	if read >= 0 {
		c.Add(t, read)
	}
	if last >= 0 {
		c.Add(t, last)
	}
}

// addKey adds t's operations on a key.
func (c *cut) addKey(t int32, k history.Key) {
	for j, op := range c.ops(t) {
		if op.Key == k {
			c.Add(t, j)
		}
	}
}

// history returns the part as a history of its own, with only the names that it needs.
func (c *cut) history() *history.History { return c.alone(c.h.Extract(c.Parts())) }

// alone returns a part of a history as one that is read by itself: what follows from the versions of its reads may be less than
// what follows in the whole.
func (c *cut) alone(part *history.History) *history.History {
	if part.OrderAssumed() && part.HasVersions() && !c.asWhole {
		return part.Reassume()
	}
	return part
}

// addHolders adds the transactions that have the positions of versions that were read: they show that a version cannot be.
func (c *cut) addHolders() {
	if !c.h.Distinct() {
		return
	}
	read := map[int64]bool{}
	for _, p := range c.Parts() {
		for _, n := range p.Ops {
			if op := c.ops(p.Txn)[n]; op.Kind == history.Read {
				read[c.h.Commit(op.Value)] = true
			}
		}
	}
	for i := range c.h.Txns {
		if at := c.h.Place(i); at != 0 && read[at] {
			c.Add(int32(i))
		}
	}
}

// For so few transactions, trying every execution with so many steps is faster than any engine.
const (
	triedTxns  = certify.MaxJudged
	triedSteps = 20_000
)

// judgeSteps bounds the trial of every execution if no engine decides.
const judgeSteps = 5_000_000

// violates judges a part of the history. It may have no times, although the history has.
func (c *cut) violates(ctx context.Context, h *history.History) (bool, error) {
	v, err := c.verdict(ctx, c.alone(h))
	return v == verdict.Violated, err
}

func (c *cut) verdict(ctx context.Context, h *history.History) (verdict.Verdict, error) {
	lvl := c.lvl
	if !h.Timed() {
		lvl = lvl.WithoutRealTime()
	}
	judge := func(steps int) (verdict.Verdict, error) {
		switch allowed, decided, err := certify.JudgeContext(ctx, h, lvl, steps); {
		case err != nil || !decided:
			return verdict.Unknown, err
		case allowed:
			return verdict.Satisfied, nil
		}
		return verdict.Violated, nil
	}
	if h.Closed && len(h.Txns) <= triedTxns {
		if v, err := judge(triedSteps); err != nil || v != verdict.Unknown {
			return v, err
		}
	}
	r, err := check(ctx, h, lvl, checker.Options{VerdictOnly: true})
	if err != nil {
		return verdict.Unknown, err
	}
	if r.Verdict == verdict.Unknown && h.Closed {
		return judge(judgeSteps)
	}
	return r.Verdict, nil
}

// trial is violates, as a shrink.Judge.
func (c *cut) trial(ctx context.Context, h *history.History) (shrink.Judgement, error) {
	h = c.alone(h)
	v, err := c.verdict(ctx, h)
	return shrink.Judgement{Violated: v == verdict.Violated, Never: v == verdict.Satisfied && c.inherits()}, err
}

// inherits reports whether an execution of a part of the history certainly gives one of each smaller part. What claims, versions of
// reads and scans say may change when something is removed. A part that has no times, if the larger one has some, is judged
// at a weaker level.
func (c *cut) inherits() bool {
	return c.h.Closed && !c.h.OrderAssumed() && !c.h.HasVersions() && !c.h.HasPredicates()
}

// smallTxns is up to how many transactions judging at every level takes almost no time.
const smallTxns = 64

// levels judges the part at all levels at which it can be judged. For a large part only the known
// verdict is returned.
func (c *cut) levels(ctx context.Context) (checker.Known, error) {
	known := checker.Known{c.lvl: verdict.Violated}
	h := c.history()
	if c.lvl == level.LIN || len(h.Txns) > smallTxns {
		return known, nil
	}
	err := known.Judge(h, nil, func(l level.Level) (*verdict.Result, error) {
		if engine.InventsReads(h, l) {
			// Without its write a read of an append would look like one of the client.
			return &verdict.Result{Level: l}, nil
		}
		if h.Closed {
			switch allowed, decided, err := certify.JudgeContext(ctx, h, l, triedSteps); {
			case err != nil:
				return nil, err
			case allowed:
				return &verdict.Result{Level: l, Verdict: verdict.Satisfied}, nil
			case decided:
				return &verdict.Result{Level: l, Verdict: verdict.Violated}, nil
			}
		}
		return check(ctx, h, l, checker.Options{Timeout: MinimizeFor, Certify: true})
	})
	return known, err
}

// holding asks which levels are known to hold.
func (c *cut) holding(known checker.Known) func(level.Level) bool {
	return func(l level.Level) bool { return known.Holds(c.h, l) }
}

// whole translates the key and value of an edge from the sub-history to the whole history. The ends
// of the edge are those of the whole history already.
func (c *cut) whole(sub *history.History, e *verdict.Edge) {
	for _, t := range []int32{e.From, e.To} {
		for _, op := range c.ops(t) {
			if c.h.KeyName(op.Key) != sub.KeyName(e.Key) {
				continue
			}
			e.Key = op.Key
			e.Value = c.h.Carry(e.Value, sub.Symbols)
			return
		}
	}
}

// shows reports whether everything that the anomaly names is still in the part.
func (c *cut) shows(a *verdict.Anomaly) bool {
	for _, t := range a.Txns {
		if !c.HasTxn(t) {
			return false
		}
	}
	for _, r := range a.Ops {
		if !c.Has(r.Txn, r.Op) {
			return false
		}
	}
	edges := a.Cycle
	if len(a.Forced) > 0 { // the context shows why edges are forced
		edges = slices.Concat(edges, a.Context)
	}
	for _, e := range edges {
		if !c.HasTxn(e.From) || !c.HasTxn(e.To) {
			return false
		}
	}
	for _, r := range a.Forced {
		if !c.Has(r.Txn, r.Op) {
			return false
		}
	}
	return true
}
