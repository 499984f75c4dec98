package weak

import (
	"fmt"
	"slices"

	"github.com/isohound/isohound/checker/engine"
	"github.com/isohound/isohound/checker/sat"
	"github.com/isohound/isohound/checker/single"
	"github.com/isohound/isohound/checker/verdict"
)

// choosing looks for versions of the open reads with which the level allows the history. It judges the history
// with one version chosen for each. What is violated then, rests on some of these choices, and they become a
// clause: not all of them are right. A SAT solver finds other choices, until nothing is violated or no choice
// is left. A read has variables only from the first violation on in which it takes part.
type choosing struct {
	c    *check
	x    *index // with the present choice
	cand *candidates
	open []openRead
	slot []int32 // by open read: its place in x.reads, or none
	// openAt has the open read, plus 1, at a place in x.reads.
	openAt []int32
	s      *sat.Solver
	vars   []options // by open read
	active []int32   // the open reads that have variables
	// changes: a choice can change which transactions count.
	changes bool
	faulty  map[int32]bool // transactions of unknown outcome that must not count, or may not
	// unsure: a choice was excluded although a transaction that is missing in the history may explain it.
	unsure bool
	// used are the places in x.reads on which the clauses rest, and txns the transactions. A transaction with
	// true contradicts itself.
	used, txns map[int32]bool
	work       int // operations and transactions that were looked at so far
	found      *finding
}

// options are the versions of an open read. The first len(vars) of them have variables. more is a variable that
// says that it is one of the others, if there are others.
type options struct {
	list []int32
	vars []int32
	more sat.Lit
	now  int // the present choice
}

// mostWork bounds the search, in operations and transactions that are looked at.
const mostWork = 1 << 31

// search chooses versions for the open reads. It returns an index with them and what it says, or nil if there
// is no choice that the level allows: then c.refuted has what that rests on. o is a topological order of the rest.
func (c *check) search(x *index, o *order) (*index, *finding, error) {
	s := &choosing{c: c, cand: x.newCandidates(o), open: x.open, faulty: map[int32]bool{}, used: map[int32]bool{}, txns: map[int32]bool{}}
	chosen := map[verdict.OpRef]int32{}
	for n := range s.open {
		r := &s.open[n]
		if v := s.cand.first(r); v != none {
			chosen[verdict.OpRef{Txn: r.txn, Op: int(r.op)}] = v
		}
	}
	var err error
	if s.x, err = newIndex(c, chosen); err != nil {
		return nil, nil, err
	}
	if len(s.x.open) > 0 {
		return nil, nil, c.refusal(x, "and the recording was cut off")
	}
	s.prepare()
	s.s = sat.New(s)
	ok, err := s.s.Solve(c.ctx)
	switch {
	case err != nil:
		return nil, nil, err
	case !ok && s.unsure:
		return nil, nil, c.refusal(x, "and the recording was cut off")
	case !ok && c.ru:
		return nil, nil, c.refusal(x, "and none that was tried is allowed")
	case !ok:
		c.refuted = s
		return nil, nil, nil
	}
	for n := range s.open {
		if at := s.slot[n]; at != none {
			r := &s.open[n]
			chosen[verdict.OpRef{Txn: r.txn, Op: int(r.op)}] = s.x.reads[at].version
		}
	}
	y, err := newIndex(c, chosen)
	return y, s.found, err
}

func (c *check) refusal(x *index, why string) error {
	r, _ := x.undecided()
	return &engine.Refusal{Engine: Name, Reason: fmt.Sprintf("several versions explain what transaction %d read of %s, %s",
		c.h.Txns[r.txn].ID, c.h.KeyName(x.key[r.version]), why)}
}

// prepare finds the places of the open reads.
func (s *choosing) prepare() {
	x := s.x
	s.vars = make([]options, len(s.open))
	s.openAt = make([]int32, len(x.reads))
	for n := range s.open {
		r := &s.open[n]
		i, ok := slices.BinarySearchFunc(x.readsBy(r.txn), r.op, func(a read, op int32) int { return int(a.op - op) })
		if !ok { // at RU it read its own later write, which says nothing about the order
			s.slot = append(s.slot, none)
			continue
		}
		s.slot = append(s.slot, x.readsFrom[r.txn]+int32(i))
		s.openAt[s.slot[n]] = int32(n) + 1
		s.unsure = s.unsure || r.denied != nil && !x.h.Closed
	}
	for i := range x.h.Txns {
		s.changes = s.changes || x.h.Txns[i].Status != x.h.Txns[0].Status
	}
}

