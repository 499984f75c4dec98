package bitset

import (
	"context"
	"iter"
	"sync/atomic"

	"github.com/isohound/isohound/accel"
	"github.com/isohound/isohound/accel/internal/lanes"
	"github.com/isohound/isohound/accel/parallel"
)

// plan is the state shared by the computation of all bands. The band with the column of an
// edge's start decides whether the edge is redundant. Bands are computed from the last to the
// first, because a start's row is empty in later bands.
type plan struct {
	c *Closure
	// until has, for each vertex, the last rank of the vertices of which it is the latest
	// predecessor.
	until []int32
	// root is the last rank of a vertex without predecessors.
	root  int32
	moved atomic.Int64 // words
}

// batch computes all rows: each is the union of the rows of its predecessors (Purdom's algorithm
// in the opposite direction).
func (c *Closure) batch(ctx context.Context) error {
	p, err := c.plan(ctx)
	if err != nil {
		return err
	}
	err = parallel.Share(ctx, c.workers, len(c.bands), 1, func(numbers iter.Seq[int]) {
		for i := range numbers {
			newWork(p, &c.bands[len(c.bands)-1-i]).run(ctx)
		}
	})
	if c.moved == 0 {
		c.moved = 8 * p.moved.Load()
	}
	return err
}

// again computes all rows from scratch, with more edges. So many rows change that all count as
// changed.
func (c *Closure) again(ctx context.Context, edges []accel.Edge) error {
	s, err := accel.Sort(c.s.Merged(edges), nil)
	if err != nil {
		return err
	}
	c.s = s
	c.addLeads(edges)
	c.forget()
	c.fresh = true
	for i := range c.bands {
		c.bands[i].free()
	}
	return c.batch(ctx)
}

func (c *Closure) plan(ctx context.Context) (*plan, error) {
	s := c.s
	n := s.Len()
	in, err := s.LatestFirst(ctx, c.workers)
	if err != nil {
		return nil, err
	}
	c.in, c.spared = in, make([]uint64, (len(in)+63)/64)
	p := &plan{c: c, until: make([]int32, n), root: -1}
	for v := range n {
		list := c.in[s.Start[v]:s.Start[v+1]]
		if len(list) == 0 {
			p.root = max(p.root, s.Rank[v])
			continue
		}
		p.until[list[0]] = max(p.until[list[0]], s.Rank[v])
	}
	return p, nil
}

// work computes the rows of a band.
type work struct {
	*band
	p      *plan
	lo, hi int32 // columns
	row    union
	parts  []row
	time   union // union of the rows that reach all later vertices: see accel.Adjacency.Order
	over   int32 // how many vertices, sorted by their ends, are in time
	moved  int64
}

func newWork(p *plan, b *band) *work {
	b.rows = make([]row, p.c.s.Len())
	return &work{band: b, p: p, lo: int32(b.lo) << 6, hi: min(int32(b.lo+b.words)<<6, int32(len(p.c.at)))}
}

// run processes the vertices in topological order, from the first whose row may have a bit to
// the last whose row may not be full. A row is full if the row of any of its predecessors is
// full; the latest predecessor is checked.
func (w *work) run(ctx context.Context) {
	s, full := w.p.c.s, row{off: uint8(w.words)}
	first := s.Len()
	for _, v := range w.p.c.at[w.lo:w.hi] {
		first = min(first, s.Rank[v])
	}
	open := w.p.root // rows up to this rank may not be full
	for _, v := range s.Order[:first] {
		open = max(open, w.p.until[v])
	}
	for i := int(first); i < len(s.Order); i++ {
		if i&0xff == 0 && ctx.Err() != nil {
			return
		}
		if !w.p.c.full && (int32(i) > open || w.time.off == w.words) {
			for _, v := range s.Order[i:] {
				w.rows[v] = full
			}
			break
		}
		v := s.Order[i]
		if s.Intervals != nil {
			w.advance(v)
		}
		if w.compute(v); w.rows[v] != full {
			open = max(open, w.p.until[v])
		}
	}
	w.p.moved.Add(w.moved)
}

// advance adds to time the rows of the vertices that lie before v in time.
func (w *work) advance(v int32) {
	prior := w.p.c.s.Prior(v)
	if prior <= w.over {
		return
	}
	for _, u := range w.p.c.s.TimeInSince(v, w.over) {
		w.add(&w.time, w.rows[u])
	}
	w.trim(&w.time)
	w.over = prior
}

