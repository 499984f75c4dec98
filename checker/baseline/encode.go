package baseline

import (
	"context"
	"fmt"

	"github.com/crillab/gophersat/solver"

	"github.com/isohound/isohound/checker/engine"
	"github.com/isohound/isohound/checker/verdict"
)

// maxSize bounds the sum of variables and clauses. gophersat takes about 150 bytes for each.
const maxSize = 8_000_000

// formula is the hyper-polygraph as clauses. A literal is a variable, numbered from 1, or its
// negation. 0 is the constant true.
//
// Every transaction of unknown outcome stays in the graph. If it does not count, it can come after
// all others, because no edge of the known graph leaves it. Its writes then have no effect. So only
// its own reads need the condition that it counts. A clause against a cycle does not need it.
type formula struct {
	*index
	split int32 // 1 at snapshot isolation: a start and a commit for each transaction
	nodes int32 // including the time points
	known []edge

	vars, clauses int
	implied       int   // anti-dependencies that need no clause, but may be edges of the graph
	counts        []int // by transaction: the variable that says that it counts, or 0
	order         []int // by key: the first variable of its pairs of writers
	choice        []choice

	problem []*solver.Clause
	units   []int
	s       *solver.Solver
	model   []bool // by variable
	cycles  int    // number of cycles excluded so far
}

// choice has the variables of a read: one for each of its sources, and one for each writer of its
// key, which says that the read comes before that writer. Both are 0 if the read can have only one
// source.
type choice struct{ from, before int }

// edge leads from node to node, if its literal is true.
type edge struct {
	from, to int32
	lit      int
}

func (f *formula) start(t int32) int32  { return t << f.split }
func (f *formula) commit(t int32) int32 { return t<<f.split | f.split }

// encode writes the clauses, or refuses if there are too many.
func encode(ctx context.Context, x *index) (*formula, error) {
	f := &formula{index: x}
	if x.lvl.Snapshot() {
		f.split = 1
	}
	f.nodes = int32(len(x.txns)) << f.split
	f.knownGraph()
	f.number()
	if size := f.vars + f.clauses + f.implied; size > maxSize {
		return nil, &engine.Refusal{Engine: Name, Reason: fmt.Sprintf("the history would take %d variables and %d clauses, and it takes %d of both at most; "+
			"--engine polygraph has no such limit", f.vars, f.clauses+f.implied, maxSize)}
	}
	f.problem = make([]*solver.Clause, 0, f.clauses)
	for t, broken := range x.broken {
		if broken {
			f.add(-f.counts[t])
		}
	}
	for n := range x.reads {
		if n&0xff == 0 && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		f.read(n)
	}
	return f, nil
}

// number numbers the variables and counts the clauses.
func (f *formula) number() {
	take := func(n int) int {
		first := f.vars + 1
		f.vars += n
		return first
	}
	f.counts = make([]int, len(f.txns))
	for t, optional := range f.optional {
		if optional {
			f.counts[t] = take(1)
		}
	}
	f.order = make([]int, len(f.writers))
	for k, w := range f.writers {
		f.order[k] = take(len(w) * (len(w) - 1) / 2)
	}
	f.choice = make([]choice, len(f.reads))
	for n := range f.reads {
		r := &f.reads[n]
		s, w := len(r.sources), len(f.writers[r.key])
		if f.forced(r) {
			f.implied += w
			continue
		}
		f.choice[n] = choice{take(s), take(w)}
		f.clauses += 1 + s*(s-1)/2 + s + s*w
	}
}

// forced reports whether r can only have read from its one source.
func (f *formula) forced(r *read) bool { return r.count() == 1 && !f.optional[r.txn] }

// wrote returns the literal that the writer at index a of a key comes before the one at index b.
// The solver first tries false for a variable, which here is the order of the history.
func (f *formula) wrote(key int, a, b int32) int {
	n := len(f.writers[key])
	lit := -1
	if a > b {
		a, b, lit = b, a, 1
	}
	i, j := int(a), int(b)
	return lit * (f.order[key] + i*(2*n-i-1)/2 + j - i - 1)
}

// add adds a clause. It leaves out literals 0, which stand for a negated constant.
func (f *formula) add(lits ...int) {
	out := make([]solver.Lit, 0, len(lits))
	for _, l := range lits {
		if l != 0 {
			out = append(out, solver.IntToLit(int32(l)))
		}
	}
	if len(out) == 1 {
		f.units = append(f.units, int(out[0].Int()))
		return
	}
	f.problem = append(f.problem, solver.NewClause(out))
}

// read writes the clauses of a read: it has exactly one source if its transaction counts. The
// source counts. The read comes before every writer that overwrote the source (WR and WW imply RW).
func (f *formula) read(n int) {
	r := &f.reads[n]
	writers := f.writers[r.key]
	if f.forced(r) {
		// The anti-dependency is true exactly if the order of the writes is, so it needs no
		// variable of its own.
		for _, s := range r.sources {
			if s != r.own && s != initial && f.counts[writers[s]] != 0 {
				f.add(f.counts[writers[s]])
			}
		}
		return
	}
	c := f.choice[n]
	some := []int{-f.counts[r.txn]}
	for i, s := range r.sources {
		if s == r.own {
			continue
		}
		from := c.from + i
		some = append(some, from)
		for j := range i {
			if r.sources[j] != r.own {
				f.add(-from, -(c.from + j))
			}
		}
		if s != initial && f.counts[writers[s]] != 0 {
			f.add(-from, f.counts[writers[s]])
		}
		for w := range int32(len(writers)) {
			if w == s || writers[w] == r.txn {
				continue
			}
			over := 0 // the initial transaction comes before every write
			if s != initial {
				over = -f.wrote(int(r.key), s, w)
			}
			f.add(-from, over, c.before+int(w))
		}
	}
	f.add(some...)
}

func (f *formula) figures() *verdict.Search {
	out := &verdict.Search{Variables: f.vars, Clauses: f.clauses + f.cycles, TheoryConflicts: int64(f.cycles)}
	if f.s != nil {
		st := f.s.Stats
		out.Decisions, out.Conflicts, out.Restarts = int64(st.NbDecisions), int64(st.NbConflicts), int64(st.NbRestarts)
	}
	return out
}
