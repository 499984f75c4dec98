package polygraph

import (
	"context"
	"slices"
	"time"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/checker/shrink"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// minimizeFor bounds the time for shrinking a counterexample. What is left when it ends is still a
// counterexample.
const minimizeFor = 5 * time.Second

var errNoCore = errors.New("the part of the history that a refutation uses is not violated; this is a bug in isohound")

// counterexample cuts out of the history the closed part that the evidence rests on, and shrinks it.
func (c *check) counterexample(used *evidence) error {
	c.res.Verdict, c.used = verdict.Violated, used
	if c.decideOnly {
		return nil
	}
	c.stages.Begin("explain")
	limited, stop := context.WithTimeout(c.ctx, minimizeFor)
	defer stop()
	core := shrink.New(c.h, shrink.Rules{Level: c.lvl, Possible: true})
	for _, p := range used.parts(c.ctx) {
		core.Add(p.Txn, p.Ops...)
	}
	core.Close()
	judge := c.violates
	first, err := judge(c.ctx, c.h.Sub(core.Parts()))
	switch {
	case err != nil:
		return err
	case !first.Violated:
		return errNoCore
	}
	// What follows takes long for a large part.
	narrower, err := core.Narrow(limited, judge, first)
	if err != nil && (c.ctx.Err() != nil || limited.Err() == nil) {
		return err
	}
	if narrower {
		if first, err = judge(c.ctx, c.h.Sub(core.Parts())); err != nil {
			return err
		}
	}
	// A cycle of the known graph is easier to understand than the smallest contradiction.
	if whole := core.Clone(); whole.Fill() {
		if j, err := c.cyclic(limited, c.h.Sub(whole.Parts())); err == nil && j.Violated {
			core, judge, first = whole, c.cyclic, j
		}
	}
	if err := core.Minimize(limited, judge, first); err != nil && (c.ctx.Err() != nil || limited.Err() == nil) {
		return err
	}
	parts := core.Parts()
	sub := c.h.Sub(parts)
	a := c.anomaly(parts, sub)
	if c.opt.Proof {
		if a.Refutation, err = refutation(c.ctx, sub, c.lvl, a.Txns, c.opt.Config.Has(Pruning)); err != nil {
			return err
		}
	}
	c.violated([]verdict.Anomaly{a})
	c.stages.Done("explain")
	return nil
}

// violates judges a part of the history.
func (c *check) violates(ctx context.Context, h *history.History) (j shrink.Judgement, err error) {
	sub := &check{ctx: ctx, h: h, lvl: c.lvl, opt: options{Engine: Engine{Accel: c.opt.Accel.near()}}, decideOnly: true, res: &verdict.Result{Level: c.lvl}}
	sub.stages = verdict.NewStages(sub.res, nil)
	if err := sub.run(); err != nil {
		return j, err
	}
	j = shrink.Judgement{Violated: sub.res.Verdict == verdict.Violated, Leap: true}
	if sub.used != nil {
		j.Enough = func() []history.Part { return sub.used.parts(ctx) }
	}
	return j, nil
}

// cyclic decides whether the known graph of a part of the history has a cycle.
func (c *check) cyclic(ctx context.Context, h *history.History) (j shrink.Judgement, err error) {
	found := c.knownCycle(ctx, h)
	if found != nil {
		j = shrink.Judgement{Violated: true, Enough: func() []history.Part { return found.used.parts(ctx) }}
	}
	return j, nil
}

// shown returns the transactions of which snapshots in the evidence say that they have or lack what they wrote.
func (v *evidence) shown() (txns []int32) {
	g := v.s.g
	limit := int32(len(v.s.m.txns)) << g.split
	for _, n := range v.edges.list {
		e := &g.edges[n]
		switch {
		case e.rule == shownFirst && e.from < limit:
			txns = append(txns, g.txnOf(e.from))
		case e.rule == hiddenFirst && e.to < limit:
			txns = append(txns, g.txnOf(e.to))
		}
	}
	return txns
}

// parts returns the transactions of the evidence, with their reads in the evidence and with their
// final writes to the keys of the evidence.
func (v *evidence) parts(ctx context.Context) []history.Part {
	v.explain(ctx)
	m, g := v.s.m, v.s.g
	keys := map[history.Key]bool{}
	for _, r := range v.reads.list {
		keys[m.reads[r].key] = true
	}
	writes := func(t int32, f func(k history.Key)) {
		for _, w := range m.writesOf.of(t) {
			f(history.Key(m.key[w]))
		}
	}
	for _, e := range v.edges.list {
		if ed := &g.edges[e]; ed.rule == overlap || ed.rule == placedFirst {
			both := map[history.Key]bool{}
			writes(g.txnOf(ed.from), func(k history.Key) { both[k] = true })
			writes(g.txnOf(ed.to), func(k history.Key) { keys[k] = keys[k] || both[k] })
		}
	}
	for _, t := range v.shown() {
		written := m.writesOf.of(t)
		if !slices.ContainsFunc(written, func(w int32) bool { return keys[history.Key(m.key[w])] }) {
			keys[history.Key(m.key[written[0]])] = true // only of a transaction that wrote the database says anything
		}
	}
	if v.searched {
		for _, t := range v.txns.list {
			writes(t, func(k history.Key) { keys[k] = true })
		}
	}
	out := make([]history.Part, 0, len(v.txns.list))
	for _, t := range slices.Sorted(slices.Values(v.txns.list)) {
		ops := m.h.Ops(m.txn(t))
		read := map[history.Key]bool{} // by the evidence
		for r := m.readFrom[t]; r < m.readFrom[t+1]; r++ {
			read[m.reads[r].key] = v.reads.has != nil && v.reads.has[r]
		}
		last := map[history.Key]int{}
		for j, op := range ops {
			if op.Kind == history.Write && keys[op.Key] {
				last[op.Key] = j
			}
		}
		p := history.Part{Txn: m.txns[t]}
		for j, op := range ops {
			if op.Kind == history.Write {
				delete(read, op.Key)
			}
			switch w, wrote := last[op.Key]; {
			case op.Kind == history.ReadNot && read[op.Key]:
				p.Ops = append(p.Ops, j)
			case op.Kind == history.Read && read[op.Key]:
				delete(read, op.Key) // only the first read is of another transaction's write
				p.Ops = append(p.Ops, j)
			case op.Kind == history.Write && wrote && w == j:
				p.Ops = append(p.Ops, j)
			}
		}
		out = append(out, p)
	}
	return out
}
