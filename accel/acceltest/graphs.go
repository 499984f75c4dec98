package acceltest

import (
	"math"
	"math/rand/v2"

	"github.com/isohound/isohound/accel"
)

// Random returns a random graph without a cycle, of up to most vertices, and
// edges of which some close one. There may be no vertex, no edge, edges that
// occur twice, sources, a cover, and intervals, some of them without a begin or
// an end. Vertices are numbered in no order.
func Random(r *rand.Rand, most int) (*accel.Graph, []accel.Edge) {
	n := int32(r.IntN(most + 1))
	at := make([]int32, n) // a vertex by its place
	for i, v := range r.Perm(int(n)) {
		at[i] = int32(v)
	}
	g := &accel.Graph{}
	var edges []accel.Edge
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
			if i != j {
				edges = append(edges, accel.Edge{From: at[i], To: at[j]})
				if r.IntN(8) == 0 {
					edges = append(edges, edges[r.IntN(len(edges))])
				}
			}
		}
	}
	sources := int32(0)
	if n > 0 && r.IntN(3) == 0 {
		sources = 1 + r.Int32N(n)
	}
	var cover *accel.Cover
	if n > 0 && r.IntN(2) == 0 {
		cover, edges = randomCover(r, at, sources, edges)
	}
	g = accel.NewGraph(n, edges)
	g.Sources, g.Cover = sources, cover
	if r.IntN(2) == 0 {
		g.Intervals = randomIntervals(r, g, at)
	}
	return g, randomEdges(r, at)
}

// randomCover puts the sources on paths along their places, and makes the edges
// of these.
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

// randomIntervals are some that no edge contradicts: they contain the places of
// their vertices.
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
	return list
}

// randomEdges are edges to insert: most go along the places, in some graphs all.
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
