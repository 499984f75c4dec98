package chains

import (
	"context"

	"github.com/pkg/errors"
)

// batch computes the rows along the order, each worker some chains of them.
func (c *Closure) batch(ctx context.Context) error {
	wrong := make([]int32, len(c.bands))
	c.each(func(b band) {
		v := c.columns(ctx, b)
		for i := range c.bands {
			if c.bands[i] == b {
				wrong[i] = v
			}
		}
	})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	for _, v := range wrong {
		if v >= 0 {
			return c.broken(v)
		}
	}
	return nil
}

func (c *Closure) broken(v int32) error {
	chain, place := c.cover.Chain[v], c.cover.Place[v]
	if place == 1 {
		return errors.Errorf("the cover is none: others of path %d reach vertex %d, its first", chain, v)
	}
	return errors.Errorf("the cover is none: vertex %d is not the last of path %d that reaches vertex %d, the next one",
		c.VertexAt(chain, place-1), chain, v)
}

// columns computes the entries of a band of chains. It returns a vertex that the
// one before it on its chain does not reach, or that a later one does, or -1.
func (c *Closure) columns(ctx context.Context, b band) int32 {
	sources := c.s.SourceCount()
	chains, places := c.cover.Chain, c.cover.Place
	wrong := int32(-1)
	for i, v := range c.s.Order {
		if i&0xfff == 0 && ctx.Err() != nil {
			return -1
		}
		row := c.Row(v)[b.lo:b.hi]
		for _, u := range c.s.Into(v) {
			raise(row, c.Row(u)[b.lo:b.hi])
		}
		for _, u := range c.s.TimeIn(v) {
			raise(row, c.Row(u)[b.lo:b.hi])
		}
		if v >= sources {
			continue
		}
		if own := int(chains[v]); own >= b.lo && own < b.hi {
			if row[own-b.lo] != places[v]-1 {
				wrong = v
			}
			row[own-b.lo] = places[v]
		}
	}
	return wrong
}

// raise makes the entries of row at least those of from.
func raise(row, from []int32) {
	for i, p := range from[:len(row)] {
		row[i] = max(row[i], p)
	}
}
