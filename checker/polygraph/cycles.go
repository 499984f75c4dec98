package polygraph

import (
	"context"
	"slices"

	"github.com/isohound/isohound/checker/sat"
)

// uncertain is an edge that holds where its literal does.
type uncertain struct {
	lit      sat.Lit
	from, to int32
}

// forbidCycles adds a clause for each two uncertain edges that known paths close
// to a cycle (VeriStrong paper, Algorithm 2, CANONICALCYCLE: its text asks for
// a path from the second edge's end to the first one's start, and that is what
// makes a cycle, not the pseudo-code's S to S'). The algorithm's other case, a
// source and a writer that comes before the reader, needs none: the clause
// that keeps a writer from coming between is just that where the known graph
// has the writer before the reader.
//
// Without pruning there is no reachability yet, and it is computed here; where
// there are too many sessions for that, nothing is added.
func (x *search) forbidCycles(order []int32) error {
	k := x.k
	if k == nil {
		if k = newReach(x.m, x.g); k == nil {
			return nil
		}
		if err := k.update(x.ctx, order); err != nil {
			return err
		}
	}
	reaches := func(a, b int32) bool {
		t := x.g.txnOf(a)
		if a == x.g.commit(t) {
			return k.fromCommit(t, b)
		}
		return k.fromStart(t, b)
	}
	var edges []uncertain
	for v := range x.vars {
		l := sat.Pos(int32(v))
		if kind := x.vars[v].kind; kind != isBefore && kind != isChain || x.s.True(l) || x.s.False(l) {
			continue
		}
		for _, l := range []sat.Lit{l, l.Not()} {
			from, to := x.edgeOf(l)
			edges = append(edges, uncertain{l, from, to})
		}
	}
	slices.SortStableFunc(edges, func(a, b uncertain) int { return int(a.from) - int(b.from) })
	for i, e := range edges {
		if x.ctx.Err() != nil {
			return context.Cause(x.ctx)
		}
		met := false // e leads to the edges that leave the node looked at
		for n, f := range edges[:i] {
			if n&0xffff == 0xffff && x.ctx.Err() != nil {
				return context.Cause(x.ctx)
			}
			if n == 0 || f.from != edges[n-1].from {
				met = reaches(e.to, f.from)
			}
			if met && f.lit.Var() != e.lit.Var() && reaches(f.to, e.from) {
				x.s.Add(e.lit.Not(), f.lit.Not())
			}
		}
	}
	return nil
}
