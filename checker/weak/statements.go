package weak

import (
	"sort"

	"github.com/isohound/isohound/history"
)

// statements finds the statements with conditions to which the operations of one transaction belong.
type statements struct {
	h       *history.History
	txn     int
	list    []history.Predicate
	ordered bool // list is in the order of the operations, without overlaps
}

func (x *index) statementsOf(i int32) statements {
	s := statements{h: x.h, txn: int(i), list: x.h.Predicates(int(i)), ordered: true}
	for n := 1; n < len(s.list) && s.ordered; n++ {
		s.ordered = s.list[n-1].Ops[1] <= s.list[n].Ops[0]
	}
	return s
}

// of returns the statement of an operation, nil if it belongs to none.
func (s *statements) of(op int) *history.Predicate {
	if !s.ordered {
		p, _ := s.h.PredicateOf(s.txn, op)
		return p
	}
	n := sort.Search(len(s.list), func(n int) bool { return op < s.list[n].Ops[1] })
	if n == len(s.list) || op < s.list[n].Ops[0] {
		return nil
	}
	return &s.list[n]
}
