package bench

import (
	"context"

	"github.com/isohound/isohound/accel"
	"github.com/isohound/isohound/accel/bitset"
	"github.com/isohound/isohound/accel/chains"
	"github.com/isohound/isohound/bench/classic"
)

// compactAlgorithm is an algorithm or backend that computes a closure.
type compactAlgorithm struct {
	name   string
	memory func(g *accel.Graph) int64
	build  func(ctx context.Context, g *accel.Graph) (updated, error)
	// plain replaces intervals by time points.
	plain bool
	// once adds all edges at once.
	once bool
}

// updated is a closure that edges can be added to.
type updated interface {
	Reaches(from, to int32) bool
	Bytes() int64
	add(ctx context.Context, edges []accel.Edge) error
}

type paperClosure struct{ classic.Closure }

func (c paperClosure) add(ctx context.Context, edges []accel.Edge) error {
	ok, err := c.Insert(ctx, edges[0])
	if err == nil && !ok {
		err = &accel.CycleError{Vertices: []int32{edges[0].From, edges[0].To}}
	}
	return err
}

type ownClosure struct{ accel.Closure }

func (c ownClosure) add(ctx context.Context, edges []accel.Edge) error {
	return c.Insert(ctx, edges)
}

func paper(a *classic.Algorithm) compactAlgorithm {
	return compactAlgorithm{name: a.Name, memory: a.Memory, build: func(ctx context.Context, g *accel.Graph) (updated, error) {
		c, err := a.Build(ctx, g)
		if err != nil {
			return nil, err
		}
		return paperClosure{c}, nil
	}}
}

// own is a backend on one processor, like the other algorithms, or on all.
func own(name string, b accel.Backend, workers int) compactAlgorithm {
	return compactAlgorithm{name: name, memory: b.Memory, build: func(ctx context.Context, g *accel.Graph) (updated, error) {
		c, err := b.Closure(ctx, g, accel.Options{Workers: workers})
		if err != nil {
			return nil, err
		}
		return ownClosure{c}, nil
	}}
}

// compactAlgorithms returns the algorithms of a part, in the order of the figure.
func compactAlgorithms(part string) []compactAlgorithm {
	var list []compactAlgorithm
	for i := range classic.Algorithms {
		a := paper(&classic.Algorithms[i])
		if part == update && (a.name == "Warshall" || a.name == "Purdom" || a.name == "Purdom+") {
			a.name += " again"
		}
		list = append(list, a)
	}
	plain := own("bitset, points", bitset.Backend{}, 1)
	plain.plain = true
	list = append(list, own("bitset", bitset.Backend{}, 1), plain, own("chains", chains.Backend{}, 1))
	if part == update {
		batch := own("bitset, at once", bitset.Backend{}, 1)
		batch.once = true
		list = append(list, batch)
	}
	return list
}

func (a *compactAlgorithm) update(ctx context.Context, cl updated, edges []accel.Edge, p *CompactPoint) error {
	step := 1
	if a.once {
		step = max(1, len(edges))
	}
	for i := 0; i < len(edges); i += step {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := cl.add(ctx, edges[i:i+step]); err != nil {
			return err
		}
		p.Added += step
	}
	return nil
}

// timePoints returns g with real time as edges through a chain of additional vertices, each
// standing for the ends up to some moment.
func timePoints(g *accel.Graph) *accel.Graph {
	a := accel.NewAdjacency(g)
	n := g.Len()
	next := n
	var edges []accel.Edge
	over := int32(0)
	ends := byEnd(g)
	for _, v := range a.Begins() {
		if over < n && g.Before(ends[over], v) {
			if next > n {
				edges = append(edges, accel.Edge{From: next - 1, To: next})
			}
			for ; over < n && g.Before(ends[over], v); over++ {
				edges = append(edges, accel.Edge{From: ends[over], To: next})
			}
			next++
		}
		if next > n {
			edges = append(edges, accel.Edge{From: next - 1, To: v})
		}
	}
	for v := range n {
		for _, u := range g.Into(v) {
			edges = append(edges, accel.Edge{From: u, To: v})
		}
	}
	out := accel.NewGraph(next, edges)
	out.Sources, out.Cover = n, g.Cover
	return out
}
