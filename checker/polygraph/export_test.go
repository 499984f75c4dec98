package polygraph

import (
	"context"
	"errors"

	"github.com/isohound/isohound/accel/choose"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// Refute writes a proof about the whole of h, without cutting a core out first;
// nil if h has an execution or if a single read is wrong.
func Refute(h *history.History, lvl level.Level, prune bool) (*verdict.Refutation, error) {
	at := make([]int32, len(h.Txns))
	for i := range at {
		at[i] = int32(i)
	}
	r, err := refutation(context.Background(), h, lvl, at, prune)
	if errors.Is(err, errPossible) {
		err = nil
	}
	return r, err
}

// LimitProofs sets how large a proof may become until restore is called.
func LimitProofs(words int) (restore func()) {
	usual := maxProof
	maxProof = words
	return func() { maxProof = usual }
}

// Decide is Check without counterexample, which takes long to make small.
func Decide(ctx context.Context, h *history.History, lvl level.Level, opt Options) (*verdict.Result, error) {
	c := &check{ctx: ctx, h: h, lvl: lvl, opt: opt, res: &verdict.Result{Level: lvl}, decideOnly: true}
	c.stages = verdict.NewStages(c.res, nil)
	return c.res, c.run()
}

// GiveUpLevels sets how many levels a conflict gives up at once until restore is
// called.
func GiveUpLevels(n int32) (restore func()) {
	usual := chronological
	chronological = n
	return func() { chronological = usual }
}

// On returns the same for another machine.
func (a Acceleration) On(m *choose.Machine) Acceleration {
	a.machine = m
	return a
}
