package polygraph

import (
	"slices"

	"github.com/isohound/isohound/checker/verdict"
)

// rule says how an edge came to be known.
type rule uint8

const (
	given     rule = iota // SO, RT, start before commit, and WR of a read with one candidate
	overTake              // WW: what is seen with a version came before it
	overWrite             // RW: what follows a version follows its readers
	overlap               // WW: writers of one key may not overlap (snapshot isolation)
	allAfter              // a read follows what all its candidates follow
	allOver               // RW: what follows all candidates of a read follows the read
)

// rules say of each rule what an edge by it rests on. Saturation adds the edges;
// whatever explains them reads this table: evidence, which gathers the part of the
// history that a violation rests on, and the prover, which writes the proof.
var rules = [...]struct {
	kind    verdict.EdgeKind // of the edges that saturation adds
	grounds func(s *saturator, e *edge) grounds
}{
	given: {verdict.WR, func(_ *saturator, e *edge) grounds {
		return grounds{settled: e.why, overwriter: none}
	}},
	overTake: {verdict.WW, func(s *saturator, e *edge) grounds {
		return grounds{settled: e.why, overwriter: s.g.txnOf(e.from),
			paths: [][2]int32{{e.from, s.g.start(s.m.reads[e.why].txn)}}}
	}},
	overWrite: {verdict.RW, func(s *saturator, e *edge) grounds {
		out := grounds{settled: e.why, overwriter: s.g.txnOf(e.to)}
		if source := s.m.reads[e.why].source; source >= 0 {
			out.paths = [][2]int32{{s.g.start(s.m.writer[source]), e.to}}
		}
		return out
	}},
	overlap: {verdict.WW, func(s *saturator, e *edge) grounds {
		return grounds{settled: none, overwriter: none, overlaps: true,
			paths: [][2]int32{{s.g.start(s.g.txnOf(e.from)), s.g.commit(s.g.txnOf(e.to))}}}
	}},
	allAfter: {verdict.WR, func(s *saturator, e *edge) grounds {
		return grounds{settled: none, overwriter: none, each: func(w int32) [2]int32 {
			return [2]int32{e.from, s.g.commit(s.m.writer[w])}
		}}
	}},
	allOver: {verdict.RW, func(s *saturator, e *edge) grounds {
		return grounds{settled: none, overwriter: s.g.txnOf(e.to), each: func(w int32) [2]int32 {
			return [2]int32{s.g.start(s.m.writer[w]), e.to}
		}}
	}},
}

// grounds are what an edge rests on.
type grounds struct {
	// settled is the read of which only one source is left, or none.
	settled int32
	// overwriter is the transaction that does not come between the read and its
	// source, or none; overlaps says that the edge's two may not overlap.
	overwriter int32
	overlaps   bool
	// paths are known paths that exclude the opposite of the edge.
	paths [][2]int32
	// each, where the source of the read is open, gives the known path for each
	// candidate.
	each func(w int32) [2]int32
}

// grounds returns what an edge of the known graph rests on.
func (s *saturator) grounds(n int32) grounds {
	e := &s.g.edges[n]
	return rules[e.rule].grounds(s, e)
}

// paths finds shortest paths in the known graph as it once was.
type paths struct {
	s         *saturator
	via, seen []int32 // by node, where seen says so: the edge towards the end of the path
	now       int32
	queue     []int32
}

func newPaths(s *saturator) paths {
	return paths{s: s, via: make([]int32, s.g.nodes), seen: make([]int32, s.g.nodes)}
}

// find returns the edges of a path among the first so many edges. There may be none
// where a candidate had been ruled out before.
func (p *paths) find(from, to, known int32) (edges []int32, ok bool) {
	g := p.s.g
	if from == to {
		return nil, true
	}
	p.now++
	p.seen[to] = p.now
	p.queue = append(p.queue[:0], to)
	for i := 0; i < len(p.queue); i++ {
		for e := g.in[p.queue[i]]; e != none; e = g.edges[e].nextIn {
			v := g.edges[e].from
			if e >= known || p.seen[v] == p.now || !p.s.towards(from, v) {
				continue
			}
			p.seen[v], p.via[v] = p.now, e
			if v == from {
				for v != to {
					edges = append(edges, p.via[v])
					v = g.edges[p.via[v]].to
				}
				return edges, true
			}
			p.queue = append(p.queue, v)
		}
	}
	return nil, false
}

// towards reports whether node can be reached from a start or commit, or that it
// may be.
func (s *saturator) towards(from, node int32) bool {
	return s.reach == nil || !s.reach.has(node) || s.reach.reaches(from, node)
}

// nodesOf lists the nodes along the edges of a path that begins at from.
func (g *graph) nodesOf(from int32, edges []int32) []int32 {
	nodes := slices.Grow([]int32{from}, len(edges))
	for _, e := range edges {
		nodes = append(nodes, g.edges[e].to)
	}
	return nodes
}
