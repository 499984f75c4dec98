package certify

import (
	"cmp"
	"math/bits"
	"slices"
	"sort"
	"strings"

	"github.com/isohound/isohound/history/schema"
)

// order is an index of the current rows of a group. It has a position for each row (if it is ordered
// by the primary key), or for each version (if it is ordered by a column of the group).
type order struct {
	columns []string
	value   func(n int32, column int) any // of a row or a version
	of      []int32                       // by position: the row or version
	at      []int32                       // by row or version: its position
	byRow   bool
	present set // of positions
}

// move replaces the current version of a row. none stands for absence.
func (o *order) move(row, old, now int32) {
	place := func(v int32) int32 {
		if o.byRow {
			v = row
		}
		return o.at[v]
	}
	if old != none {
		o.present.remove(place(old))
	}
	if now != none {
		o.present.insert(place(now))
	}
}

// keyOrder and columnOrder return the order of the primary key and that of a column of the group.
func (x *tables) keyOrder(g *group) *order {
	if o, made := g.orders[""]; made {
		return o
	}
	o := &order{byRow: true, value: func(row int32, c int) any { return g.t.keys[row][c] }}
	for _, c := range g.t.Key {
		o.columns = append(o.columns, c.Name)
	}
	return g.index("", o, len(g.t.keys))
}

// columnOrder returns nil if some version does not fit the columns.
func (x *tables) columnOrder(g *group, name string, at int) *order {
	if o, made := g.orders[name]; made {
		return o
	}
	for v := range g.versions {
		if _, err := x.columns(g, int32(v)); err != nil {
			g.orders[name] = nil
			return nil
		}
	}
	return g.index(name, &order{columns: []string{name}, value: func(v int32, _ int) any { return g.content[v][at] }}, len(g.versions))
}

// index sorts the rows or versions and enters those that are in the state.
func (g *group) index(name string, o *order, n int) *order {
	o.of, o.at, o.present = make([]int32, n), make([]int32, n), newSet(n)
	type entry struct {
		null   bool
		number int64
		text   string
		n      int32
	}
	list := make([]entry, n)
	for i := range list {
		e := entry{n: int32(i)}
		switch v := o.value(int32(i), 0).(type) {
		case nil:
			e.null = true
		case int64:
			e.number = v
		case string:
			e.text = v
		}
		list[i] = e
	}
	slices.SortFunc(list, func(a, b entry) int {
		switch {
		case a.null != b.null && a.null:
			return -1
		case a.null != b.null:
			return 1
		case a.number != b.number:
			return cmp.Compare(a.number, b.number)
		}
		c := strings.Compare(a.text, b.text)
		for i := 1; i < len(o.columns) && c == 0; i++ {
			c = schema.Compare(o.value(a.n, i), o.value(b.n, i))
		}
		return c
	})
	for i, e := range list {
		o.of[i], o.at[e.n] = e.n, int32(i)
	}
	g.orders[name] = o
	for row, v := range g.current {
		o.move(int32(row), none, v)
	}
	return o
}

// narrow returns the positions of everything that may fulfil the conditions: the first columns have
// one value, and the next one is in a range.
func (o *order) narrow(where []schema.Condition) (from, to int32) {
	to = int32(len(o.of))
	for n, name := range o.columns {
		for i := range where {
			if where[i].Column != name {
				continue
			}
			first := func(place int) int32 {
				return from + int32(sort.Search(int(to-from), func(p int) bool {
					return where[i].Place(o.value(o.of[from+int32(p)], n)) >= place
				}))
			}
			from, to = first(0), first(1)
		}
		if from >= to || schema.Compare(o.value(o.of[from], n), o.value(o.of[to-1], n)) != 0 {
			break
		}
	}
	return from, to
}

// set is a set of numbers. used has a bit for each word that is not empty.
type set struct{ words, used []uint64 }

func newSet(n int) set {
	words := n/64 + 1
	return set{make([]uint64, words), make([]uint64, words/64+1)}
}

func (s *set) insert(i int32) {
	s.words[i>>6] |= 1 << (i & 63)
	s.used[i>>12] |= 1 << (i >> 6 & 63)
}

func (s *set) remove(i int32) {
	if s.words[i>>6] &^= 1 << (i & 63); s.words[i>>6] == 0 {
		s.used[i>>12] &^= 1 << (i >> 6 & 63)
	}
}

// next returns the least number of the set from i up to, but not including, end, or none.
func (s *set) next(i, end int32) int32 {
	for i < end {
		if rest := s.words[i>>6] >> (i & 63); rest != 0 {
			if i += int32(bits.TrailingZeros64(rest)); i < end {
				return i
			}
			return none
		}
		i = (i>>6 + 1) << 6
		for i < end {
			if rest := s.used[i>>12] >> (i >> 6 & 63); rest != 0 {
				i += int32(bits.TrailingZeros64(rest)) << 6
				break
			}
			i = (i>>12 + 1) << 12
		}
	}
	return none
}
