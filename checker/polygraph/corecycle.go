package polygraph

import (
	"slices"

	"github.com/isohound/isohound/checker/single"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// anomaly describes the core: by a cycle where the known graph of the core has
// one, else as a contradiction.
func (k *core) anomaly() verdict.Anomaly {
	a := verdict.Anomaly{Kind: verdict.Contradiction}
	for _, t := range k.txns() {
		i := k.m.txns[t]
		a.Txns = append(a.Txns, i)
		for _, j := range k.keep[t].ops {
			a.Ops = append(a.Ops, verdict.OpRef{Txn: i, Op: j})
		}
	}
	a.Cycle, a.Forced = k.cycle(a.Txns)
	return a
}

// cycle returns a shortest cycle of the core's known graph, or nil if it has
// none that dependencies between transactions can tell, and the reads that force
// edges of it. at are the core's transactions as indices into the whole history.
func (k *core) cycle(at []int32) ([]verdict.Edge, map[int]verdict.OpRef) {
	h := k.history()
	found := single.NewCollector(h)
	m := newModel(h, k.c.lvl, found)
	if len(found.Anomalies) > 0 {
		return nil, nil
	}
	g := newGraph(m)
	s := newSaturator(m, g, true)
	s.thorough = true
	if err := s.run(k.c.ctx); err != nil {
		return nil, nil
	}
	order := g.topological(nil)
	if s.refuted != nil {
		// A read of the initial value comes before the writer that it follows.
		o := s.refuted
		if len(o.ruledOut) != 1 || o.ruledOut[0].candidate != fromInitial || len(o.candidates) > 0 {
			return nil, nil
		}
		g.add(g.start(m.reads[o.read].txn), g.commit(o.ruledOut[0].between), verdict.RW, overWrite, o.read)
		order = g.topological(nil)
	}
	if len(order) == int(g.nodes) {
		return nil, nil
	}
	points := int32(len(m.txns)) << g.split
	var out []verdict.Edge
	forced := map[int]verdict.OpRef{}
	// What reads show directly is easier to understand than what they force.
	edges := g.shortestCycle(order, func(e *edge) bool { return e.rule == overTake || e.rule == overlap })
	if edges == nil {
		edges = g.shortestCycle(order, func(*edge) bool { return false })
	}
	// It begins at a transaction, so that both halves of a real-time edge are in
	// one piece.
	if i := slices.IndexFunc(edges, func(n int32) bool { return g.edges[n].from < points }); i > 0 {
		edges = slices.Concat(edges[i:], edges[:i])
	}
	for _, n := range edges {
		e := &g.edges[n]
		if e.rule == allAfter || e.rule == allOver {
			return nil, nil
		}
		if e.kind == 0 || e.from >= points { // a transaction's own, or the rest of a real-time edge
			if len(out) > 0 && e.from >= points && e.to < points {
				out[len(out)-1].To = at[m.txns[g.txnOf(e.to)]]
			}
			continue
		}
		v := verdict.Edge{From: at[m.txns[g.txnOf(e.from)]], Kind: e.kind}
		if e.to < points {
			v.To = at[m.txns[g.txnOf(e.to)]]
		}
		switch {
		case e.rule == overTake || e.rule == overlap:
			v.Key, v.Value = k.sharedWrite(v.From, v.To, e, m)
		case e.why != none:
			v.Key = m.reads[e.why].key
			v.Value = readValue(h, m, e.why)
		}
		if e.rule == overTake {
			rd := &m.reads[e.why]
			t := at[m.txns[rd.txn]]
			forced[len(out)] = verdict.OpRef{Txn: t, Op: slices.IndexFunc(k.m.h.Ops(&k.m.h.Txns[t]), func(op history.Op) bool { return op.Key == rd.key })}
		}
		out = append(out, v)
	}
	return out, forced
}

func (k *core) cyclical() bool {
	edges, _ := k.cycle(k.places())
	return edges != nil
}

// readValue returns what read r returned.
func readValue(h *history.History, m *model, r int32) history.Value {
	ops := h.Ops(m.txn(m.reads[r].txn))
	return ops[slices.IndexFunc(ops, func(op history.Op) bool { return op.Key == m.reads[r].key })].Value
}

// sharedWrite returns the key that a WW edge is about, and what its first
// transaction wrote there.
func (k *core) sharedWrite(from, to int32, e *edge, m *model) (history.Key, history.Value) {
	for _, op := range slices.Backward(k.m.h.Ops(&k.m.h.Txns[from])) {
		if op.Kind != history.Write || e.why != none && op.Key != m.reads[e.why].key {
			continue
		}
		for _, other := range k.m.h.Ops(&k.m.h.Txns[to]) {
			if other.Kind == history.Write && other.Key == op.Key {
				return op.Key, op.Value
			}
		}
	}
	return 0, 0
}

// shortestCycle returns the edges of a shortest cycle, of a graph without
// topological order of which order holds the nodes before any cycle, that goes
// without certain edges, or nil. It is for small graphs.
func (g *graph) shortestCycle(order []int32, without func(*edge) bool) []int32 {
	placed := make([]bool, g.nodes)
	for _, v := range order {
		placed[v] = true
	}
	var best []int32
	for first := range g.nodes {
		if placed[first] {
			continue
		}
		via := map[int32]int32{}
		queue := []int32{first}
	search:
		for len(queue) > 0 {
			v := queue[0]
			queue = queue[1:]
			for e := g.out[v]; e != none; e = g.edges[e].nextOut {
				to := g.edges[e].to
				if _, seen := via[to]; seen || placed[to] || without(&g.edges[e]) {
					continue
				}
				via[to] = e
				if to == first {
					break search
				}
				queue = append(queue, to)
			}
		}
		if _, closed := via[first]; !closed {
			continue
		}
		var cycle []int32
		for v := first; ; {
			cycle = append(cycle, via[v])
			if v = g.edges[via[v]].from; v == first {
				break
			}
		}
		if best == nil || len(cycle) < len(best) {
			slices.Reverse(cycle)
			best = cycle
		}
	}
	return best
}
