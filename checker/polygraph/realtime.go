package polygraph

import (
	"slices"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/checker/sat"
	"github.com/isohound/isohound/checker/verdict"
)

// hardAfter is the number of conflicts after which a search counts as hard.
var hardAfter = int64(1024)

// solve runs the search and reports whether it has found an execution. If a search without real
// time is hard and the history has times, solve tries the level with real time. Most databases keep
// real time, and it leaves far fewer choices. A history that satisfies that level also satisfies
// this one, and solve then sets the verdict in c.res. If that try is hard, too, or fails, the first
// search continues where it stopped.
func (c *check) solve(x *search) (found bool, err error) {
	lvl, stronger := c.lvl.WithRealTime()
	try := stronger && c.h.Timed() && c.opt.Config.Has(First) && !slices.Contains(c.opt.Violated, lvl)
	if try || c.hasty {
		x.s.PauseAt = hardAfter
	}
	found, err = x.s.Solve(c.ctx)
	if !try || !errors.Is(err, sat.ErrPaused) {
		return found, err
	}
	c.stages.Done("search")
	c.stages.Begin("real time")
	timed := &check{ctx: c.ctx, h: c.h, lvl: lvl, opt: c.opt, res: &verdict.Result{Level: lvl}, decideOnly: true, whole: c.whole, hasty: true}
	timed.stages = verdict.NewStages(timed.res, nil)
	defer timed.close()
	if err = timed.run(); err != nil && !errors.Is(err, sat.ErrPaused) {
		return false, err
	}
	c.stages.Done("real time")
	if timed.res.Verdict == verdict.Satisfied {
		c.res.Verdict, c.res.Witness = verdict.Satisfied, timed.res.Witness
		return false, nil
	}
	c.stages.Begin("search")
	return x.s.Solve(c.ctx)
}
