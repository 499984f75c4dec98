package cuda

import (
	"context"

	"github.com/isohound/isohound/accel"
	"github.com/pkg/errors"
)

// Closing implements accel.Closure.
func (c *closure) Closing(ctx context.Context, edges []accel.Edge, groups []int32, out []bool) error {
	if err := c.m.valid(c.s.Len(), edges); err != nil {
		return err
	}
	cpu, err := c.substitute()
	if cpu == nil && err == nil {
		var bits []uint32
		if bits, err = c.m.closing(ctx, edges); err == nil {
			for i := range len(groups) - 1 {
				out[i] = false
				for e := groups[i]; e < groups[i+1] && !out[i]; e++ {
					out[i] = bits[e>>5]>>(e&31)&1 != 0
				}
			}
			return nil
		}
		cpu, err = c.fail(ctx, err)
	}
	if err != nil {
		return err
	}
	return cpu.Closing(ctx, edges, groups, out)
}

// Among implements accel.Closure.
func (c *closure) Among(ctx context.Context, g *accel.Groups) error {
	for _, v := range g.Members {
		if v < 0 || v >= c.s.SourceCount() {
			return errors.Errorf("a question about the source %d, and there are %d", v, c.s.SourceCount())
		}
	}
	cpu, err := c.substitute()
	if cpu == nil && err == nil {
		g.Layout()
		if err = c.m.among(ctx, g); err == nil {
			return nil
		}
		cpu, err = c.fail(ctx, err)
	}
	if err != nil {
		return err
	}
	return cpu.Among(ctx, g)
}

// TwoCycles implements accel.Closure.
func (c *closure) TwoCycles(ctx context.Context, edges []accel.Edge, f func(i, j int32) bool) error {
	if err := c.m.valid(c.s.Len(), edges); err != nil {
		return err
	}
	// A pair that was already reported is not reported again by the fallback.
	last, stopped := int64(-1), false
	next := func(i, j int32) bool {
		if p := int64(i)<<32 | int64(j); p > last {
			last = p
			stopped = !f(i, j)
		}
		return !stopped
	}
	cpu, err := c.substitute()
	if cpu == nil && err == nil {
		if err = c.m.twoCycles(ctx, edges, next); err == nil || stopped {
			return err
		}
		cpu, err = c.fail(ctx, err)
	}
	if err != nil {
		return err
	}
	return cpu.TwoCycles(ctx, edges, next)
}
