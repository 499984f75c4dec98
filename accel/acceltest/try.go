package acceltest

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/isohound/isohound/accel"
)

// Try compares the closure of a graph with Warshall's, also after insertions. It reports whether
// the test should continue.
func Try(t *testing.T, b accel.Backend, g *accel.Graph, edges []accel.Edge, r *rand.Rand, steps int) bool {
	t.Helper()
	rows, ok := Warshall(g, nil)
	opt := accel.Options{Workers: 1 + r.IntN(3)}
	if ok && r.IntN(3) == 0 {
		opt.Order = someOrder(r, rows)
	}
	c, err := b.Closure(t.Context(), g, opt)
	if !ok {
		return isCycle(t, g, nil, err)
	}
	if err != nil {
		t.Errorf("closure: %v", err)
		return false
	}
	defer c.Close()
	if need := b.Memory(g); c.Bytes() > need {
		t.Errorf("the closure has %d bytes, more than the %d it should take at most", c.Bytes(), need)
		return false
	}
	if !same(t, c, g, rows) || !questions(t, c, g, rows, r) {
		return false
	}
	var added []accel.Edge
	for step := 0; len(edges) > 0 && step < steps; step++ {
		some := edges[:1+r.IntN(len(edges))]
		if r.IntN(2) == 0 {
			some = edges[:1]
		}
		edges = edges[len(some):]
		after, ok := Warshall(g, slices.Concat(added, some))
		err := c.Insert(t.Context(), some)
		if !ok {
			if !isCycle(t, g, slices.Concat(added, some), err) || !same(t, c, g, rows) {
				return false
			}
			continue
		}
		if err != nil {
			t.Errorf("insert: %v", err)
			return false
		}
		if !same(t, c, g, after) || !changed(t, c, g, rows, after) {
			return false
		}
		added, rows = append(added, some...), after
	}
	return questions(t, c, g, rows, r)
}

// someOrder returns a topological order, sorted by how many vertices reach each; sometimes it
// returns an invalid order.
func someOrder(r *rand.Rand, rows [][]bool) []int32 {
	order := make([]int32, len(rows))
	count := make([]int, len(rows))
	for v, row := range rows {
		order[v] = int32(v)
		for _, reaches := range row {
			if reaches {
				count[v]++
			}
		}
	}
	slices.SortFunc(order, func(a, b int32) int { return count[a] - count[b] })
	if n := len(order); n > 0 && r.IntN(3) == 0 {
		i, j := r.IntN(n), r.IntN(n)
		order[i], order[j] = order[j], order[i]
		if r.IntN(3) == 0 {
			order[i] = order[j]
		}
	}
	return order
}

func same(t *testing.T, c accel.Closure, g *accel.Graph, rows [][]bool) bool {
	t.Helper()
	for to := range g.Len() {
		for from := range g.SourceCount() {
			if got := c.Reaches(from, to); got != rows[to][from] {
				t.Errorf("%d reaches %d: %v, want %v", from, to, got, rows[to][from])
				return false
			}
		}
	}
	return true
}

// changed compares the result of Changed with the closures before and after. Unless Changed
// returns all classes for all vertices, it must return classes for exactly the vertices that
// changed, and at least the classes of the sources that newly reach them.
func changed(t *testing.T, c accel.Closure, g *accel.Graph, before, after [][]bool) bool {
	t.Helper()
	all := true
	for v := range g.Len() {
		all = all && c.Changed(v) == math.MaxUint64
	}
	if all {
		return true
	}
	for v := range g.Len() {
		n := g.SourceCount()
		want := uint64(0)
		for u := range n {
			if before[v][u] != after[v][u] {
				want |= c.Class(u)
			}
		}
		if got := c.Changed(v); got&want != want || (got != 0) != (want != 0) {
			t.Errorf("vertex %d changed: classes %x, want %x", v, got, want)
			return false
		}
	}
	return true
}

// isCycle verifies that an error is a cycle of a graph.
func isCycle(t *testing.T, g *accel.Graph, added []accel.Edge, err error) bool {
	t.Helper()
	var cycle *accel.CycleError
	if !errors.As(err, &cycle) || len(cycle.Vertices) == 0 {
		t.Errorf("a graph with a cycle: %v", err)
		return false
	}
	for i, u := range cycle.Vertices {
		v := cycle.Vertices[(i+1)%len(cycle.Vertices)]
		if !slices.Contains(g.Into(v), u) && !g.Before(u, v) && !slices.Contains(added, accel.Edge{From: u, To: v}) {
			t.Errorf("cycle %v: there is no edge from %d to %d", cycle.Vertices, u, v)
			return false
		}
	}
	return true
}

// questions compares the answers of Reaches with the closure.
func questions(t *testing.T, c accel.Closure, g *accel.Graph, rows [][]bool, r *rand.Rand) bool {
	t.Helper()
	n, sources := g.Len(), g.SourceCount()
	if n == 0 {
		return true
	}
	edges := make([]accel.Edge, r.IntN(120))
	for i := range edges {
		edges[i] = accel.Edge{From: r.Int32N(n), To: r.Int32N(sources)}
	}
	return closing(t, c, edges, rows, r) && among(t, c, g, rows, r) && twoCycles(t, c, edges, rows, r) &&
		common(t, c, g, rows, r) && ranked(t, c, rows) && alongChains(t, c, rows)
}

