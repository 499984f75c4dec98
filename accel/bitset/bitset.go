// Package bitset keeps the closure of a graph as a matrix of bits: the row of a
// vertex has a bit for every source, which says that the source reaches it. Of pairs
// only the second ones have bits.
//
// The columns stand in the order of the first topological order, or of the
// intervals' begins, so that the matrix is nearly a triangle. Most of what is
// early reaches most of what is late: a row begins behind its leading words that
// are full, and ends with its last bit. Where vertices have intervals that
// leaves of each row at most the columns that overlap with it, and is the
// compact closure of the Vbox paper (section 4.4).
//
// The matrix is cut into bands of columns, each of which has its rows together:
// those that are in use at one time then fit into a processor's cache, and bands
// are what workers share.
package bitset

import (
	"context"
	"math"

	"github.com/isohound/isohound/accel"
	"github.com/isohound/isohound/accel/parallel"
)

// Backend computes closures.
type Backend struct {
	// Full keeps the leading full words of rows, too. That is for comparison.
	Full bool

	band  int  // words of a band; 0: by size
	tight bool // rows are compacted with every Insert
}

// Name returns bitset.
func (Backend) Name() string { return "bitset" }

// Closure has the matrix.
type Closure struct {
	g    *accel.Graph // as it was given
	s    *accel.Sorted
	full bool

	column []int32 // by source, -1 for the first of a pair, which has none
	at     []int32 // by column: the source
	// stand has by source the column that says whether a vertex has the row of the
	// source in its own: for the first of a pair that of the second.
	stand []int32
	leads *leads // nil without pairs

	width   int // words
	shift   int // a band has 1<<shift words
	bands   []band
	bound   int // words that a band may hold
	many    int // edges, to compute all again
	moved   int64
	workers int

	// in are the edges of the graph into each vertex, the latest start first.
	in []int32
	// spared has by vertex the first 64 of these, as bits, that others make
	// redundant.
	spared []uint64

	passes  []*pass      // one for each worker
	news    []uint64     // by vertex: see Changed
	touched []int32      // the vertices with news
	added   []accel.Edge // by the latest Insert
	fresh   bool         // all rows were computed last
}

// Closure implements accel.Backend.
func (b Backend) Closure(ctx context.Context, g *accel.Graph, opt accel.Options) (accel.Closure, error) {
	if err := g.Validate(); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if need := b.Memory(g); opt.MaxMemory > 0 && need > opt.MaxMemory {
		return nil, &accel.MemoryError{Backend: b.Name(), Need: need, Limit: opt.MaxMemory}
	}
	s, err := accel.Sort(g, opt.Order)
	if err != nil {
		return nil, err
	}
	c := &Closure{g: g, s: s, full: b.Full, workers: parallel.Workers(opt.Workers), fresh: true}
	c.columns()
	c.news = make([]uint64, g.Len())
	c.many = max(16, int(g.Len())/16)
	if c.cut(b.band); b.tight {
		c.bound, c.many = 0, math.MaxInt
	}
	if err := c.batch(ctx); err != nil {
		return nil, err
	}
	return c, nil
}

// columns gives every source its column.
func (c *Closure) columns() {
	n := c.s.SourceCount()
	c.column, c.at = make([]int32, n), make([]int32, 0, n)
	for v := range c.column {
		c.column[v] = -1
	}
	list := c.s.Order
	if c.s.Intervals != nil {
		list = c.s.Begins()
	}
	for _, v := range list {
		if v < n && !(c.g.Pairs && v&1 == 0) {
			c.column[v] = int32(len(c.at))
			c.at = append(c.at, v)
		}
	}
	c.width = (len(c.at) + 63) / 64
	if c.stand = c.column; c.g.Pairs {
		c.stand = make([]int32, n)
		for v := range c.stand {
			c.stand[v] = c.column[v|1]
		}
		c.findLeads()
	}
}

// Backend implements accel.Closure.
func (c *Closure) Backend() string { return Backend{}.Name() }

// Rank implements accel.Closure.
func (c *Closure) Rank() []int32 { return c.s.Rank }

// Rows implements accel.Closure: a matrix has none.
func (c *Closure) Rows() accel.Rows { return nil }

// row puts the row of v into out, which has width words: see word.
func (c *Closure) row(v int32, out []uint64) {
	for i := range c.bands {
		b := &c.bands[i]
		r := b.rows[v]
		to := out[b.lo : b.lo+b.words]
		for w := range to[:r.off] {
			to[w] = math.MaxUint64
		}
		clear(to[int(r.off)+copy(to[r.off:], b.stored(r)):])
	}
}

// word returns a word of the row of v: bit i of word w says that the source with
// column 64·w+i reaches v. v reaches itself. Bits behind the last column mean
// nothing.
func (c *Closure) word(v int32, w int) uint64 {
	b := &c.bands[w>>c.shift]
	r := b.rows[v]
	k := w&(1<<c.shift-1) - int(r.off)
	if k < 0 {
		return math.MaxUint64
	}
	if k < int(r.n) {
		return b.chunks[r.at>>chunkBits][int(r.at&(1<<chunkBits-1))+k]
	}
	return 0
}

// Reaches implements accel.Closure.
func (c *Closure) Reaches(from, to int32) bool {
	column := c.column[from]
	if column < 0 {
		return c.leadsTo(from, to)
	}
	return c.set(column, to)
}

// Class implements accel.Closure: columns share a class that are the same modulo 64,
// and so do pairs.
func (c *Closure) Class(from int32) uint64 { return 1 << (c.stand[from] & 63) }

// Changed implements accel.Closure. Where the first of some pair may reach more than
// its second does, any of them may have come to reach v.
func (c *Closure) Changed(v int32) uint64 {
	if c.fresh || c.leads != nil && len(c.leads.column) > 0 {
		return math.MaxUint64
	}
	return c.news[v]
}

// Moved returns the bytes of rows that computing the closure has read and
// written, Insert not counted.
func (c *Closure) Moved() int64 { return c.moved }

// Close implements accel.Closure. The memory serves the next closures.
func (c *Closure) Close() {
	for i := range c.bands {
		c.bands[i].free()
	}
	c.bands = nil
}
