package synth

import (
	"fmt"
	"math/rand/v2"

	"github.com/isohound/isohound/history"
)

// FromSAT returns a history that is serializable if and only if the clauses can be satisfied
// together. The same holds for snapshot isolation. Session order and real time add no
// constraints: each transaction is its own session, and all overlap. A clause is a list of at
// least one literal, v or -v for a variable v > 0; literals may repeat. There are three
// transactions for each variable and three for each literal of each clause. Each value is
// written once. (Papadimitriou showed with polygraphs that deciding serializability is
// NP-complete, J. ACM 26(4), 1979; this is a construction of that kind.)
//
// It uses two gadgets. An edge A -> B: only A writes a key, and B reads it. A choice (T, S, W):
// T and W write a key and S reads T's value. So T comes before S, and either W comes before T or
// S before W. Both together would be a cycle.
//
//   - Variable v: the choice (T, S, W). v is true if W -> T, and false if S -> W.
//   - Occurrence o of a literal in a clause: the choice (T_o, P_o, Q_o), and
//     edges that leave P_o -> Q_o as the only possibility if the literal is
//     false: T_o -> S and W -> Q_o for v; T_o -> W and T -> Q_o for -v. Then
//     Q_o -> T_o would close a cycle with S -> W, or W -> T.
//   - Clause: edges from Q_o to P of its next occurrence, and from the last
//     one's Q to the first one's P.
//
// If there is an execution, its choices give an assignment. If all literals of a clause were
// false, all edges P_o -> Q_o would exist and form a cycle with the clause's edges. So the
// assignment satisfies all clauses.
//
// Conversely, take the choices of a satisfying assignment: Q_o -> T_o for true literals and P_o
// -> Q_o for false ones. Then there is no cycle, for these reasons:
//
//   - The Q_o of a false literal leads only to the next P, and from there to
//     its Q while literals are false. Every clause has a true literal, whose P
//     leads nowhere. So no Q of a false literal is on a cycle, and no P is.
//   - The Q_o of a true literal also leads to T_o, and T_o leads to the
//     variable. If v is true it leads to S, which leads nowhere, since S -> W
//     holds only if v is false. If v is false it leads to W, which leads only
//     to the Q of occurrences of v, which are false. So none of these are on
//     a cycle.
//   - The W, T, S of a variable form no cycle among themselves.
//
// At snapshot isolation, a choice means that W commits before T starts, or that S starts before
// W commits, since T and W do not overlap. In the cycles above no two anti-dependencies (P_o ->
// Q_o and S -> W) are adjacent, so snapshot isolation forbids them too. And every serializable
// history satisfies snapshot isolation.
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

// RandomSAT returns clauses of three literals with different variables, drawn uniformly. With
// 4.26 clauses per variable, about half of the formulas can be satisfied, and these are the
// hardest to decide.
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

// formula collects the transactions of a history.
type formula struct {
	sym  *history.Symbols
	txns [][]history.Op
	vars map[int]*choice
	keys int
	key  map[int]history.Key // by transaction: the key that its edges go through
}

// choice has three transactions: either w comes before t, or s before w.
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

// history makes all transactions overlap in time, each in its own session.
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
