package history

import "slices"

// HasTwice reports whether a statement of any transaction returned or changed an item twice.
func (h *History) HasTwice() bool { return len(h.twice) > 0 }

// Twice returns the operations with which one statement of the transaction at index i names one item twice: it changed
// the row twice or, if reads is set, returned it twice. A row has one primary key, so a statement that sees one state
// returns it once. A read of what the statement itself wrote does not count.
func (h *History) Twice(i int, reads bool) (first, second int, found bool) {
	if !h.twice[i] {
		return 0, 0, false
	}
	ops := h.Ops(&h.Txns[i])
	list := h.Predicates(i)
	for n := range list {
		seen := map[touch]int{}
		for j := list[n].Ops[0] + list[n].Implied; j < list[n].Ops[1]; j++ {
			t := touched(ops[j])
			if _, own := seen[touch{t.key, true}]; own && !t.writes {
				continue
			}
			switch at, again := seen[t]; {
			case again && t.writes:
				return at, j, true
			case again && reads && !found:
				first, second, found = at, j, true // what it changed comes first
			case !again:
				seen[t] = j
			}
		}
		if found {
			break
		}
	}
	return first, second, found
}

// noteTwice notes that a predicate of the transaction at index i names an item twice.
func (h *History) noteTwice(i int, twice bool) {
	if !twice {
		return
	}
	if h.twice == nil {
		h.twice = map[int]bool{}
	}
	h.twice[i] = true
}

// touch is that a statement reads or writes an item.
type touch struct {
	key    Key
	writes bool
}

func touched(op Op) touch { return touch{op.Key, op.Kind == Write} }

// fewOps bounds the operations that are compared with each other.
const fewOps = 12

// marks has, by key, twice and plus 1 if it wrote it, the latest statement that named it.
type marks struct {
	of   []int32
	last int32
}

// namesTwice reports whether one of the predicates of a transaction with these operations reads an item twice, or writes
// it twice.
func (m *marks) namesTwice(predicates []Predicate, ops []Op, keys int) bool {
	for i := range predicates {
		p := &predicates[i]
		switch list := ops[p.Ops[0]+p.Implied : p.Ops[1]]; {
		case len(list) < 2:
		case len(list) <= fewOps:
			for n, op := range list {
				t := touched(op)
				if slices.ContainsFunc(list[:n], func(other Op) bool { return touched(other) == t }) && (t.writes || !slices.ContainsFunc(list[:n], func(other Op) bool { return touched(other) == touch{t.key, true} })) {
					return true
				}
			}
		default:
			if len(m.of) < 2*keys {
				m.of = append(m.of, make([]int32, 2*keys-len(m.of))...)
			}
			m.last++
			for _, op := range list {
				at := &m.of[2*op.Key]
				if op.Kind == Write {
					at = &m.of[2*op.Key+1]
				} else if m.of[2*op.Key+1] == m.last {
					continue
				}
				if *at == m.last {
					return true
				}
				*at = m.last
			}
		}
	}
	return false
}
