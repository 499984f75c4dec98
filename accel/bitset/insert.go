package bitset

import (
	"context"
	"iter"
	"sync/atomic"

	"github.com/isohound/isohound/accel"
	"github.com/isohound/isohound/accel/internal/lanes"
	"github.com/isohound/isohound/accel/internal/queue"
	"github.com/isohound/isohound/accel/parallel"
)

// Insert implements accel.Closure. Its cost grows with the rows that change: an edge changes the
// row of its end and of what that reaches (Italiano's algorithm, and with intervals Lemmas 4.3
// and 4.4 of the Vbox paper). If so many edges are added that most rows change, all rows are
// recomputed.
func (c *Closure) Insert(ctx context.Context, edges []accel.Edge) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if c.manyNews(edges) {
		return c.again(ctx, edges)
	}
	edges, err := accel.News(c, c.s.Graph, edges, c.added[:0])
	if err != nil {
		return err
	}
	c.added = edges
	if err := c.s.Insert(edges); err != nil {
		return err
	}
	c.addLeads(edges)
	c.forget()
	for len(c.passes) < min(c.workers, len(c.bands)) {
		c.passes = append(c.passes, newPass(c))
	}
	var taken atomic.Int32
	err = parallel.Share(ctx, c.workers, len(c.bands), 1, func(numbers iter.Seq[int]) {
		p := c.passes[taken.Add(1)-1]
		p.touched = p.touched[:0]
		for i := range numbers {
			p.run(ctx, &c.bands[i], edges)
		}
	})
	if err != nil {
		return err
	}
	for _, p := range c.passes {
		c.touched = append(c.touched, p.touched...)
	}
	return nil
}

// forget clears all news.
func (c *Closure) forget() {
	c.fresh = false
	for _, v := range c.touched {
		c.news[v] = 0
	}
	c.touched = c.touched[:0]
}

// manyNews estimates by a sample whether recomputing all rows is cheaper than inserting the
// edges.
func (c *Closure) manyNews(edges []accel.Edge) bool {
	const sample = 64
	if len(edges) <= c.many || c.g.CheckEdges(edges) != nil {
		return false
	}
	news, of := 0, 0
	for i := 0; i < len(edges); i += len(edges)/sample + 1 {
		e := edges[i]
		of++
		if int(e.From) >= len(c.column) || !c.Reaches(e.From, e.To) {
			news++
		}
	}
	return news*len(edges)/of > c.many
}

// pass updates a band. In topological order it visits the ends of new edges, and the successors
// of vertices with news.
type pass struct {
	c    *Closure
	b    *band
	due  *queue.Queue // ranks
	news []news       // by vertex
	met  []int32      // the vertices with news in this band
	// touched are the vertices that got their first news of all bands in this pass.
	touched []int32
}

// news is the range of words of a row that changed, and their new bits.
type news struct {
	bits   uint64
	lo, hi uint8
}

func newPass(c *Closure) *pass {
	n := c.s.Len()
	return &pass{c: c, due: queue.New(n), news: make([]news, n)}
}

func (p *pass) bytes() int64 {
	return p.due.Bytes() + 16*int64(cap(p.news)) + 4*int64(cap(p.met)+cap(p.touched))
}

func (p *pass) run(ctx context.Context, b *band, edges []accel.Edge) {
	s := p.c.s
	p.b = b
	for _, e := range edges {
		p.mark(e.To)
	}
	base := int32(len(s.Added) - len(edges))
	steps := 0
	for r := p.due.Next(); r >= 0; r = p.due.Next() {
		if steps++; steps&0xff == 0 && ctx.Err() != nil {
			return
		}
		v := s.Order[r]
		p.pull(v, base)
		if p.news[v].bits != 0 {
			p.spread(v)
		}
	}
	for _, v := range p.met {
		if atomic.OrUint64(&p.c.news[v], p.news[v].bits) == 0 {
			p.touched = append(p.touched, v)
		}
		p.news[v] = news{}
		p.trim(v)
	}
	p.met = p.met[:0]
	b.compact(p.c.bound)
}

// trim skips leading full words of a row.
func (p *pass) trim(v int32) {
	r := &p.b.rows[v]
	for !p.c.full && r.n > 0 && p.b.stored(*r)[0] == everything {
		r.at++
		r.off++
		r.n--
		r.size--
	}
}

// pull adds to the row of v what is new among its predecessors: the rows of new edges, from base
// on, and the news of others.
func (p *pass) pull(v, base int32) {
	c := p.c
	s := c.s
	for e := s.Start[v]; e < s.Start[v+1]; e++ {
		if u := c.in[e]; p.news[u].bits != 0 && c.spared[e>>6]>>(e&63)&1 == 0 {
			p.raise(u, v, int(p.news[u].lo), int(p.news[u].hi))
		}
	}
	s.InAdded(v, func(i, u int32) {
		if i >= base {
			p.raise(u, v, 0, p.b.words)
		} else if p.news[u].bits != 0 {
			p.raise(u, v, int(p.news[u].lo), int(p.news[u].hi))
		}
	})
}

// spread marks the successors of v, which has news.
func (p *pass) spread(v int32) {
	p.c.s.Out(v, p.mark)
	for _, to := range p.c.s.TimeOut(v) {
		if p.raise(v, to, int(p.news[v].lo), int(p.news[v].hi)) {
			p.mark(to)
		}
	}
}

func (p *pass) mark(v int32) { p.due.Add(p.c.s.Rank[v]) }

// raise adds the words lo to hi of the row of u to the row of v, and reports whether bits were
// new.
func (p *pass) raise(u, v int32, lo, hi int) bool {
	b := p.b
	from, to := b.rows[u], b.rows[v]
	lo, hi = max(lo, int(to.off)), min(hi, from.end())
	if lo >= hi {
		return false
	}
	words := b.stored(from)
	row := b.stored(to)
	for lo < hi && from.word(words, lo)&^to.word(row, lo) == 0 {
		lo++
	}
	for lo < hi && from.word(words, hi-1)&^to.word(row, hi-1) == 0 {
		hi--
	}
	if lo == hi {
		return false
	}
	if hi > to.end() {
		b.grow(v, hi)
		to = b.rows[v]
		row = b.stored(to)
	}
	n := &p.news[v]
	if n.bits == 0 {
		n.lo, n.hi = uint8(lo), uint8(hi)
		p.met = append(p.met, v)
	}
	n.lo, n.hi = min(n.lo, uint8(lo)), max(n.hi, uint8(hi))
	for ; lo < min(hi, int(from.off)); lo++ {
		w := &row[lo-int(to.off)]
		n.bits |= ^*w
		*w = everything
	}
	if lo < hi {
		n.bits |= lanes.News(row[lo-int(to.off):hi-int(to.off)], words[lo-int(from.off):])
	}
	return true
}

// word returns word i of a row, given its stored words.
func (r row) word(stored []uint64, i int) uint64 {
	switch i -= int(r.off); {
	case i < 0:
		return everything
	case i < len(stored):
		return stored[i]
	}
	return 0
}
