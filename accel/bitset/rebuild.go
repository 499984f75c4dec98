package bitset

import (
	"context"
	"math"
	"sync"
	"sync/atomic"

	"github.com/isohound/isohound/accel"
)

// many is the inverse of the share of the vertices that new edges have to be for
// all rows to be computed anew: going from row to row costs about thirty times as
// much for each as computing all does, and few new edges change most rows.
const many = 64

// rebuild computes all rows anew, and notes what is new in them. Bands are in
// memory twice only while they are compared.
func (c *Closure) rebuild(ctx context.Context) error {
	if err := c.s.Merge(); err != nil {
		return err
	}
	p := c.plan()
	var mu sync.Mutex
	return accel.Share(ctx, c.workers, len(c.bands), 1, func(lo, _ int) {
		b := &c.bands[len(c.bands)-1-lo]
		old := *b
		b.chunks, b.used, b.held, b.chunk = nil, 0, 0, 0
		newWork(p, b).run(ctx)
		if ctx.Err() != nil {
			return
		}
		var touched []int32
		for v := range c.s.Len() {
			if bits := b.since(&old, v); bits != 0 && atomic.OrUint64(&c.news[v], bits) == 0 {
				touched = append(touched, v)
			}
		}
		old.free()
		mu.Lock()
		defer mu.Unlock()
		c.touched = append(c.touched, touched...)
	})
}

// since returns the bits, of all words together, that the row of v has and had
// not in an earlier form of the band.
func (b *band) since(old *band, v int32) uint64 {
	now, then := b.rows[v], old.rows[v]
	words, before := b.stored(now), old.stored(then)
	bits := uint64(0)
	for i := int(then.off); i < now.end() && bits != math.MaxUint64; i++ {
		word := uint64(math.MaxUint64)
		if i >= int(now.off) {
			word = words[i-int(now.off)]
		}
		if at := i - int(then.off); at < len(before) {
			word &^= before[at]
		}
		bits |= word
	}
	return bits
}