// compute computes the row of v.
func (w *work) compute(v int32) {
	own := int32(-1) // its column in the band
	if v < int32(len(w.p.c.column)) {
		if c := w.p.c.column[v]; c >= w.lo && c < w.hi {
			own = c - w.lo
		}
	}
	w.row.off, w.row.end = w.time.off, w.time.off
	if w.time.end > w.time.off {
		w.row.end = w.time.end
		copy(w.row.words[w.time.off:w.time.end], w.time.words[w.time.off:])
		w.moved += int64(w.time.end - w.time.off)
	}
	w.predecessors(v, w.row.end > 0)
	if w.row.off == w.words && !w.p.c.full {
		w.rows[v] = row{off: uint8(w.words)}
		return
	}
	if len(w.parts) > 0 && w.direct(v, own) {
		return
	}
	for _, r := range w.parts {
		w.add(&w.row, r)
	}
	if own >= 0 {
		at := int(own >> 6)
		w.row.extend(at + 1)
		if at >= w.row.off {
			w.row.words[at] |= 1 << (own & 63)
		}
	}
	w.trim(&w.row)
	w.store(v)
}

// predecessors adds the rows of those predecessors of v that no other predecessor reaches. It
// leaves in parts, for compute, the rows of predecessors without a column in this band.
func (w *work) predecessors(v int32, begun bool) {
	start := w.p.c.s.Start[v]
	in := w.p.c.in[start:w.p.c.s.Start[v+1]]
	spared := w.p.c.spared
	w.parts = w.parts[:0]
	stand := w.p.c.stand
	for i, u := range in {
		e := start + int64(i)
		if atomic.LoadUint64(&spared[e>>6])>>(e&63)&1 != 0 {
			continue
		}
		r := w.rows[u]
		if u < int32(len(stand)) && stand[u] >= w.lo && stand[u] < w.hi {
			if begun && w.row.has(int(stand[u]-w.lo)) {
				atomic.OrUint64(&spared[e>>6], 1<<(e&63))
				continue
			}
			for _, r := range w.parts {
				w.add(&w.row, r)
			}
			w.parts = w.parts[:0]
			w.add(&w.row, r)
			begun = true
		} else if r != (row{}) {
			w.parts = append(w.parts, r)
		}
		if int(r.off) == w.words {
			w.row.off = w.words
		}
	}
}

// direct computes the row of v in place, if it is only the union of parts and is long enough for
// that to be worthwhile.
func (w *work) direct(v, own int32) bool {
	const least = 16 // words
	if w.row.end > 0 {
		return false
	}
	off, end, longest := 0, 0, 0
	if own >= 0 {
		end = int(own>>6) + 1
	}
	for i, r := range w.parts {
		off, end = max(off, int(r.off)), max(end, r.end())
		if r.end() > w.parts[longest].end() {
			longest = i
		}
	}
	if end-off < least {
		return false
	}
	w.parts[0], w.parts[longest] = w.parts[longest], w.parts[0]
	off = w.leading(off, end)
	if end == off {
		return false
	}
	r := row{at: w.room(end - off), off: uint8(off), n: uint8(end - off), size: uint8(end - off)}
	dst := w.stored(r)
	n := len(w.after(w.parts[0], off))
	clear(dst[n:])
	if len(w.parts) == 1 {
		copy(dst, w.after(w.parts[0], off))
	} else {
		b := w.after(w.parts[1], off)
		lanes.OrTo(dst[:len(b)], w.after(w.parts[0], off)[:len(b)], b)
		copy(dst[len(b):], w.after(w.parts[0], off)[len(b):])
		for _, part := range w.parts[2:] {
			b := w.after(part, off)
			lanes.Or(dst[:len(b)], b)
		}
	}
	if at := int(own >> 6); own >= 0 && at >= off {
		dst[at-off] |= 1 << (own & 63)
	}
	for _, part := range w.parts {
		w.moved += int64(len(w.after(part, off)))
	}
	w.moved += int64(len(dst))
	w.rows[v] = r
	return true
}

// leading returns the first word in which the union of the parts is not full.
func (w *work) leading(off, end int) int {
	for ; !w.p.c.full && off < end; off++ {
		word := uint64(0)
		for _, part := range w.parts {
			if list := w.after(part, off); len(list) > 0 {
				word |= list[0]
			}
		}
		if word != everything {
			break
		}
	}
	return off
}

// after returns the stored words of a row, starting at a word.
func (b *band) after(r row, off int) []uint64 {
	words := b.stored(r)
	return words[min(off-int(r.off), len(words)):]
}

// trim skips leading full words.
func (w *work) trim(u *union) {
	for !w.p.c.full && u.off < u.end && u.words[u.off] == everything {
		u.off++
	}
}

// store stores the row of v.
func (w *work) store(v int32) {
	n := w.row.end - w.row.off
	r := row{off: uint8(w.row.off), n: uint8(n), size: uint8(n)}
	if n > 0 {
		r.at = w.room(n)
		copy(w.stored(r), w.row.words[w.row.off:w.row.end])
		w.moved += int64(n)
	}
	w.rows[v] = r
}
