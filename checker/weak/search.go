package weak

import (
	"fmt"
	"slices"

	"github.com/isohound/isohound/checker/engine"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/sat"
	"github.com/isohound/isohound/checker/single"
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
	owner  []int32   // by variable: the place of its read in active
	next   int       // for active[:next] versions are chosen
	// changes: a choice can change which transactions count.
	changes bool
	faulty  map[int32]bool // transactions of unknown outcome that must not count, or may not
	// unsure: a choice was excluded although a transaction that is missing in the history may explain it.
	unsure bool
	// used are the places in x.reads on which the clauses rest, and txns the transactions. A transaction with
	// true contradicts itself.
	used, txns map[int32]bool
	work       int      // operations and transactions that were looked at so far
	found      *finding // what the present choice says
	bad        []int32
}

// options are the versions of an open read. The first len(vars) of them have variables. more is a variable that
// says that it is one of the others, if there are others.
type options struct {
	list []int32
	vars []int32
	more sat.Lit
	now  int // the present choice
	// place is the place of the read in active.
	place int32
}

// mostWork bounds the search, in operations and transactions that are looked at.
const mostWork = 1 << 26

// search chooses versions for the open reads. It returns an index with them and what it says, or nil if there
// is no choice that the level allows: then c.refuted has what that rests on. o is a topological order of the rest.
//
// Two guesses come first: the latest versions before the readers, and the earliest ones.
func (c *check) search(x *index, o *order) (*index, *finding, error) {
	var s *choosing
	for _, late := range []bool{true, false} {
		next, err := c.guess(x, o, late)
		if err != nil {
			return nil, nil, err
		}
		if more, err := next.judged(); err != nil || !more {
			if err != nil {
				return nil, nil, err
			}
			y, err := next.settled()
			return y, next.found, err
		}
		if s == nil || c.lvl == level.RC {
			s = next
		}
	}
	s.s = sat.New(s)
	ok, err := s.s.Solve(c.ctx)
	switch {
	case err != nil:
		return nil, nil, err
	case ok:
		y, err := s.settled()
		return y, s.found, err
	case s.unsure:
		return nil, nil, c.refusal(x, &x.open[0], "and the recording was cut off")
	case c.ru:
		return nil, nil, c.refusal(x, &x.open[0], "and none that was tried is allowed")
	}
	c.refuted = s
	return nil, nil, nil
}

// guess returns a search with first choices.
func (c *check) guess(x *index, o *order, late bool) (*choosing, error) {
	s := &choosing{c: c, cand: x.newCandidates(o), open: x.open, faulty: map[int32]bool{}, used: map[int32]bool{}, txns: map[int32]bool{}}
	s.cand.late = late
	s.cand.guesses(o)
	var err error
	if s.x, err = newIndex(c, x.choicesFor(func(n int) int32 { return s.cand.guess[n] })); err != nil {
		return nil, err
	}
	if len(s.x.open) > 0 {
		return nil, c.refusal(x, &x.open[0], "and the recording was cut off")
	}
	s.prepare()
	return s, nil
}

// settled returns the index of the choices that were found.
func (s *choosing) settled() (*index, error) {
	if s.s == nil { // the guesses
		return s.x, nil
	}
	return newIndex(s.c, s.cand.x.choicesFor(func(n int) int32 {
		if at := s.slot[n]; at != none {
			return s.x.reads[at].version
		}
		return s.cand.guess[n]
	}))
}

// refusal refuses the history because of r, an open read of x.
func (c *check) refusal(x *index, r *openRead, why string) error {
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
func (s *choosing) Retract(l sat.Lit) { s.next = min(s.next, int(s.owner[l.Var()])) }

// Decide implements sat.Theory. A read for which no version is chosen keeps the present one if it may, and else
// gets the next one of its list.
func (s *choosing) Decide() sat.Lit {
	for ; s.next < len(s.active); s.next++ {
		n := s.active[s.next]
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
		o.list, o.more = s.cand.all(n), sat.None
		o.place = int32(len(s.active))
		s.active = append(s.active, n)
	}
	var clause []sat.Lit
	if o.more != sat.None {
		clause = append(clause, o.more.Not())
	}
	for _, end := len(o.vars), min(len(o.list), max(chunk, 2*len(o.vars))); len(o.vars) < end; {
		v := s.variable(o)
		o.vars = append(o.vars, v)
		clause = append(clause, sat.Pos(v))
	}
	o.more = sat.None
	if len(o.vars) < len(o.list) {
		o.more = sat.Pos(s.variable(o))
		clause = append(clause, o.more)
	}
	s.s.Add(clause...)
}

func (s *choosing) variable(o *options) int32 {
	s.owner = append(s.owner, o.place)
	return s.s.NewVar()
}

// literal is the literal of the present choice of open read n.
func (s *choosing) literal(n int32) sat.Lit {
	o := &s.vars[n]
	if o.list == nil {
		s.extend(n)
	}
	return sat.Pos(o.vars[o.now])
}

// Final implements sat.Theory. It judges the present choice, and adds clauses about what is violated.
func (s *choosing) Final() (more bool, err error) {
	x := s.x
	for _, n := range s.active {
		x.reads[s.slot[n]] = x.readOf(s.vars[n].list[s.vars[n].now], int(s.open[n].op))
	}
	if s.work += len(x.reads) + len(x.writer) + len(x.counted) + len(s.active); s.work > mostWork {
		return false, s.c.refusal(x, &s.open[0], "and no choice was found that is allowed")
	}
	more, err = s.judged()
	switch {
	case err != nil || !more:
	case s.found == nil:
		for _, t := range s.bad {
			s.excludeTxn(t)
		}
	default:
		err = s.excludeAll(s.found)
	}
	return more, err
}

// judged judges the present choice, and reports whether it is violated. Then found says how, or is nil: the
// transactions in bad count, and must not.
func (s *choosing) judged() (violated bool, err error) {
	s.bad, s.found = s.bad[:0], nil
	if s.changes {
		for _, t := range s.x.count() {
			if s.fails(t) {
				s.bad = append(s.bad, t)
			}
		}
	}
	if len(s.bad) > 0 {
		return true, nil
	}
	s.found, err = s.x.judge()
	return err == nil && s.found.violated(), err
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
