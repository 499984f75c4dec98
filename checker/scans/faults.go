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
		if n > 0 && s.index.places[s.ops[n-1].Key].row == r {
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
	seen := history.Op{Kind: history.Read, Key: not.Key, Value: not.Value}
	if slices.Contains(ops[p.Ops[0]:p.Ops[0]+p.Implied], seen) { // see impossible
		if p.Kind == history.ScanCount {
			return WrongCount
		}
		return WrongRow
	}
	op := slices.Index(ops[p.Ops[0]+p.Implied:p.Ops[1]], seen) + p.Ops[0] + p.Implied
	t, ok := h.Schema.Table(p.Table)
	if !ok {
		return NoFault
	}
	var rows []schema.Row
	name, at := "", -1
	for n := p.Ops[0] + p.Implied; n < p.Ops[1]; n++ {
		item, ok := h.Schema.ParseItem(h.KeyName(ops[n].Key))
		if !ok {
			return NoFault
		}
		if item.Row != name {
			name, rows = item.Row, append(rows, schema.Row{Key: item.Key, Groups: make([][]any, len(t.Groups))})
		}
		if n == op {
			at = len(rows) - 1
		}
		if ops[n].Kind == history.Read && ops[n].Value != history.Absent {
			rows[len(rows)-1].Groups[item.Group], _ = contentOf(h, &t.Groups[item.Group], ops[n].Value)
		}
	}
	if at < 0 {
		return NoFault
	}
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
