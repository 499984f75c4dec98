package elle

import (
	"github.com/pkg/errors"

	"github.com/isohound/isohound/history"
)

// lists turns lists with append into registers.
//
// A list shows the whole order in which its elements were appended. A register shows that order
// too if every write of it also reads the value that it overwrites. So
//
//   - a read of a list becomes a read of its last element; a read of an empty
//     list or of nil becomes a read of absence;
//   - an append of e becomes r(k,p) w(k,e), where p stands before e in a list
//     that was read, or is absence if e stands first. The read is left out if
//     the transaction has just read or written p itself;
//   - an append whose element is in no list becomes w(k,e).
//
// Under serializability and snapshot isolation the translation is exact. Appends to one key
// conflict, so one of two appenders must see the other. A read of the last element fixes all
// elements before it. A write that nobody saw can only come after the writes that were seen,
// each of which reads its own predecessor. Lists that disagree give an element several
// predecessors, and all of them are read: a non-repeatable read. An element that is twice in a
// list is overwritten by its own append, which no execution allows either. Below snapshot
// isolation an append reads nothing, and the registers promise more than the lists did. A
// checker of such a level must know that: history.Header.Lists says so. There it must also know whether lists disagree:
// then several of the reads before an append may be made up (history.Header.ListsDiffer).
//
// If transactions that did not abort appended an element twice, a read of it could mean either
// append. Such a history is refused.
type lists struct {
	sym *history.Symbols
	// any says whether anything was appended.
	any bool
	use []use // by key
	// before holds the predecessor of an element in the first list that showed it; more holds
	// further predecessors from other lists, in their order.
	before map[element]place
	more   map[element][]history.Value
	pairs  map[pair]int64 // the pairs in more, and the transactions that read the lists
	// after holds the element that stands behind another one, or first, in the first list that showed that. differ: lists
	// contradict each other, since an element has several predecessors or successors.
	after  map[element]history.Value
	differ bool
	// by is the non-aborted transaction that appended an element.
	by map[element]int64
	// last is the last value of each key that a transaction read or wrote.
	last map[history.Key]history.Value
}

type element struct {
	key   history.Key
	value history.Value
}

// place is where an element stands in a list.
type place struct {
	before history.Value
	reader int64 // the transaction that read the list
	told   bool  // the appender itself read or wrote what stands before
}

// pair is an element and one of its predecessors.
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
	return &lists{sym: sym, before: map[element]place{}, after: map[element]history.Value{}, more: map[element][]history.Value{}, pairs: map[pair]int64{}, by: map[element]int64{}, last: map[history.Key]history.Value{}}
}

// learn processes a transaction, its micro-operations, and, if it committed, the elements of the
// lists that it read.
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
			l.follows(element{m.key, e}, p, rec.ID)
			p = e
		}
	}
	return nil
}

// as notes how a key is used: a key cannot be both a register and a list.
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
		return errors.Errorf("element %s is appended to key %s twice, by operations %d and %d; a read of it has two possible writers",
			l.sym.ValueText(op.Value), l.sym.KeyName(op.Key), other, rec.ID)
	}
	l.by[e] = rec.ID
	return nil
}

// follows notes that e stands directly after p in a list that a transaction read.
func (l *lists) follows(e element, p history.Value, reader int64) {
	first, seen := l.before[e]
	switch {
	case !seen:
		l.before[e] = place{before: p, reader: reader}
		behind := element{e.key, p}
		if _, known := l.after[behind]; known {
			l.differ = true
		}
		l.after[behind] = e.value
	case first.before != p:
		l.differ = true
		if _, known := l.pairs[pair{e, p}]; !known {
			l.pairs[pair{e, p}] = reader
			l.more[e] = append(l.more[e], p)
		}
	}
}

// fewKeys is how many keys the map of a transaction may have to be cleared and reused.
const fewKeys = 256

// registers appends ops to out, with reads and writes instead of appends. Reads of an aborted
// transaction mean nothing, so its appends get no reads.
func (l *lists) registers(out, ops []history.Op, st history.Status) []history.Op {
	if len(l.last) > fewKeys {
		l.last = map[history.Key]history.Value{} // clearing a large map would stay slow
	}
	clear(l.last)
	for _, op := range ops {
		if op.Kind == appended {
			e := element{op.Key, op.Value}
			if p, seen := l.before[e]; seen && st != history.Aborted {
				if last, own := l.last[op.Key]; !own || last != p.before {
					out = append(out, history.Op{Kind: history.Read, Key: op.Key, Value: p.before})
				} else {
					p.told = true
					l.before[e] = p
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

var _ history.ListReads = (*lists)(nil)

// Shows implements history.ListReads.
func (l *lists) Shows(k history.Key, e, before history.Value) (reader int64, ok bool) {
	at := element{k, e}
	if p, seen := l.before[at]; seen && p.before == before {
		return p.reader, !p.told
	}
	reader, ok = l.pairs[pair{at, before}]
	return reader, ok
}

// Symbols implements history.ListReads.
func (l *lists) Symbols() *history.Symbols { return l.sym }
