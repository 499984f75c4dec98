package accel

import "context"

// TwoCycles answers Closure.TwoCycles by a relation.
func TwoCycles[R Relation](ctx context.Context, r R, edges []Edge, f func(i, j int32) bool) error {
	for i, e := range edges {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		for j, o := range edges[i+1:] {
			if r.Reaches(e.To, o.From) && r.Reaches(o.To, e.From) && !f(int32(i), int32(i+1+j)) {
				return nil
			}
		}
	}
	return nil
}
