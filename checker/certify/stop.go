package certify

import "context"

// stop checks whether a context has ended.
type stop struct {
	ctx   context.Context
	steps int   // since the last check
	err   error // the cause of the context's end, once that was seen
}

// hearEvery is how many steps pass between two checks of the context.
const hearEvery = 1 << 16

// newStop returns a stop that checks at the first step.
func newStop(ctx context.Context) *stop { return &stop{ctx: ctx, steps: hearEvery} }

// after counts steps. If the context has ended, it returns the cause at the latest hearEvery steps
// later, and from then on at once.
func (s *stop) after(steps int) error {
	if s.steps += steps; s.err != nil || s.steps < hearEvery {
		return s.err
	}
	s.steps = 0
	if s.ctx.Err() != nil {
		s.err = context.Cause(s.ctx)
	}
	return s.err
}
