package weak

import (
	"slices"

	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/single"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// choose returns the version that operation j of transaction i read, one of those with the key and value
// of v: the only one that is possible, or the chosen one. If several are possible, the read becomes an open
// one, and ok is false. If none is possible, choose returns one that a later transaction of the session
// wrote or, if there is none, one that i wrote itself.
func (x *index) choose(i int32, j int, v int32, chosen map[verdict.OpRef]int32) (version int32, ok bool) {
	only, later, count := none, v, 0
	for w := v; w != none; w = x.also[w] {
		if x.possible(i, w) {
			only = w
			count++
		} else if x.writer[w] != i {
			later = w
		}
	}
	switch count {
	case 0:
		return later, true
	case 1:
		return only, true
	}
	if w, ok := chosen[verdict.OpRef{Txn: i, Op: j}]; ok {
		return w, true
	}
	ops := x.h.Ops(&x.h.Txns[i])
	if x.c.lvl != level.RU || single.Writes(ops[j+1:], ops[j].Key) { // only overwritten versions matter
		x.open = append(x.open, openRead{txn: i, op: int32(j), version: v})
	}
	return none, false
}

// possible reports whether i can have read v: it did not write it, and no later transaction of its session
// did. At RU everything is possible.
func (x *index) possible(i, v int32) bool {
	w := x.writer[v]
	if w == none || w < i || x.c.ru {
		return true
	}
	return w != i && (x.h.Txns[w].Session != x.h.Txns[i].Session || x.h.Txns[i].Status != history.Committed)
}

// class is what reads of one transaction say about the version of a key that they saw.
type class struct {
	key    history.Key
	op     int // the first of them
	where  *history.Predicate
	denied []history.Value
}

// denied finds what the reads of transaction i saw that only say which values they did not find. If they
// are repeatable, all reads of a key saw one version. Otherwise those of one statement did.
func (x *index) denied(i int32, ops []history.Op, counts bool, chosen map[verdict.OpRef]int32) {
	type told struct {
		key history.Key
		by  *history.Predicate
	}
	var classes []class
	returned := map[told]bool{} // where reads are not repeatable: of which keys a statement returned the value
	first := x.readsFrom[i]
	x.places.begin(ops)
	for j := range ops {
		op := &ops[j]
		own := x.places.before(ops, j)
		if op.Kind == history.Write || own >= 0 {
			continue
		}
		if op.Kind == history.Read {
			if x.places.strict { // it is the first read of the key, and class reads saw the same version
				classes = slices.DeleteFunc(classes, func(c class) bool {
					if c.key == op.Key && slices.Contains(c.denied, op.Value) && counts {
						x.Internal(i, c.op, j)
					}
					return c.key == op.Key
				})
			} else if where, _ := x.h.PredicateOf(int(i), j); where != nil {
				returned[told{op.Key, where}] = true
			}
			continue
		}
		where, _ := x.h.PredicateOf(int(i), j)
		n := slices.IndexFunc(classes, func(c class) bool {
			return c.key == op.Key && (x.places.strict || where != nil && c.where == where)
		})
		if n < 0 {
			n = len(classes)
			classes = append(classes, class{key: op.Key, op: j, where: where})
		}
		classes[n].denied = append(classes[n].denied, op.Value)
	}
	for _, c := range classes {
		if returned[told{c.key, c.where}] {
			continue // the read says which version it was; see unlike
		}
		only, later, count := none, none, 0
		for _, v := range x.versionsOf(c.key) {
			switch {
			case count == 2 || x.writer[v] == i || slices.Contains(c.denied, x.value(v)):
			case x.possible(i, v):
				only = v
				count++
			default:
				later = v
			}
		}
		if count == 0 && later != none {
			only, count = later, 1
		}
		if v, ok := chosen[verdict.OpRef{Txn: i, Op: c.op}]; ok {
			x.reads = append(x.reads, x.readOf(v, c.op))
			continue
		}
		switch count {
		case 0:
			if !counts {
				break
			}
			if x.h.Closed {
				x.Found(verdict.Anomaly{Kind: verdict.Contradiction, Txns: x.contradicting(i, c), Ops: x.contradicts(i, c)})
			} else {
				x.Orphan(i)
			}
		case 1:
			if x.h.Closed {
				x.reads = append(x.reads, x.readOf(only, c.op))
				break
			}
			fallthrough // a missing transaction may have written what was seen
		default:
			x.open = append(x.open, openRead{txn: i, op: int32(c.op), version: only, denied: c.denied})
		}
	}
	slices.SortFunc(x.reads[first:], func(a, b read) int { return int(a.op - b.op) })
}

// unlike finds rows that a statement of transaction i returned and must not have returned: their values do not fulfil
// its conditions, say. Each statement evaluates its conditions on the version that it returns, also where reads are not
// repeatable and an update waited for another transaction (PostgreSQL documentation, 13.2.1).
func (x *index) unlike(i int32, ops []history.Op) {
	predicates := x.h.Predicates(int(i))
	for n := range predicates {
		p := &predicates[n]
		var denied map[history.Op]int
		for j := p.Ops[0]; j < p.Ops[1]; j++ {
			if ops[j].Kind == history.ReadNot {
				if denied == nil {
					denied = map[history.Op]int{}
				}
				denied[ops[j]] = j
			}
		}
		if denied == nil {
			continue
		}
		for j := p.Ops[0]; j < p.Ops[1]; j++ {
			not := ops[j]
			not.Kind = history.ReadNot
			if at, ok := denied[not]; ok && ops[j].Kind == history.Read && single.LastWrite(ops[:j], ops[j].Key) < 0 {
				x.Statement(i, min(at, j), max(at, j))
			}
		}
	}
}

// contradicting lists the transactions of these operations.
func (x *index) contradicting(i int32, c class) []int32 {
	out := []int32{i}
	for _, r := range x.contradicts(i, c) {
		if !slices.Contains(out, r.Txn) {
			out = append(out, r.Txn)
		}
	}
	return out
}

// contradicts lists the operations that show that no version fits a class read: the class read, and the
// writes of the key.
func (x *index) contradicts(i int32, c class) []verdict.OpRef {
	var out []verdict.OpRef
	for _, v := range x.versionsOf(c.key) {
		w := x.writer[v]
		if w == none {
			continue
		}
		for j, op := range x.h.Ops(&x.h.Txns[w]) {
			if op.Kind == history.Write && op.Key == c.key {
				out = append(out, verdict.OpRef{Txn: w, Op: j})
			}
		}
	}
	for j, op := range x.h.Ops(&x.h.Txns[i]) {
		if op.Kind == history.ReadNot && op.Key == c.key && slices.Contains(c.denied, op.Value) {
			out = append(out, verdict.OpRef{Txn: i, Op: j})
		}
	}
	return out
}

// versionsOf lists the versions of a key.
func (x *index) versionsOf(k history.Key) []int32 {
	if x.byKey == nil {
		x.byKey = make([][]int32, x.h.KeyCount())
		for v, k := range x.key {
			x.byKey[k] = append(x.byKey[k], int32(v))
		}
	}
	return x.byKey[k]
}

// sources returns the transactions of the chosen versions. Where reads are repeatable, other reads of the key that fit
// the version have it from there, too, so that the witness is one of weaker levels, at which they need not agree.
// Otherwise only those of the same statement have: a later one may have to see a later version.
func (x *index) sources() map[verdict.OpRef]int32 {
	if len(x.chosen) == 0 {
		return nil
	}
	out := map[verdict.OpRef]int32{}
	for r, v := range x.chosen {
		out[r] = verdict.FromInitial
		if w := x.writer[v]; w != none {
			out[r] = w
		}
		ops := x.h.Ops(&x.h.Txns[r.Txn])
		for j, op := range ops {
			if op.Key != ops[r.Op].Key || j == r.Op {
				continue
			}
			if op.Kind == history.Write {
				break
			}
			if !x.places.strict && !x.sameStatement(r.Txn, j, r.Op) {
				continue
			}
			other := verdict.OpRef{Txn: r.Txn, Op: j}
			if _, own := x.chosen[other]; !own && (op.Value == x.value(v)) == (op.Kind == history.Read) {
				out[other] = out[r]
			}
		}
	}
	return out
}

// sameStatement reports whether two operations of a transaction belong to one statement with a condition.
func (x *index) sameStatement(i int32, a, b int) bool {
	p, _ := x.h.PredicateOf(int(i), a)
	q, _ := x.h.PredicateOf(int(i), b)
	return p != nil && p == q
}
