// Package chains stores the closure of a graph as vector clocks: for every vertex and every path
// of a path cover, the last position on the path that reaches the vertex. Since each vertex of a
// path reaches the next one, all earlier positions reach the vertex too. n vertices and k paths
// take 4·n·k bytes.
package chains

import (
	"context"
	"math"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/accel"
	"github.com/isohound/isohound/accel/parallel"
)

// Backend computes closures with the cover of the graph, or with its own if the graph has none.
type Backend struct{}

// Name returns chains.
func (Backend) Name() string { return "chains" }

// Memory is exact except for what Insert adds. If the graph has no cover, Memory computes one.
// For a graph with a cycle it is 0.
func (Backend) Memory(g *accel.Graph) int64 {
	if g.Cover != nil {
		return memory(g, g.Cover.Count)
	}
	if g.Validate() != nil {
		return 0
	}
	s, err := accel.Sort(g, nil)
	if err != nil {
		return 0
	}
	cover, err := Cover(context.Background(), s)
	if err != nil {
		return 0
	}
	return memory(g, cover.Count)
}

// memory returns the memory of the rows, the cover, the changes, and the sorted graph.
func memory(g *accel.Graph, k int32) int64 {
	n := int64(g.Len())
	bytes := 4*n*int64(k) + 12*int64(g.SourceCount()) + 4*int64(k+1) + 8*n + accel.SortedMemory(g)
	if g.Intervals != nil {
		bytes += 4 * int64(k)
	}
	if k >= wide {
		bytes += 4 * int64(len(g.From))
	}
	return bytes
}

// Closure holds the rows.
type Closure struct {
	s     *accel.Sorted
	cover *accel.Cover
	// The vertices of chain c are members[first[c]:first[c+1]].
	members, first []int32

	k       int
	rows    []int32
	bands   []band // for the first computation of the closure
	workers int

	passes  []*pass      // for insertions, one for each of the narrower bands
	news    []uint64     // by vertex: see Changed; nil before the first Insert
	touched []int32      // the vertices with news
	added   []accel.Edge // by the latest Insert
	fresh   bool         // nothing was inserted yet
}

// band is the chains from lo to hi, which one worker updates.
type band struct{ lo, hi int }

// Closure implements accel.Backend. A cover given with the graph is verified.
func (b Backend) Closure(ctx context.Context, g *accel.Graph, opt accel.Options) (accel.Closure, error) {
	if err := g.Validate(); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if g.Cover != nil {
		if err := within(g, g.Cover.Count, opt); err != nil {
			return nil, err
		}
	}
	s, err := accel.Sort(g, opt.Order)
	if err != nil {
		return nil, err
	}
	c := &Closure{s: s, cover: g.Cover, fresh: true, workers: parallel.Workers(opt.Workers)}
	if c.cover == nil {
		if c.cover, err = Cover(ctx, s); err != nil {
			return nil, err
		}
		if err := within(g, c.cover.Count, opt); err != nil {
			return nil, err
		}
	}
	if err := c.index(); err != nil {
		return nil, err
	}
	c.k = int(c.cover.Count)
	c.rows = make([]int32, int(g.Len())*c.k)
	c.bands = c.cut(64)
	if err := c.batch(ctx); err != nil {
		return nil, err
	}
	return c, nil
}

// most is more bytes than any machine has, but few enough that the request does not overflow.
const most = 1 << 46

func within(g *accel.Graph, k int32, opt accel.Options) error {
	limit := int64(most)
	if opt.MaxMemory > 0 {
		limit = min(limit, opt.MaxMemory)
	}
	if need := memory(g, k); need > limit {
		return &accel.MemoryError{Backend: Backend{}.Name(), Need: need, Limit: limit}
	}
	return nil
}

// index lists the vertices of each chain.
func (c *Closure) index() error {
	cover, n := c.cover, c.s.SourceCount()
	if cover.Count < 0 || cover.Count > n {
		return errors.Errorf("a cover of %d vertices cannot have %d paths", n, cover.Count)
	}
	c.first = make([]int32, cover.Count+1)
	for v, chain := range cover.Chain[:n] {
		if chain < 0 || chain >= cover.Count {
			return errors.Errorf("vertex %d lies on path %d of a cover of %d", v, chain, cover.Count)
		}
		c.first[chain+1]++
	}
	for i := range cover.Count {
		c.first[i+1] += c.first[i]
	}
	c.members = make([]int32, n)
	for i := range c.members {
		c.members[i] = -1
	}
	for v, chain := range cover.Chain[:n] {
		place, size := cover.Place[v], c.first[chain+1]-c.first[chain]
		if place < 1 || place > size {
			return errors.Errorf("vertex %d has place %d on a path of %d", v, place, size)
		}
		at := &c.members[c.first[chain]+place-1]
		if *at >= 0 {
			return errors.Errorf("vertices %d and %d have the same place on path %d", *at, v, chain)
		}
		*at = int32(v)
	}
	return nil
}

// cut makes bands of at least that many chains, one for each worker.
func (c *Closure) cut(least int) []band {
	parts := max(1, min(c.workers, c.k/least))
	bands := make([]band, parts)
	for i := range bands {
		bands[i] = band{c.k * i / parts, c.k * (i + 1) / parts}
	}
	return bands
}

// Backend implements accel.Closure.
func (c *Closure) Backend() string { return Backend{}.Name() }

// Rows implements accel.Closure.
func (c *Closure) Rows() accel.Rows { return c }

// Row implements accel.Rows.
func (c *Closure) Row(v int32) []int32 { return c.rows[int(v)*c.k : (int(v)+1)*c.k] }

// Prefetch implements accel.Rows.
func (c *Closure) Prefetch(from, to int32) int32 {
	rows := c.rows[int(from)*c.k : (int(to)+1)*c.k]
	sum := rows[len(rows)-1]
	for i := 0; i < len(rows); i += line {
		sum += rows[i]
	}
	return sum
}

// line is the number of entries in a cache line.
const line = 16

// Entry returns the last position of a chain that reaches v; 0 means none.
func (c *Closure) Entry(v, chain int32) int32 { return c.rows[int(v)*c.k+int(chain)] }

// Cover implements accel.Rows.
func (c *Closure) Cover() *accel.Cover { return c.cover }

// VertexAt returns the vertex at a position, from 1, on a chain.
func (c *Closure) VertexAt(chain, place int32) int32 { return c.members[c.first[chain]+place-1] }

// Rank implements accel.Closure.
func (c *Closure) Rank() []int32 { return c.s.Rank }

// Reaches implements accel.Closure.
func (c *Closure) Reaches(from, to int32) bool {
	return c.Entry(to, c.cover.Chain[from]) >= c.cover.Place[from]
}

// Class implements accel.Closure: the sources of a chain share a class, and so do chains whose
// numbers are equal modulo 64.
func (c *Closure) Class(from int32) uint64 { return 1 << (c.cover.Chain[from] & 63) }

// Changed implements accel.Closure.
func (c *Closure) Changed(v int32) uint64 {
	if c.fresh {
		return math.MaxUint64
	}
	return c.news[v]
}

// Bytes implements accel.Closure.
func (c *Closure) Bytes() int64 {
	bytes := 4*int64(cap(c.rows)+cap(c.members)+cap(c.first)+cap(c.touched)+cap(c.cover.Chain)+cap(c.cover.Place)) +
		8*int64(cap(c.news)+cap(c.added)) + c.s.Bytes()
	for _, p := range c.passes {
		bytes += p.bytes()
	}
	return bytes
}

// Close implements accel.Closure. There is nothing to free.
func (c *Closure) Close() {}
