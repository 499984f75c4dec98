package polygraph

import (
	"slices"

	"github.com/isohound/isohound/accel"
	"github.com/isohound/isohound/checker/sat"
)

// uncertain is an edge that holds if its literal is true.
type uncertain struct {
	lit      sat.Lit
	from, to int32
}

// forbidCycles adds a clause for each two uncertain edges that form a cycle with known paths
// (VeriStrong paper, Algorithm 2, CANONICALCYCLE). The paper's text asks for a path from the end of
// the second edge to the start of the first one. That makes a cycle, while the S to S' of the
// pseudo-code does not. The algorithm's other case, a source and a writer that comes before the
// reader, needs no clause of its own: if the known graph has the writer before the reader, the
// clause against a writer between source and reader says the same.
//
// Without pruning there is no reachability yet, so it is computed here. If no backend is able to
// compute it, no clause is added.
func (x *search) forbidCycles() error {
	k := x.reach
	if k == nil {
		k = newReach(x.m, x.g, x.how)
		defer k.close()
		x.pipe.told = &k.told
	}
	var edges []uncertain
	for v := range x.vars {
		l := sat.Pos(int32(v))
		if kind := x.vars[v].kind; kind != isBefore && kind != isWriteChains || x.s.True(l) || x.s.False(l) {
			continue
		}
		for _, l := range []sat.Lit{l, l.Not()} {
			from, to := x.edgeOf(l)
			edges = append(edges, uncertain{l, from, to})
		}
	}
	slices.SortStableFunc(edges, func(a, b uncertain) int { return int(a.from) - int(b.from) })
	asked := make([]accel.Edge, 0, len(edges))
	for _, e := range edges {
		asked = append(asked, accel.Edge{From: e.from, To: e.to})
	}
	var pairs [][2]int32
	err := k.ask(x.ctx, func(c accel.Closure) error {
		err := c.TwoCycles(x.ctx, asked, func(i, j int32) bool {
			if edges[i].lit.Var() != edges[j].lit.Var() {
				pairs = append(pairs, [2]int32{i, j})
			}
			return true
		})
		if err != nil {
			pairs = nil
		}
		return err
	})
	for _, p := range pairs {
		x.s.Add(edges[p[0]].lit.Not(), edges[p[1]].lit.Not())
	}
	return err
}
