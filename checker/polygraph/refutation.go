package polygraph

import (
	"context"
	"slices"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/sat"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// prover writes down, step by step, why a history has no execution. What saturation has found is
// explained only when it is first used. An edge is explained by the rule that added it. The rule is
// explained by paths among the edges known at that time, and so on. Each explanation ends in a
// clause that unit propagation makes unit. So whoever replays the steps knows the edge from then
// on, and paths with that edge need no other step. The search adds the clauses that it gets from
// the theory, and those that it learns.
type prover struct {
	s  *saturator
	at []int32 // by transaction of the model: its index in the whole history

	out   verdict.Refutation
	atoms map[verdict.Atom]int32
	words int  // about the size of out, in words of four bytes
	full  bool // the proof has become too large and is given up
	stop  func()
	// conflicting is the step of the latest theory conflict, or none. gone are steps that are no
	// longer needed.
	conflicting int32
	gone        []int32

	opened map[int32]*openRead // by read
	// said are the axioms given so far. The fields after it record what was explained.
	said    map[axiom]bool
	edges   []bool
	settled map[int32]bool
	counted map[int32]bool
	broken  map[int32]bool
	ruled   map[[2]int32]bool // by read and candidate
	cycles  map[[2]int32]bool // by the ends of the path

	paths paths
}

// axiom is a step that derives clauses from the history.
type axiom struct {
	rule               verdict.Rule
	txn, source, other int32
	key                history.Key
}

// maxProof bounds a proof, in words of four bytes.
var maxProof = 64 << 20

// stepWords is the size of a step without its list.
const stepWords = 12

// refutation judges h once more and writes the proof. h is a closed part of a history, and at has
// the indices of its transactions there. refutation returns nil if there is nothing to prove or if
// the proof becomes too large.
func refutation(ctx context.Context, h *history.History, lvl level.Level, at []int32, prune bool) (*verdict.Refutation, error) {
	s, _ := prepare(h, lvl, prune, false)
	if s == nil || len(s.m.sets) > 0 { // the steps can only express single values
		return nil, nil
	}
	if err := s.run(ctx); err != nil {
		return nil, err
	}
	order, _, err := guess(ctx, s.m, s.g, nil)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	p := newProver(s, at, stop)
	switch {
	case s.refuted != nil:
		p.noSource(s.refuted)
	case len(order) < int(s.g.nodes):
		p.knownCycle(s.walk(order))
	default:
		x := newSearch(ctx, s, order, newEvidence(s))
		x.proof = p
		x.s.Learnt = func(lits []sat.Lit) int32 { return p.learnt(x, lits) }
		x.s.Forgot = p.forget
		if err := x.begin(); err != nil {
			return nil, err
		}
		switch possible, err := x.s.Solve(ctx); {
		case p.full:
			return nil, nil
		case err != nil:
			return nil, err
		case possible:
			return nil, errPossible
		}
	}
	p.follows()
	if p.full {
		return nil, nil
	}
	return &p.out, nil
}

var errPossible = errors.New("a counterexample that was found impossible is possible when it is judged again; this is a bug in isohound")

func newProver(s *saturator, at []int32, stop func()) *prover {
	p := &prover{s: s, stop: stop, conflicting: none, atoms: map[verdict.Atom]int32{}, opened: map[int32]*openRead{}, said: map[axiom]bool{},
		edges: make([]bool, len(s.g.edges)), settled: map[int32]bool{}, counted: map[int32]bool{}, broken: map[int32]bool{},
		ruled: map[[2]int32]bool{}, cycles: map[[2]int32]bool{}, paths: newPaths(s)}
	for _, i := range s.m.txns {
		p.at = append(p.at, at[i])
	}
	for _, list := range [][]openRead{s.open, s.closed} {
		for i := range list {
			p.opened[list[i].read] = &list[i]
		}
	}
	return p
}

// step adds a step and returns its index.
func (p *prover) step(s verdict.Step) int32 {
	if p.full {
		return none
	}
	p.out.Steps = append(p.out.Steps, s)
	if p.words += stepWords + len(s.List); p.words > maxProof {
		p.full = true
		p.out = verdict.Refutation{}
		p.stop()
	}
	return int32(len(p.out.Steps) - 1)
}

// say adds the step of an axiom, once.
func (p *prover) say(a axiom) {
	if !p.said[a] {
		p.said[a] = true
		p.step(verdict.Step{Rule: a.rule, Txn: a.txn, Source: a.source, Other: a.other, Key: a.key})
	}
}

// follows adds a clause that unit propagation derives (RUP).
func (p *prover) follows(lits ...int32) (step int32) {
	return p.step(verdict.Step{Rule: verdict.Follows, List: lits})
}

// literal returns the literal of an atom.
func (p *prover) literal(a verdict.Atom) int32 {
	n, ok := p.atoms[a]
	if !ok {
		n = int32(len(p.out.Atoms))
		p.atoms[a] = n
		p.out.Atoms = append(p.out.Atoms, a)
	}
	return 2 * n
}

func (p *prover) before(a, b int32) int32 {
	return p.literal(verdict.Atom{Kind: verdict.Before, A: p.node(a), B: p.node(b)})
}

// node returns the name of a start or commit.
func (p *prover) node(v int32) int32 {
	return 2*p.at[p.s.g.txnOf(v)] | v&p.s.g.split
}

// sourceOf returns the name of the transaction of a candidate.
func (p *prover) sourceOf(candidate int32) int32 {
	if candidate == fromInitial {
		return verdict.FromInitial
	}
	return p.at[p.s.m.writer[candidate]]
}

func (p *prover) hasSource(r int32) {
	rd := &p.s.m.reads[r]
	p.say(axiom{rule: verdict.HasSource, txn: p.at[rd.txn], key: rd.key})
}

func (p *prover) sourceFirst(r, candidate int32) {
	rd := &p.s.m.reads[r]
	p.say(axiom{rule: verdict.SourceFirst, txn: p.at[rd.txn], source: p.sourceOf(candidate), key: rd.key})
}

func (p *prover) nothingBetween(r, candidate, u int32) {
	rd := &p.s.m.reads[r]
	p.say(axiom{verdict.NothingBetween, p.at[rd.txn], p.sourceOf(candidate), p.at[u], rd.key})
}

func (p *prover) apart(t, u int32) {
	if p == nil {
		return
	}
	m := p.s.m
	p.counts(t)
	p.counts(u)
	for _, w := range m.writesOf.of(t) {
		for _, v := range m.writesOf.of(u) {
			if m.key[w] == m.key[v] {
				p.say(axiom{rule: verdict.Apart, txn: p.at[min(t, u)], other: p.at[max(t, u)], key: history.Key(m.key[w])})
				return
			}
		}
	}
}

// placedFirst gives the assumption that t wrote the earlier version of a key that u writes, too.
func (p *prover) placedFirst(t, u int32) {
	if p == nil {
		return
	}
	p.counts(t)
	p.counts(u)
	p.say(axiom{rule: verdict.Assumed, txn: p.at[t], other: p.at[u], key: history.Key(p.s.m.sharedKey(t, u))})
}

// shown gives the assumption that t committed before s started, or not, because the snapshot of s has it or lacks it.
func (p *prover) shown(t, s int32, has bool) {
	if p == nil {
		return
	}
	p.counts(t)
	p.counts(s)
	a := axiom{rule: verdict.Hidden, txn: p.at[t], other: p.at[s]}
	if has {
		a.rule = verdict.Shown
	}
	p.say(a)
}

// counts explains why a transaction of unknown outcome counts, if saturation has shown that it does.
func (p *prover) counts(t int32) {
	if p.counted[t] {
		return
	}
	if r, ok := p.s.pulled[t]; ok {
		p.counted[t] = true
		p.settle(r) // the read's source counts
	}
}

// cannot explains why a transaction of unknown outcome cannot have committed.
func (p *prover) cannot(t int32) {
	m := p.s.m
	if p.broken[t] {
		return
	}
	p.broken[t] = true
	if m.h.Closed {
		for r := m.readFrom[t]; r < m.readFrom[t+1]; r++ {
			if m.reads[r].source == fromNowhere {
				p.hasSource(r)
				return
			}
		}
	}
	p.say(axiom{rule: verdict.Impossible, txn: p.at[t]})
}

// members calls f for each possible source of a read, and explains why the other candidates are
// impossible: their transactions cannot have committed.
func (p *prover) members(r int32, f func(w int32)) {
	m := p.s.m
	for _, w := range m.members(&m.reads[r]) {
		switch t := m.writer[w]; {
		case t == m.reads[r].txn:
		case m.broken[t]:
			p.cannot(t)
			p.sourceFirst(r, w)
		default:
			f(w)
		}
	}
}

// candidates adds the axioms about the possible sources of a read.
func (p *prover) candidates(r int32) {
	p.counts(p.s.m.reads[r].txn)
	p.hasSource(r)
	p.members(r, func(int32) {})
}

// settle explains why a read has the source that saturation found.
func (p *prover) settle(r int32) {
	if p.settled[r] {
		return
	}
	p.settled[r] = true
	p.candidates(r)
	if o := p.opened[r]; o != nil {
		p.ruleOut(o)
	}
	if src := p.s.m.reads[r].source; src >= 0 {
		p.sourceFirst(r, src)
	}
}

// ruleOut explains why candidates of a read were ruled out.
func (p *prover) ruleOut(o *openRead) {
	for i := range o.ruledOut {
		p.exclude(o.read, &o.ruledOut[i])
	}
}

func (p *prover) exclude(r int32, c *ruledOut) {
	id := [2]int32{r, c.candidate}
	if p.ruled[id] {
		return
	}
	p.ruled[id] = true
	m, g := p.s.m, p.s.g
	reader := g.start(m.reads[r].txn)
	p.counts(m.reads[r].txn)
	if c.between == none {
		p.sourceFirst(r, c.candidate)
		p.cycle(reader, g.commit(m.writer[c.candidate]), c.edges)
		return
	}
	p.counts(c.between)
	p.nothingBetween(r, c.candidate, c.between)
	p.cycle(g.commit(c.between), reader, c.edges)
	if c.candidate != fromInitial {
		p.cycle(g.turn(m.writer[c.candidate]), g.commit(c.between), c.edges)
	}
}

// edge explains an edge of the known graph.
func (p *prover) edge(n int32) {
	if p.edges[n] {
		return
	}
	p.edges[n] = true
	m, g := p.s.m, p.s.g
	e := g.edges[n]
	by := p.s.grounds(n)
	if by.each != nil {
		p.fromAll(n, &by)
		return
	}
	if by.assumed {
		p.placedFirst(g.txnOf(e.from), g.txnOf(e.to))
	}
	if by.overlaps {
		p.apart(g.txnOf(e.from), g.txnOf(e.to))
	}
	if by.settled != none {
		p.settle(by.settled)
	}
	if by.overwriter != none {
		p.counts(by.overwriter)
		p.nothingBetween(by.settled, m.reads[by.settled].source, by.overwriter)
	}
	for _, path := range by.paths {
		p.cycle(path[0], path[1], n)
	}
}

// fromAll explains an edge that holds for every candidate of a read: each candidate that was not
// ruled out by then implies it.
func (p *prover) fromAll(n int32, by *grounds) {
	m, g := p.s.m, p.s.g
	e := g.edges[n]
	r := e.why
	out := map[int32]*ruledOut{}
	if o := p.opened[r]; o != nil {
		for i := range o.ruledOut {
			if c := &o.ruledOut[i]; c.edges <= n {
				out[c.candidate] = c
			}
		}
	}
	p.candidates(r)
	if by.overwriter != none {
		p.counts(by.overwriter)
	}
	if m.acceptsInitial(&m.reads[r]) {
		if c := out[fromInitial]; c != nil {
			p.exclude(r, c)
		} else { // all writers come after the initial transaction
			p.nothingBetween(r, fromInitial, by.overwriter)
		}
	}
	p.members(r, func(w int32) {
		if c := out[w]; c != nil {
			p.exclude(r, c)
			return
		}
		ends := by.each(w)
		if by.overwriter != none {
			p.nothingBetween(r, w, by.overwriter)
			p.cycle(ends[0], ends[1], n)
			return
		}
		p.sourceFirst(r, w)
		if path, ok := p.path(ends[0], ends[1], n); ok {
			p.ring(append(path, g.start(m.reads[r].txn)))
		}
	})
	p.follows(p.before(e.from, e.to))
}

// cycle adds the clause that to does not come before from. It rests on a path from from to to among
// the edges with numbers below known.
func (p *prover) cycle(from, to, known int32) {
	id := [2]int32{from, to}
	if from == to || p.cycles[id] {
		return
	}
	if path, ok := p.path(from, to, known); ok && !p.cycles[id] {
		p.cycles[id] = true
		p.ring(path)
	}
}

// ring adds the clause that the nodes do not each come before the next, and the last before the
// first. Points are left out, because they stand for real time and for snapshots, which need no literal. Of two
// nodes the clause is a tautology.
func (p *prover) ring(nodes []int32) (step int32) {
	limit := int32(len(p.s.m.txns)) << p.s.g.split
	var list []int32
	for _, v := range nodes {
		if v < limit {
			list = append(list, p.node(v))
		}
	}
	return p.step(verdict.Step{Rule: verdict.CycleOf, List: list})
}

// path returns the nodes of a shortest path among the edges with numbers below known, and explains
// its edges.
func (p *prover) path(from, to, known int32) ([]int32, bool) {
	edges, ok := p.paths.find(from, to, known)
	for _, e := range edges {
		p.edge(e)
	}
	return p.s.g.nodesOf(from, edges), ok
}

// noSource explains why a read has no source: no candidate is left, or the only one is wrong.
func (p *prover) noSource(o *openRead) {
	if p.s.m.reads[o.read].source >= fromInitial {
		p.settle(o.read)
	}
	p.candidates(o.read)
	p.ruleOut(o)
}

// knownCycle explains a cycle of the known graph. edges has its last edge first.
func (p *prover) knownCycle(edges []int32) {
	var nodes []int32
	for i := len(edges) - 1; i >= 0; i-- {
		p.edge(edges[i])
		nodes = append(nodes, p.s.g.edges[edges[i]].from)
	}
	p.ring(nodes)
}

// The search calls the methods below. Without a proof the prover is nil, and they do nothing.

// excluded says that a does not come before b, because the known graph leads from b to a.
func (p *prover) excluded(a, b int32) {
	if p != nil {
		p.cycle(b, a, int32(len(p.s.g.edges)))
	}
}

// sources says which sources an open read can have.
func (p *prover) sources(r int32, list []source) {
	if p == nil {
		return
	}
	p.candidates(r)
	if o := p.opened[r]; o != nil {
		p.ruleOut(o)
	}
	for _, s := range list {
		if s.write != fromInitial {
			p.sourceFirst(r, s.write)
		}
	}
}

// misread says that u, a writer of another value, does not come between a read and a candidate.
func (p *prover) misread(r, candidate, u int32) {
	if p == nil {
		return
	}
	p.counts(p.s.m.reads[r].txn)
	p.counts(u)
	if p.s.m.reads[r].source >= fromInitial {
		p.settle(r)
	}
	p.nothingBetween(r, candidate, u)
}

// conflict says that the edge from a to b closes a cycle with known and chosen edges. x's order has
// the cycle.
func (p *prover) conflict(x *search, a, b int32) {
	if p == nil {
		return
	}
	nodes := []int32{a} // from a backwards to b
	x.o.path(a, b, func(e int32) {
		p.edge(e)
		nodes = append(nodes, x.g.edges[e].from)
	}, func(l sat.Lit) {
		v := x.vars[l.Var()]
		if l.Positive() {
			nodes = append(nodes, v.a)
		} else {
			nodes = append(nodes, v.b)
		}
	})
	slices.Reverse(nodes)
	p.conflicting = p.ring(nodes)
}

// forget deletes the clause of a step.
func (p *prover) forget(step int32) {
	if p.gone = append(p.gone, step); len(p.gone) >= 64 && !p.full {
		p.step(verdict.Step{Rule: verdict.Forget, List: p.gone})
		p.gone = nil
	}
}

// learnt adds a clause that the solver has learnt. The theory conflict from which it was learnt is
// deleted.
func (p *prover) learnt(x *search, lits []sat.Lit) (step int32) {
	out := make([]int32, 0, len(lits))
	for _, l := range lits {
		var n int32
		switch v := x.vars[l.Var()]; v.kind {
		case isBefore:
			n = p.before(v.a, v.b)
		case isCounted:
			n = p.literal(verdict.Atom{Kind: verdict.Counts, A: p.at[v.a]})
		case isSource:
			rd := &x.m.reads[v.a]
			n = p.literal(verdict.Atom{Kind: verdict.Source, A: p.at[rd.txn], B: p.sourceOf(x.sources[v.a].list[v.b].write), Key: rd.key})
		default:
			continue // the constant: its negation is false and is left out
		}
		if !l.Positive() {
			n ^= 1
		}
		out = append(out, n)
	}
	step = p.follows(out...)
	if p.conflicting != none {
		p.forget(p.conflicting)
		p.conflicting = none
	}
	return step
}
