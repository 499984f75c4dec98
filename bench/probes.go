package bench

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"github.com/isohound/isohound/accel"
	"github.com/isohound/isohound/bench/classic"
)

// probes are queries of every kind, on which all backends must agree. The answers of the first
// backend are the reference for the others. For some vertices a simple search finds what reaches
// them. For a small part of the graph Warshall's algorithm computes the closure.
type probes struct {
	g     *accel.Graph
	order []int32

	asked   []accel.Edge // random edges to test
	single  []int32      // groups of one edge each
	answers []bool       // of the backend being measured

	groups accel.Groups // random members
	two    []accel.Edge // for cycles of two edges
	insert []accel.Edge // edges that keep the order
	more   []accel.Edge // edges to insert afterwards: too few for a backend to recompute everything

	truth []truth
	small *accel.Graph // the beginning of the order
	plain classic.Closure

	first *answers
	by    string // the backend that gave the first answers
	wrong []string
}

// truth is the set of vertices that reach a vertex.
type truth struct {
	v    int32
	from []bool
}

// answers are those of one backend.
type answers struct {
	asked, again []bool // before the insertions and after them
	among        []uint64
	two          [][2]int32
	changed      [2][]bool // by insertion and vertex: see changed
}

// Sizes of the probes.
const (
	probeGroups   = 500
	probeMembers  = 40
	probeTwo      = 600
	probeInsert   = 100
	probeMore     = 5
	probeTruth    = 16
	probeSmall    = 500
	probeSingle   = 1000 // queries that are also asked one by one
	probeNearness = 100  // inserted edges span at most this part of the order
)

func newProbes(g *accel.Graph, order []int32, seed int64, questions int) *probes {
	rng := rand.New(rand.NewPCG(uint64(seed), 71))
	n := g.Len()
	p := &probes{g: g, order: order}
	p.asked, p.single, p.answers = randomEdges(rng, n, questions), one(questions), make([]bool, questions)
	p.two = randomEdges(rng, n, probeTwo)
	p.groups.Start = []int32{0}
	for range probeGroups {
		for range probeMembers {
			p.groups.Members = append(p.groups.Members, rng.Int32N(n))
		}
		p.groups.Start = append(p.groups.Start, int32(len(p.groups.Members)))
	}
	along := func(count int) []accel.Edge {
		var list []accel.Edge
		for range min(count, int(n)-1) {
			i := rng.Int32N(n - 1)
			j := i + 1 + rng.Int32N(max(1, min(n-i-1, n/probeNearness)))
			list = append(list, accel.Edge{From: order[i], To: order[j]})
		}
		return list
	}
	p.insert, p.more = along(probeInsert), along(probeMore)
	a := accel.NewAdjacency(g)
	for range probeTruth {
		p.truth = append(p.truth, reaching(a, rng.Int32N(n)))
	}
	p.small = beginning(g, order[:min(len(order), probeSmall)])
	return p
}

func one(n int) []int32 {
	list := make([]int32, n+1)
	for i := range list {
		list[i] = int32(i)
	}
	return list
}

func randomEdges(rng *rand.Rand, n int32, count int) []accel.Edge {
	list := make([]accel.Edge, count)
	for i := range list {
		list[i] = accel.Edge{From: rng.Int32N(n), To: rng.Int32N(n)}
	}
	return list
}

// reaching follows all edges backwards from a vertex.
func reaching(a *accel.Adjacency, v int32) truth {
	t := truth{v, make([]bool, a.Len())}
	t.from[v] = true
	todo := []int32{v}
	visit := func(u int32) {
		if !t.from[u] {
			t.from[u] = true
			todo = append(todo, u)
		}
	}
	var ends []int32
	if a.Intervals != nil {
		ends = byEnd(a.Graph)
	}
	for over := 0; len(todo) > 0; {
		u := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		a.In(u, visit)
		for ; over < len(ends) && a.Before(ends[over], u); over++ {
			visit(ends[over])
		}
	}
	return t
}

// byEnd returns the vertices of a graph with intervals, sorted by their ends.
func byEnd(g *accel.Graph) []int32 {
	list := make([]int32, g.Len())
	for v := range list {
		list[v] = int32(v)
	}
	slices.SortFunc(list, func(u, v int32) int { return cmp.Compare(g.Intervals[u].End, g.Intervals[v].End) })
	return list
}

// beginning returns the subgraph of the first vertices of a topological order, numbered by their
// positions.
func beginning(g *accel.Graph, order []int32) *accel.Graph {
	at := map[int32]int32{}
	for i, v := range order {
		at[v] = int32(i)
	}
	var edges []accel.Edge
	for i, v := range order {
		for _, u := range g.Into(v) {
			edges = append(edges, accel.Edge{From: at[u], To: int32(i)})
		}
	}
	out := accel.NewGraph(int32(len(order)), edges)
	if g.Intervals != nil {
		for _, v := range order {
			out.Intervals = append(out.Intervals, g.Intervals[v])
		}
	}
	if g.Cover == nil || g.SourceCount() < g.Len() { // the cover only has sources
		return out
	}
	// The beginning of a path is a path.
	out.Cover = &accel.Cover{}
	names := map[int32]int32{}
	for _, v := range order {
		c, ok := names[g.Cover.Chain[v]]
		if !ok {
			c = int32(len(names))
			names[g.Cover.Chain[v]] = c
		}
		out.Cover.Chain, out.Cover.Place = append(out.Cover.Chain, c), append(out.Cover.Place, g.Cover.Place[v])
	}
	out.Cover.Count = int32(len(names))
	return out
}
