package acceltest

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/isohound/isohound/accel"
)

// Random returns a random acyclic graph of up to most vertices, and edges to insert, some of
// which close a cycle. The graph may have no vertices, no edges, duplicate edges, sources, a
// cover, pairs, and intervals, some of them unbounded. The numbers of the vertices are in random
// order.
func Random(r *rand.Rand, most int) (*accel.Graph, []accel.Edge) {
	n := int32(r.IntN(most + 1))
	at := make([]int32, n) // vertex by position
	for i, v := range r.Perm(int(n)) {
		at[i] = int32(v)
	}
	g := &accel.Graph{}
	if r.IntN(3) == 0 {
		g.Pairs, g.Sources = true, n&^1
		if n > 1 && r.IntN(3) == 0 {
			g.Sources = 2 + 2*r.Int32N(n/2)
		}
		g.Pairs = g.Sources > 0
	}
	edges := pairUp(g, at)
	alone := g.Pairs && r.IntN(2) == 0 // nothing else leads to seconds, before more edges are added
	if n > 1 {
		dense := math.Pow(r.Float64(), 2) * 3
		if r.IntN(4) == 0 {
			dense *= 5
		}
		for range int(dense * float64(n)) {
			i, j := r.Int32N(n), r.Int32N(n)
			if i > j {
				i, j = j, i
			}
			if i != j && !apart(g, at[i], at[j]) && !(alone && at[j] < g.Sources && at[j]&1 != 0) {
				edges = append(edges, accel.Edge{From: at[i], To: at[j]})
				if r.IntN(8) == 0 {
					edges = append(edges, edges[r.IntN(len(edges))])
				}
			}
		}
	}
	sources := g.Sources
	if n > 0 && !g.Pairs && r.IntN(3) == 0 {
		sources = 1 + r.Int32N(n)
	}
	var cover *accel.Cover
	if n > 0 && r.IntN(2) == 0 {
		if g.Pairs {
			cover, edges = pairCover(at, sources, edges)
		} else {
			cover, edges = randomCover(r, at, sources, edges)
		}
	}
	pairs := g.Pairs
	g = accel.NewGraph(n, edges)
	g.Pairs, g.Sources, g.Cover = pairs, sources, cover
	if r.IntN(2) == 0 {
		g.Intervals = randomIntervals(r, g, at)
	}
	return g, slices.DeleteFunc(randomEdges(r, at), func(e accel.Edge) bool { return apart(g, e.From, e.To) })
}

// pairUp places the first of each pair before its second, and returns the edges between them.
func pairUp(g *accel.Graph, at []int32) []accel.Edge {
	var edges []accel.Edge
	if !g.Pairs {
		return nil
	}
	place := make([]int, len(at))
	for i, v := range at {
		place[v] = i
	}
	for v := int32(0); v < g.Sources; v += 2 {
		if i, j := place[v], place[v+1]; i > j {
			at[i], at[j] = at[j], at[i]
		}
		edges = append(edges, accel.Edge{From: v, To: v + 1})
	}
	return edges
}

// apart reports whether pairs forbid an edge from u to v.
func apart(g *accel.Graph, u, v int32) bool {
	n := g.SourceCount()
	return g.Pairs && u < n && u&1 == 0 && (v >= n || v&1 == 0)
}

// pairCover puts pairs on paths, like the transactions of sessions.
func pairCover(at []int32, sources int32, edges []accel.Edge) (*accel.Cover, []accel.Edge) {
	c := &accel.Cover{Chain: make([]int32, sources), Place: make([]int32, sources)}
	var last []int32 // by path
	open := map[int32]bool{}
	for _, v := range at {
		if v >= sources {
			continue
		}
		if v&1 != 0 {
			c.Chain[v], c.Place[v] = c.Chain[v-1], c.Place[v-1]+1
			last[c.Chain[v]], open[c.Chain[v]] = v, false
			continue
		}
		path := int32(0)
		for path < int32(len(last)) && open[path] {
			path++
		}
		if path == int32(len(last)) {
			last = append(last, -1)
		}
		if u := last[path]; u >= 0 {
			edges = append(edges, accel.Edge{From: u, To: v})
			c.Place[v] = c.Place[u]
		}
		c.Chain[v] = path
		c.Place[v]++
		open[path] = true
	}
	c.Count = int32(len(last))
	return c, edges
}

// randomCover puts the sources on paths in the order of their positions, and returns the edges
// of the paths.
func randomCover(r *rand.Rand, at []int32, sources int32, edges []accel.Edge) (*accel.Cover, []accel.Edge) {
	if sources == 0 {
		sources = int32(len(at))
	}
	c := &accel.Cover{Chain: make([]int32, sources), Place: make([]int32, sources)}
	most := 1 + r.IntN(1+int(sources))
	if r.IntN(2) == 0 {
		most = 1 + r.IntN(5)
	}
	skew := float64(r.IntN(5)) // most on the first paths
	var last, size []int32
	for _, v := range at {
		if v >= sources {
			continue
		}
		i := int(float64(most) * math.Pow(r.Float64(), skew))
		if i = min(i, most-1); i >= len(last) {
			i = len(last)
			last, size = append(last, -1), append(size, 0)
		}
		if last[i] >= 0 {
			edges = append(edges, accel.Edge{From: last[i], To: v})
		}
		size[i]++
		last[i], c.Chain[v], c.Place[v] = v, int32(i), size[i]
	}
	c.Count = int32(len(last))
	return c, edges
}

// randomIntervals returns intervals that contradict no edge: each contains the position of its
// vertex.
func randomIntervals(r *rand.Rand, g *accel.Graph, at []int32) []accel.Interval {
	list := make([]accel.Interval, len(at))
	long := 1 + r.Float64()*r.Float64()*float64(len(at))
	for i, v := range at {
		list[v] = accel.Interval{
			Begin: int64(float64(i) - r.Float64()*long),
			End:   int64(math.Ceil(float64(i) + r.Float64()*long)),
		}
		switch r.IntN(24) {
		case 0:
			list[v].End = math.MaxInt64
		case 1:
			list[v].Begin = math.MinInt64
		case 2:
			list[v] = accel.Always
		}
	}
	if g.Pairs {
		for v := int32(0); v < g.Sources; v += 2 {
			list[v].End = max(list[v].End, list[v+1].End)
			if r.IntN(8) > 0 {
				list[v].Begin = min(list[v].Begin, list[v+1].Begin)
				list[v+1].Begin = list[v].Begin
			}
		}
	}
	return list
}

// randomEdges returns edges to insert: most, in some graphs all, lead to later positions.
func randomEdges(r *rand.Rand, at []int32) []accel.Edge {
	n := int32(len(at))
	var edges []accel.Edge
	if n < 2 {
		return nil
	}
	against := []int{0, 4, 30}[r.IntN(3)] // percent
	for range r.IntN(2 * int(n)) {
		i, j := r.Int32N(n), r.Int32N(n)
		if i > j && r.IntN(100) >= against {
			i, j = j, i
		}
		if i != j || r.IntN(100) < against {
			edges = append(edges, accel.Edge{From: at[i], To: at[j]})
		}
	}
	return edges
}
