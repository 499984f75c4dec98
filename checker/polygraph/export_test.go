package polygraph

import (
	"context"

	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// Decide is Check without counterexample, which takes long to make small.
func Decide(ctx context.Context, h *history.History, lvl level.Level, cfg Config) (*verdict.Result, error) {
	c := &check{ctx: ctx, h: h, lvl: lvl, opt: Options{Config: cfg}, res: &verdict.Result{Level: lvl}, decideOnly: true}
	c.stages = verdict.NewStages(c.res, nil)
	return c.res, c.run()
}
