package linear

import (
	"fmt"
	"slices"

	"github.com/isohound/isohound/checker/engine"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// A class read only says which versions of a key it did not see: a scan that did not find a row
// (package scans), or a failed compare-and-set that returned no value. The versions of a key are a
// chain, because each write follows a read. So a transaction with a class read saw a version at
// some position of the chain that is not denied. For each maximal run of denied versions it started
// either before the first of them was committed, or after the one behind the last of them was. This
// gives an edge if
//
//   - the run begins with the initial version: WR from the writer of the first version behind it,
//   - the run ends with the last version, and no other transaction can have written a version that
//     is not denied: RW to the writer of the first version of the run,
//   - session order or real time says that a writer of the run came before the transaction, or that
//     the transaction came before a writer of the run or of the version behind it.
//
// These are the edges to the nearest version on each side that flips the match (Emme paper,
// Algorithm 3). There the version that was seen is known, here it is not. All other runs are open.
// An order of the graph that has the transaction in no open run is an execution. If it does not,
// the transaction is moved before or behind the run, and the graph is sorted again. A violation
// never rests on such a guess: if the guesses fail, the engine refuses the history.

// class is what a transaction says about a key by class reads alone.
type class struct {
	txn    int32
	key    history.Key
	denied []int32 // versions that it did not see
}

// classes are the class reads of the counted transactions, with their edges.
type classes struct {
	all []class
	// succ is, by version, the version that overwrote it, or none.
	succ []int32
	// chain is, by key with class reads, its versions from the initial one. slot is, by version, its
	// position there; none for versions that are in no chain.
	chain map[history.Key][]int32
	slot  []int32
	// loose are, by key, the versions that are not in its chain: those of transactions of unknown
	// outcome that do not count, and those of transactions that follow each other in a cycle.
	loose map[history.Key][]int32

	edges []verdict.Edge
	into  edgesInto
	open  []run
}

// run is a maximal run of versions that a class read did not see.
type run struct {
	*class
	from, to int32 // the first and the last of its positions in the chain
	// endless: no version that the class read may have seen is known to come behind the run.
	endless bool
}

// edgesInto finds edges by the transaction to which they lead.
type edgesInto struct {
	first []int32 // by transaction: an edge, or none; nil if there are no edges
	next  []int32 // by edge: another one into the same transaction, or none
}

func newEdgesInto(txns int, lists ...[]verdict.Edge) edgesInto {
	all := slices.Concat(lists...)
	if len(all) == 0 {
		return edgesInto{}
	}
	in := edgesInto{make([]int32, txns), make([]int32, len(all))}
	fill(in.first, none)
	for n, e := range all {
		in.next[n], in.first[e.To] = in.first[e.To], int32(n)
	}
	return in
}

// classReads adds the class reads of the transaction at index i. denied are its operations, in
// their order, that say which version they did not see, and before which it did not touch the key.
// If it reads the key later, it saw that version.
func (x *index) classReads(i int32, ops []history.Op, denied []int) {
	byKey := map[history.Key][]int{}
	var keys []history.Key // keeps the result deterministic
	for _, j := range denied {
		k := ops[j].Key
		if byKey[k] == nil {
			keys = append(keys, k)
		}
		byKey[k] = append(byKey[k], j)
	}
	for j, op := range ops {
		if op.Kind == history.ReadNot || byKey[op.Key] == nil {
			continue
		}
		for _, d := range byKey[op.Key] {
			if ops[d].Value == op.Value {
				x.Internal(i, d, j)
			}
		}
		byKey[op.Key] = nil
	}
	for _, k := range keys {
		c := class{txn: i, key: k}
		for _, j := range byKey[k] {
			if v := x.versions.Find(k, ops[j].Value); v != none {
				c.denied = append(c.denied, v)
			}
		}
		if len(c.denied) > 0 {
			slices.Sort(c.denied)
			c.denied = slices.Compact(c.denied)
			if x.classes == nil {
				x.classes = &classes{}
			}
			x.classes.all = append(x.classes.all, c)
		}
	}
}

// placeClasses finds the edges of the class reads. With other anomalies they are not needed. No
// version has then been overwritten twice.
func (x *index) placeClasses() {
	if x.classes == nil || len(x.Anomalies) > 0 {
		x.classes = nil
		return
	}
	x.chains()
	s := x.classes
	for n := range s.all {
		c := &s.all[n]
		positions := make([]int32, 0, len(c.denied))
		for _, v := range c.denied {
			if s.slot[v] != none {
				positions = append(positions, s.slot[v])
			}
		}
		slices.Sort(positions)
		for from := 0; from < len(positions); {
			to := from + 1
			for to < len(positions) && positions[to] == positions[to-1]+1 {
				to++
			}
			x.placeRun(run{class: c, from: positions[from], to: positions[to-1]})
			from = to
		}
	}
	s.into = newEdgesInto(len(x.h.Txns), s.edges)
}

// chains finds the chains of the keys with class reads, and the loose versions.
func (x *index) chains() {
	s := x.classes
	s.succ, s.slot = make([]int32, len(x.writer)), make([]int32, len(x.writer))
	fill(s.succ, none)
	fill(s.slot, none)
	s.chain, s.loose = map[history.Key][]int32{}, map[history.Key][]int32{}
	for n := range s.all {
		s.chain[s.all[n].key] = nil
	}
	written := make([]int32, x.h.KeyCount()) // by key: the latest version
	for i := range x.h.Txns {
		t := &x.h.Txns[i]
		if !x.counted[i] {
			continue
		}
		ops, at := x.h.Ops(t), x.h.FirstOp(t)
		for j, op := range ops {
			if op.Kind == history.Write && x.opVersion[at+j] != none {
				written[op.Key] = x.opVersion[at+j]
			}
		}
		for j, op := range ops {
			if v := x.opVersion[at+j]; op.Kind == history.Read && v != none && x.next[v] == int32(i) {
				s.succ[v] = written[op.Key]
			}
		}
	}
	for k := range s.chain {
		var list []int32
		for v := int32(k); v != none; v = s.succ[v] {
			s.slot[v] = int32(len(list))
			list = append(list, v)
		}
		s.chain[k] = list
	}
	for i := range x.h.Txns {
		t := &x.h.Txns[i]
		at := x.h.FirstOp(t)
		for j, op := range x.h.Ops(t) {
			if v := x.opVersion[at+j]; op.Kind == history.Write && v != none && s.slot[v] == none && s.chain[op.Key] != nil {
				s.loose[op.Key] = append(s.loose[op.Key], v)
			}
		}
	}
}

// placeRun finds the edge of a run, or adds the run to the open ones.
func (x *index) placeRun(r run) {
	s := x.classes
	chain := s.chain[r.key]
	r.endless = r.to == int32(len(chain))-1
	hidden := slices.ContainsFunc(s.loose[r.key], func(v int32) bool {
		_, denied := slices.BinarySearch(r.denied, v)
		return !denied
	})
	behind, before := false, none // a writer of the run came before, and the first one that came after
	for p := r.from; p <= r.to; p++ {
		if w := x.writer[chain[p]]; w != none {
			if x.precedes(w, r.txn) {
				behind = true
			}
			if before == none && x.precedes(r.txn, w) {
				before = p
			}
		}
	}
	if !r.endless && x.precedes(r.txn, x.writer[chain[r.to+1]]) && before == none {
		before = r.to + 1
	}
	switch {
	case before == r.from, !r.endless && x.precedes(x.writer[chain[r.to+1]], r.txn):
		// The order of the graph has the transaction on one side of the run anyway.
	case !r.endless && (r.from == 0 || behind):
		v := chain[r.to+1]
		s.edges = append(s.edges, verdict.Edge{Kind: verdict.WR, From: x.writer[v], To: r.txn, Key: r.key, Value: x.valueOf(v)})
	case r.from > 0 && (r.endless && !hidden || before != none):
		s.edges = append(s.edges, verdict.Edge{Kind: verdict.RW, From: r.txn, To: x.writer[chain[r.from]], Key: r.key, Value: x.valueOf(chain[r.from-1])})
	default:
		s.open = append(s.open, r)
	}
}

// precedes reports whether session order or real time has one transaction before another.
func (x *index) precedes(i, j int32) bool {
	a, b := &x.h.Txns[i], &x.h.Txns[j]
	if a.Status != history.Committed {
		return false
	}
	if lvl := x.c.lvl; lvl.SessionOrder() && a.Session == b.Session && i < j {
		return true
	} else if !lvl.RealTime() {
		return false
	}
	return a.End != history.NoTime && b.Begin != history.NoTime && a.End < b.Begin
}

// valueOf returns the value of a version.
func (x *index) valueOf(v int32) history.Value {
	_, value := x.version(v)
	return value
}

// mostGuesses bounds how often the graph is sorted again with other guesses.
const mostGuesses = 16

// place returns an order in which no transaction is in an open run. o is an order of the graph. It
// refuses the history if it finds none. Each transaction that is in an open run goes to the nearer
// side of it or, if that gives a cycle, all of them go to the other side.
func (x *index) place(c *check, o *order) (*order, error) {
	if x.classes == nil || len(x.classes.open) == 0 {
		return o, nil
	}
	var guesses []verdict.Edge
	at := make([]int32, len(o.done)) // by node: its position in the order
	for range mostGuesses {
		var wrong *run
		for n, node := range o.nodes {
			at[node] = int32(n)
		}
		nearer, farther := slices.Clone(guesses), slices.Clone(guesses)
		for n := range x.classes.open {
			if r := &x.classes.open[n]; x.in(r, o, at) {
				sides := x.sides(r, o, at)
				if wrong = r; len(sides) == 0 {
					return nil, x.undetermined(r)
				}
				nearer, farther = append(nearer, sides[0]), append(farther, sides[len(sides)-1])
			}
		}
		if wrong == nil {
			return o, nil
		}
		guesses = nearer
		for again := range 2 {
			var err error
			if o, err = x.topological(c, guesses); err != nil {
				return nil, err
			}
			if len(o.nodes) == o.total {
				break
			} else if again > 0 {
				return nil, x.undetermined(wrong)
			}
			guesses = farther
		}
	}
	return nil, x.undetermined(&x.classes.open[0])
}

// in reports whether an order has the transaction of a run in the run.
func (x *index) in(r *run, o *order, at []int32) bool {
	chain, start := x.classes.chain[r.key], at[r.txn<<o.shift]
	commit := func(p int32) int32 { return at[x.writer[chain[p]]<<o.shift+o.shift] }
	return (r.from == 0 || commit(r.from) < start) && (r.endless || start < commit(r.to+1))
}

// sides returns the edges that put the transaction of a run on either side of it, where there is
// one, the side that is nearer in an order first.
func (x *index) sides(r *run, o *order, at []int32) []verdict.Edge {
	chain, start := x.classes.chain[r.key], at[r.txn<<o.shift]
	var sides []verdict.Edge
	before, behind := int32(0), int32(0) // distances
	if r.from > 0 {
		w := x.writer[chain[r.from]]
		before = start - at[w<<o.shift+o.shift]
		sides = append(sides, verdict.Edge{Kind: verdict.RW, From: r.txn, To: w})
	}
	if !r.endless {
		w := x.writer[chain[r.to+1]]
		behind = at[w<<o.shift+o.shift] - start
		sides = append(sides, verdict.Edge{Kind: verdict.WR, From: w, To: r.txn})
	}
	if len(sides) == 2 && behind <= before {
		slices.Reverse(sides)
	}
	return sides
}

// undetermined is the refusal because of a class read.
func (x *index) undetermined(r *run) error {
	return &engine.Refusal{Engine: Name, Reason: fmt.Sprintf(
		"several versions of %s may explain that transaction %d did not find others, and it is not known which it saw",
		x.h.KeyName(r.key), x.h.Txns[r.txn].ID)}
}
