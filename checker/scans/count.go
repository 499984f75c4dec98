package scans

import (
	"slices"

	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/schema"
)

// count is what a statement that counted says of the rows that it may have counted or not.
type count struct {
	free []int32 // these rows, ascending
	need int     // how many of them it counted
}

// counted judges a statement that returned the number of rows alone. Rows that fulfil the conditions in
// every version were counted. If all other rows must have been counted, or none, each is judged by
// itself. Else s.count is set.
func (s *scan) counted() {
	rows := s.candidates()
	for _, r := range s.written {
		if s.keyFits(r) {
			rows = append(rows, r)
		}
	}
	slices.Sort(rows)
	var free []int32
	need := s.p.Count
	for _, r := range slices.Compact(rows) {
		list, _, possible := s.alternatives(r)
		switch {
		case possible && len(list) == 0:
			s.returned.add(r)
			need--
		case possible:
			free = append(free, r)
		}
	}
	switch {
	case need < 0 || need > len(free):
		s.impossible(s.anyItem())
		s.refuted = true
	case need == 0:
		for _, r := range free {
			if s.written.has(r) { // missed judges the others
				s.missedRow(r)
			}
		}
	case need == len(free):
		for _, r := range free {
			s.returned.add(r)
			for _, g := range s.groups {
				if _, own := s.own[s.index.item(s.t, r, g)]; !own {
					s.mustMatch(r, g)
				}
			}
		}
	default:
		s.count = &count{free, need}
	}
}

// anyItem returns an item of the table, one that the transaction neither reads nor writes if there is one.
func (s *scan) anyItem() history.Key {
	touched := map[history.Key]bool{}
	for _, op := range s.h.Ops(&s.h.Txns[s.txn]) {
		touched[op.Key] = true
	}
	for r := range s.t.rows {
		if item := s.index.item(s.t, int32(r), s.groups[0]); !touched[item] {
			return item
		}
	}
	if item := s.newItem(); !touched[item] || len(s.t.rows) == 0 {
		return item
	}
	return s.index.item(s.t, 0, s.groups[0])
}

// newItem returns an item of the table that no transaction has to know.
func (s *scan) newItem() history.Key {
	key := make([]any, len(s.t.Key))
	for i := range key {
		c := newColumn(&s.t.Key[i], 1)
		key[i] = c.at(0)
	}
	item := s.h.Key(s.t.Item(key, s.groups[0]))
	for len(s.index.places) < s.h.KeyCount() {
		s.index.places = append(s.index.places, place{})
	}
	return item
}

// Counted reports whether a statement that counted, predicate p, counted the row of op, which follows
// from it: it saw the version of a read, and did not see the one of a history.ReadNot.
func Counted(h *history.History, p *history.Predicate, op history.Op) bool {
	item, ok := h.Schema.ParseItem(h.KeyName(op.Key))
	if !ok {
		return false
	}
	fits := op.Value != history.Absent
	if fits {
		row := schema.Row{Key: item.Key, Groups: make([][]any, len(item.Table.Groups))}
		row.Groups[item.Group], _ = contentOf(h, &item.Table.Groups[item.Group], op.Value)
		for _, c := range p.Where {
			if v, known := item.Table.Value(row, c.Column); known && !c.Holds(v) {
				fits = false
			}
		}
	}
	return fits == (op.Kind == history.Read)
}
