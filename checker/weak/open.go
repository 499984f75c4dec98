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
func (x *index) choose(i int32, j int, v int32, chosen *choices) (version int32, ok bool) {
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
	if w, ok := chosen.find(i, j); ok {
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
	told
	op     int // the first of them
	denied []history.Value
}

// told is a key and the statement that told of it. where is nil where reads are repeatable, since all statements see
// the same version then, and for a read that belongs to none.
type told struct {
	key   history.Key
	where *history.Predicate
}

// denied finds what the reads of transaction i saw that only say which values they did not find. If they
// are repeatable, all reads of a key saw one version. Otherwise those of one statement did.
func (x *index) denied(i int32, ops []history.Op, counts bool, chosen *choices) {
	var classes []class
	at := map[told]int{}        // the places of classes; where reads are repeatable, of whichever statement
	returned := map[told]bool{} // where reads are not repeatable: of which keys a statement returned the value
	statements := x.statementsOf(i)
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
				if n, ok := at[told{op.Key, nil}]; ok {
					c := &classes[n]
					if slices.Contains(c.denied, op.Value) && counts {
						x.Internal(i, c.op, j)
					}
					c.denied = nil
				}
			} else if where := statements.of(j); where != nil {
				returned[told{op.Key, where}] = true
			}
			continue
		}
		var by told
		if by.key = op.Key; !x.places.strict {
			by.where = statements.of(j)
		}
		n, ok := at[by]
		if !ok || !x.places.strict && by.where == nil {
			n = len(classes)
			at[by] = n
			classes = append(classes, class{told: by, op: j})
		}
		classes[n].denied = append(classes[n].denied, op.Value)
	}
	for _, c := range classes {
		if c.denied == nil || returned[c.told] {
			continue // a read says which version it was; see unlike
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
		if v, ok := chosen.find(i, c.op); ok {
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
				delete(denied, not) // once, also if the row was returned twice
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
	if len(x.chosen.list) == 0 {
		return nil
	}
	out := make(map[verdict.OpRef]int32, len(x.chosen.list))
	at := map[told]int32{} // the chosen versions that other reads of the transaction may have
	for t := range x.h.Txns {
		chosen := x.chosen.of(int32(t))
		if len(chosen) == 0 {
			continue
		}
		ops := x.h.Ops(&x.h.Txns[t])
		statements := x.statementsOf(int32(t))
		by := func(op int) told {
			if x.places.strict {
				return told{key: ops[op].Key}
			}
			return told{ops[op].Key, statements.of(op)}
		}
		clear(at)
		for _, c := range chosen {
			out[verdict.OpRef{Txn: int32(t), Op: int(c.op)}] = x.source(c.version)
			if b := by(int(c.op)); x.places.strict || b.where != nil {
				at[b] = c.version
			}
		}
		for j := 0; j < len(ops) && len(at) > 0; j++ {
			b := by(j)
			v, ok := at[b]
			if !ok {
				continue
			}
			if ops[j].Kind == history.Write {
				delete(at, b)
				continue
			}
			other := verdict.OpRef{Txn: int32(t), Op: j}
			if _, own := out[other]; !own && (ops[j].Value == x.value(v)) == (ops[j].Kind == history.Read) {
				out[other] = x.source(v)
			}
		}
	}
	return out
}

// source is where a version comes from, as a witness says it.
func (x *index) source(v int32) int32 {
	if w := x.writer[v]; w != none {
		return w
	}
	return verdict.FromInitial
}
