package accel

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/accel/parallel"
)

// Sorted is a graph with a topological order that is updated while edges are added.
type Sorted struct {
	*Adjacency
	Order []int32
	Rank  []int32 // by vertex: its position in Order
}

// Sort sorts the vertices of a graph topologically. It uses the proposed order if it is a
// topological order and the graph has no intervals; graphs with intervals need that of
// Adjacency.Order. The error is a *CycleError.
func Sort(g *Graph, proposed []int32) (*Sorted, error) {
	s := &Sorted{Adjacency: NewAdjacency(g), Order: proposed}
	if proposed == nil || g.Intervals != nil || !s.IsOrder(proposed) {
		order, err := s.Adjacency.Order()
		if err != nil {
			return nil, err
		}
		s.Order = order
		s.out, s.outStart = nil, nil // computed again when edges are added, which may never happen
	} else {
		s.Order = append(make([]int32, 0, len(proposed)), proposed...)
	}
	s.Rank = make([]int32, g.Len())
	s.rank(0, s.Order)
	return s, nil
}

// rank sets the ranks of some vertices that are consecutive in the order.
func (s *Sorted) rank(first int32, part []int32) {
	for i, v := range part {
		s.Rank[v] = first + int32(i)
	}
}

// CheckEdges returns an error for an edge that does not join vertices of the graph, or that
// Pairs forbids.
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

// Insert adds edges and updates the order. If they close a cycle, the error is a *CycleError and
// none is added.
func (s *Sorted) Insert(edges []Edge) error {
	s.Turn()
	s.Add(edges)
	err := s.sortAgain(s.contradicted(edges))
	if err != nil {
		s.Drop(len(edges))
	}
	return err
}

// span is a range of positions of the order, inclusive.
type span struct{ first, last int32 }

// contradicted returns the spans, from end to start, of the edges that contradict the order.
// Overlapping spans are merged.
func (s *Sorted) contradicted(edges []Edge) []span {
	var spans []span
	for _, e := range edges {
		if s.Rank[e.From] >= s.Rank[e.To] {
			spans = append(spans, span{s.Rank[e.To], s.Rank[e.From]})
		}
	}
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.first, b.first) })
	joined := spans[:0]
	for _, p := range spans {
		if n := len(joined) - 1; n >= 0 && p.first <= joined[n].last {
			joined[n].last = max(joined[n].last, p.last)
		} else {
			joined = append(joined, p)
		}
	}
	return joined
}

// sortAgain sorts the vertices of the spans; it sorts all vertices if the spans cover more than
// half or if there are intervals. No edge leads from after a span to before it. If a cycle is
// found, the changed order is still a topological order of the graph without the new edges, so
// nothing is undone.
func (s *Sorted) sortAgain(spans []span) error {
	size := int32(0)
	for _, p := range spans {
		size += p.last - p.first + 1
	}
	switch {
	case size == 0:
		return nil
	case size > s.Len()/2 || s.Intervals != nil:
		order, err := s.Adjacency.Order()
		if err != nil {
			return err
		}
		s.Order = order
		s.rank(0, order)
		return nil
	}
	missing := make([]int32, s.Len())
	for _, p := range spans {
		part := s.Order[p.first : p.last+1]
		for _, v := range part {
			missing[v] = 0
			s.In(v, func(u int32) {
				if s.Rank[u] >= p.first {
					missing[v]++
				}
			})
		}
		order := s.byReadiness(part, missing)
		if len(order) < len(part) {
			return s.cycle(part, order)
		}
		copy(part, order)
		s.rank(p.first, part)
	}
	return nil
}

// LatestFirst returns the edges into each vertex, sorted with the latest start first.
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

// SortedMemory is the memory in bytes of sorting a graph, without the graph itself.
func SortedMemory(g *Graph) int64 {
	n, m := int64(g.Len()), int64(len(g.From))
	bytes := 4*m + 8*(n+1) + 20*n
	if g.Intervals != nil {
		bytes += 24 * n
	}
	return bytes
}

// Bytes is the memory of the order and the added edges, without the graph itself.
func (s *Sorted) Bytes() int64 {
	return 4*int64(cap(s.out)+cap(s.addedOut)+cap(s.addedIn)+cap(s.nextOut)+cap(s.nextIn)+cap(s.Order)+cap(s.Rank)+
		cap(s.ends)+cap(s.begins)+cap(s.prior)+cap(s.behind)+cap(s.nearIn)+cap(s.nearOut)) +
		8*int64(cap(s.outStart)+cap(s.Added))
}
