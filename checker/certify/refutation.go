package certify

import (
	"context"
	"slices"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// Replay verifies that r proves that h violates lvl. It derives every clause, except those that
// follow from others, from the whole history. r only says which clauses are needed, in which order.
// nil means that no execution exists.
//
// Why this is sound: take any execution. Let "a before b" be its order, with the transactions of
// unknown outcome that it leaves out after all others. Let "counts" be true for the transactions in
// it. Let the source of a read be the latest writer of its key that committed before the reader
// started, or the initial state. Then every axiom below is true, and so is everything that follows
// by unit propagation. So the empty clause cannot follow.
func Replay(ctx context.Context, h *history.History, lvl level.Level, r *verdict.Refutation) error {
	return refuted(newStop(ctx), h, lvl, r)
}

func refuted(stop *stop, h *history.History, lvl level.Level, r *verdict.Refutation) error {
	if lvl == level.LIN {
		return errors.New("level lin has no refutations")
	}
	p := &refutation{stop: stop, lookup: lookup{h: h}, lvl: lvl, vars: map[verdict.Atom]int32{}}
	if err := p.findWriters(r); err != nil {
		return err
	}
	for n := range r.Atoms {
		l, err := p.literal(r.Atoms[n])
		if err != nil {
			return errors.Wrapf(err, "statement %d", n+1)
		}
		p.atoms = append(p.atoms, l)
	}
	last := len(r.Steps) - 1
	if last < 0 || r.Steps[last].Rule != verdict.Follows || len(r.Steps[last].List) > 0 {
		return errors.New("the refutation does not end in the empty clause")
	}
	p.clauseOf = make([]int32, len(r.Steps))
	for n := range r.Steps {
		p.now, p.clauseOf[n] = n, none
		err := p.step(&r.Steps[n])
		if err == nil {
			err = stop.after(1 + p.clauses.takeEffort())
		}
		if err != nil {
			return errors.Wrapf(err, "step %d of %d, %s", n+1, last+1, r.Steps[n].Rule)
		}
	}
	return nil
}

type refutation struct {
	lookup
	stop    *stop
	lvl     level.Level
	writers *writers // writers of the values that the refutation's reads returned
	vars    map[verdict.Atom]int32
	atoms   []int32 // literals of the refutation's atoms
	clauses clauses
	// clauseOf has the number of each step's latest clause, up to the step now.
	clauseOf []int32
	now      int
	scratch  []int32
}

// findWriters scans the history once for the writers of what the reads of r returned.
func (p *refutation) findWriters(r *verdict.Refutation) error {
	wanted := map[cell]bool{}
	for n := range r.Steps {
		if s := &r.Steps[n]; s.Rule == verdict.HasSource {
			c, err := p.outside(s.Txn, s.Key)
			if err != nil {
				return errors.Wrapf(err, "step %d", n+1)
			}
			wanted[c] = true
		}
	}
	var err error
	p.writers, err = p.writersOf(p.stop, wanted)
	return err
}

// step verifies a step and adds its clauses.
func (p *refutation) step(s *verdict.Step) error {
	switch s.Rule {
	case verdict.HasSource:
		return p.hasSource(s)
	case verdict.SourceFirst:
		return p.sourceFirst(s)
	case verdict.NothingBetween:
		return p.nothingBetween(s)
	case verdict.Apart:
		return p.apart(s)
	case verdict.Impossible:
		return p.impossible(s)
	case verdict.Assumed:
		return p.assumed(s)
	case verdict.Shown, verdict.Hidden:
		return p.shown(s)
	case verdict.CycleOf:
		return p.cycleOf(s)
	case verdict.Follows:
		return p.rup(s)
	case verdict.Forget:
		return p.forget(s)
	}
	return errors.New("no such rule")
}

// txn returns the transaction at i, which must be able to count.
func (p *refutation) txn(i int32) (*history.Txn, error) {
	if i < 0 || int(i) >= len(p.h.Txns) {
		return nil, errors.Errorf("it names transaction number %d of %d", i, len(p.h.Txns))
	}
	t := &p.h.Txns[i]
	if t.Status == history.Aborted {
		return nil, errors.Errorf("transaction %d aborted", t.ID)
	}
	return t, nil
}

// outside returns what the transaction at i read of k from another transaction.
func (p *refutation) outside(i int32, k history.Key) (cell, error) {
	t, err := p.txn(i)
	if err != nil {
		return cell{}, err
	}
	v, ok := p.readFromOutside(i, k)
	if !ok {
		return cell{}, errors.Errorf("transaction %d does not read that key from outside", t.ID)
	}
	return cell{k, v}, nil
}

// final returns the final write of the transaction at i to k.
func (p *refutation) final(i int32, k history.Key) (history.Value, error) {
	t, err := p.txn(i)
	if err != nil {
		return 0, err
	}
	n := p.at(i, k).write
	if n < 0 {
		return 0, errors.Errorf("transaction %d does not write that key", t.ID)
	}
	return p.h.Ops(t)[n].Value, nil
}

// literal returns the literal of an atom. "a before b" and "b before a" are opposite literals of
// one variable.
func (p *refutation) literal(a verdict.Atom) (int32, error) {
	flip := int32(0)
	switch a.Kind {
	case verdict.Before:
		for _, node := range []int32{a.A, a.B} {
			if _, err := p.txn(node >> 1); err != nil {
				return 0, err
			}
		}
		a.A, a.B, a.Key = p.node(a.A), p.node(a.B), 0
		if a.A == a.B {
			return 0, errors.New("a node before itself")
		}
		if a.A > a.B {
			a.A, a.B = a.B, a.A
			flip = 1
		}
	case verdict.Source:
		if _, err := p.outside(a.A, a.Key); err != nil {
			return 0, err
		}
	case verdict.Counts:
		if t, err := p.txn(a.A); err != nil {
			return 0, err
		} else if t.Status != history.Unknown {
			return 0, errors.Errorf("the outcome of transaction %d is known", t.ID)
		}
		a.B, a.Key = 0, 0
	default:
		return 0, errors.New("no such statement")
	}
	l, ok := p.vars[a]
	if !ok {
		l = p.clauses.variable()
		p.vars[a] = l
	}
	return l ^ flip, nil
}

// node returns the node of a start or commit. Without snapshots both are the same node.
func (p *refutation) node(n int32) int32 {
	if p.lvl.Snapshot() {
		return n
	}
	return n &^ 1
}

// clause collects the literals of an axiom. err is the first error.
type clause struct {
	p    *refutation
	lits []int32
	err  error
}

func (p *refutation) begin() *clause { return &clause{p: p, lits: p.scratch[:0]} }

func (c *clause) add(a verdict.Atom, positive bool) {
	l, err := c.p.literal(a)
	if err != nil && c.err == nil {
		c.err = err
	}
	if !positive {
		l ^= 1
	}
	c.lits = append(c.lits, l)
}

func (c *clause) before(a, b int32) { c.add(verdict.Atom{Kind: verdict.Before, A: a, B: b}, true) }

func (c *clause) source(s *verdict.Step, w int32, positive bool) {
	c.add(verdict.Atom{Kind: verdict.Source, A: s.Txn, B: w, Key: s.Key}, positive)
}

// ifCounts adds a literal, so that the clause holds only if the transaction at i counts.
func (c *clause) ifCounts(i int32) {
	if c.p.h.Txns[i].Status == history.Unknown {
		c.add(verdict.Atom{Kind: verdict.Counts, A: i}, false)
	}
}

func (c *clause) done() error {
	c.p.scratch = c.lits[:0]
	if c.err == nil {
		c.p.clauseOf[c.p.now] = c.p.clauses.add(c.lits)
	}
	return c.err
}

func start(i int32) int32  { return 2 * i }
func commit(i int32) int32 { return 2*i + 1 }

// hasSource adds: a read has its value from one of the transactions whose last write of the key has
// that value, or from the initial state. In a history that was cut off there is no clause for a
// value without a writer.
func (p *refutation) hasSource(s *verdict.Step) error {
	read, err := p.outside(s.Txn, s.Key)
	if err != nil {
		return err
	}
	c := p.begin()
	if p.h.Initial(read.key) == read.value {
		c.source(s, verdict.FromInitial, true)
	}
	for _, w := range p.writers.finals[read] {
		if w != s.Txn {
			c.source(s, w, true)
		}
	}
	if len(c.lits) == 0 && !p.h.Closed || p.writers.unsure(read) {
		return errors.New("a value's writer may be missing")
	}
	c.ifCounts(s.Txn)
	return c.done()
}

// sourced verifies that Source can have written what Txn read of Key, and returns what was read.
func (p *refutation) sourced(s *verdict.Step) (cell, error) {
	read, err := p.outside(s.Txn, s.Key)
	if err != nil {
		return read, err
	}
	if s.Source == verdict.FromInitial {
		if p.h.Initial(read.key) != read.value {
			return read, errors.New("what was read is not the initial value")
		}
		return read, nil
	}
	wrote, err := p.final(s.Source, s.Key)
	if err == nil && (wrote != read.value || s.Source == s.Txn) {
		err = errors.New("the source did not write what was read")
	}
	return read, err
}

func (p *refutation) sourceFirst(s *verdict.Step) error {
	if _, err := p.sourced(s); err != nil {
		return err
	}
	if s.Source == verdict.FromInitial {
		return errors.New("the initial state comes first anyway")
	}
	c := p.begin()
	c.source(s, s.Source, false)
	c.before(commit(s.Source), start(s.Txn))
	if err := c.done(); err != nil {
		return err
	}
	if p.h.Txns[s.Source].Status == history.Unknown {
		c := p.begin()
		c.source(s, s.Source, false)
		c.add(verdict.Atom{Kind: verdict.Counts, A: s.Source}, true)
		return c.done()
	}
	return nil
}

// nothingBetween adds: a writer of another value committed before the source started or after the
// reader started. Where the first committer wins, of two writers of a key one committed before the other
// started. So a writer that did not commit before the source started committed after the source,
// and must not commit before the reader starts. Where writers may overlap, it committed before the
// source committed, or after the reader started.
func (p *refutation) nothingBetween(s *verdict.Step) error {
	read, err := p.sourced(s)
	if err != nil {
		return err
	}
	wrote, err := p.final(s.Other, s.Key)
	if err != nil {
		return err
	}
	if wrote == read.value || s.Other == s.Txn {
		return errors.New("what it wrote is no other value for the reader")
	}
	c := p.begin()
	c.source(s, s.Source, false)
	c.ifCounts(s.Txn)
	c.ifCounts(s.Other)
	c.before(start(s.Txn), commit(s.Other))
	if s.Source != verdict.FromInitial {
		if p.lvl == level.PC {
			c.before(commit(s.Other), commit(s.Source))
		} else {
			c.before(commit(s.Other), start(s.Source))
		}
	}
	return c.done()
}

func (p *refutation) apart(s *verdict.Step) error {
	if !p.lvl.FirstCommitterWins() {
		return errors.New("the level does not have that rule")
	}
	for _, i := range []int32{s.Txn, s.Other} {
		if _, err := p.final(i, s.Key); err != nil {
			return err
		}
	}
	if s.Txn == s.Other {
		return errors.New("it is one transaction")
	}
	c := p.begin()
	c.ifCounts(s.Txn)
	c.ifCounts(s.Other)
	c.before(commit(s.Txn), start(s.Other))
	c.before(commit(s.Other), start(s.Txn))
	return c.done()
}

func (p *refutation) impossible(s *verdict.Step) error {
	t, err := p.txn(s.Txn)
	if err != nil {
		return err
	}
	if t.Status != history.Unknown || !contradictsItself(p.h.Ops(t)) && !twice(p.h, p.lvl, int(s.Txn)) {
		return errors.New("the transaction may count")
	}
	c := p.begin()
	c.ifCounts(s.Txn)
	return c.done()
}

// cycleOf adds: the nodes of a cycle do not each come before the next.
func (p *refutation) cycleOf(s *verdict.Step) error {
	if len(s.List) < 2 {
		return errors.New("it has fewer than two nodes")
	}
	c := p.begin()
	for n, a := range s.List {
		b := s.List[(n+1)%len(s.List)]
		if known, err := p.known(a, b); err != nil {
			return err
		} else if known {
			continue
		}
		c.add(verdict.Atom{Kind: verdict.Before, A: a, B: b}, false)
	}
	return c.done()
}

// known reports whether node a comes before node b in every execution: by session order, by real
// time, by an assumed snapshot, or as the start and commit of one transaction. If a transaction precedes another, both its
// nodes precede both nodes of the other.
func (p *refutation) known(a, b int32) (bool, error) {
	from, err := p.txn(a >> 1)
	if err != nil {
		return false, err
	}
	to, err := p.txn(b >> 1)
	if err != nil {
		return false, err
	}
	switch {
	case from == to:
		return p.lvl.Snapshot() && a < b, nil
	case from.Status != history.Committed:
		return false, nil
	case p.lvl.SessionOrder() && from.Session == to.Session && a < b, p.claimed(a, b):
		return true, nil
	}
	return p.lvl.RealTime() && !p.h.NoCommonClock && from.End != history.NoTime && to.Begin != history.NoTime && from.End < to.Begin, nil
}

func (p *refutation) rup(s *verdict.Step) error {
	lits := p.scratch[:0]
	for _, l := range s.List {
		if l < 0 || int(l>>1) >= len(p.atoms) {
			return errors.New("it uses a statement that is not listed")
		}
		lits = append(lits, p.atoms[l>>1]^l&1)
	}
	p.scratch = lits[:0]
	if !p.clauses.follows(lits) {
		return errors.New("the clause does not follow from those before")
	}
	p.clauseOf[p.now] = p.clauses.add(lits)
	return nil
}

// forget deletes clauses. Without them fewer clauses follow, so this is always sound.
func (p *refutation) forget(s *verdict.Step) error {
	for _, n := range s.List {
		if n < 0 || int(n) >= p.now {
			return errors.New("it names a step that has not come yet")
		}
		if c := p.clauseOf[n]; c != none {
			p.clauses.forget(c)
			p.clauseOf[n] = none
		}
	}
	return nil
}

// contradictsItself reports whether a read contradicts what the transaction itself read or wrote
// before.
func contradictsItself(ops []history.Op) bool {
	value, not := map[history.Key]history.Value{}, map[history.Key][]history.Value{}
	for _, op := range ops {
		v, ok := value[op.Key]
		switch {
		case op.Kind == history.ReadNot && ok && v == op.Value, op.Kind == history.Read && ok && v != op.Value,
			op.Kind == history.Read && !ok && slices.Contains(not[op.Key], op.Value):
			return true
		case op.Kind == history.ReadNot:
			not[op.Key] = append(not[op.Key], op.Value)
			continue
		}
		value[op.Key] = op.Value
	}
	return false
}
