package synth

import (
	"fmt"
	"math/rand/v2"

	"github.com/isohound/isohound/history"
)

// FromSAT returns a history that is serializable if and only if the clauses can
// be satisfied together, and that has snapshot isolation under the same
// condition; session order and real time, in which all overlap, change nothing.
// A clause is a list of literals, v or -v for a variable v > 0, at least one;
// its literals may repeat. There are three transactions for each variable and
// three for each literal of each clause, each a session of its own, and each
// value is written once. (That deciding serializability is NP-complete is
// Papadimitriou's theorem, J. ACM 26(4), 1979, by way of polygraphs; the
// construction here is one of that kind.)
//
// Two devices make it. An edge A -> B: A alone writes a key, B reads that. A
// choice (T, S, W): T and W write a key and S reads T's value, so that T comes
// before S, and W before T or S before W; not both, for that is a cycle.
//
//   - Variable v: the choice (T, S, W). v is true if W -> T, and false if S -> W.
//   - Occurrence o of a literal in a clause: the choice (T_o, P_o, Q_o), and
//     edges that leave P_o -> Q_o as the only possibility where the literal is
//     false: T_o -> S and W -> Q_o for v; T_o -> W and T -> Q_o for -v. For then
//     Q_o -> T_o would close a cycle with S -> W, or W -> T.
//   - Clause: edges from Q_o to P of its next occurrence, from the last one's to
//     the first one's.
//
// If there is an execution, its choices give an assignment, and if that made
// all literals of a clause false, each P_o -> Q_o would be there and with the
// clause's edges a cycle. So it satisfies all clauses.
//
// Conversely, take the choices of a satisfying assignment, Q_o -> T_o for true
// literals and P_o -> Q_o for false ones; there is no cycle then. From Q_o of a
// false literal one gets only to the next P, and on to its Q while literals are
// false; P of the clause's true literal, which there is, leads nowhere. So no
// cycle has a Q of a false literal, nor any P. Q_o of a true literal leads to
// T_o besides, and T_o to the variable: to S where v is true, which leads
// nowhere since W follows S only where v is false; to W where v is false, which
// leads only to Q's of occurrences of v, which are false. So no cycle has any of
// these, and W, T, S of a variable have none among themselves.
//
// At snapshot isolation, a choice is W's commit before T's start or S's start
// before W's commit, since T and W do not overlap. In the cycles above no two
// anti-dependencies (P_o -> Q_o and S -> W) are adjacent, so that snapshot
// isolation forbids them too. And a serializable history has it.
func FromSAT(clauses [][]int) *history.History {
	f := &formula{sym: history.NewSymbols(), vars: map[int]*choice{}, key: map[int]history.Key{}}
	f.sym.DefaultInitial = f.sym.Int(0)
	for _, c := range clauses {
		if len(c) == 0 {
			panic("synth: FromSAT was given an empty clause")
		}
		occurrences := make([]choice, len(c))
		for i, l := range c {
			o := f.choice()
			v := f.variable(max(l, -l))
			if l > 0 {
				f.edge(o.t, v.s)
				f.edge(v.w, o.w)
			} else {
				f.edge(o.t, v.w)
				f.edge(v.t, o.w)
			}
			occurrences[i] = o
		}
		for i, o := range occurrences {
			f.edge(o.w, occurrences[(i+1)%len(c)].s)
		}
	}
	return f.history()
}

// RandomSAT returns clauses of three literals over different variables each,
// drawn uniformly. With 4.26 clauses for each variable about half of the
// formulas can be satisfied, and these are the hardest to decide.
func RandomSAT(rng *rand.Rand, vars, clauses int) [][]int {
	out := make([][]int, clauses)
	for j := range out {
		for len(out[j]) < 3 {
			l := 1 + rng.IntN(vars)
			if dup := func() bool {
				for _, have := range out[j] {
					if have == l || have == -l {
						return true
					}
				}
				return false
			}(); dup {
				continue
			}
			if rng.IntN(2) == 0 {
				l = -l
			}
			out[j] = append(out[j], l)
		}
	}
	return out
}

// formula gathers the transactions of a history.
type formula struct {
	sym  *history.Symbols
	txns [][]history.Op
	vars map[int]*choice
	keys int
	key  map[int]history.Key // by transaction: the key that its edges go through
}

// choice are transactions: w comes before t, or s before w.
type choice struct{ t, s, w int }

func (f *formula) txn() int {
	f.txns = append(f.txns, nil)
	return len(f.txns) - 1
}

func (f *formula) newKey() history.Key {
	f.keys++
	return f.sym.Key(fmt.Sprintf("k%d", f.keys))
}

func (f *formula) op(t int, kind history.OpKind, k history.Key, value int64) {
	f.txns[t] = append(f.txns[t], history.Op{Kind: kind, Key: k, Value: f.sym.Int(value)})
}

func (f *formula) choice() choice {
	c := choice{f.txn(), f.txn(), f.txn()}
	k := f.newKey()
	f.op(c.t, history.Write, k, 1)
	f.op(c.s, history.Read, k, 1)
	f.op(c.w, history.Write, k, 2)
	return c
}

func (f *formula) variable(v int) *choice {
	c := f.vars[v]
	if c == nil {
		n := f.choice()
		c = &n
		f.vars[v] = c
	}
	return c
}

func (f *formula) edge(from, to int) {
	k, ok := f.key[from]
	if !ok {
		k = f.newKey()
		f.key[from] = k
		f.op(from, history.Write, k, 1)
	}
	f.op(to, history.Read, k, 1)
}

// history has the transactions overlap in time, each in a session of its own.
func (f *formula) history() *history.History {
	b := history.NewBuilder(history.Header{Workload: "synthetic SAT"}, f.sym, len(f.txns))
	for i, ops := range f.txns {
		rec := history.Record{ID: int64(i), Session: int64(i), Status: history.Committed, Begin: 0, End: 1, Due: history.NoTime, Ops: ops}
		if err := b.Add(&rec); err != nil {
			panic(err) // sessions of one transaction
		}
	}
	return b.Done(true, nil)
}