// common verifies the sources that Common returns: they reach the vertices that they should, and
// not the others; among pairs they are seconds.
func common(t *testing.T, c accel.Closure, g *accel.Graph, rows [][]bool, r *rand.Rand) bool {
	for range 5 {
		not, of := r.Int32N(g.Len()), make([]int32, 1+r.IntN(3))
		for i := range of {
			of[i] = r.Int32N(g.Len())
		}
		ok := true
		c.Common(of, not, func(u int32) {
			ok = ok && u < g.SourceCount() && !(g.Pairs && u&1 == 0) && !rows[not][u]
			for _, v := range of {
				ok = ok && rows[v][u]
			}
			if !ok {
				t.Errorf("%d is said to reach %v and not %d", u, of, not)
			}
		})
		if !ok {
			return false
		}
	}
	return true
}

// ranked verifies that ranks grow along every path.
func ranked(t *testing.T, c accel.Closure, rows [][]bool) bool {
	rank := c.Rank()
	for to, row := range rows {
		for from, reaches := range row {
			if reaches && from != to && rank[from] >= rank[to] {
				t.Errorf("%d reaches %d, and has rank %d, not before %d", from, to, rank[from], rank[to])
				return false
			}
		}
	}
	return true
}

// alongChains compares the rows by chains, if there are any, with the closure.
func alongChains(t *testing.T, c accel.Closure, rows [][]bool) bool {
	list := c.Rows()
	if list == nil {
		return true
	}
	cover := list.Cover()
	for to, row := range rows {
		for from, place := range cover.Place {
			if got := list.Row(int32(to))[cover.Chain[from]] >= place; got != row[from] {
				t.Errorf("the row of %d says that %d reaches it: %v, want %v", to, from, got, row[from])
				return false
			}
		}
	}
	return true
}

func closing(t *testing.T, c accel.Closure, edges []accel.Edge, rows [][]bool, r *rand.Rand) bool {
	groups := []int32{0}
	for at := int32(0); int(at) < len(edges); {
		at = min(at+r.Int32N(4), int32(len(edges)))
		groups = append(groups, at)
	}
	out := make([]bool, len(groups)-1)
	for i := range out {
		out[i] = r.IntN(2) == 0
	}
	if err := c.Closing(t.Context(), edges, groups, out); err != nil {
		t.Errorf("closing: %v", err)
		return false
	}
	for i, got := range out {
		want := slices.ContainsFunc(edges[groups[i]:groups[i+1]], func(e accel.Edge) bool { return rows[e.From][e.To] })
		if got != want {
			t.Errorf("edges %v close a cycle: %v, want %v", edges[groups[i]:groups[i+1]], got, want)
			return false
		}
	}
	return true
}

func among(t *testing.T, c accel.Closure, g *accel.Graph, rows [][]bool, r *rand.Rand) bool {
	groups := accel.Groups{Start: []int32{0}, Bits: []uint64{1, 2, 3}}
	for range r.IntN(4) {
		for range r.IntN([]int{3, 100}[r.IntN(2)]) {
			groups.Members = append(groups.Members, r.Int32N(g.SourceCount()))
		}
		groups.Start = append(groups.Start, int32(len(groups.Members)))
	}
	if err := c.Among(t.Context(), &groups); err != nil {
		t.Errorf("among: %v", err)
		return false
	}
	for i := range len(groups.Start) - 1 {
		members := groups.Members[groups.Start[i]:groups.Start[i+1]]
		for a, from := range members {
			for b, to := range members {
				got := groups.Reaches(i, int32(a), int32(b))
				if g.Pairs && from&1 == 0 && to&1 == 0 && !got {
					continue // this bit may be missing
				}
				if got != rows[to][from] {
					t.Errorf("among %v, %d reaches %d: %v, want %v", members, from, to, got, rows[to][from])
					return false
				}
			}
		}
	}
	return true
}

func twoCycles(t *testing.T, c accel.Closure, edges []accel.Edge, rows [][]bool, r *rand.Rand) bool {
	var want, got [][2]int32
	for i, e := range edges {
		for j := i + 1; j < len(edges); j++ {
			if rows[edges[j].From][e.To] && rows[e.From][edges[j].To] {
				want = append(want, [2]int32{int32(i), int32(j)})
			}
		}
	}
	most := len(want)
	if most > 0 && r.IntN(3) == 0 {
		most = 1 + r.IntN(most)
	}
	err := c.TwoCycles(t.Context(), edges, func(i, j int32) bool {
		got = append(got, [2]int32{i, j})
		return len(got) < most
	})
	if err != nil {
		t.Errorf("two-cycles: %v", err)
		return false
	}
	if !slices.Equal(got, want[:most]) {
		t.Errorf("two-cycles of %v: %v, want %v", edges, got, want[:most])
		return false
	}
	return true
}
