// Package bitset stores the closure of a graph as a bit matrix: the row of a vertex has a bit
// for every source, which says that the source reaches it. Of pairs only the seconds have bits.
//
// The columns are in the order of the first topological order, or of the intervals' begins. So
// the matrix is nearly triangular, and most early vertices reach most late ones. The stored part
// of a row begins after its leading full words, and ends with its last bit. With intervals, at
// most the columns that overlap with the row remain; this is the compact closure of the Vbox
// paper (section 4.4).
//
// The matrix is divided into bands of columns. The rows of a band are stored together, so that
// the rows in use at one time fit into a processor's cache. Workers share the work by bands.
package bitset

import (
	"context"
	"math"

	"github.com/isohound/isohound/accel"
	"github.com/isohound/isohound/accel/parallel"
)

// Backend computes closures.
type Backend struct {
	// Full stores the leading full words of rows too, for comparison.
	Full bool

	band  int  // words of a band; 0: chosen by size
	tight bool // compact rows at every Insert
}

// Name returns bitset.
func (Backend) Name() string { return "bitset" }

// Closure holds the matrix.
type Closure struct {
	g    *accel.Graph // as it was given
	s    *accel.Sorted
	full bool

	column []int32 // by source, -1 for the first of a pair, which has none
	at     []int32 // by column: the source
	// stand has for each source the column used to ask whether the source reaches a vertex: for
	// the first of a pair it is that of the second.
	stand []int32
	leads *leads // nil without pairs

	width   int // words
	shift   int // a band has 1<<shift words
	bands   []band
	bound   int // words that a band may hold
	many    int // from this number of edges on, all rows are recomputed
	moved   int64
	workers int

	// in are the edges of the graph into each vertex, the latest start first.
	in []int32
	// spared marks, as bits, which edges in in are redundant.
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

// columns assigns every source its column.
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

// Rows implements accel.Closure. A bit matrix has no rows by chains.
func (c *Closure) Rows() accel.Rows { return nil }

// row copies the row of v into out, which has width words: see word.
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

// word returns a word of the row of v: bit i of word w says that the source with column 64·w+i
// reaches v. v reaches itself. Bits after the last column are undefined.
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

// Class implements accel.Closure: columns that are equal modulo 64 share a class, and so do the
// two sources of a pair.
func (c *Closure) Class(from int32) uint64 { return 1 << (c.stand[from] & 63) }

// Changed implements accel.Closure. The first of a pair may reach more than its second does. If
// such a pair may exist, any first may have come to reach v.
func (c *Closure) Changed(v int32) uint64 {
	if c.fresh || c.leads != nil && len(c.leads.column) > 0 {
		return math.MaxUint64
	}
	return c.news[v]
}

// Moved returns the bytes of rows that the first computation of the closure read and wrote,
// without Insert.
func (c *Closure) Moved() int64 { return c.moved }

// Close implements accel.Closure. The memory is reused by later closures.
func (c *Closure) Close() {
	for i := range c.bands {
		c.bands[i].free()
	}
	c.bands = nil
}
