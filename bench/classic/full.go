package classic

import (
	"context"

	"github.com/isohound/isohound/accel"
)

// full is the matrix of a closure: byte j of row i says that i reaches j.
type full struct {
	n     int32
	bytes []byte
	// again constructs the closure of the graph with the added edges, for algorithms without an
	// incremental insertion.
	again func(ctx context.Context, g *accel.Graph) (Closure, error)
	g     *accel.Graph
}

func newFull(g *accel.Graph) *full {
	n := g.Len()
	f := &full{n: n, bytes: make([]byte, int64(n)*int64(n)), g: g}
	for v := range n {
		f.row(v)[v] = 1
	}
	return f
}

func (f *full) row(v int32) []byte { return f.bytes[int64(v)*int64(f.n):][:f.n] }

func (f *full) Reaches(from, to int32) bool { return f.bytes[int64(from)*int64(f.n)+int64(to)] != 0 }
func (f *full) Bytes() int64                { return int64(len(f.bytes)) }

// unite adds to row what u reaches.
func (f *full) unite(row []byte, u int32) {
	for j, b := range f.row(u)[:len(row)] {
		row[j] |= b
	}
}

// Insert recomputes the closure, or updates it with Italiano's algorithm.
func (f *full) Insert(ctx context.Context, e accel.Edge) (bool, error) {
	switch {
	case f.Reaches(e.From, e.To):
		return true, nil
	case f.Reaches(e.To, e.From):
		return false, nil
	case f.again == nil:
		f.italiano(e.From, e.To)
		return true, nil
	}
	edges := make([]accel.Edge, 0, len(f.g.From)+1)
	for v := range f.n {
		for _, u := range f.g.Into(v) {
			edges = append(edges, accel.Edge{From: u, To: v})
		}
	}
	g := accel.NewGraph(f.n, append(edges, e))
	g.Intervals = f.g.Intervals
	c, err := f.again(ctx, g)
	if err == nil {
		*f = *c.(*full)
	}
	return true, err
}

// Warshall traverses the matrix once for every vertex, in O(n³) time.
func Warshall(ctx context.Context, g *accel.Graph) (Closure, error) {
	f, t := newFull(g), newTimed(g)
	f.again = Warshall
	for v := range f.n {
		for _, list := range [...][]int32{t.out[v], t.late(v)} {
			for _, j := range list {
				f.row(v)[j] = 1
			}
		}
	}
	for k := range f.n {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		for v := range f.n {
			if v != k && f.Reaches(v, k) {
				f.unite(f.row(v), k)
			}
		}
	}
	return f, nil
}

// Purdom visits the vertices in reverse topological order and unites the rows of their
// successors, except those already reached.
func Purdom(ctx context.Context, g *accel.Graph) (Closure, error) {
	f, t := newFull(g), newTimed(g)
	f.again = Purdom
	for i, v := range t.reverse(func(v, _ int32) []int32 { return t.late(v) }) {
		if i&0xf == 0 && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		row := f.row(v)
		for _, list := range [...][]int32{t.out[v], t.late(v)} {
			for _, u := range list {
				if row[u] == 0 {
					f.unite(row, u)
				}
			}
		}
	}
	return f, nil
}

// reverse returns the vertices in reverse topological order, by depth-first search. late lists
// the later vertices in time that are to be visited from a vertex, given the position in begin
// from which on all have been visited.
func (t *timed) reverse(late func(v, seen int32) []int32) []int32 {
	visited := make([]bool, t.n)
	order := make([]int32, 0, t.n)
	seen := t.n
	var visit func(v int32)
	visit = func(v int32) {
		visited[v] = true
		for _, u := range t.out[v] {
			if !visited[u] {
				visit(u)
			}
		}
		for _, u := range late(v, seen) {
			if !visited[u] {
				visit(u)
			}
		}
		order = append(order, v)
		seen = min(seen, t.last[v]+1)
	}
	for v := range t.n {
		if !visited[v] {
			visit(v)
		}
	}
	return order
}

// Italiano adds the edges one by one. It begins with the edges of the transactions that begin
// last, so that the row of an edge's end is nearly complete when the edge is added. The opposite
// order takes n times as long.
func Italiano(ctx context.Context, g *accel.Graph) (Closure, error) {
	f, t := newFull(g), newTimed(g)
	for i := t.n - 1; i >= 0; i-- {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		v := t.begin[i]
		for _, list := range [...][]int32{t.late(v), t.out[v]} {
			for _, u := range list {
				if !f.Reaches(v, u) {
					f.italiano(v, u)
				}
			}
		}
	}
	return f, nil
}

// italiano adds the edge from i to j: what reaches i and did not reach j now reaches what j
// reaches (equation 6).
func (f *full) italiano(i, j int32) {
	for u := range f.n {
		if f.Reaches(u, i) && !f.Reaches(u, j) {
			f.unite(f.row(u), j)
		}
	}
}
