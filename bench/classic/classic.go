// Package classic has the algorithms that Figure 8 of the Vbox paper compares, for the same
// comparison: Warshall's, Purdom's and Italiano's, which keep a full matrix, and Purdom+ and
// Italiano+, which keep only vertices that overlap (section 4.4 of the paper). They are
// implemented as in the paper, with one byte for each pair and one goroutine. isohound itself
// does not use them; it uses accel/bitset.
//
// The paper has an edge from i to j if e(i) <= s(j). Here intervals are closed, and the end of i
// must be strictly before the begin of j.
package classic

import (
	"cmp"
	"context"
	"slices"

	"github.com/isohound/isohound/accel"
)

// Closure says which vertices reach which.
type Closure interface {
	// Reaches reports whether there is a path, possibly empty.
	Reaches(from, to int32) bool
	// Insert adds an edge. If that would close a cycle, it returns false and adds nothing. Only
	// Italiano's algorithms do not recompute the closure.
	Insert(ctx context.Context, e accel.Edge) (bool, error)
	// Bytes is the memory of the matrix.
	Bytes() int64
}

// Algorithm is an algorithm to construct a closure.
type Algorithm struct {
	// Name is the name in the paper.
	Name string
	// Compact says that it keeps the compact closure.
	Compact bool
	// Build constructs the closure of an acyclic graph; for a graph with a cycle the result is
	// wrong. The error is the cause of the context's end.
	Build func(ctx context.Context, g *accel.Graph) (Closure, error)
}

// Algorithms are those of Figure 8(a), in its order.
var Algorithms = []Algorithm{
	{"Warshall", false, Warshall}, {"Purdom", false, Purdom}, {"Italiano", false, Italiano},
	{"Purdom+", true, PurdomPlus}, {"Italiano+", true, ItalianoPlus},
}

// Memory returns the bytes that the matrix of g takes.
func (a *Algorithm) Memory(g *accel.Graph) int64 {
	if a.Compact {
		return newCompact(g).size()
	}
	return int64(g.Len()) * int64(g.Len())
}

// timed is a graph with outgoing edges, and its vertices sorted by their begins, so that the
// vertices after a given one in time are the end of the list.
type timed struct {
	n     int32
	out   [][]int32 // by vertex: the ends of its edges
	begin []int32   // the vertices sorted by their begins; T^s in the paper
	pos   []int32   // by vertex: its position in begin
	last  []int32   // by vertex: the position of the last vertex that it is not before; r
}

func newTimed(g *accel.Graph) *timed {
	n := g.Len()
	t := &timed{n: n, out: make([][]int32, n), begin: make([]int32, n), pos: make([]int32, n), last: make([]int32, n)}
	degree := make([]int32, n)
	for _, u := range g.From {
		degree[u]++
	}
	all := make([]int32, len(g.From))
	for u := range n {
		t.out[u], all = all[:0:degree[u]], all[degree[u]:]
	}
	for v := range n {
		for _, u := range g.Into(v) {
			t.out[u] = append(t.out[u], v)
		}
	}
	at := func(v int32) accel.Interval {
		if g.Intervals == nil {
			return accel.Always
		}
		return g.Intervals[v]
	}
	for v := range n {
		t.begin[v] = v
	}
	slices.SortStableFunc(t.begin, func(u, v int32) int { return cmp.Compare(at(u).Begin, at(v).Begin) })
	for i, v := range t.begin {
		t.pos[v] = int32(i)
	}
	for v := range n {
		end := at(v).End
		after, _ := slices.BinarySearchFunc(t.begin, end, func(u int32, end int64) int {
			if at(u).Begin > end {
				return 1
			}
			return -1
		})
		t.last[v] = int32(after) - 1
	}
	return t
}

// late returns the vertices that begin after v has ended.
func (t *timed) late(v int32) []int32 { return t.begin[t.last[v]+1:] }
