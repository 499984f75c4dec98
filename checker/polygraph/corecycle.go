package polygraph

import (
	"context"
	"slices"

	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// anomaly describes the counterexample that parts select from the history; sub has only these
// parts. If the known graph of sub has a cycle, the anomaly is that cycle, otherwise a
// contradiction.
func (c *check) anomaly(parts []history.Part, sub *history.History) verdict.Anomaly {
	a := verdict.Anomaly{Kind: verdict.Contradiction, Count: 1}
	for _, p := range parts {
		a.Txns = append(a.Txns, p.Txn)
		for _, j := range p.Ops {
			a.Ops = append(a.Ops, verdict.OpRef{Txn: p.Txn, Op: j})
		}
	}
	if found := c.knownCycle(c.ctx, sub); found != nil {
		a.Cycle, a.Forced = found.edges, found.forced
		for n := range a.Cycle {
			e := &a.Cycle[n]
			e.From, e.To = parts[e.From].Txn, parts[e.To].Txn
		}
		for n, r := range a.Forced {
			a.Forced[n] = verdict.OpRef{Txn: parts[r.Txn].Txn, Op: parts[r.Txn].Ops[r.Op]}
		}
	}
	return a
}

// cycle is a cycle of the known graph, with the reads that force some of its edges, and with what
// it rests on.
type cycle struct {
	edges  []verdict.Edge
	forced map[int]verdict.OpRef
	used   *evidence
}

// knownCycle returns a shortest cycle of the known graph of h. It returns nil if there is none, or none
// that dependencies between transactions can show.
func (c *check) knownCycle(ctx context.Context, h *history.History) *cycle {
	s, _ := prepare(h, c.lvl, true, false)
	if s == nil {
		return nil
	}
	m, g := s.m, s.g
	s.thorough = true
	if err := s.run(ctx); err != nil {
		return nil
	}
	order := g.topological(nil)
	conclusion := none
	if s.refuted != nil {
		// The read returned the initial value, but a writer comes before it. An RW edge to that
		// writer closes the cycle.
		o := s.refuted
		if len(o.ruledOut) != 1 || o.ruledOut[0].candidate != fromInitial || len(o.candidates) > 0 {
			return nil
		}
		conclusion = int32(len(g.edges))
		g.add(g.start(m.reads[o.read].txn), g.commit(o.ruledOut[0].between), verdict.RW, overWrite, o.read)
		order = g.topological(nil)
	}
	if len(order) == int(g.nodes) {
		return nil
	}
	points := int32(len(m.txns)) << g.split
	out := &cycle{forced: map[int]verdict.OpRef{}, used: newEvidence(s)}
	// Edges that a read shows directly are easier to understand than edges that reads force.
	edges := g.shortestCycle(order, func(e *edge) bool {
		return e.rule == overTake || e.rule == overlap || e.rule == placedFirst || e.rule == shownFirst || e.rule == hiddenFirst
	})
	if edges == nil {
		edges = g.shortestCycle(order, func(*edge) bool { return false })
	}
	// The cycle begins at a transaction, so that the parts of an edge through points are next to
	// each other.
	if i := slices.IndexFunc(edges, func(n int32) bool { return g.edges[n].from < points }); i > 0 {
		edges = slices.Concat(edges[i:], edges[:i])
	}
	for _, n := range edges {
		e := &g.edges[n]
		if e.rule == allAfter || e.rule == allOver || e.why != none && m.reads[e.why].class >= m.values() {
			return nil
		}
		if n == conclusion {
			out.used.open(s.refuted)
		} else {
			out.used.edge(n)
		}
		if e.kind == 0 || e.from >= points { // start to commit of one transaction, or the rest of an edge through points
			if len(out.edges) > 0 && e.from >= points && e.to < points {
				out.edges[len(out.edges)-1].To = m.txns[g.txnOf(e.to)]
			}
			continue
		}
		v := verdict.Edge{From: m.txns[g.txnOf(e.from)], Kind: e.kind}
		if e.to < points {
			v.To = m.txns[g.txnOf(e.to)]
		}
		switch {
		case e.rule == overTake || e.rule == overlap || e.rule == placedFirst:
			v.Key, v.Value = sharedWrite(m, v.From, v.To, e)
		case e.why != none:
			v.Key, v.Value = m.reads[e.why].key, readValue(m, e.why)
		}
		if e.rule == overTake {
			rd := &m.reads[e.why]
			out.forced[len(out.edges)] = verdict.OpRef{Txn: m.txns[rd.txn], Op: firstOn(m, rd)}
		}
		out.edges = append(out.edges, v)
	}
	for n := range out.edges {
		if e := &out.edges[n]; e.Kind == verdict.VS {
			e.Key, e.Value = writtenFor(m, e.From, e.To)
		} else if e.Kind == verdict.NV {
			e.Key, e.Value = writtenFor(m, e.To, e.From)
		}
	}
	return out
}

// writtenFor returns a key that a transaction wrote, if possible one that another one reads, and the value.
func writtenFor(m *model, writer, reader int32) (history.Key, history.Value) {
	ops := m.h.Ops(&m.h.Txns[writer])
	best := -1
	for n, op := range slices.Backward(ops) {
		if op.Kind != history.Write {
			continue
		}
		read := slices.ContainsFunc(m.h.Ops(&m.h.Txns[reader]), func(o history.Op) bool { return o.Key == op.Key && o.Kind != history.Write })
		if best < 0 || read {
			best = n
		}
		if read {
			break
		}
	}
	return ops[best].Key, ops[best].Value
}

// firstOn returns the operation of a read of another transaction's write.
func firstOn(m *model, rd *read) int {
	return slices.IndexFunc(m.h.Ops(m.txn(rd.txn)), func(op history.Op) bool { return op.Key == rd.key && op.Kind != history.ReadNot })
}

// readValue returns what read r returned.
func readValue(m *model, r int32) history.Value {
	rd := &m.reads[r]
	return m.h.Ops(m.txn(rd.txn))[firstOn(m, rd)].Value
}

// sharedWrite returns the key that a WW edge is about, and what its first
// transaction wrote there.
func sharedWrite(m *model, from, to int32, e *edge) (history.Key, history.Value) {
	written := map[history.Key]bool{}
	for _, op := range m.h.Ops(&m.h.Txns[to]) {
		if op.Kind == history.Write {
			written[op.Key] = true
		}
	}
	for _, op := range slices.Backward(m.h.Ops(&m.h.Txns[from])) {
		if op.Kind == history.Write && written[op.Key] && (e.why == none || op.Key == m.reads[e.why].key) {
			return op.Key, op.Value
		}
	}
	return 0, 0
}

// mostSteps bounds the search for a shorter cycle: a long one of ten thousand transactions takes as many searches.
// Tests change it.
var mostSteps = 1 << 25

// shortestCycle returns the edges of a shortest cycle that has no edge for which without is true,
// or nil. order has the nodes that topological could order; they are in no cycle.
//
// If a cycle is known after mostSteps edges were followed, that one has to do.
func (g *graph) shortestCycle(order []int32, without func(*edge) bool) []int32 {
	placed := make([]bool, g.nodes)
	for _, v := range order {
		placed[v] = true
	}
	via, reached := make([]int32, g.nodes), make([]int32, g.nodes) // by node: the edge to it, and the root of that search
	stamp(reached)
	var best, queue []int32
	steps := 0
	// closing returns the last edge of a cycle through first that is shorter than best, or none.
	closing := func(first int32) int32 {
		queue = append(queue[:0], first)
		level := len(queue)
		for i, length := 0, 1; i < len(queue) && (best == nil || length < len(best)); i++ {
			if i == level {
				level = len(queue)
				if length++; best != nil && length >= len(best) {
					break
				}
			}
			for e := g.out[queue[i]]; e != none; e = g.edges[e].nextOut {
				steps++
				to := g.edges[e].to
				if reached[to] == first || placed[to] || without(&g.edges[e]) {
					continue
				}
				reached[to], via[to] = first, e
				if to == first {
					return e
				}
				queue = append(queue, to)
			}
		}
		return none
	}
	for first := range g.nodes {
		if placed[first] {
			continue
		}
		if steps > mostSteps && best != nil {
			break
		}
		last := closing(first)
		if last == none {
			continue
		}
		best = best[:0]
		for e := last; ; e = via[g.edges[e].from] {
			best = append(best, e)
			if g.edges[e].from == first {
				break
			}
		}
		slices.Reverse(best)
	}
	return best
}
