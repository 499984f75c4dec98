package weak

import (
	"context"
	"time"

	"github.com/isohound/isohound/checker/engine"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/shrink"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// minimizeFor bounds the time for shrinking a counterexample.
const minimizeFor = 5 * time.Second

// contradiction makes the verdict violated because c.refuted found no choice that the level allows. The counterexample is
// a closed part of the history, made minimal.
func (c *check) contradiction(x *index) error {
	if c.res.Reason = x.Doubtful(); c.res.Reason != "" {
		return nil
	}
	c.res.Verdict = verdict.Violated
	if c.opt.VerdictOnly {
		return nil
	}
	c.stages.Begin("explain")
	part := shrink.New(c.h, shrink.Rules{Level: c.lvl, Possible: true})
	for _, p := range c.refuted.parts() {
		part.Add(p.Txn, p.Ops...)
	}
	part.Close()
	judge := violates(c.lvl)
	first, err := judge(c.ctx, c.h.Sub(part.Parts()))
	if err != nil {
		return err
	}
	if !first.Violated { // in a history that was cut off, less may leave more open: the whole history shows it
		for t := range int32(len(c.h.Txns)) {
			part.Add(t)
			part.AddAll(t)
		}
		part.Close()
		first = shrink.Judgement{Violated: true}
	}
	limited, stop := context.WithTimeout(c.ctx, minimizeFor)
	defer stop()
	if err := part.Minimize(limited, judge, first); err != nil && (c.ctx.Err() != nil || limited.Err() == nil) {
		return err
	}
	a := verdict.Anomaly{Kind: verdict.Contradiction, Count: 1}
	for _, p := range part.Parts() {
		a.Txns = append(a.Txns, p.Txn)
		for _, j := range p.Ops {
			a.Ops = append(a.Ops, verdict.OpRef{Txn: p.Txn, Op: j})
		}
	}
	x.Anomalies = append(x.Anomalies, a)
	c.decide(x, &finding{})
	c.stages.Done("explain")
	return nil
}

// violates judges parts of a history. What it rests on is not known if no choice was needed.
func violates(lvl level.Level) shrink.Judge {
	return func(ctx context.Context, h *history.History) (shrink.Judgement, error) {
		c := &check{ctx: ctx, h: h, lvl: lvl, ru: lvl == level.RU, opt: engine.Options{VerdictOnly: true}, res: &verdict.Result{Level: lvl}}
		c.stages = verdict.NewStages(c.res, nil)
		err := c.run()
		if _, refused := err.(*engine.Refusal); refused {
			return shrink.Judgement{}, nil
		}
		j := shrink.Judgement{Violated: c.res.Verdict == verdict.Violated, Leap: true}
		if c.refuted != nil {
			j.Enough = c.refuted.parts
		}
		return j, err
	}
}
