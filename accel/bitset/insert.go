package bitset

import (
	"context"
	"math"
	"math/bits"
	"sync"
	"sync/atomic"

	"github.com/isohound/isohound/accel"
)

// Insert implements accel.Closure. What it costs grows with the rows that change:
// an edge changes those of its end and of what that reaches (Italiano's
// algorithm, and with intervals Lemmas 4.3 and 4.4 of the Vbox paper).
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
	for len(c.passes) < min(c.workers, len(c.bands)) {
		c.passes = append(c.passes, newPass(c))
	}
	var next atomic.Int32
	var wg sync.WaitGroup
	work := func(p *pass) {
		p.touched = p.touched[:0]
		for ctx.Err() == nil {
			i := int(next.Add(1)) - 1
			if i >= len(c.bands) {
				return
			}
			p.run(ctx, &c.bands[i], edges)
		}
	}
	for i := 1; i < len(c.passes); i++ {
		wg.Go(func() { work(c.passes[i]) })
	}
	if len(c.passes) > 0 {
		work(c.passes[0])
	}
	wg.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	for _, p := range c.passes {
		c.touched = append(c.touched, p.touched...)
	}
	return nil
}

// pass brings a band up to date: along the order it goes to the vertices that
// new edges end at and those that others with news lead to.
type pass struct {
	c    *Closure
	b    *band
	due  []uint64 // bits, by rank
	news []news   // by vertex
	met  []int32  // the vertices with news in this band
	// touched are those that got their first news of all bands here.
	touched []int32
}

// news are the words of a row from lo to hi that changed, and their new bits.
type news struct {
	bits   uint64
	lo, hi uint8
}

func newPass(c *Closure) *pass {
	n := c.s.Len()
	return &pass{c: c, due: make([]uint64, (n+63)/64), news: make([]news, n)}
}

func (p *pass) bytes() int64 {
	return 8*int64(cap(p.due)) + 16*int64(cap(p.news)) + 4*int64(cap(p.met)+cap(p.touched))
}

func (p *pass) run(ctx context.Context, b *band, edges []accel.Edge) {
	s := p.c.s
	p.b = b
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
		if steps++; steps&0xff == 0 && ctx.Err() != nil {
			return
		}
		v := s.Order[i<<6+bits.TrailingZeros64(w)]
		s.InSince(v, base, func(u int32) { p.raise(u, v, 0, b.words) })
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

// trim leaves leading full words out of a row.
func (p *pass) trim(v int32) {
	r := &p.b.rows[v]
	for !p.c.full && r.n > 0 && p.b.stored(*r)[0] == math.MaxUint64 {
		r.at++
		r.off++
		r.n--
		r.size--
	}
}

// spread hands the news of v on.
func (p *pass) spread(v int32) {
	lo, hi := int(p.news[v].lo), int(p.news[v].hi)
	push := func(to int32) {
		if p.raise(v, to, lo, hi) {
			p.mark(to)
		}
	}
	p.c.s.Out(v, push)
	for _, to := range p.c.s.TimeOut(v) {
		push(to)
	}
}

func (p *pass) mark(v int32) {
	r := p.c.s.Rank[v]
	p.due[r>>6] |= 1 << (r & 63)
}

// raise adds the words from lo to hi of the row of u to that of v and reports
// whether bits were new.
func (p *pass) raise(u, v int32, lo, hi int) bool {
	b := p.b
	from, to := b.rows[u], b.rows[v]
	lo, hi = max(lo, int(to.off)), min(hi, from.end())
	if lo >= hi {
		return false
	}
	words := b.stored(from)
	get := func(i int) uint64 {
		if i < int(from.off) {
			return math.MaxUint64
		}
		return words[i-int(from.off)]
	}
	row := b.stored(to)
	has := func(i int) uint64 {
		if i -= int(to.off); i < len(row) {
			return row[i]
		}
		return 0
	}
	for lo < hi && get(lo)&^has(lo) == 0 {
		lo++
	}
	for lo < hi && get(hi-1)&^has(hi-1) == 0 {
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
	for i := lo; i < hi; i++ {
		w := &row[i-int(to.off)]
		n.bits |= get(i) &^ *w
		*w |= get(i)
	}
	return true
}
