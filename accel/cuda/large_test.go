//go:build linux

package cuda_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/isohound/isohound/accel"
	"github.com/isohound/isohound/accel/bitset"
	"github.com/isohound/isohound/accel/cuda"
	"github.com/isohound/isohound/accel/cuda/cudatest"
)

// shape is a kind of graph.
type shape struct {
	name     string
	chains   int32 // sessions; 0: none
	far      int32 // how far edges lead at most, in places
	points   bool  // with intervals
	sources  int32 // of 100
	vertices int32
}

func (s shape) graph(r *rand.Rand) (*accel.Graph, []accel.Edge) {
	n := s.vertices
	at := r.Perm(int(n))
	v := func(place int32) int32 { return int32(at[place]) }
	var edges, later []accel.Edge
	for p := int32(1); p < n; p++ {
		if s.chains > 0 && p >= s.chains {
			edges = append(edges, accel.Edge{From: v(p - s.chains), To: v(p)})
		}
		for range r.IntN(4) {
			edges = append(edges, accel.Edge{From: v(max(0, p-1-r.Int32N(s.far))), To: v(p)})
		}
		if r.IntN(200) == 0 {
			later = append(later, accel.Edge{From: v(max(0, p-1-r.Int32N(s.far))), To: v(p)})
		}
	}
	g := accel.NewGraph(n, edges)
	g.Sources = n * s.sources / 100
	if s.points {
		g.Intervals = make([]accel.Interval, n)
		for p := range n {
			g.Intervals[v(p)] = accel.Interval{Begin: int64(p - r.Int32N(30)), End: int64(p + r.Int32N(30))}
		}
	}
	return g, later
}

// large compares with bitset on graphs of many chunks and strips. exact: also what has changed.
func large(t *testing.T, b *cuda.Backend, exact bool) {
	for i, s := range []shape{
		{name: "deep", chains: 1, far: 400, sources: 100, vertices: 3000},
		{name: "sessions", chains: 24, far: 2000, sources: 100, vertices: 7000},
		{name: "flat", far: 9000, sources: 100, vertices: 9000},
		{name: "intervals", chains: 24, far: 100, points: true, sources: 100, vertices: 3000},
		{name: "few sources", far: 300, points: true, sources: 40, vertices: 3000},
	} {
		t.Run(s.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(uint64(i), 3))
			g, later := s.graph(r)
			var opt accel.Options
			if i%2 == 1 {
				s, err := accel.Sort(g, nil)
				if err != nil {
					t.Fatal(err)
				}
				opt.Order = s.Order
			}
			ours, err := b.Closure(t.Context(), g, opt)
			if err != nil {
				t.Fatal(err)
			}
			defer ours.Close()
			theirs, err := bitset.Backend{}.Closure(t.Context(), g, accel.Options{})
			if err != nil {
				t.Fatal(err)
			}
			agree(t, g, ours, theirs, r)
			if n := b.Memory(g); ours.Bytes() > n {
				t.Errorf("the closure takes %d bytes, and was to take at most %d", ours.Bytes(), n)
			}
			for edges := range slices.Chunk(later, 1+len(later)/2) {
				if err := ours.Insert(t.Context(), edges); err != nil {
					t.Fatal(err)
				}
				if err := theirs.Insert(t.Context(), edges); err != nil {
					t.Fatal(err)
				}
				for v := range g.Len() {
					if got, want := ours.Changed(v) != 0, theirs.Changed(v) != 0; got != want && (exact || want) {
						t.Fatalf("vertex %d changed: %v, want %v", v, got, want)
					}
				}
				agree(t, g, ours, theirs, r)
			}
		})
	}
}

// agree asks two closures the same.
func agree(t *testing.T, g *accel.Graph, ours, theirs accel.Closure, r *rand.Rand) {
	t.Helper()
	n := g.SourceCount()
	for range 100 {
		to := r.Int32N(g.Len())
		for from := range n {
			if got, want := ours.Reaches(from, to), theirs.Reaches(from, to); got != want {
				t.Fatalf("%d reaches %d: %v, want %v", from, to, got, want)
			}
		}
	}
	answersOf := func(c accel.Closure) answers { return ask(t, c, g, rand.New(rand.NewPCG(4, 4))) }
	if !answersOf(ours).equal(answersOf(theirs)) {
		t.Error("answers differ")
	}
}

type answers struct {
	closing []bool
	among   []uint64
	cycles  [][2]int32
}

func (a answers) equal(b answers) bool {
	return slices.Equal(a.closing, b.closing) && slices.Equal(a.among, b.among) && slices.Equal(a.cycles, b.cycles)
}

func ask(t *testing.T, c accel.Closure, g *accel.Graph, r *rand.Rand) answers {
	t.Helper()
	return askOf(t, c, g, r, 500, 20)
}

// askOf asks about that many edges and sets of vertices.
func askOf(t *testing.T, c accel.Closure, g *accel.Graph, r *rand.Rand, edgeCount, setCount int) (a answers) {
	t.Helper()
	n := g.SourceCount()
	edges := make([]accel.Edge, edgeCount)
	groups := []int32{0}
	for i := range edges {
		edges[i] = accel.Edge{From: r.Int32N(n), To: r.Int32N(n)}
		for r.IntN(3) == 0 {
			groups = append(groups, int32(i))
		}
	}
	groups = append(groups, int32(len(edges)))
	a.closing = make([]bool, len(groups)-1)
	if err := c.Closing(t.Context(), edges, groups, a.closing); err != nil {
		t.Fatal(err)
	}
	sets := &accel.Groups{Start: []int32{0}}
	for range setCount {
		for range r.IntN(150) {
			sets.Members = append(sets.Members, r.Int32N(n))
		}
		sets.Start = append(sets.Start, int32(len(sets.Members)))
	}
	if err := c.Among(t.Context(), sets); err != nil {
		t.Fatal(err)
	}
	a.among = slices.Clone(sets.Bits)
	err := c.TwoCycles(t.Context(), edges, func(i, j int32) bool {
		a.cycles = append(a.cycles, [2]int32{i, j})
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestLarge(t *testing.T) {
	t.Run("PTX", func(t *testing.T) {
		large(t, open(t, cuda.Config{Library: cudatest.NewPTX(t, "threads=128").Path}), true)
	})
	t.Run("source, in pieces", func(t *testing.T) {
		d := cudatest.New(t, "")
		b := open(t, cuda.Config{Library: d.Path})
		b.Narrow(37, 2000, 3000)
		large(t, b, true)
		b.Close()
		if n := d.Leaked(); n != 0 {
			t.Errorf("%d bytes of the device's memory were not given back", n)
		}
	})
}
