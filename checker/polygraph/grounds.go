package polygraph

import (
	"slices"

	"github.com/isohound/isohound/checker/verdict"
)

// rule says how an edge came to be known.
type rule uint8

const (
	given       rule = iota // SO, RT, start before commit, and WR of a read with one candidate
	overTake                // WW: a writer that reaches the reader of a version committed before that version
	overWrite               // RW: a writer that follows a version follows the readers of that version
	overlap                 // WW: writers of one key must not overlap (snapshot isolation)
	allAfter                // a read follows everything that all its candidates follow
	allOver                 // RW: a writer that follows all candidates of a read follows the read
	placedFirst             // VO: the database says that a writer of the key came first, and that is assumed
	shownFirst              // VS: the database says that a snapshot has a commit, and that is assumed
	hiddenFirst             // NV: the database says that a snapshot lacks a commit, and that is assumed
)

// rules has, for each rule, what its edges rest on. Saturation adds the edges. This table explains
// them, to evidence, which gathers the part of the history that a violation rests on, and to
// prover, which writes the proof.
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
			out.paths = [][2]int32{{s.g.turn(s.m.writer[source]), e.to}}
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
			return [2]int32{s.g.turn(s.m.writer[w]), e.to}
		}}
	}},
	placedFirst: {verdict.VO, func(*saturator, *edge) grounds {
		return grounds{settled: none, overwriter: none, assumed: true}
	}},
	shownFirst:  {verdict.VS, func(*saturator, *edge) grounds { return grounds{settled: none, overwriter: none} }},
	hiddenFirst: {verdict.NV, func(*saturator, *edge) grounds { return grounds{settled: none, overwriter: none} }},
}

// grounds are what an edge rests on.
type grounds struct {
	// settled is the read that has only one source left, or none.
	settled int32
	// overwriter is the transaction that does not come between the read and its source, or none.
	// overlaps: the two transactions of the edge must not overlap.
	overwriter int32
	overlaps   bool
	// assumed: the database says so.
	assumed bool
	// paths are the ends of known paths that exclude the reverse of the edge.
	paths [][2]int32
	// each is set if the read has several candidates. It returns the ends of the known path for a
	// candidate.
	each func(w int32) [2]int32
}

// grounds returns what an edge of the known graph rests on.
func (s *saturator) grounds(n int32) grounds {
	e := &s.g.edges[n]
	return rules[e.rule].grounds(s, e)
}

// paths finds shortest paths in the known graph, restricted to its first edges.
type paths struct {
	s         *saturator
	via, seen []int32 // by node: the edge towards the end of the path, valid if seen[node] is now
	now       int32
	queue     []int32
}

func newPaths(s *saturator) paths {
	return paths{s: s, via: make([]int32, s.g.nodes), seen: make([]int32, s.g.nodes)}
}

// find returns the edges of a shortest path that uses only edges with numbers below known. For a
// candidate that had been ruled out earlier there may be no path.
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

// towards reports whether node may be reachable from from, a start or commit. It is exact if the
// closure knows node.
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
