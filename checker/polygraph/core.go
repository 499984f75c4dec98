package polygraph

import (
	"context"
	"slices"
	"time"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/checker/single"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// core is a closed sub-history (DESIGN rule 3): some transactions with some of
// their reads from outside and some of their final writes. For every read that
// is kept, every transaction of the history that can have written its value is
// kept with that write; one of unknown outcome is kept whole.
type core struct {
	c    *check
	m    *model
	keep map[int32]*part // by transaction
	// cyclic says that the known graph of the sub-history has a cycle, and is to
	// keep one: that is easier to understand than the least that contradicts
	// itself.
	cyclic bool
	// latest is the latest judgement of the sub-history as it is.
	latest *check
}

// part is what is kept of a transaction: indices of operations, ascending.
type part struct{ ops []int }

// counterexample cuts out of the history what the evidence rests on, and from
// that everything that is not needed.
func (c *check) counterexample(used *evidence) error {
	c.res.Verdict, c.used = verdict.Violated, used
	if c.decideOnly {
		return nil
	}
	c.stages.Begin("explain")
	used.explain()
	k := &core{c: c, m: c.sat.m, keep: map[int32]*part{}}
	k.collect(used)
	bad, err := k.violates()
	if err != nil {
		return err
	}
	if !bad {
		return errNoCore
	}
	if whole := k.clone(); whole.fill() && whole.cyclical() {
		whole.cyclic = true
		k = whole
	}
	if err := k.minimize(); err != nil {
		return err
	}
	a := k.anomaly()
	a.Count = 1
	if c.opt.Witness {
		if a.Refutation, err = refutation(c.ctx, k.history(), c.lvl, a.Txns, c.opt.Config.Has(Pruning)); err != nil {
			return err
		}
	}
	c.violated([]verdict.Anomaly{a})
	c.stages.Done("explain")
	return nil
}

var errNoCore = errors.New("a refutation does not show what it rests on; this is a bug in isohound")

// collect takes the reads of the evidence, the writes of its transactions to
// their keys, and what closes the sub-history.
func (k *core) collect(used *evidence) {
	m := k.m
	keys := map[int32]bool{}
	for r := range used.reads {
		keys[int32(m.reads[r].key)] = true
	}
	for e := range used.edges {
		if ed := &used.s.g.edges[e]; ed.rule == overlap {
			for _, w := range m.writesOf.of(used.s.g.txnOf(ed.to)) {
				for _, v := range m.writesOf.of(used.s.g.txnOf(ed.from)) {
					if m.key[w] == m.key[v] {
						keys[m.key[w]] = true
					}
				}
			}
		}
	}
	if used.searched {
		for t := range used.txns {
			for _, w := range m.writesOf.of(t) {
				keys[m.key[w]] = true
			}
		}
	}
	for t := range used.txns {
		k.keepWrites(t, keys)
	}
	for r := range used.reads {
		k.keepRead(r)
	}
}

func (k *core) part(t int32) *part {
	p := k.keep[t]
	if p == nil {
		p = &part{}
		k.keep[t] = p
		if k.m.txn(t).Status == history.Unknown {
			k.keepWhole(t, p)
		}
	}
	return p
}

func (p *part) add(op int) {
	if i, found := slices.BinarySearch(p.ops, op); !found {
		p.ops = slices.Insert(p.ops, i, op)
	}
}

// keepWhole keeps all of a transaction of unknown outcome: it can have taken
// place only if what it read is right.
func (k *core) keepWhole(t int32, p *part) {
	ops := k.m.h.Ops(k.m.txn(t))
	for j := range ops {
		p.add(j)
	}
	for r := k.m.readFrom[t]; r < k.m.readFrom[t+1]; r++ {
		k.close(&k.m.reads[r])
	}
}

// keepWrites keeps the final writes of t to some keys.
func (k *core) keepWrites(t int32, keys map[int32]bool) {
	p := k.part(t)
	for _, w := range k.m.writesOf.of(t) {
		if keys[k.m.key[w]] {
			p.add(k.writeOp(w))
		}
	}
}

// writeOp returns the index of the operation that is write w.
func (k *core) writeOp(w int32) int {
	ops := k.m.h.Ops(k.m.txn(k.m.writer[w]))
	for j := len(ops) - 1; ; j-- {
		if ops[j].Kind == history.Write && int32(ops[j].Key) == k.m.key[w] {
			return j
		}
	}
}

// readOp returns the index of the operation that is read r.
func (k *core) readOp(rd *read) int {
	ops := k.m.h.Ops(k.m.txn(rd.txn))
	return slices.IndexFunc(ops, func(op history.Op) bool { return op.Key == rd.key })
}

func (k *core) keepRead(r int32) {
	rd := &k.m.reads[r]
	k.part(rd.txn).add(k.readOp(rd))
	k.close(rd)
}

// fill keeps more reads of its transactions, all that need no other transaction,
// and reports whether there were any.
func (k *core) fill() bool {
	more := false
	for _, t := range k.txns() {
		for r := k.m.readFrom[t]; r < k.m.readFrom[t+1]; r++ {
			rd := &k.m.reads[r]
			if rd.class == none || slices.ContainsFunc(k.m.classFrom.of(rd.class), func(w int32) bool { return k.keep[k.m.writer[w]] == nil }) {
				continue
			}
			before := len(k.keep[t].ops)
			k.keepRead(r)
			more = more || len(k.keep[t].ops) > before
		}
	}
	return more
}

// close keeps the writers of what rd read.
func (k *core) close(rd *read) {
	if rd.class == none {
		return
	}
	for _, w := range k.m.classFrom.of(rd.class) {
		if t := k.m.writer[w]; t != rd.txn {
			k.part(t).add(k.writeOp(w))
		}
	}
}

func (k *core) history() *history.History {
	h := k.m.h
	b := history.NewBuilder(h.Header, h.Symbols, len(k.keep))
	for _, t := range k.txns() {
		rec := h.Record(int(k.m.txns[t]))
		all := rec.Ops
		rec.Ops, rec.Predicates = nil, nil // predicates are not judged, and point at operations
		for _, j := range k.keep[t].ops {
			rec.Ops = append(rec.Ops, all[j])
		}
		if err := b.Add(&rec); err != nil {
			panic(err) // the records come from a valid history
		}
	}
	return b.Done(h.Closed, nil)
}

func (k *core) txns() []int32 {
	var out []int32
	for t := range k.keep {
		out = append(out, t)
	}
	slices.Sort(out)
	return out
}

// places are the transactions as indices into the whole history.
func (k *core) places() []int32 {
	var out []int32
	for _, t := range k.txns() {
		out = append(out, k.m.txns[t])
	}
	return out
}

// violates judges the sub-history by itself.
func (k *core) violates() (bool, error) {
	if k.cyclic {
		return k.cyclical(), nil
	}
	sub := k.judge(k.history())
	if err := sub.run(); err != nil {
		return false, err
	}
	k.latest = sub
	return sub.res.Verdict == verdict.Violated, nil
}

func (k *core) judge(h *history.History) *check {
	c := &check{ctx: k.c.ctx, h: h, lvl: k.c.lvl, decideOnly: true, res: &verdict.Result{Level: k.c.lvl}}
	c.stages = verdict.NewStages(c.res, nil)
	return c
}

// minimizeFor bounds the time for making a counterexample small. What is left
// then is one all the same.
const minimizeFor = 5 * time.Second

// minimize drops transactions, then single operations, as long as the rest
// violates the level by itself. What cannot be dropped once never can: dropping
// more makes no violation of what is none.
func (k *core) minimize() error {
	whole := k.c.ctx
	limited, cancel := context.WithTimeout(whole, minimizeFor)
	defer cancel()
	k.c.ctx = limited
	defer func() { k.c.ctx = whole }()
	try := func(change func(next *core)) error {
		if limited.Err() != nil {
			return nil
		}
		next := k.clone()
		change(next)
		bad, err := next.violates()
		if bad && err == nil && limited.Err() == nil {
			k.keep, k.latest = next.keep, next.latest
			err = k.refine()
		}
		if limited.Err() != nil {
			return nil // what was dropped by then stays out
		}
		return err
	}
	if err := k.refine(); err != nil && limited.Err() == nil {
		return err
	}
	// Large cores first lose transactions by halves.
	for size := len(k.keep) / 2; size > 1; size /= 2 {
		list := k.txns()
		for from := 0; from < len(list); from += size {
			if err := try(func(n *core) {
				for _, t := range list[from:min(from+size, len(list))] {
					n.drop(t)
				}
			}); err != nil {
				return err
			}
		}
	}
	for _, t := range k.txns() {
		if k.keep[t] == nil {
			continue
		}
		if err := try(func(n *core) { n.drop(t) }); err != nil {
			return err
		}
	}
	for _, t := range k.txns() {
		if k.m.txn(t).Status == history.Unknown {
			continue
		}
		if k.keep[t] == nil {
			continue
		}
		for _, op := range slices.Clone(k.keep[t].ops) {
			if err := try(func(n *core) { n.dropOp(t, op) }); err != nil {
				return err
			}
		}
	}
	return nil
}

// refine keeps what the latest judgement of the core rests on, as long as that is
// clearly less: another search takes another way, and meets only what is left.
func (k *core) refine() error {
	for !k.cyclic && k.latest != nil && k.latest.used != nil {
		sub := k.latest
		sub.used.explain()
		part := &core{c: sub, m: sub.sat.m, keep: map[int32]*part{}}
		part.collect(sub.used)
		if len(part.keep) > len(k.keep)*19/20 {
			return nil
		}
		next := k.within(part)
		if bad, err := next.violates(); err != nil || !bad {
			return err
		}
		k.keep, k.latest = next.keep, next.latest
	}
	return nil
}

// within returns what a core of the core's own history keeps of it.
func (k *core) within(sub *core) *core {
	next := &core{c: k.c, m: k.m, keep: map[int32]*part{}}
	at := k.txns()
	for t, p := range sub.keep {
		whole := at[sub.m.txns[t]]
		kept := &part{}
		for _, j := range p.ops {
			kept.add(k.keep[whole].ops[j])
		}
		next.keep[whole] = kept
	}
	return next
}

func (k *core) clone() *core {
	n := &core{c: k.c, m: k.m, cyclic: k.cyclic, keep: make(map[int32]*part, len(k.keep))}
	for t, p := range k.keep {
		n.keep[t] = &part{slices.Clone(p.ops)}
	}
	return n
}

// drop leaves t out, and with it the reads of what it wrote.
func (k *core) drop(t int32) {
	p := k.keep[t]
	if p == nil {
		return
	}
	delete(k.keep, t)
	for _, j := range p.ops {
		if op := k.m.h.Ops(k.m.txn(t))[j]; op.Kind == history.Write {
			k.dropReads(op)
		}
	}
}

// dropOp leaves an operation out, and with a write the reads of it.
func (k *core) dropOp(t int32, j int) {
	p := k.keep[t]
	i, found := slices.BinarySearch(p.ops, j)
	if !found {
		return
	}
	p.ops = slices.Delete(p.ops, i, i+1)
	if op := k.m.h.Ops(k.m.txn(t))[j]; op.Kind == history.Write {
		k.dropReads(op)
	}
}

// dropReads leaves out the reads of a value that has lost a writer; what may
// not have taken place goes with its reads.
func (k *core) dropReads(written history.Op) {
	for _, u := range k.txns() {
		p := k.keep[u]
		if p == nil {
			continue
		}
		ops := k.m.h.Ops(k.m.txn(u))
		reads := func(j int) bool {
			return ops[j].Kind == history.Read && ops[j].Key == written.Key && ops[j].Value == written.Value
		}
		if !slices.ContainsFunc(p.ops, reads) {
			continue
		}
		if k.m.txn(u).Status == history.Unknown {
			k.drop(u)
		} else {
			p.ops = slices.DeleteFunc(p.ops, reads)
		}
	}
}

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
