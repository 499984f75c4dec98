package chains

import (
	"context"

	"github.com/isohound/isohound/accel"
)

// Closing implements accel.Closure.
func (c *Closure) Closing(ctx context.Context, edges []accel.Edge, groups []int32, out []bool) error {
	return accel.Closing(ctx, c, c.workers, edges, groups, out)
}

// Among implements accel.Closure.
func (c *Closure) Among(ctx context.Context, groups *accel.Groups) error {
	return accel.Among(ctx, c, c.workers, groups)
}

// TwoCycles implements accel.Closure.
func (c *Closure) TwoCycles(ctx context.Context, edges []accel.Edge, f func(i, j int32) bool) error {
	return accel.TwoCycles(ctx, c, c.s.Rank, c.workers, edges, f)
}

// Common implements accel.Closure: it calls f for the last such source of each chain.
func (c *Closure) Common(of []int32, not int32, f func(from int32)) {
	if len(of) == 0 {
		return
	}
	for chain, reached := range c.Row(not) {
		last := c.Entry(of[0], int32(chain))
		for _, v := range of[1:] {
			last = min(last, c.Entry(v, int32(chain)))
		}
		for c.s.Pairs && last > reached && c.VertexAt(int32(chain), last)&1 == 0 {
			last--
		}
		if last > reached {
			f(c.VertexAt(int32(chain), last))
		}
	}
}
