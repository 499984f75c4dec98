package chains

import (
	"context"
	"math/bits"

	"github.com/isohound/isohound/accel"
)

// Insert implements accel.Closure. What it costs grows with the rows that change.
func (c *Closure) Insert(ctx context.Context, edges []accel.Edge) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := c.s.Insert(edges); err != nil {
		return err
	}
	c.fresh = false
	for _, v := range c.touched {
		c.news[v] = 0
	}
	c.touched = c.touched[:0]
	parts := make([]pass, len(c.bands))
	c.each(func(b band) {
		for i := range c.bands {
			if c.bands[i] == b {
				parts[i] = pass{c: c, band: b, news: make([]uint64, c.s.Len())}
				parts[i].run(ctx, edges)
			}
		}
	})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	for _, p := range parts {
		for _, v := range p.touched {
			if c.news[v] == 0 {
				c.touched = append(c.touched, v)
			}
			c.news[v] |= p.news[v]
		}
	}
	return nil
}

// pass brings a band up to date: along the order it goes to the vertices that
// new edges end at and those that others with news lead to.
type pass struct {
	c *Closure
	band
	news    []uint64
	touched []int32
	due     []uint64 // bits, by rank
}

func (p *pass) run(ctx context.Context, edges []accel.Edge) {
	s := p.c.s
	p.due = make([]uint64, (s.Len()+63)/64)
	for _, e := range edges {
		p.mark(e.To)
	}
	base := int32(len(s.Added) - len(edges))
	steps := 0
	for i := 0; i < len(p.due); {
		w := p.due[i]
		if w == 0 {
			i++
			continue
		}
		p.due[i] &= w - 1
		if steps++; steps&0x3ff == 0 && ctx.Err() != nil {
			return
		}
		v := s.Order[i<<6+bits.TrailingZeros64(w)]
		s.InSince(v, base, func(u int32) { p.raise(u, v) })
		if p.news[v] != 0 {
			p.touched = append(p.touched, v)
			s.Out(v, func(to int32) { p.push(v, to) })
			for _, to := range s.TimeOut(v) {
				p.push(v, to)
			}
		}
	}
}

func (p *pass) mark(v int32) {
	r := p.c.s.Rank[v]
	p.due[r>>6] |= 1 << (r & 63)
}

func (p *pass) push(v, to int32) {
	if p.raise(v, to) {
		p.mark(to)
	}
}

// raise makes the entries of v at least those of u and reports whether one grew.
func (p *pass) raise(u, v int32) bool {
	row, changed := p.c.Row(v)[p.lo:p.hi], uint64(0)
	for i, from := range p.c.Row(u)[p.lo:p.hi][:len(row)] {
		if from > row[i] {
			row[i] = from
			changed |= 1 << (uint(p.lo+i) & 63)
		}
	}
	p.news[v] |= changed
	return changed != 0
}
