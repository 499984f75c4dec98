package polygraph

import (
	"context"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/accel"
	"github.com/isohound/isohound/checker/engine"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/history"
)

// Known is the known graph of a history at a level: the edges that every execution must keep.
type Known struct {
	// Graph has the given edges: session order, and the write-read edges of reads that have only
	// one possible source. Its vertices are transactions. At a level with snapshots they are starts
	// and commits: the start of each transaction and then its commit, as a pair. Sessions are its
	// Cover if the level keeps session order. Real time is in its Intervals, not in its edges.
	Graph *accel.Graph
	// Inferred are the edges that saturation adds, in the order in which it finds them.
	Inferred []accel.Edge
	// Txns is the number of transactions that are not aborted.
	Txns int
}

// KnownGraph returns the known graph of h at lvl. If infer is set, it has what saturation infers.
// The error is an *engine.Refusal, the context's cause, or says that a single read is wrong.
// KnownGraph does not check whether the graph has a cycle. If it has one, fewer edges may be
// inferred.
func KnownGraph(ctx context.Context, h *history.History, lvl level.Level, infer bool) (*Known, error) {
	if err := engine.Suits(Engine{}, h, lvl); err != nil {
		return nil, err
	}
	s, _ := prepare(h, lvl, infer, true)
	if s == nil {
		return nil, errors.New("some reads are wrong by themselves, so the history has no known graph; isohound check lists these reads")
	}
	m, g := s.m, s.g
	given := len(g.edges)
	if infer {
		if err := s.run(ctx); err != nil {
			return nil, err
		}
	} else {
		s.list()
	}
	n := int32(len(m.txns)) << g.split
	edges := make([]accel.Edge, 0, len(g.edges))
	k := &Known{Txns: len(m.txns)}
	for i := range g.edges {
		e := &g.edges[i]
		switch {
		case e.from >= n || e.to >= n: // real time, through a time point
		case i < given:
			edges = append(edges, accel.Edge{From: e.from, To: e.to})
		default:
			k.Inferred = append(k.Inferred, accel.Edge{From: e.from, To: e.to})
		}
	}
	k.Graph = accel.NewGraph(n, edges)
	k.Graph.Pairs = g.split == 1
	if lvl.SessionOrder() {
		k.Graph.Cover = sessionCover(m, g)
	}
	if lvl.RealTime() {
		k.Graph.Intervals = intervals(m, g)
	}
	return k, nil
}

// sessionCover returns the chains of the model as paths of nodes.
func sessionCover(m *model, g *graph) *accel.Cover {
	n := int32(len(m.txns))
	c := &accel.Cover{Chain: make([]int32, n<<g.split), Place: make([]int32, n<<g.split), Count: m.chains.count}
	for t := range n {
		for _, v := range [...]int32{g.start(t), g.commit(t)} {
			c.Chain[v], c.Place[v] = m.chains.of[t], m.chains.pos[t]<<g.split+1+v&g.split
		}
	}
	return c
}

// intervals gives each node the time of its transaction. A start and its commit have the same
// interval: a transaction that ended before this one began comes before both, and both come before
// a transaction that began after this one ended.
func intervals(m *model, g *graph) []accel.Interval {
	n := int32(len(m.txns))
	out := make([]accel.Interval, n<<g.split)
	for t := range n {
		x, at := m.txn(t), accel.Always
		if x.Begin != history.NoTime {
			at.Begin = x.Begin
		}
		if x.Status == history.Committed && x.End != history.NoTime {
			at.End = x.End
		}
		out[g.start(t)], out[g.commit(t)] = at, at
	}
	return out
}
