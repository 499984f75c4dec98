// Package accel answers which vertices of a directed acyclic graph reach which, while edges are
// added. It is independent of transactions.
//
// A Backend computes a Closure of a graph. There are three backends:
//
//   - accel/chains: for every vertex and every path of a path cover, the last
//     position on the path that reaches the vertex (vector clocks);
//   - accel/bitset: a row of bits for every vertex, in blocks; if vertices have
//     intervals, only the part of a row that the intervals do not decide (the
//     compact closure of the Vbox paper, section 4.4);
//   - accel/cuda: the rows of bits on a GPU.
//
// All are exact and agree. A graph with a cycle has no closure: the cycle is returned as the
// error.
package accel

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/pkg/errors"
)

// Edge leads from one vertex to another.
type Edge struct{ From, To int32 }

// Graph is a directed graph in compressed rows: the edges into vertex v come
// from From[Start[v]:Start[v+1]]. Edges may occur several times.
type Graph struct {
	Start []int64 // one more entry than there are vertices
	From  []int32

	// Sources is the number of vertices that may be the source of a query; these are the first
	// vertices. 0 means all. The other vertices may only lie on paths between sources and
	// queried vertices.
	Sources int32

	// Pairs says that sources 2k and 2k+1 are a pair: an edge leads from the first (2k) to the
	// second (2k+1), and all edges out of a first lead to seconds. Then what a first reaches
	// follows from what its few successors reach. With intervals, a second ends no later than
	// its first.
	Pairs bool

	// Cover, if set, is a known path cover of the sources.
	Cover *Cover

	// Intervals, if set, gives every vertex its closed interval of time. Each vertex then has an
	// implicit edge to every other that begins strictly after its end. Backends use these edges
	// without listing them.
	Intervals []Interval
}

// Interval is a closed interval of time, in any unit. MinInt64 stands for a begin before
// everything, MaxInt64 for no end.
type Interval struct{ Begin, End int64 }

// Always is the interval that is neither before nor after any other.
var Always = Interval{math.MinInt64, math.MaxInt64}

// Cover is a set of disjoint paths that together contain all sources of a graph: each vertex of
// a path reaches the next one.
type Cover struct {
	Chain []int32 // by source: the number of its path, from 0
	Place []int32 // by source: its position on the path, from 1
	Count int32   // number of paths
}

// Len returns the number of vertices.
func (g *Graph) Len() int32 { return int32(len(g.Start) - 1) }

// SourceCount returns the number of sources.
func (g *Graph) SourceCount() int32 {
	if g.Sources == 0 {
		return g.Len()
	}
	return g.Sources
}

// Into returns the start vertices of the edges into v.
func (g *Graph) Into(v int32) []int32 { return g.From[g.Start[v]:g.Start[v+1]] }

// NewGraph returns the graph with n vertices and some edges.
func NewGraph(n int32, edges []Edge) *Graph {
	g := &Graph{Start: make([]int64, n+1), From: make([]int32, len(edges))}
	for _, e := range edges {
		g.Start[e.To+1]++
	}
	for v := range n {
		g.Start[v+1] += g.Start[v]
	}
	next := append([]int64(nil), g.Start[:n]...)
	for _, e := range edges {
		g.From[next[e.To]] = e.From
		next[e.To]++
	}
	return g
}

