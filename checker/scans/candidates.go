package scans

import (
	"slices"
	"sort"

	"github.com/isohound/isohound/history/schema"
)

// fewRows is how many rows are looked at one by one, rather than sorting all versions by a column.
const fewRows = 64

// locate finds the smallest range that has all versions that fulfil the conditions: of rows in the
// order of their keys, or of versions in the order of s.column of group s.drive.
func (s *scan) locate() {
	s.drive, s.column = s.groups[0], -1
	s.from, s.to = s.t.keyRange(&s.p.Predicate)
	if s.to-s.from <= fewRows {
		return
	}
	for _, g := range s.groups {
		vs := &s.t.groups[g]
		done := map[int]bool{}
		for _, c := range s.tests[g] {
			if c.Op == "<>" || done[c.column] {
				continue // the range of <> is the whole list
			}
			done[c.column] = true
			col, list := &vs.columns[c.column], vs.order(c.column)
			from, to := 0, len(list)
			for n := range s.tests[g] {
				if other := &s.tests[g][n]; other.column == c.column {
					a, b := cut(to-from, other.Condition, func(i int) any { return col.at(list[from+i]) })
					from, to = from+a, from+b
				}
			}
			if int32(to-from) < s.to-s.from {
				s.from, s.to, s.column, s.drive = int32(from), int32(to), c.column, g
			}
		}
	}
}

// candidates returns the rows, ascending, whose key fits and of which a version of group s.drive
// fulfils the conditions.
func (s *scan) candidates() []int32 {
	vs := &s.t.groups[s.drive]
	var rows []int32
	if s.column >= 0 {
		for _, i := range vs.sorted[s.column][s.from:s.to] {
			if r := vs.list[i].row; s.fits(s.drive, i) && s.keyFits(r) {
				rows = append(rows, r)
			}
		}
		slices.Sort(rows)
		return slices.Compact(rows)
	}
	for _, r := range s.t.byKey[s.from:s.to] {
		if !s.keyFits(r) {
			continue
		}
		for i := vs.from[r]; i < vs.from[r+1]; i++ {
			if s.fits(s.drive, i) {
				rows = append(rows, r)
				break
			}
		}
	}
	slices.Sort(rows)
	return rows
}

// keyRange returns the positions, in the order of the key, of the rows that fulfil the conditions on
// the first columns of the key: equality, and a range of the column after those.
func (t *table) keyRange(p *schema.Predicate) (from, to int32) {
	low, high := 0, len(t.byKey)
	for k := range t.Key {
		fixed := false
		for i := range p.Where {
			if c := &p.Where[i]; c.Column == t.Key[k].Name {
				a, b := cut(high-low, c, func(i int) any { return t.keys[k].at(t.byKey[low+i]) })
				low, high = low+a, low+b
				fixed = fixed || c.Op == "="
			}
		}
		if !fixed {
			break
		}
	}
	return int32(low), int32(high)
}

// order returns the positions of all versions in the order of a column.
func (vs *versions) order(c int) []int32 {
	if list, ok := vs.sorted[c]; ok {
		return list
	}
	list := make([]int32, len(vs.list))
	for i := range list {
		list[i] = int32(i)
	}
	slices.SortFunc(list, vs.columns[c].compare)
	vs.sorted[c] = list
	return list
}

// cut returns the part of a sorted list of n values that has all values that fulfil a condition.
func cut(n int, c *schema.Condition, value func(int) any) (from, to int) {
	first := func(place int) int { // the first one at that place
		return sort.Search(n, func(i int) bool { return c.Place(value(i)) >= place })
	}
	return first(0), first(1)
}
