// Package bitset keeps the closure of a graph as a matrix of bits: the row of a
// vertex has a bit for every source, which says that the source reaches it.
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
	"runtime"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/accel"
)

// Backend computes closures.
type Backend struct {
	// Group, a power of two up to 64, says that vertices k·Group to
	// (k+1)·Group-1 belong together: they have neighbouring columns in one word.
	// 0 is 1.
	Group int32
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

	column []int32 // by source
	at     []int32 // by column: the source, or -1
	group  int32

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
	fresh   bool         // nothing was inserted yet
}

// Closure implements accel.Backend.
func (b Backend) Closure(ctx context.Context, g *accel.Graph, opt accel.Options) (accel.Closure, error) {
	if err := g.Validate(); err != nil {
		return nil, err
	}
	group := max(1, b.Group)
	if group > 64 || group&(group-1) != 0 {
		return nil, errors.Errorf("groups of %d vertices do not fit into words; a power of two up to 64 does", group)
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
	c := &Closure{g: g, s: s, full: b.Full, group: group, workers: opt.Workers, fresh: true}
	if c.workers <= 0 {
		c.workers = runtime.GOMAXPROCS(0)
	}
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

// columns gives every group of sources its columns.
func (c *Closure) columns() {
	n := c.s.SourceCount()
	groups := (n + c.group - 1) / c.group
	c.column, c.at = make([]int32, n), make([]int32, groups*c.group)
	for i := range c.column {
		c.column[i] = -1
	}
	for i := range c.at {
		c.at[i] = -1
	}
	next := int32(0)
	list := c.s.Order
	if c.s.Intervals != nil {
		list = c.s.Begins()
	}
	for _, v := range list {
		if v >= n || c.column[v] >= 0 {
			continue
		}
		first := v &^ (c.group - 1)
		for u := first; u < min(first+c.group, n); u++ {
			c.column[u] = next + u - first
			c.at[c.column[u]] = u
		}
		next += c.group
	}
	c.width = (len(c.at) + 63) / 64
}

// own returns the bits of a source's own column in its word. Columns without a
// source count as those of the source before them.
func (c *Closure) own(v int32) uint64 {
	column := c.column[v]
	bits := uint64(1) << (column & 63)
	if v == int32(len(c.column))-1 {
		for column++; column&(c.group-1) != 0; column++ {
			bits |= 1 << (column & 63)
		}
	}
	return bits
}

// Width returns the words of a row.
func (c *Closure) Width() int { return c.width }

// Column returns the column of a source.
func (c *Closure) Column(v int32) int32 { return c.column[v] }

// VertexAt returns the source that has a column, -1 for one that none has.
func (c *Closure) VertexAt(column int32) int32 { return c.at[column] }

// Columns returns how many columns there are.
func (c *Closure) Columns() int32 { return int32(len(c.at)) }

// Rank returns by vertex its place in a topological order, until the next
// Insert.
func (c *Closure) Rank() []int32 { return c.s.Rank }

// Word returns a word of the row of v: bit i of word w says that the source with
// column 64·w+i reaches v. v reaches itself. Bits of columns that no source has
// mean nothing.
func (c *Closure) Word(v int32, w int) uint64 {
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
	return c.Word(to, int(column>>6))>>(column&63)&1 != 0
}

// Changed implements accel.Closure: columns share a bit that are the same modulo
// 64.
func (c *Closure) Changed(v int32) uint64 {
	if c.fresh {
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
