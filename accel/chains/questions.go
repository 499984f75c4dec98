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
