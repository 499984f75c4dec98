package chains

import (
	"context"
	"sync/atomic"

	"github.com/isohound/isohound/accel"
	"github.com/isohound/isohound/accel/internal/queue"
	"github.com/isohound/isohound/accel/parallel"
)

// Insert implements accel.Closure. Its cost grows with the rows that change.
func (c *Closure) Insert(ctx context.Context, edges []accel.Edge) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	edges, err := accel.News(c, c.s.Graph, edges, c.added[:0])
	if err != nil {
		return err
	}
	c.added = edges
	if err := c.s.Insert(edges); err != nil {
		return err
	}
	c.fresh = false
	if c.passes == nil {
		c.news = make([]uint64, c.s.Len())
		for _, b := range c.cut(8) {
			c.passes = append(c.passes, newPass(c, b))
		}
	}
	for _, v := range c.touched {
		c.news[v] = 0
	}
	c.touched = c.touched[:0]
	if len(edges) < few {
		for _, p := range c.passes {
			p.run(ctx, edges)
		}
	} else {
		parallel.Do(len(c.passes), func(i int) { c.passes[i].run(ctx, edges) })
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	for _, p := range c.passes {
		c.touched = append(c.touched, p.touched...)
	}
	return nil
}

// Up to few edges, no goroutine is started.
const few = 16

// pass updates a band, in topological order.
type pass struct {
	c *Closure
	band
	due  *queue.Queue // ranks
	news []news       // by vertex
	has  []bool       // by vertex: has news; this is read far more often than news
	met  []int32      // the vertices with news in this band
	// touched are the vertices that got their first news of all bands in this pass.
	touched []int32
}

// news is the range of chains that contains all entries that grew, and the classes of these.
type news struct {
	bits   uint64
	lo, hi int32
}

func newPass(c *Closure, b band) *pass {
	return &pass{c: c, band: b, due: queue.New(c.s.Len()), news: make([]news, c.s.Len()), has: make([]bool, c.s.Len())}
}

func (p *pass) bytes() int64 {
	return p.due.Bytes() + 17*int64(cap(p.news)) + 4*int64(cap(p.met)+cap(p.touched))
}

// many: if more than one in this many vertices has a new edge, visiting all vertices is faster
// than finding the affected ones.
const many = 64

func (p *pass) run(ctx context.Context, edges []accel.Edge) {
	p.touched = p.touched[:0]
	if len(edges)*many < len(p.news) {
		p.follow(ctx, edges)
	} else {
		p.sweep(ctx, edges)
	}
	if ctx.Err() != nil {
		return
	}
	for _, v := range p.met {
		if atomic.OrUint64(&p.c.news[v], p.news[v].bits) == 0 {
			p.touched = append(p.touched, v)
		}
		p.news[v], p.has[v] = news{}, false
	}
	p.met = p.met[:0]
}

// sweep visits all vertices from the first end of a new edge on.
func (p *pass) sweep(ctx context.Context, edges []accel.Edge) {
	s := p.c.s
	first := s.Len()
	for _, e := range edges {
		first = min(first, s.Rank[e.To])
	}
	base := int32(len(s.Added) - len(edges))
	for i, v := range s.Order[first:] {
		if i&0xff == 0 && ctx.Err() != nil {
			return
		}
		for _, u := range s.Into(v) {
			if p.has[u] {
				p.raise(u, v, p.news[u].lo, p.news[u].hi)
			}
		}
		for _, u := range s.TimeIn(v) {
			if p.has[u] {
				p.raise(u, v, p.news[u].lo, p.news[u].hi)
			}
		}
		s.InAdded(v, func(i, u int32) {
			if i >= base {
				p.raise(u, v, int32(p.lo), int32(p.hi))
			} else if p.has[u] {
				p.raise(u, v, p.news[u].lo, p.news[u].hi)
			}
		})
	}
}

// follow visits the ends of new edges and the successors of vertices with news.
func (p *pass) follow(ctx context.Context, edges []accel.Edge) {
	s := p.c.s
	for _, e := range edges {
		p.due.Add(s.Rank[e.To])
	}
	base := int32(len(s.Added) - len(edges))
	steps := 0
	for r := p.due.Next(); r >= 0; r = p.due.Next() {
		if steps++; steps&0xff == 0 && ctx.Err() != nil {
			return
		}
		v := s.Order[r]
		s.InAdded(v, func(i, u int32) {
			if i >= base {
				p.raise(u, v, int32(p.lo), int32(p.hi))
			}
		})
		if p.news[v].bits != 0 {
			p.spread(v)
		}
	}
}

// spread passes the news of v to its successors.
func (p *pass) spread(v int32) {
	lo, hi := p.news[v].lo, p.news[v].hi
	push := func(to int32) {
		if p.raise(v, to, lo, hi) {
			p.due.Add(p.c.s.Rank[to])
		}
	}
	s := p.c.s
	for _, to := range s.Outgoing(v) {
		push(to)
	}
	s.OutAdded(v, push)
	for _, to := range s.TimeOut(v) {
		push(to)
	}
}

// raise sets the entries of v for the chains from lo to hi to at least those of u, and reports
// whether one grew.
func (p *pass) raise(u, v, lo, hi int32) bool {
	from, row, n := p.c.Row(u)[lo:hi], p.c.Row(v)[lo:hi], &p.news[v]
	grew := false
	for i, at := range from[:len(row)] {
		if at <= row[i] {
			continue
		}
		row[i] = at
		chain := lo + int32(i)
		if n.bits == 0 {
			n.lo, p.has[v] = chain, true
			p.met = append(p.met, v)
		}
		n.lo, n.hi = min(n.lo, chain), max(n.hi, chain+1)
		n.bits |= 1 << (chain & 63)
		grew = true
	}
	return grew
}
