package accel

import (
	"context"
	"iter"
	"slices"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/accel/parallel"
)

// Sorted is a graph with a topological order that is kept while edges are added.
type Sorted struct {
	*Adjacency
	Order []int32
	Rank  []int32 // by vertex: its place in Order

	cause []int32 // by vertex, while edges are added: what reaches it; else -1. nil before the first
}

// Sort puts the vertices of a graph in order, in the proposed one if it is a
// topological order and the graph has no intervals, which want the one of
// Adjacency.Order. The error is a *CycleError.
func Sort(g *Graph, proposed []int32) (*Sorted, error) {
	s := &Sorted{Adjacency: NewAdjacency(g), Order: proposed}
	if proposed == nil || g.Intervals != nil || !s.IsOrder(proposed) {
		order, err := s.Adjacency.Order()
		if err != nil {
			return nil, err
		}
		s.Order = order
		s.out, s.outStart = nil, nil // until edges are added, which may never be
	} else {
		s.Order = append(make([]int32, 0, len(proposed)), proposed...)
	}
	s.Rank = make([]int32, g.Len())
	s.rank(0, g.Len())
	return s, nil
}

func (s *Sorted) rank(lo, hi int32) {
	for r := lo; r < hi; r++ {
		s.Rank[s.Order[r]] = r
	}
}

// CheckEdges reports an edge that does not join vertices of the graph, or breaks
// its pairs.
func (g *Graph) CheckEdges(edges []Edge) error {
	n := g.Len()
	for _, e := range edges {
		if e.From < 0 || e.From >= n || e.To < 0 || e.To >= n {
			return errors.Errorf("an edge leads from %d to %d, and there are %d vertices", e.From, e.To, n)
		}
		if g.unpaired(e.From, e.To) && e.From != e.To {
			return errors.Errorf("an edge leads from %d to %d, from the first of a pair to what is no second one", e.From, e.To)
		}
	}
	return nil
}

// Insert adds edges and puts the vertices in order again. Where they close a
// cycle the error is a *CycleError, and none is added.
func (s *Sorted) Insert(edges []Edge) error {
	s.Turn()
	if s.cause == nil {
		s.cause = filled(s.Len())
	}
	s.Add(edges)
	if err := s.repair(edges); err != nil {
		s.Drop(len(edges))
		return err
	}
	return nil
}

// repair moves what the edges contradict. An order of the graph with some of the
// edges is one of the graph without them, so that giving up needs no undoing.
func (s *Sorted) repair(edges []Edge) error {
	budget := 4 * int64(s.Len()) // about what a new order costs
	for _, e := range edges {
		span := int64(s.Rank[e.From]) - int64(s.Rank[e.To]) + 1
		if span <= 0 {
			continue
		}
		if budget -= span; budget < 0 {
			order, err := s.Adjacency.Order()
			if err != nil {
				return err
			}
			s.Order = order
			s.rank(0, s.Len())
			return nil
		}
		if err := s.shift(e); err != nil {
			return err
		}
	}
	return nil
}

// shift moves what the end of an edge reaches, as far as it stands before the
// edge's start, behind that (Marchetti-Spaccamela, Nanni and Rohnert, "Maintaining
// a topological order under edge insertions", 1996). Edges that the order does
// not keep yet do not count.
func (s *Sorted) shift(e Edge) error {
	lo, hi := s.Rank[e.To], s.Rank[e.From]
	s.cause[e.To] = e.From
	met := []int32{e.To}
	soonest := int32(-1) // of the vertices that are met the one that ends first
	keep := lo
	var moved []int32
	for r := lo; r <= hi; r++ {
		v := s.Order[r]
		if s.cause[v] < 0 && soonest >= 0 && s.Before(soonest, v) {
			s.cause[v] = soonest
			met = append(met, v)
		}
		if s.cause[v] < 0 {
			s.Order[keep] = v
			keep++
			continue
		}
		moved = append(moved, v)
		if s.Intervals != nil && (soonest < 0 || s.Intervals[v].End < s.Intervals[soonest].End) {
			soonest = v
		}
		s.Out(v, func(to int32) {
			if at := s.Rank[to]; at > r && at <= hi && s.cause[to] < 0 {
				s.cause[to] = v
				met = append(met, to)
			}
		})
	}
	copy(s.Order[keep:], moved)
	var err error
	if s.cause[e.From] >= 0 {
		err = s.back(e)
		slices.SortFunc(s.Order[lo:hi+1], func(u, v int32) int { return int(s.Rank[u] - s.Rank[v]) })
	} else {
		s.rank(lo, hi+1)
	}
	for _, v := range met {
		s.cause[v] = -1
	}
	return err
}

// back is the cycle that an edge closes.
func (s *Sorted) back(e Edge) *CycleError {
	walk := []int32{e.From}
	for v := e.From; v != e.To; {
		v = s.cause[v]
		walk = append(walk, v)
	}
	slices.Reverse(walk)
	return &CycleError{walk}
}

// LatestFirst returns the rows of the graph, with the latest vertex of each first.
func (s *Sorted) LatestFirst(ctx context.Context, workers int) ([]int32, error) {
	const part = 1 << 12 // vertices
	from := make([]int32, len(s.From))
	err := parallel.Share(ctx, workers, int(s.Len()), part, func(numbers iter.Seq[int]) {
		for v := range numbers {
			row := from[s.Start[v]:s.Start[v+1]]
			copy(row, s.From[s.Start[v]:])
			latestFirst(row, s.Rank)
		}
	})
	return from, err
}

func latestFirst(list []int32, rank []int32) {
	if len(list) > 32 {
		slices.SortFunc(list, func(u, v int32) int { return int(rank[v] - rank[u]) })
		return
	}
	for i := 1; i < len(list); i++ {
		v := list[i]
		j := i
		for ; j > 0 && rank[list[j-1]] < rank[v]; j-- {
			list[j] = list[j-1]
		}
		list[j] = v
	}
}

// SortedMemory is the bytes that sorting a graph takes, besides the graph's own.
func SortedMemory(g *Graph) int64 {
	n, m := int64(g.Len()), int64(len(g.From))
	bytes := 4*m + 8*(n+1) + 20*n
	if g.Intervals != nil {
		bytes += 24 * n
	}
	return bytes
}

// Bytes is the memory of what was sorted and added, besides the graph's own.
func (s *Sorted) Bytes() int64 {
	return 4*int64(cap(s.out)+cap(s.addedOut)+cap(s.addedIn)+cap(s.nextOut)+cap(s.nextIn)+cap(s.Order)+cap(s.Rank)+cap(s.cause)+
		cap(s.ends)+cap(s.begins)+cap(s.prior)+cap(s.behind)+cap(s.nearIn)+cap(s.nearOut)) +
		8*int64(cap(s.outStart)+cap(s.Added))
}
