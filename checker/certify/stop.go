package certify

import "context"

// stop checks whether a context has ended.
type stop struct {
	ctx   context.Context
	steps int // since the last check
}

// hearEvery is how many steps pass between two checks of the context.
const hearEvery = 1 << 16

// newStop returns a stop that checks at the first step.
func newStop(ctx context.Context) *stop { return &stop{ctx: ctx, steps: hearEvery} }

// after counts steps. If the context has ended, it returns the cause at the latest hearEvery steps
// later.
func (s *stop) after(steps int) error {
	if s.steps += steps; s.steps < hearEvery {
		return nil
	}
	s.steps = 0
	if s.ctx.Err() != nil {
		return context.Cause(s.ctx)
	}
	return nil
}