// Assert implements sat.Theory. Nothing is impossible before Final has judged all choices.
func (s *choosing) Assert(sat.Lit) []sat.Lit { return nil }

// Retract implements sat.Theory.
func (s *choosing) Retract(sat.Lit) {}

// Decide implements sat.Theory. A read for which no version is chosen keeps the present one if it may, and else
// gets the next one of its list.
func (s *choosing) Decide() sat.Lit {
	for _, n := range s.active {
		for !s.chosen(n) {
			o := &s.vars[n]
			if l := sat.Pos(o.vars[o.now]); !s.s.False(l) {
				return l
			}
			s.extend(n) // none of those with variables is possible
		}
	}
	return sat.None
}

// chosen reports whether the solver has chosen a version for open read n. It makes that the present choice or,
// if there is none, another one that is possible.
func (s *choosing) chosen(n int32) bool {
	o := &s.vars[n]
	if s.s.True(sat.Pos(o.vars[o.now])) {
		return true
	}
	now := o.now
	for i, v := range o.vars {
		switch l := sat.Pos(v); {
		case s.s.True(l):
			o.now = i
			return true
		case !s.s.False(l) && s.s.False(sat.Pos(o.vars[now])):
			now = i
		}
	}
	o.now = now
	return false
}

// chunk is how many versions of a read get variables first. Each next chunk is twice as large.
const chunk = 4

// extend adds variables for more versions of open read n.
func (s *choosing) extend(n int32) {
	o := &s.vars[n]
	if o.list == nil {
		r := &s.open[n]
		o.list, o.more = s.cand.all(r), sat.None
		s.active = append(s.active, n)
	}
	var clause []sat.Lit
	if o.more != sat.None {
		clause = append(clause, o.more.Not())
	}
	for _, end := len(o.vars), min(len(o.list), max(chunk, 2*len(o.vars))); len(o.vars) < end; {
		v := s.s.NewVar()
		o.vars = append(o.vars, v)
		clause = append(clause, sat.Pos(v))
	}
	o.more = sat.None
	if len(o.vars) < len(o.list) {
		o.more = sat.Pos(s.s.NewVar())
		clause = append(clause, o.more)
	}
	s.s.Add(clause...)
}

// literal is the literal of the present choice of open read n.
func (s *choosing) literal(n int32) sat.Lit {
	o := &s.vars[n]
	if o.list == nil {
		s.extend(n)
	}
	return sat.Pos(o.vars[o.now])
}

// Final implements sat.Theory. It judges the present choice.
func (s *choosing) Final() (more bool, err error) {
	x := s.x
	for _, n := range s.active {
		x.reads[s.slot[n]] = x.readOf(s.vars[n].list[s.vars[n].now], int(s.open[n].op))
	}
	if s.work += len(x.reads) + len(x.writer) + len(x.counted); s.work > mostWork {
		return false, s.c.refusal(x, "and too many choices would have to be tried")
	}
	bad := int32(none)
	if s.changes {
		for _, t := range x.count() {
			if s.fails(t) {
				bad = t
				s.excludeTxn(t)
			}
		}
	}
	if bad != none {
		return true, nil
	}
	f, err := x.judge()
	if err != nil || !f.violated() {
		s.found = f
		return false, err
	}
	return true, s.excludeAll(f)
}

// fails reports whether the reads of a transaction of unknown outcome show that it did not commit, or do not
// show whether it did.
func (s *choosing) fails(t int32) bool {
	bad, known := s.faulty[t]
	if !known {
		x := s.x
		kept := x.Collector
		x.Collector = single.For(x.h, s.c.lvl)
		x.faults(t)
		unsure := x.Orphaned() != "" || x.Doubtful() != ""
		bad = unsure || len(x.Anomalies) > 0
		s.unsure = s.unsure || unsure
		x.Collector = kept
		s.faulty[t] = bad
	}
	return bad
}