// Validate reports errors in g.
func (g *Graph) Validate() error {
	n := g.Len()
	switch {
	case n < 0:
		return errors.New("a graph needs one more start of a row than it has vertices")
	case g.Start[0] != 0 || g.Start[n] != int64(len(g.From)):
		return errors.New("the rows of a graph do not begin and end with its edges")
	case g.Sources < 0 || g.Sources > n:
		return errors.Errorf("a graph of %d vertices cannot have %d sources", n, g.Sources)
	case g.Intervals != nil && len(g.Intervals) != int(n):
		return errors.Errorf("a graph of %d vertices has %d intervals", n, len(g.Intervals))
	case g.Cover != nil && (len(g.Cover.Chain) < int(g.SourceCount()) || len(g.Cover.Place) < int(g.SourceCount())):
		return errors.Errorf("a cover of %d vertices does not cover %d sources", min(len(g.Cover.Chain), len(g.Cover.Place)), g.SourceCount())
	}
	for v := range n {
		if g.Start[v] > g.Start[v+1] {
			return errors.Errorf("the row of vertex %d ends before it begins", v)
		}
	}
	for _, u := range g.From {
		if u < 0 || u >= n {
			return errors.Errorf("an edge comes from %d, and there are %d vertices", u, n)
		}
	}
	for v, i := range g.Intervals {
		if i.End < i.Begin {
			return errors.Errorf("vertex %d ends before it begins", v)
		}
	}
	if g.Pairs {
		return g.validatePairs()
	}
	return nil
}

func (g *Graph) validatePairs() error {
	n := g.SourceCount()
	if n%2 != 0 {
		return errors.Errorf("%d sources are not pairs", n)
	}
	for v := range g.Len() {
		for _, u := range g.Into(v) {
			if g.unpaired(u, v) {
				return errors.Errorf("an edge leads from %d to %d, from the first of a pair to what is no second one", u, v)
			}
		}
	}
	for v := int32(1); v < n; v += 2 {
		if !slices.Contains(g.Into(v), v-1) {
			return errors.Errorf("no edge leads from %d to %d, which are a pair", v-1, v)
		}
		if g.Intervals != nil && g.Intervals[v].End > g.Intervals[v-1].End {
			return errors.Errorf("vertex %d, the second of a pair, ends later than the first", v)
		}
	}
	return nil
}

// unpaired reports whether g.Pairs forbids an edge from u to v.
func (g *Graph) unpaired(u, v int32) bool {
	n := g.SourceCount()
	return g.Pairs && u < n && u&1 == 0 && (v >= n || v&1 == 0)
}

// Before reports whether the graph has intervals and that of u lies before that of v.
func (g *Graph) Before(u, v int32) bool {
	return g.Intervals != nil && g.Intervals[u].End < g.Intervals[v].Begin
}

// Backend computes closures with one method.
type Backend interface {
	// Name is what users call it: chains, bitset, cuda.
	Name() string
	// Memory returns an upper bound of the bytes of a closure of g, without computing it. The
	// graph itself and inserted edges are not included.
	Memory(g *Graph) int64
	// Closure computes the closure of g. It keeps g and does not change it. The error is a
	// *CycleError, a *MemoryError, the cause of the context's end, or an error of g.Validate.
	Closure(ctx context.Context, g *Graph, opt Options) (Closure, error)
}

// Options are options for a closure. The zero value sets none.
type Options struct {
	// MaxMemory bounds the bytes of the closure; 0 is no bound. A closure that would need more
	// is refused before the computation starts, with a *MemoryError.
	MaxMemory int64
	// Workers is the number of goroutines that share the work; 0 means one per processor.
	Workers int
	// Order may be a topological order of the graph; then it need not be computed. If Order is
	// not a topological order, one is computed.
	Order []int32
}

