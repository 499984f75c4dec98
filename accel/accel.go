// Package accel answers which vertices of a directed acyclic graph reach which,
// again and again while edges are added. It knows nothing of transactions.
//
// A Backend computes a Closure of a graph. Three keep it in different ways:
//
//   - accel/chains: for every vertex and every path of a path cover the last
//     place of the path that reaches the vertex (vector clocks);
//   - accel/bitset: a row of bits for every vertex, in blocks, and where vertices
//     have intervals only the part that these leave open (the compact closure
//     of the Vbox paper, section 4.4);
//   - accel/cuda: the rows of bits on a GPU.
//
// All are exact and agree. A graph with a cycle has no closure: the cycle is the
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
	Start []int64 // one more than there are vertices
	From  []int32

	// Sources is how many of the vertices, the first ones, are asked about as the
	// source of a path; 0 means all. The others may lie on paths, and lead
	// nowhere that anybody asks for.
	Sources int32

	// Pairs says that sources 2k and 2k+1 are a pair: an edge leads from its first
	// to its second, and all edges out of a first lead to seconds. Then what a first
	// reaches follows from what its few successors reach. With intervals a second
	// ends no later than its first.
	Pairs bool

	// Cover, if set, is a path cover of the sources that is known already.
	Cover *Cover

	// Intervals, if set, gives every vertex its closed interval of time. Each
	// vertex then has an edge to every other that begins strictly after its end,
	// though no row says so. Backends use these edges without
	// ever listing them.
	Intervals []Interval
}

// Interval is a closed interval of time, in any unit. MinInt64 and MaxInt64 are
// for what begins before everything and never ends.
type Interval struct{ Begin, End int64 }

// Always is the interval that no other lies before or behind.
var Always = Interval{math.MinInt64, math.MaxInt64}

// Cover is a set of disjoint paths that together have all sources of a graph:
// each vertex of a path reaches the next one.
type Cover struct {
	Chain []int32 // by source: its path, from 0
	Place []int32 // by source: its place on the path, from 1
	Count int32   // of paths
}

// Len returns the number of vertices.
func (g *Graph) Len() int32 { return int32(len(g.Start) - 1) }

// SourceCount returns the number of vertices that are asked about as sources.
func (g *Graph) SourceCount() int32 {
	if g.Sources == 0 {
		return g.Len()
	}
	return g.Sources
}

// Into returns where the edges into v come from.
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

// Validate reports what about g makes no sense.
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

// unpaired reports whether there may be no edge from u to v because of pairs.
func (g *Graph) unpaired(u, v int32) bool {
	n := g.SourceCount()
	return g.Pairs && u < n && u&1 == 0 && (v >= n || v&1 == 0)
}

// Before reports whether the interval of u, where the graph has intervals, lies
// before that of v.
func (g *Graph) Before(u, v int32) bool {
	return g.Intervals != nil && g.Intervals[u].End < g.Intervals[v].Begin
}

// Backend computes closures in one way.
type Backend interface {
	// Name is what users call it: chains, bitset, cuda.
	Name() string
	// Memory returns the bytes that a closure of g takes at most, over those of
	// the graph itself and edges that are inserted, without computing it.
	Memory(g *Graph) int64
	// Closure computes the closure of g, which it keeps and does not change. The
	// error is a *CycleError, a *MemoryError, the cause of the context's end, or
	// what g.Validate says.
	Closure(ctx context.Context, g *Graph, opt Options) (Closure, error)
}

// Options are wishes for a closure. The zero value has none.
type Options struct {
	// MaxMemory bounds the bytes that the closure may take; 0 is no bound. What
	// would take more is refused before it is begun, with a *MemoryError.
	MaxMemory int64
	// Workers is how many goroutines share the work; 0 is as many as there are
	// processors.
	Workers int
	// Order, if it is a topological order of the graph, spares the computing of
	// one. If it is none, one is computed.
	Order []int32
}

