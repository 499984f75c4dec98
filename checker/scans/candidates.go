package scans

import (
	"slices"
	"sort"

	"github.com/isohound/isohound/history/schema"
)

// fewRows is how many rows are looked at one by one, rather than sorting all versions by a column.
const fewRows = 64

// matching returns the positions, ascending, of the versions of group g that fulfil the
// conditions. They are in the order of their rows.
func (x *index) matching(t *table, g int, p *schema.Predicate) ([]int32, error) {
	candidates, err := x.candidates(t, g, p)
	if err != nil {
		return nil, err
	}
	var out []int32
	for _, i := range candidates {
		switch ok, err := x.fulfils(t, g, p, &t.groups[g].list[i]); {
		case err != nil:
			return nil, err
		case ok:
			out = append(out, i)
		}
	}
	slices.Sort(out)
	return out, nil
}

// candidates returns the versions that fulfil the most selective conditions: those on the first
// columns of the key, or that on another column.
func (x *index) candidates(t *table, g int, p *schema.Predicate) ([]int32, error) {
	vs := &t.groups[g]
	rows := t.keyRange(p)
	if len(rows) > fewRows {
		var best []int32
		found := false
		for _, c := range p.Where {
			if c.Op == "<>" {
				continue
			}
			list, err := x.rangeOf(t, g, c.Column, p)
			if err != nil {
				return nil, err
			}
			if !found || len(list) < len(best) {
				best, found = list, true
			}
		}
		if found && len(best) < len(rows) {
			return best, nil
		}
	}
	var list []int32
	for _, r := range rows {
		for i := vs.from[r]; i < vs.from[r+1]; i++ {
			list = append(list, i)
		}
	}
	return list, nil
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
		if c.Column == t.Key[at].Name && c.Op != "<>" {
			rows = cut(rows, c, func(r int32) any { return t.rows[r].key[at] })
		}
	}
	return rows
}

// rangeOf returns the positions of the versions that fulfil the conditions on one column, except <>.
func (x *index) rangeOf(t *table, g int, column string, p *schema.Predicate) ([]int32, error) {
	vs := &t.groups[g]
	list, ok := vs.sorted[column]
	if !ok {
		list = make([]int32, len(vs.list))
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
	}
	for _, c := range p.Where {
		if c.Column == column && c.Op != "<>" {
			list = cut(list, c, func(i int32) any {
				v, _ := x.value(t, g, &vs.list[i], column) // it was evaluated before
				return v
			})
		}
	}
	return list, nil
}

// cut returns the part of a list, sorted by value, that fulfils a condition, which is not <>.
func cut(list []int32, c schema.Condition, value func(int32) any) []int32 {
	first := func(sign int) int { // the first one whose value is at least, or greater than, the constant
		return sort.Search(len(list), func(i int) bool { return schema.Compare(value(list[i]), c.Value) >= sign })
	}
	switch c.Op {
	case "<":
		return list[:first(0)]
	case "<=":
		return list[:first(1)]
	case ">":
		return list[first(1):]
	case ">=":
		return list[first(0):]
	default:
		return list[first(0):first(1)]
	}
}
