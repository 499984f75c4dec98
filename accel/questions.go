package accel

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
)

// Relation answers what backends on a CPU answer many questions with. Questions
// may be asked by many goroutines at once.
type Relation interface {
	Reaches(from, to int32) bool
}

// Share calls task for all parts [lo, hi) of n things, size at a time, in
// several goroutines; workers of 0 are as many as there are processors. It
// returns the cause of the context's end, after which it begins no other part.
func Share(ctx context.Context, workers, n, size int, task func(lo, hi int)) error {
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	workers = min(workers, (n+size-1)/size)
	var next atomic.Int64
	work := func() {
		for ctx.Err() == nil {
			lo := int(next.Add(int64(size))) - size
			if lo >= n {
				return
			}
			task(lo, min(lo+size, n))
		}
	}
	var wg sync.WaitGroup
	for range workers - 1 {
		wg.Go(work)
	}
	work()
	wg.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// News appends to list the edges that join what no path joins yet. The others
// change nothing. The error is that of CheckEdges.
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
	return Share(ctx, workers, len(groups)-1, 256, func(lo, hi int) {
		for i := lo; i < hi; i++ {
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
	return Share(ctx, workers, len(groups.Start)-1, 16, func(lo, hi int) {
		for i := lo; i < hi; i++ {
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
