package accel

import (
	"context"
	"iter"

	"github.com/isohound/isohound/accel/parallel"
)

// Relation is what the answers to other queries are computed from, in backends on a CPU. Many
// goroutines may query it at once.
type Relation interface {
	Reaches(from, to int32) bool
}

// News appends to list the edges whose start does not yet reach their end. The others change
// nothing. The error is that of CheckEdges.
func News[R Relation](r R, g *Graph, edges, list []Edge) ([]Edge, error) {
	if err := g.CheckEdges(edges); err != nil {
		return nil, err
	}
	sources := g.SourceCount()
	for _, e := range edges {
		if e.From == e.To || e.From >= sources || !r.Reaches(e.From, e.To) {
			list = append(list, e)
		}
	}
	return list, nil
}

// Closing answers Closure.Closing by a relation.
func Closing[R Relation](ctx context.Context, r R, workers int, edges []Edge, groups []int32, out []bool) error {
	return parallel.Share(ctx, workers, len(groups)-1, 256, func(numbers iter.Seq[int]) {
		for i := range numbers {
			closes := false
			for _, e := range edges[groups[i]:groups[i+1]] {
				if closes = r.Reaches(e.To, e.From); closes {
					break
				}
			}
			out[i] = closes
		}
	})
}

// Among answers Closure.Among by a relation.
func Among[R Relation](ctx context.Context, r R, workers int, groups *Groups) error {
	groups.Layout()
	return parallel.Share(ctx, workers, len(groups.Start)-1, 16, func(numbers iter.Seq[int]) {
		for i := range numbers {
			members := groups.Members[groups.Start[i]:groups.Start[i+1]]
			words := (len(members) + 63) / 64
			row := groups.Bits[groups.At[i]:groups.At[i+1]]
			for _, to := range members {
				if ctx.Err() != nil {
					return
				}
				for a, from := range members {
					if r.Reaches(from, to) {
						row[a>>6] |= 1 << (a & 63)
					}
				}
				row = row[words:]
			}
		}
	})
}