// Closure answers which vertices reach which. Many goroutines may query it at once, but not
// during Insert.
type Closure interface {
	// Backend returns the name of the backend of the closure.
	Backend() string

	// Reaches reports whether there is a path, possibly empty, from a source to a vertex.
	Reaches(from, to int32) bool

	// Insert adds edges. If they close a cycle, the error is a *CycleError. The closure is then
	// unchanged; the same holds for an edge with an invalid vertex or one that Pairs forbids.
	// After the end of the context the closure must not be used any more.
	Insert(ctx context.Context, edges []Edge) error
	// Changed returns, as bits, the classes of the sources that newly reach a vertex since the
	// latest Insert. It may return more classes than that. It may return all of them, for
	// example before the first Insert or after one with many edges.
	Changed(v int32) uint64
	// Class returns the class of a source, as one bit. The backend chooses which sources share a
	// class.
	Class(from int32) uint64
	// Rank returns for each vertex its rank in a topological order, valid until the next Insert.
	// Ranks may have gaps.
	Rank() []int32

	// Closing reports for each group of edges whether any of them, added alone, would close a
	// cycle: edges[groups[i]:groups[i+1]] sets out[i]. Edges must end at sources.
	Closing(ctx context.Context, edges []Edge, groups []int32, out []bool) error
	// Among computes, for each group of sources, which of them reach which: see
	// Groups.
	Among(ctx context.Context, groups *Groups) error
	// TwoCycles calls f for every two edges, by index, that close a cycle if both are added:
	// from the end of each a path leads to the start of the other. i is less than j, and the
	// pairs come in ascending order. Edges must end at sources. It stops when f returns false.
	TwoCycles(ctx context.Context, edges []Edge, f func(i, j int32) bool) error

	// Common calls f for sources that reach all vertices in of and do not reach not. If the
	// sources are pairs, f only gets seconds. It prefers sources that the others reach, and may
	// leave sources out.
	Common(of []int32, not int32, f func(from int32))
	// Rows returns the rows of a closure that stores them by chains, else nil.
	Rows() Rows

	// Bytes is the memory that the closure holds.
	Bytes() int64
	// Close frees what the closure holds outside Go's memory.
	Close()
}

// Rows are the rows of a closure in main memory, one for each vertex.
type Rows interface {
	// Cover returns the chains of the rows.
	Cover() *Cover
	// Row returns, for each chain, the last position that reaches v; 0 means none. v reaches
	// itself.
	Row(v int32) []int32
	// Prefetch reads the rows of a range of vertices, so that they are in the processor's cache
	// when they are needed. The returned number has no meaning.
	Prefetch(from, to int32) int32
}

// Groups are groups of sources, with bits that tell which members of a group reach which. For
// the first of a pair, bits of other firsts may be missing. Queries are fastest if the seconds
// come first in their group.
type Groups struct {
	Start   []int32 // one more than there are groups
	Members []int32 // those of group i are Members[Start[i]:Start[i+1]]
	// Bits has a matrix for each group, starting at word At[i]. Each member has a row of
	// (members+63)/64 words; bit b of the row says that member b reaches it.
	Bits []uint64
	At   []int64
}

// Layout allocates the bits, set to 0.
func (g *Groups) Layout() {
	g.At = append(g.At[:0], 0)
	for i := range len(g.Start) - 1 {
		m := int64(g.Start[i+1] - g.Start[i])
		g.At = append(g.At, g.At[i]+m*((m+63)/64))
	}
	need := int(g.At[len(g.At)-1])
	if cap(g.Bits) < need {
		g.Bits = make([]uint64, need)
	}
	g.Bits = g.Bits[:need]
	clear(g.Bits)
}

// Reaches reports whether member a of group i reaches member b.
func (g *Groups) Reaches(i int, a, b int32) bool {
	words := int64(g.Start[i+1]-g.Start[i]+63) / 64
	return g.Bits[g.At[i]+int64(b)*words+int64(a>>6)]>>(uint32(a)&63)&1 != 0
}

// CycleError is a cycle of a graph: an edge leads from each of the vertices to the next one, and
// from the last to the first.
type CycleError struct{ Vertices []int32 }

func (e *CycleError) Error() string {
	const most = 8
	if len(e.Vertices) > most {
		return fmt.Sprintf("the graph has a cycle of %d vertices, through %v", len(e.Vertices), e.Vertices[:most])
	}
	return fmt.Sprintf("the graph has a cycle: %v", e.Vertices)
}

// MemoryError says that a closure would exceed its memory limit.
type MemoryError struct {
	Backend     string
	Need, Limit int64 // bytes
}

func (e *MemoryError) Error() string {
	return fmt.Sprintf("backend %s needs %d bytes for the closure, and the limit is %d", e.Backend, e.Need, e.Limit)
}
