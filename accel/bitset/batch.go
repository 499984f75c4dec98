package bitset

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sync/atomic"

	"github.com/isohound/isohound/accel"
)

// plan is what computing all bands has in common.
type plan struct {
	c *Closure
	// in are the edges into each vertex, the latest start first.
	in []int32
	// spared has by vertex the first 64 of its edges, as bits, that another edge
	// makes redundant. The band that has the column of the edge's start finds that
	// out. Bands are computed from the last to the first, as a start's row is
	// empty in those behind it.
	spared []uint64
	// until has by vertex the last rank of those it is the latest predecessor of.
	until []int32
	// root is the last rank of a vertex without predecessors.
	root  int32
	moved atomic.Int64
}

// batch computes all rows: each is the union of those of its predecessors
// (Purdom's algorithm, the other way round).
func (c *Closure) batch(ctx context.Context) error {
	p := c.plan()
	err := accel.Share(ctx, c.workers, len(c.bands), 1, func(lo, _ int) {
		p.band(ctx, &c.bands[len(c.bands)-1-lo])
	})
	c.moved = p.moved.Load()
	return err
}

func (c *Closure) plan() *plan {
	s := c.s
	n := s.Len()
	p := &plan{c: c, in: slices.Clone(s.From), spared: make([]uint64, n), until: make([]int32, n), root: -1}
	for v := range n {
		list := p.in[s.Start[v]:s.Start[v+1]]
		slices.SortFunc(list, func(a, b int32) int { return cmp.Compare(s.Rank[b], s.Rank[a]) })
		if len(list) == 0 {
			p.root = max(p.root, s.Rank[v])
			continue
		}
		p.until[list[0]] = max(p.until[list[0]], s.Rank[v])
	}
	return p
}

// work is a row that is being computed.
type work struct {
	words    [widest]uint64
	off, end int // words before off are full, those from end on empty
}

func (w *work) has(bit int) bool { return bit>>6 < w.off || w.words[bit>>6]>>(bit&63)&1 != 0 }

// band computes the rows of a band along the order.
func (p *plan) band(ctx context.Context, b *band) {
	c, s := p.c, p.c.s
	b.rows = make([]row, s.Len())
	lo, hi := int32(b.lo)<<6, int32(b.lo+b.words)<<6
	hi = min(hi, int32(len(c.at)))
	first := s.Len()
	for _, v := range c.at[lo:hi] {
		if v >= 0 {
			first = min(first, s.Rank[v])
		}
	}
	open := p.root // a later vertex than that has a full row if all predecessors have
	for _, v := range s.Order[:first] {
		open = max(open, p.until[v])
	}
	var w work
	time := timeRow{p: p, b: b}
	for i := int(first); i < len(s.Order); i++ {
		if i&0xff == 0 && ctx.Err() != nil {
			return
		}
		v := s.Order[i]
		if time.full || !c.full && int32(i) > open {
			for _, v := range s.Order[i:] {
				b.rows[v] = row{off: uint8(b.words)}
			}
			break
		}
		w.off, w.end = 0, 0
		if s.Intervals != nil {
			time.advance(v)
			w = time.w
		}
		p.union(b, v, &w, lo, hi)
		if v < int32(len(c.column)) {
			if own := c.column[v]; own >= lo && own < hi {
				at := int(own-lo) >> 6
				w.reach(at + 1)
				if at >= w.off {
					w.words[at] |= c.own(v)
				}
			}
		}
		p.store(b, v, &w)
		if int(b.rows[v].off) < b.words {
			open = max(open, p.until[v])
		}
	}
}

// reach makes a row end no earlier than at a word.
func (w *work) reach(end int) {
	for ; w.end < end; w.end++ {
		w.words[w.end] = 0
	}
}

// union adds the rows of the predecessors of v.
func (p *plan) union(b *band, v int32, w *work, lo, hi int32) {
	c := p.c
	start := c.s.Start[v]
	in := p.in[start:c.s.Start[v+1]]
	spared := atomic.LoadUint64(&p.spared[v])
	found := uint64(0)
	for i, u := range in {
		if i < 64 && spared>>i&1 != 0 {
			continue
		}
		if u < int32(len(c.column)) {
			if column := c.column[u]; column >= lo && column < hi && w.end > int(column-lo)>>6 && w.has(int(column-lo)) {
				if i < 64 {
					found |= 1 << i
				}
				continue
			}
		}
		w.add(b, b.rows[u])
	}
	if found != 0 {
		atomic.OrUint64(&p.spared[v], found)
	}
}

// add adds a row.
func (w *work) add(b *band, r row) {
	if r.n == 0 && r.off == 0 {
		return
	}
	words := b.stored(r)
	off := int(r.off)
	w.off = max(w.off, off)
	w.reach(max(r.end(), w.off))
	if skip := w.off - off; skip > 0 {
		words = words[min(skip, len(words)):]
	}
	for i, x := range words {
		w.words[w.off+i] |= x
	}
}

// store keeps a row.
func (p *plan) store(b *band, v int32, w *work) {
	for !p.c.full && w.off < w.end && w.words[w.off] == math.MaxUint64 {
		w.off++
	}
	n := w.end - w.off
	r := row{off: uint8(w.off), n: uint8(n), size: uint8(n)}
	if n > 0 {
		r.at = b.room(n)
		b.rows[v] = r
		copy(b.stored(r), w.words[w.off:w.end])
		return
	}
	b.rows[v] = r
}

// timeRow is what reaches all vertices to come, by their intervals. Graphs with
// intervals are ordered for that: see accel.Adjacency.Order.
type timeRow struct {
	p    *plan
	b    *band
	w    work
	over int32 // so many vertices, by their ends, are in it
	full bool
}

func (t *timeRow) advance(v int32) {
	for _, u := range t.p.c.s.TimeInSince(v, t.over) {
		t.w.add(t.b, t.b.rows[u])
	}
	t.over = max(t.over, t.p.c.s.Prior(v))
	for !t.p.c.full && t.w.off < t.w.end && t.w.words[t.w.off] == math.MaxUint64 {
		t.w.off++
	}
	t.full = t.w.off == t.b.words
}
