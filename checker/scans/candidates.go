package scans

import (
	"math"
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
		for n := range s.tests[g] {
			c := s.tests[g][n].column
			if s.tests[g][n].Op == "<>" || slices.ContainsFunc(s.tests[g][:n], func(x test) bool { return x.column == c }) {
				continue // the range of <> is the whole list
			}
			if from, to := s.rangeOf(vs.order(c), &vs.columns[c], g, c); to-from < s.to-s.from {
				s.from, s.to, s.column, s.drive = from, to, c, g
			}
		}
	}
}

// rangeOf returns the part of an order of versions of group g by column c that has all versions that
// fulfil the conditions on the column.
func (s *scan) rangeOf(o *order, col *column, g, c int) (from, to int32) {
	low, high, interval := int64(math.MinInt64), int64(math.MaxInt64), o.ints != nil
	for n := range s.tests[g] {
		if x := &s.tests[g][n]; x.column == c {
			interval = interval && x.interval
			low, high = max(low, x.low), min(high, x.high)
		}
	}
	if interval {
		a := sort.Search(len(o.ints), func(i int) bool { return o.ints[i] >= low })
		b := a + sort.Search(len(o.ints)-a, func(i int) bool { return o.ints[a+i] > high })
		return int32(a), int32(b)
	}
	first, behind := 0, len(o.list)
	for n := range s.tests[g] {
		if x := &s.tests[g][n]; x.column == c {
			a, b := cut(behind-first, x.Condition, func(i int) any { return col.at(o.list[first+i]) })
			first, behind = first+a, first+b
		}
	}
	return int32(first), int32(behind)
}

// candidates returns the rows, ascending, whose key fits and of which a version of group s.drive
// fulfils the conditions.
func (s *scan) candidates() []int32 {
	vs := &s.t.groups[s.drive]
	var rows []int32
	if s.column >= 0 {
		for _, i := range vs.sorted[s.column].list[s.from:s.to] {
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
				a, b := t.keys[k].cut(t.byKey[low:high], c)
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

// cut returns the part of a list of rows, sorted by the column, that has all rows that fulfil a condition on it.
func (c *column) cut(rows []int32, x *schema.Condition) (from, to int) {
	t := newTest(x, 0)
	if !t.interval || c.ints == nil || c.null != nil {
		return cut(len(rows), x, func(i int) any { return c.at(rows[i]) })
	}
	from = sort.Search(len(rows), func(i int) bool { return c.ints[rows[i]] >= t.low })
	return from, from + sort.Search(len(rows)-from, func(i int) bool { return c.ints[rows[from+i]] > t.high })
}

// order has the positions of all versions of a group in the order of a column.
type order struct {
	list []int32
	ints []int64 // the values, if they are integers without nulls
}

func (vs *versions) order(c int) *order {
	if o, ok := vs.sorted[c]; ok {
		return o
	}
	o, col := &order{list: make([]int32, len(vs.list))}, &vs.columns[c]
	for i := range o.list {
		o.list[i] = int32(i)
	}
	slices.SortFunc(o.list, col.compare)
	if col.ints != nil && col.null == nil {
		o.ints = make([]int64, len(o.list))
		for i, v := range o.list {
			o.ints[i] = col.ints[v]
		}
	}
	vs.sorted[c] = o
	return o
}

// cut returns the part of a sorted list of n values that has all values that fulfil a condition.
func cut(n int, c *schema.Condition, value func(int) any) (from, to int) {
	first := func(place int) int { // the first one at that place
		return sort.Search(n, func(i int) bool { return c.Place(value(i)) >= place })
	}
	return first(0), first(1)
}
