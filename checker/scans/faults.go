package scans

import (
	"slices"
	"strings"

	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/schema"
)

// faults judges the order of the rows that a read returned, and their number. A row at a wrong place
// contradicts itself: its value cannot have been returned there.
func (s *scan) faults() {
	if s.p.Kind != history.ScanRead || len(s.p.Order) == 0 && s.p.Limit == 0 {
		return
	}
	last := page{order: s.page.order}
	rows := 0
	for n, op := range s.ops {
		r := s.index.places[op.Key].row
		if !s.begins(n) {
			continue
		}
		rows++
		wrong := s.p.Limit > 0 && rows > s.p.Limit
		if values, ok := s.ordered(r, s.ops[n:]); ok && len(values) > 0 {
			wrong = wrong || last.last != nil && last.compare(values) < 0
			last.last = values
		}
		if wrong && op.Kind == history.Read {
			s.add(history.ReadNot, op.Key, op.Value)
		}
	}
}

// begins reports whether operation n of what a statement returned or changed is the first one of a row. A row that it has
// twice, one after the other, begins again with an item that it had before.
func (s *scan) begins(n int) bool {
	if !s.h.HasTwice() {
		return n == 0 || s.index.places[s.ops[n-1].Key].row != s.index.places[s.ops[n].Key].row
	}
	for first := 0; len(s.begin) < len(s.ops); {
		at := len(s.begin)
		starts := !ownRead(s.ops, at) && (at == 0 || s.index.places[s.ops[at-1].Key].row != s.index.places[s.ops[at].Key].row || has(s.ops[first:at], s.ops[at]))
		if starts {
			first = at
		}
		s.begin = append(s.begin, starts)
	}
	return s.begin[n]
}

// ownRead reports whether operation n of a statement is a read of what the statement itself wrote.
func ownRead(ops []history.Op, n int) bool {
	return ops[n].Kind == history.Read && slices.ContainsFunc(ops[:n], func(op history.Op) bool { return op.Kind == history.Write && op.Key == ops[n].Key })
}

// has reports whether operations read, or write, the same item as another one does.
func has(ops []history.Op, other history.Op) bool {
	return slices.ContainsFunc(ops, func(op history.Op) bool {
		return op.Key == other.Key && (op.Kind == history.Write) == (other.Kind == history.Write)
	})
}

// Fault is what is wrong with a row that a statement returned, whatever other transactions did.
type Fault int

const (
	// NoFault: the row may be returned.
	NoFault Fault = iota
	// WrongRow: the row does not fulfil the statement's conditions.
	WrongRow
	// OverLimit: the statement returned as many rows as its limit before.
	OverLimit
	// WrongCount: the statement counted rows, and no state has that number.
	WrongCount
	// WrongOrder: the row sorts before the one that the statement returned before it.
	WrongOrder
)

// FaultOf says what is wrong with the result of predicate p of the transaction at index i, if the
// statement must not have seen a version that it did see: not is the operation that says so, which
// follows from the statement.
func FaultOf(h *history.History, i int, p *history.Predicate, not history.Op) Fault {
	ops := h.Ops(&h.Txns[i])
	seen := history.Op{Kind: history.Read, Key: not.Key, Value: not.Value} // maybe twice
	if slices.Contains(ops[p.Ops[0]:p.Ops[0]+p.Implied], seen) {           // see impossible
		if p.Kind == history.ScanCount {
			return WrongCount
		}
		return WrongRow
	}
	t, ok := h.Schema.Table(p.Table)
	if !ok {
		return NoFault
	}
	var rows []schema.Row
	name, first := "", 0 // of the latest row: its name and first operation
	var places []int     // in rows, of what was seen
	for n := p.Ops[0] + p.Implied; n < p.Ops[1]; n++ {
		item, ok := h.Schema.ParseItem(h.KeyName(ops[n].Key))
		if !ok {
			return NoFault
		}
		if item.Row != name || has(ops[first:n], ops[n]) {
			name, first, rows = item.Row, n, append(rows, schema.Row{Key: item.Key, Groups: make([][]any, len(t.Groups))})
		}
		if ops[n] == seen {
			places = append(places, len(rows)-1)
		}
		if ops[n].Kind == history.Read && ops[n].Value != history.Absent {
			rows[len(rows)-1].Groups[item.Group], _ = contentOf(h, &t.Groups[item.Group], ops[n].Value)
		}
	}
	if len(places) > 0 && seen.Value == history.Absent {
		return WrongRow
	}
	for _, at := range places {
		if f := faultAt(t, p, rows, at); f != NoFault {
			return f
		}
	}
	// In a part of a history the rows before it may be left out.
	switch {
	case len(places) == 0 || !p.Partial:
	case p.Limit > 0 && len(p.Order) == 0:
		return OverLimit
	case p.Limit == 0 && len(p.Order) > 0:
		return WrongOrder
	}
	return NoFault
}

// faultAt says what is wrong with a row.
func faultAt(t *schema.Table, p *history.Predicate, rows []schema.Row, at int) Fault {
	for _, c := range p.Where {
		if v, known := t.Value(rows[at], c.Column); known && !c.Holds(v) {
			return WrongRow
		}
	}
	if p.Limit > 0 && at >= p.Limit {
		return OverLimit
	}
	if at > 0 && len(p.Order) > 0 {
		for _, name := range p.Order {
			column, down := strings.CutPrefix(name, "-")
			v, known := t.Value(rows[at-1], column)
			w, too := t.Value(rows[at], column)
			if !known || !too {
				break
			}
			if c := schema.Compare(v, w); c != 0 {
				if c > 0 != down {
					return WrongOrder
				}
				break
			}
		}
	}
	return NoFault
}
