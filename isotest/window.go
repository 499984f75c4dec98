package isotest

import (
	"context"
	"slices"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/rounds"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// entered prepares a copy of a later window for being judged without the windows before it. Of another history it returns
// the history itself, and nil.
func entered(h *history.History) (*history.History, *rounds.Run) {
	if h.Window == nil {
		return h, nil
	}
	window, run := *h, &rounds.Run{}
	window.Txns = slices.Clone(h.Txns)
	run.Skip()
	run.Enter(&window)
	return &window, run
}

// weighed is j, the judgement of a window that violates a level, as one of its run. It is unknown if the window does not prove
// that the run violates the level. Where the window as a whole proves nothing, what it shows by itself may: see rounds.Run.Own.
func weighed(ctx context.Context, run *rounds.Run, window *history.History, j *judgement) (*judgement, error) {
	lvl := j.verdict.Level
	why, err := doubt(ctx, run, j.h, lvl)
	if err != nil || why == "" {
		return j, err
	}
	var own *history.History
	if lvl.Weak() {
		own = run.Own(window)
	}
	if own != nil {
		shown, err := judgedBy(ctx, own, lvl, func(ctx context.Context, lvl level.Level, opt checker.Options) (*verdict.Result, error) {
			return checker.Check(ctx, own, lvl, opt)
		})
		if err != nil {
			return nil, err
		}
		if shown.verdict.Verdict == verdict.Violated {
			if left, err := doubt(ctx, run, own, lvl); err != nil || left == "" {
				return shown, err
			}
		}
	}
	j.verdict.Verdict, j.verdict.Reason = verdict.Unknown, why
	return j, nil
}

// doubt returns why the violation of a window does not prove that of its run, or "".
func doubt(ctx context.Context, run *rounds.Run, window *history.History, lvl level.Level) (string, error) {
	return run.Doubt(window, lvl, func(h *history.History) (verdict.Verdict, error) {
		r, err := checker.NewLevels(h).Check(ctx, lvl, checker.Options{})
		if err != nil {
			return verdict.Unknown, err
		}
		return r.Verdict, nil
	})
}
