package elle

import (
	"github.com/pkg/errors"

	"github.com/isohound/isohound/history"
)

// lists turns lists with append into registers.
//
// A list shows the whole order in which its elements were appended. A register
// shows it too if every write of it also reads what it overwrites. So
//
//   - a list that was read becomes a read of its last element; an empty one,
//     and nil, a read of absence;
//   - an append of e becomes r(k,p) w(k,e), where p stands before e in a list
//     that was read; absence, where e stands first. The read is left out where
//     the transaction has just read or written p itself;
//   - an append that no list shows becomes w(k,e).
//
// Under serializability and snapshot isolation that is exact: appends to one
// key conflict, so one of two must see the other; a read of the last element
// fixes all before it; and a write that nobody saw can only come behind those
// that were seen, each of which reads its own predecessor. Lists that disagree
// give an element several predecessors, all of which are read: a non-repeatable
// read. An element twice in a list is overwritten by its own append, which is
// no execution either. Below snapshot isolation an append reads nothing, and
// the registers promise more than the lists did: a checker of such a level must
// not be given them.
//
// An element that was appended twice, by transactions that did not abort,
// could stand for either, and is refused.
type lists struct {
	sym *history.Symbols
	// any says that something was appended.
	any bool
	use []use // by key
	// before holds the predecessor that the first list showed, more those that
	// others showed, in their order.
	before map[element]history.Value
	more   map[element][]history.Value
	pairs  map[pair]struct{} // those of more
	// by is the transaction, not aborted, that appended an element.
	by map[element]int64
	// last is what a transaction read or wrote last of each key.
	last map[history.Key]history.Value
}

type element struct {
	key   history.Key
	value history.Value
}

// pair is an element and one that stands before it.
type pair struct {
	element
	before history.Value
}

// use is how a key is used.
type use uint8

const (
	free use = iota
	register
	list
)

func newLists(sym *history.Symbols) *lists {
	return &lists{sym: sym, before: map[element]history.Value{}, more: map[element][]history.Value{}, pairs: map[pair]struct{}{}, by: map[element]int64{}, last: map[history.Key]history.Value{}}
}

// learn takes in a transaction, and the micro-operations and the elements of
// the lists that it read if it committed.
func (l *lists) learn(rec *history.Record, mops []mop, elements []history.Value) error {
	for _, op := range rec.Ops {
		switch op.Kind {
		case appended:
			if err := l.append(rec, op); err != nil {
				return err
			}
		case history.Write:
			if err := l.as(op.Key, register); err != nil {
				return err
			}
		}
	}
	if rec.Status != history.Committed {
		return nil
	}
	for _, m := range mops {
		if m.kind != history.Read {
			continue
		}
		how := register
		if m.list {
			how = list
		} else if m.value == history.Absent {
			continue
		}
		if err := l.as(m.key, how); err != nil {
			return err
		}
		p := history.Absent
		for _, e := range elements[m.from:m.to] {
			l.follows(element{m.key, e}, p)
			p = e
		}
	}
	return nil
}

// as notes how a key is used: a register and a list are not one.
func (l *lists) as(k history.Key, how use) error {
	if int(k) >= len(l.use) {
		l.use = append(l.use, make([]use, l.sym.KeyCount()-len(l.use))...)
	}
	if l.use[k] == free {
		l.use[k] = how
	}
	if l.use[k] != how {
		return errors.Errorf("key %s is used as a list, with append, and as a register", l.sym.KeyName(k))
	}
	return nil
}

func (l *lists) append(rec *history.Record, op history.Op) error {
	l.any = true
	if err := l.as(op.Key, list); err != nil {
		return err
	}
	if rec.Status == history.Aborted {
		return nil
	}
	e := element{op.Key, op.Value}
	if other, dup := l.by[e]; dup {
		return errors.Errorf("element %s is appended to key %s twice, by operations %d and %d; a list that shows it could mean either",
			l.sym.ValueText(op.Value), l.sym.KeyName(op.Key), other, rec.ID)
	}
	l.by[e] = rec.ID
	return nil
}

// follows notes that e stands behind p in a list.
func (l *lists) follows(e element, p history.Value) {
	first, seen := l.before[e]
	switch {
	case !seen:
		l.before[e] = p
	case first != p:
		if _, known := l.pairs[pair{e, p}]; !known {
			l.pairs[pair{e, p}] = struct{}{}
			l.more[e] = append(l.more[e], p)
		}
	}
}

// fewKeys is how many keys of one transaction are no burden on the next.
const fewKeys = 256

// registers appends ops to out with reads and writes for appends. What an
// aborted transaction read means nothing, and it gets no reads.
func (l *lists) registers(out, ops []history.Op, st history.Status) []history.Op {
	if len(l.last) > fewKeys {
		l.last = map[history.Key]history.Value{} // clearing it would stay slow
	}
	clear(l.last)
	for _, op := range ops {
		if op.Kind == appended {
			e := element{op.Key, op.Value}
			if p, seen := l.before[e]; seen && st != history.Aborted {
				if last, own := l.last[op.Key]; !own || last != p {
					out = append(out, history.Op{Kind: history.Read, Key: op.Key, Value: p})
				}
				for _, p := range l.more[e] {
					out = append(out, history.Op{Kind: history.Read, Key: op.Key, Value: p})
				}
			}
			op.Kind = history.Write
		}
		out = append(out, op)
		l.last[op.Key] = op.Value
	}
	return out
}
