package scans

import (
	"slices"
	"sort"

	"github.com/isohound/isohound/history/schema"
)

// fewRows is how many rows are looked at one by one, rather than sorting all versions by a column.
const fewRows = 64

// locate finds the smallest range that has all versions that fulfil the conditions: of rows in the
// order of their keys, or of versions in the order of s.column.
func (s *scan) locate() error {
	rows := s.t.keyRange(&s.p.Predicate)
	s.from, s.to = within(s.t.byKey, rows)
	if len(rows) <= fewRows {
		return nil
	}
	for _, c := range s.p.Where {
		if c.Op == "<>" {
			continue // its range is the whole list
		}
		all, err := s.index.order(s.t, s.group, c.Column)
		if err != nil {
			return err
		}
		list := s.index.rangeOf(s.t, s.group, c.Column, &s.p.Predicate)
		if from, to := within(all, list); to-from < s.to-s.from {
			s.from, s.to, s.column = from, to, c.Column
		}
	}
	return nil
}

// within returns the positions of a part of a list.
func within(list, part []int32) (from, to int32) {
	from = int32(cap(list) - cap(part))
	return from, from + int32(len(part))
}

// matching returns the positions, ascending, of the versions that fulfil the conditions. They are in
// the order of their rows.
func (s *scan) matching() ([]int32, error) {
	vs := &s.t.groups[s.group]
	var candidates, out []int32
	if s.column != "" {
		candidates = vs.sorted[s.column][s.from:s.to]
	} else {
		for _, r := range s.t.byKey[s.from:s.to] {
			for i := vs.from[r]; i < vs.from[r+1]; i++ {
				candidates = append(candidates, i)
			}
		}
	}
	for _, i := range candidates {
		switch ok, err := s.index.fulfils(s.t, s.group, &s.p.Predicate, &vs.list[i]); {
		case err != nil:
			return nil, err
		case ok:
			out = append(out, i)
		}
	}
	slices.Sort(out)
	return out, nil
}

// keyRange returns the rows that fulfil the conditions on the first columns of the key: equality,
// and a range of the column after those.
func (t *table) keyRange(p *schema.Predicate) []int32 {
	leading := p.Leading(t.Table)
	rows := t.byKey
	first := func(sign int) int {
		return sort.Search(len(rows), func(i int) bool { return compareKeys(t.rows[rows[i]].key, leading) >= sign })
	}
	rows = rows[first(0):first(1)]
	at := len(leading)
	if at == len(t.Key) {
		return rows
	}
	for _, c := range p.Where {
		if c.Column == t.Key[at].Name {
			rows = cut(rows, c, func(r int32) any { return t.rows[r].key[at] })
		}
	}
	return rows
}

// order returns the positions of all versions in the order of a column.
func (x *index) order(t *table, g int, column string) ([]int32, error) {
	vs := &t.groups[g]
	if list, ok := vs.sorted[column]; ok {
		return list, nil
	}
	list := make([]int32, len(vs.list))
	values := make([]any, len(vs.list))
	for i := range list {
		v, err := x.value(t, g, &vs.list[i], column)
		if err != nil {
			return nil, err
		}
		list[i], values[i] = int32(i), v
	}
	slices.SortFunc(list, func(a, b int32) int { return schema.Compare(values[a], values[b]) })
	vs.sorted[column] = list
	return list, nil
}

// rangeOf returns positions that include those of all versions that fulfil the conditions on one
// column. The column must have been sorted.
func (x *index) rangeOf(t *table, g int, column string, p *schema.Predicate) []int32 {
	vs := &t.groups[g]
	list := vs.sorted[column]
	for _, c := range p.Where {
		if c.Column == column {
			list = cut(list, c, func(i int32) any {
				v, _ := x.value(t, g, &vs.list[i], column) // it was evaluated before
				return v
			})
		}
	}
	return list
}

// cut returns the part of a list, sorted by value, that has all values that fulfil a condition.
func cut(list []int32, c schema.Condition, value func(int32) any) []int32 {
	first := func(place int) int { // the first one at that place
		return sort.Search(len(list), func(i int) bool { return c.Place(value(list[i])) >= place })
	}
	return list[first(0):first(1)]
}