// Closure answers which vertices reach which. Questions may be asked by many
// goroutines at once, but not while Insert runs.
type Closure interface {
	// Backend returns the name of the backend that keeps the closure.
	Backend() string

	// Reaches reports whether there is a path, of no edge or more, from a source
	// to a vertex.
	Reaches(from, to int32) bool

	// Insert adds edges. Where they close a cycle the error is a *CycleError, and
	// the closure is as it was, as with an edge that joins no vertices of the
	// graph or that pairs do not allow. After the context's end it is of no more use.
	Insert(ctx context.Context, edges []Edge) error
	// Changed returns the classes of the sources that came to reach a vertex by the
	// latest Insert, as bits. It may return more classes, or all of them: before the
	// first Insert, and after one of many edges.
	Changed(v int32) uint64
	// Class returns the class of a source, as one bit. Which sources share a class is
	// the backend's own choice.
	Class(from int32) uint64
	// Rank returns by vertex its place in a topological order, until the next
	// Insert. Places may leave gaps.
	Rank() []int32

	// Closing reports for each group of edges whether any of them, added alone,
	// would close a cycle: edges[groups[i]:groups[i+1]] sets out[i]. Edges must
	// end at sources.
	Closing(ctx context.Context, edges []Edge, groups []int32, out []bool) error
	// Among computes, for each group of sources, which of them reach which: see
	// Groups.
	Among(ctx context.Context, groups *Groups) error
	// TwoCycles calls f for every two edges, by their indices, that close a cycle
	// if both are added: from the end of each a path leads to the start of the
	// other. i is before j, and the pairs come in ascending order. Edges must end
	// at sources. It stops when f returns false.
	TwoCycles(ctx context.Context, edges []Edge, f func(i, j int32) bool) error

	// Common calls f for sources that reach all of some vertices and do not reach
	// another one. Of pairs they are second ones. It prefers sources that the others
	// reach, and may leave sources out.
	Common(of []int32, not int32, f func(from int32))
	// Rows returns the rows of a closure that keeps them along chains, and else nil.
	Rows() Rows

	// Bytes is the memory that the closure holds.
	Bytes() int64
	// Close frees what the closure holds outside Go's memory.
	Close()
}

// Rows are the rows of a closure in main memory, one for each vertex.
type Rows interface {
	// Cover returns the chains along which the rows are kept.
	Cover() *Cover
	// Row returns by chain the last place that reaches v; 0 is none. v reaches itself.
	Row(v int32) []int32
	// Prefetch reads the rows from one vertex up to another, so that they are in the
	// processor's cache when they are needed. The number that it returns means nothing.
	Prefetch(from, to int32) int32
}

// Groups are groups of sources, and which members of a group reach which, as
// bits. Of the first of a pair they need not tell which first ones reach it; the answer
// is quickest where the second ones are the first members of their group.
type Groups struct {
	Start   []int32 // one more than there are groups
	Members []int32 // those of group i are Members[Start[i]:Start[i+1]]
	// Bits has a matrix for each group, from word At[i] on: each of its members
	// has a row of (members+63)/64 words, in which bit b says that member b
	// reaches it.
	Bits []uint64
	At   []int64
}

// Layout makes room for the bits, which are 0 then.
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

// CycleError is a cycle of a graph: there is an edge from each of the vertices to
// the next one, and from the last to the first.
type CycleError struct{ Vertices []int32 }

func (e *CycleError) Error() string {
	const most = 8
	if len(e.Vertices) > most {
		return fmt.Sprintf("the graph has a cycle of %d vertices, through %v", len(e.Vertices), e.Vertices[:most])
	}
	return fmt.Sprintf("the graph has a cycle: %v", e.Vertices)
}

// MemoryError says that a closure would take more memory than it may.
type MemoryError struct {
	Backend     string
	Need, Limit int64 // bytes
}

func (e *MemoryError) Error() string {
	return fmt.Sprintf("backend %s needs %d bytes for the closure, and may take %d", e.Backend, e.Need, e.Limit)
}
