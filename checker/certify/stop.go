package certify

import "context"

// stop hears the end of a context.
type stop struct {
	ctx   context.Context
	steps int // since it was last asked
}

// hearEvery is how many steps pass between two questions to the context.
const hearEvery = 1 << 16

// newStop returns a stop that asks at the first step.
func newStop(ctx context.Context) *stop { return &stop{ctx: ctx, steps: hearEvery} }

// after counts steps. Once the context has ended it returns the cause, at the
// latest hearEvery steps later.
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
