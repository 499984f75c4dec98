package accel

import (
	"context"
	"iter"
	"slices"
	"sort"

	"github.com/isohound/isohound/accel/parallel"
)

// TwoCycles answers Closure.TwoCycles by a relation and the ranks of the vertices in a
// topological order. If two edges close a cycle, each ends no later in the order than the other
// starts. Only such edges are tested.
func TwoCycles[R Relation](ctx context.Context, r R, rank []int32, workers int, edges []Edge, f func(i, j int32) bool) error {
	p := newPairs(edges, rank)
	const block = 1024
	found := make([][]int32, block)
	for first := 0; first < len(edges); first += block {
		n := min(block, len(edges)-first)
		err := parallel.Share(ctx, workers, n, 1, func(numbers iter.Seq[int]) {
			for i := range numbers {
				found[i] = partners(r, p, int32(first+i), found[i][:0])
			}
		})
		if err != nil {
			return err
		}
		for i, list := range found[:n] {
			for _, j := range list {
				if !f(int32(first+i), j) {
					return nil
				}
			}
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// pairs finds the edges that start late enough and end early enough to close a cycle with an
// edge.
type pairs struct {
	edges []Edge
	rank  []int32
	by    []numbered // the edges by the ranks of their starts
	// ends[0] has the ranks of the ends of by. Each entry of ends[l] is the minimum of fan
	// entries of ends[l-1].
	ends [][]int32
}

type numbered struct {
	Edge
	i int32
}

const fan = 16

func newPairs(edges []Edge, rank []int32) *pairs {
	p := &pairs{edges: edges, rank: rank, by: make([]numbered, len(edges))}
	for i, e := range edges {
		p.by[i] = numbered{e, int32(i)}
	}
	slices.SortFunc(p.by, func(a, b numbered) int { return int(rank[a.From] - rank[b.From]) })
	level := make([]int32, len(edges))
	for at, e := range p.by {
		level[at] = rank[e.To]
	}
	p.ends = append(p.ends, level)
	for len(level) > fan {
		var next []int32
		for part := range slices.Chunk(level, fan) {
			next = append(next, slices.Min(part))
		}
		p.ends = append(p.ends, next)
		level = next
	}
	return p
}

// partners appends the edges after edge i that close a cycle with it.
func partners[R Relation](r R, p *pairs, i int32, list []int32) []int32 {
	e := p.edges[i]
	begin, end := p.rank[e.To], p.rank[e.From]
	at := sort.Search(len(p.by), func(at int) bool { return p.rank[p.by[at].From] >= begin })
	last, met := int32(-1), false // the last start tested, and whether e reaches it
	for at = p.next(at, end); at < len(p.by); at = p.next(at+1, end) {
		o := p.by[at]
		// All these queries read one row, that of e's start, which stays in the cache.
		if o.i <= i || !r.Reaches(o.To, e.From) {
			continue
		}
		if o.From != last {
			last, met = o.From, r.Reaches(e.To, o.From)
		}
		if met {
			list = append(list, o.i)
		}
	}
	slices.Sort(list)
	return list
}

// next returns the first position from at on of an edge whose end has at most the given rank.
func (p *pairs) next(at int, end int32) int {
	for at < len(p.by) {
		skip := 0
		for level, size := 1, fan; level < len(p.ends) && at%size == 0 && p.ends[level][at/size] > end; level, size = level+1, size*fan {
			skip = size
		}
		switch {
		case skip > 0:
			at += skip
		case p.ends[0][at] <= end:
			return at
		default:
			at++
		}
	}
	return len(p.by)
}
