package certify

import (
	"slices"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// In a history with header.Lists, appends to lists are writes, each after a read of the element that stands before
// its own in a list that was read. At weak levels an append reads nothing. A read of the client looks the same if
// an append to the same list follows it. If lists contradict each other, an append may have several such reads.

// ofAppend reports whether an operation may be the read of an append at a weak level.
func (f *facts) ofAppend(r verdict.OpRef) bool {
	if !f.h.Lists || !f.lvl.Weak() {
		return false
	}
	ops := f.h.Ops(&f.h.Txns[r.Txn])
	if ops[r.Op].Kind != history.Read {
		return false
	}
	for _, op := range ops[r.Op+1:] {
		if op.Key == ops[r.Op].Key && (op.Kind == history.Write || !f.h.ListsDiffer) {
			return op.Kind == history.Write
		}
	}
	return false
}

// support verifies an edge that shows that its first transaction committed: the second one read from it or, at a
// weak level, appended to its list.
func (f *facts) support(e verdict.Edge) error {
	err := f.commitEdge(e)
	if err != nil && f.h.Lists && e.Kind == verdict.WR {
		e.Kind = verdict.WW
		return f.commitEdge(e)
	}
	return err
}

// lists verifies that the order of commits explains the lists that were read: what was appended to one and is in one
// stands directly behind what was appended before.
func (c *commitOrder) lists() error {
	if c.h.ListsDiffer {
		return errors.New("lists that were read contradict each other")
	}
	inList, next := map[cell]bool{}, newByKey[bool](c.h.KeyCount())
	for _, i := range c.order {
		for _, op := range c.h.Ops(&c.h.Txns[i]) {
			if op.Kind == history.Read {
				inList[cell{op.Key, op.Value}] = true
			}
		}
	}
	for _, i := range c.order {
		next.reset()
		for _, op := range slices.Backward(c.h.Ops(&c.h.Txns[i])) {
			e := cell{op.Key, op.Value}
			// If an element is in a list, so is the one that the same transaction appended before it.
			if listed, known := next.of(op.Key); known && listed {
				inList[e] = true
			}
			next.set(op.Key, op.Kind == history.Write && inList[e])
		}
		if err := c.stop.after(1 + c.h.Txns[i].OpCount()); err != nil {
			return err
		}
	}
	now, behind := newByKey[history.Value](c.h.KeyCount()), newByKey[history.Value](c.h.KeyCount())
	for _, i := range c.order {
		behind.reset()
		for n, op := range c.h.Ops(&c.h.Txns[i]) {
			if op.Kind == history.Write {
				last, any := now.of(op.Key)
				if !any {
					last = c.h.Initial(op.Key)
				}
				if v, known := behind.of(op.Key); inList[cell{op.Key, op.Value}] && (!known || v != last) {
					return errors.Errorf("transaction %d: the witness does not place operation %d, an append to %s, where the lists have it", c.h.Txns[i].ID, n+1, c.h.KeyName(op.Key))
				}
				now.set(op.Key, op.Value)
			}
			behind.set(op.Key, op.Value)
		}
		if err := c.stop.after(1 + c.h.Txns[i].OpCount()); err != nil {
			return err
		}
	}
	return nil
}
