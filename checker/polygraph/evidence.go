package polygraph

import "context"

// evidence records what a refutation rests on, so that a counterexample can be cut out of the
// history. A search records much, and most searches end without a refutation. So recording is
// cheap, and paths are searched only by explain.
type evidence struct {
	reads, txns, edges marks

	// searched: the refutation rests on clauses, too.
	searched bool

	s *saturator
	// work are the edges and paths that explain has still to handle.
	work []item
}

// item is an edge or, if edge is none, a path that uses only edges with numbers below known.
type item struct{ edge, from, to, known int32 }

// marks is a set of numbers.
type marks struct {
	has  []bool
	list []int32
}

// add adds n and reports whether it is new. limit is above all numbers.
func (m *marks) add(n int32, limit int) bool {
	if m.has == nil {
		m.has = make([]bool, limit)
	}
	if m.has[n] {
		return false
	}
	m.has[n] = true
	m.list = append(m.list, n)
	return true
}

func newEvidence(s *saturator) *evidence { return &evidence{s: s} }

func (v *evidence) read(r int32) {
	if v.reads.add(r, len(v.s.m.reads)) {
		v.txn(v.s.m.reads[r].txn)
	}
}

func (v *evidence) txn(t int32) {
	if v.txns.add(t, len(v.s.m.txns)) {
		if r, ok := v.s.pulled[t]; ok {
			v.read(r)
		}
	}
}

func (v *evidence) edge(e int32) {
	if v.edges.add(e, len(v.s.g.edges)) {
		v.work = append(v.work, item{edge: e})
	}
}

// path records the known paths from one node to another, with the edges known now.
func (v *evidence) path(from, to int32) { v.pathAmong(from, to, int32(len(v.s.g.edges))) }

func (v *evidence) pathAmong(from, to, known int32) {
	if from != to {
		v.work = append(v.work, item{none, from, to, known})
	}
}

// open records why candidates of a read were ruled out.
func (v *evidence) open(o *openRead) {
	m, g := v.s.m, v.s.g
	rd := &m.reads[o.read]
	v.read(o.read)
	for _, c := range o.ruledOut {
		if c.between != none {
			v.txn(c.between)
			v.pathAmong(g.commit(c.between), g.start(rd.txn), c.edges)
		}
		switch t := c.candidate; {
		case t == fromInitial:
		case c.between == none:
			v.pathAmong(g.start(rd.txn), g.commit(m.writer[t]), c.edges)
		default:
			v.pathAmong(g.turn(m.writer[t]), g.commit(c.between), c.edges)
		}
	}
}

// explain finds the reads and transactions on which the recorded edges and paths rest. If ctx ends,
// they are all reads and transactions.
func (v *evidence) explain(ctx context.Context) {
	s := v.s
	closed := map[int32]*openRead{}
	for _, list := range [][]openRead{s.open, s.closed} {
		for i := range list {
			closed[list[i].read] = &list[i]
		}
	}
	booked := 0 // how many of the reads have been handled
	done, find := map[item]bool{}, newPaths(s)
	for {
		for ; booked < len(v.reads.list); booked++ {
			if o := closed[v.reads.list[booked]]; o != nil {
				v.open(o)
			}
		}
		if len(v.work) == 0 {
			return
		}
		if ctx.Err() != nil {
			v.everything()
			return
		}
		it := v.work[len(v.work)-1]
		v.work = v.work[:len(v.work)-1]
		switch {
		case it.edge != none:
			v.because(it.edge)
		case !done[it]:
			done[it] = true
			edges, _ := find.find(it.from, it.to, it.known)
			for _, e := range edges {
				v.edge(e)
			}
		}
	}
}

// everything records all reads and transactions.
func (v *evidence) everything() {
	for t := range int32(len(v.s.m.txns)) {
		if !v.s.m.optional[t] || v.txns.has != nil && v.txns.has[t] {
			v.txn(t)
		}
	}
	for r := range int32(len(v.s.m.reads)) {
		if rd := &v.s.m.reads[r]; v.txns.has[rd.txn] && rd.source != fromNowhere {
			v.read(r)
		}
	}
	v.searched = true // so all writes count
}

// because records what an edge rests on.
func (v *evidence) because(n int32) {
	m, g := v.s.m, v.s.g
	e := g.edges[n]
	limit := int32(len(m.txns)) << g.split
	for _, node := range []int32{e.from, e.to} {
		if node < limit {
			v.txn(g.txnOf(node))
		}
	}
	if e.why != none {
		v.read(e.why)
	}
	by := v.s.grounds(n)
	for _, p := range by.paths {
		v.pathAmong(p[0], p[1], n)
	}
	if by.each == nil {
		return
	}
	for _, w := range m.members(&m.reads[e.why]) {
		if t := m.writer[w]; t != m.reads[e.why].txn && !m.broken[t] {
			p := by.each(w)
			v.pathAmong(p[0], p[1], n)
		}
	}
}
