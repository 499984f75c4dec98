package weak

import (
	"slices"

	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/sat"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// mostCycles bounds the clauses of one round.
const mostCycles = 256

// grounds is what one violation rests on.
type grounds struct {
	s     *choosing
	reads []int32 // places in x.reads
	txns  []int32
}

func (g *grounds) txn(t int32) {
	if !slices.Contains(g.txns, t) {
		g.txns = append(g.txns, t)
	}
}

func (g *grounds) read(at, reader int32) {
	if !slices.Contains(g.reads, at) {
		g.reads = append(g.reads, at)
	}
	g.txn(reader)
	if w := g.s.x.reads[at].writer; w != none {
		g.txn(w)
	}
}

// from adds a read of a transaction from another one before place end of x.reads, one that is not open if there
// is one.
func (g *grounds) from(w, reader, end int32) {
	x, s := g.s.x, g.s
	best := none
	for at := x.readsFrom[reader]; at < end; at++ {
		if x.reads[at].writer == w && (best == none || s.openAt[best] > 0 && s.openAt[at] == 0) {
			best = at
		}
	}
	g.read(best, reader)
}

// path adds edges of session order and reads. If at is a read, it is that of the end of the path, which at RC
// comes after those of the path.
func (g *grounds) path(edges []verdict.Edge, at int32) {
	x := g.s.x
	for _, e := range edges {
		switch {
		case e.Kind == verdict.SO:
			g.txn(e.From)
			g.txn(e.To)
		case e.Kind != verdict.WR:
		case at != none && x.c.lvl == level.RC:
			g.from(e.From, e.To, x.begin(at))
		default:
			g.from(e.From, e.To, x.readsFrom[e.To+1])
		}
	}
	if at != none {
		g.read(at, edges[len(edges)-1].To)
	}
}

// exclude adds the clause that not all choices on which g rests are right.
func (g *grounds) exclude() {
	s := g.s
	// Transactions of unknown outcome count because of other reads.
	for n := 0; n < len(g.txns); n++ {
		if e, ok := s.x.pulled[g.txns[n]]; ok {
			g.from(e.From, e.To, s.x.readsFrom[e.To+1])
		}
	}
	var clause []sat.Lit
	for _, at := range g.reads {
		s.used[at] = true
		if n := s.openAt[at]; n > 0 {
			clause = append(clause, s.literal(n-1).Not())
		}
	}
	for _, t := range g.txns {
		s.txns[t] = s.txns[t]
	}
	s.s.Add(clause...)
}

// excludeTxn adds the clause that a transaction of unknown outcome does not count because of the present choices.
func (s *choosing) excludeTxn(t int32) {
	g := grounds{s: s}
	g.txn(t)
	g.exclude()
	s.txns[t] = true
}

// excludeAll adds clauses about what is violated: about reads of initial values, and about cycles.
func (s *choosing) excludeAll(f *finding) error {
	r := newReasons(s.x)
	for _, i := range f.initial {
		g := grounds{s: s}
		g.path(r.missed(i))
		g.exclude()
	}
	if !f.cyclic {
		return nil
	}
	x := s.x
	find := x.newSearch(f.forced)
	done := make([]bool, len(x.counted))
	count := 0
	for t := range int32(len(x.counted)) {
		if find.scc[t] == none || done[t] || f.forced != nil && len(f.forced.into(t)) == 0 {
			continue
		}
		if count >= mostCycles || count > 0 && find.visits > searchBudget {
			break
		}
		if err := x.c.stopped(); err != nil {
			return err
		}
		cycle := find.from(t, 1<<30)
		if cycle == nil {
			continue
		}
		g := grounds{s: s}
		for _, e := range cycle {
			done[e.From] = true
			g.edge(r, e)
		}
		g.exclude()
		count++
	}
	return nil
}

// edge adds an edge of a cycle.
func (g *grounds) edge(r *reasons, e verdict.Edge) {
	x := g.s.x
	switch {
	case e.Kind != verdict.WW:
		g.path([]verdict.Edge{e}, none)
	case x.c.ru:
		for at := x.readsFrom[e.To]; at < x.readsFrom[e.To+1]; at++ {
			if x.reads[at].writer == e.From && x.overwrote(e.To, x.reads[at].version) {
				g.read(at, e.To)
				return
			}
		}
	default:
		path, at := r.forced(e.From, e.To)
		g.path(path, at)
		g.txn(e.From)
	}
}

// parts is the part of the history on which the clauses rest.
func (s *choosing) parts() []history.Part {
	x := s.x
	keys := map[history.Key]bool{}
	for at := range s.used {
		keys[x.reads[at].key] = true
	}
	var out []history.Part
	for t, whole := range s.txns {
		p := history.Part{Txn: t}
		ops := x.h.Ops(&x.h.Txns[t])
		classes, wrote := map[history.Key]bool{}, map[history.Key]bool{}
		for at := x.readsFrom[t]; at < x.readsFrom[t+1]; at++ {
			if r := &x.reads[at]; s.used[at] {
				p.Ops = append(p.Ops, int(r.op))
				classes[r.key] = classes[r.key] || ops[r.op].Kind == history.ReadNot
			}
		}
		for j, op := range ops {
			wrote[op.Key] = wrote[op.Key] || op.Kind == history.Write
			// A class read has all operations of the key that say what was not found. Without the read of a value
			// that they agree with, those of other transactions would be class reads of their own.
			if whole || keys[op.Key] && (op.Kind == history.Write || op.Kind == history.ReadNot && classes[op.Key] && !wrote[op.Key]) {
				p.Ops = append(p.Ops, j)
			}
		}
		slices.Sort(p.Ops)
		p.Ops = slices.Compact(p.Ops)
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b history.Part) int { return int(a.Txn - b.Txn) })
	return out
}
