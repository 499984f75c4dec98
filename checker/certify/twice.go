package certify

import (
	"github.com/pkg/errors"

	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// A row has one primary key. So a statement does not change one row twice, and it does not return one twice if all that it
// returns is of one state. That is so where reads are repeatable.

// twice reports whether a statement of the transaction at index i contradicts this.
func twice(h *history.History, lvl level.Level, i int) bool {
	list := h.Predicates(i)
	for n := range list {
		if twiceIn(h, lvl, i, &list[n]) {
			return true
		}
	}
	return false
}

func twiceIn(h *history.History, lvl level.Level, i int, p *history.Predicate) bool {
	seen := map[history.Op]bool{} // with value 0
	for _, op := range returnedBy(h, i, p) {
		item := history.Op{Kind: op.Kind, Key: op.Key}
		if op.Kind == history.Read && seen[history.Op{Kind: history.Write, Key: op.Key}] {
			continue // its own write
		}
		if seen[item] && sameRow(lvl, item, op) {
			return true
		}
		seen[item] = true
	}
	return false
}

// returnedBy returns the operations of a statement without those that follow from it.
func returnedBy(h *history.History, i int, p *history.Predicate) []history.Op {
	return h.Ops(&h.Txns[i])[p.Ops[0]+p.Implied : p.Ops[1]]
}

// sameRow reports whether no statement has these two operations.
func sameRow(lvl level.Level, a, b history.Op) bool {
	writes := a.Kind == history.Write
	return a.Key == b.Key && writes == (b.Kind == history.Write) && (writes || !rereads(lvl))
}

// returnedTwice reports whether two operations on one item, of one statement, are those of a row that it returned twice. Where that is
// allowed, it saw two versions.
func returnedTwice(h *history.History, txn int32, a, b int) bool {
	p, _ := h.PredicateOf(int(txn), a)
	ops := h.Ops(&h.Txns[txn])
	return min(a, b) >= p.Ops[0]+p.Implied && ops[a].Kind == history.Read && ops[b].Kind == history.Read
}

// duplicate verifies that one statement has one row twice.
func (f *facts) duplicate(a *verdict.Anomaly) error {
	if len(a.Ops) != 2 || a.Ops[0].Txn != a.Ops[1].Txn || a.Ops[0].Op == a.Ops[1].Op {
		return errors.New("it does not name two operations of a transaction")
	}
	if counts, err := f.counts(a.Ops[0].Txn); err != nil {
		return err
	} else if !counts {
		return errors.New("it is not about a transaction that counts")
	}
	first, second := a.Ops[0], a.Ops[1]
	ops := f.h.Ops(&f.h.Txns[first.Txn])
	for _, r := range a.Ops {
		if p, follows := f.h.PredicateOf(int(r.Txn), r.Op); p == nil || follows {
			return errors.New("an operation is none that a statement returned")
		}
	}
	if !oneStatement(f.h, first.Txn, first.Op, second.Op) || !sameRow(f.lvl, ops[first.Op], ops[second.Op]) {
		return errors.New("the operations may be those of one statement")
	}
	return nil
}
