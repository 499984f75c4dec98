// Package settled judges a history together with its statements with conditions, at one level.
package settled

import (
	"context"
	"time"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/scans"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// History is a history with operations that say what its statements with conditions did not find.
type History struct {
	*history.History
	rest *scans.Rest // nil: all operations were added at once
}

// Of returns h with the operations that its statements need at a level. History.Scans then says which statements are
// judged. timeout bounds each of the checks that this takes; 0 is no limit. The error is the cause of ctx's end, or a bug.
func Of(ctx context.Context, h *history.History, lvl level.Level, timeout time.Duration) (*History, error) {
	if len(h.AllOps()) >= scans.GuessOps {
		if x, rest, err := scans.Execute(ctx, h, []level.Level{lvl}, nil); rest != nil || err != nil {
			return &History{x, rest}, err
		}
	}
	x, rest, err := scans.Expand(ctx, h, scans.Eager(lvl))
	if err != nil || rest == nil {
		return &History{x, nil}, err
	}
	x, err = rest.Settle(ctx, lvl, x, func(h *history.History) (*verdict.Result, error) {
		return checker.Check(ctx, h, lvl, checker.Options{Witness: true, Timeout: timeout})
	})
	if err != nil {
		return nil, err
	}
	rest.Done()
	return &History{x, rest}, nil
}

// OnDemand reports whether a satisfied verdict has to agree with statements, since not all operations could be added
// at once.
func (x *History) OnDemand() bool { return x.rest != nil }

// Check is checker.Check with a verdict that agrees with the statements. At another level than that of Of, it is
// unknown if what they did not find leaves it open.
func (x *History) Check(ctx context.Context, lvl level.Level, opt checker.Options) (*verdict.Result, error) {
	if x.rest != nil {
		opt.Agree, opt.Decided, opt.Witness = x.rest.Decide, x.rest.Settled, true
	}
	return checker.Check(ctx, x.History, lvl, opt)
}
