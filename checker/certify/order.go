package certify

import (
	"cmp"
	"math/bits"
	"slices"
	"sort"

	"github.com/isohound/isohound/history/schema"
)

// order is an index of the current rows of a group. It has a position for each row (if it is ordered
// by the primary key), or for each version (if it is ordered by a column of the group).
type order struct {
	columns []string
	values  []*column // of these columns, by position
	of      []int32   // by position: the row or version
	at      []int32   // by row or version: its position
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
	o := &order{byRow: true}
	for _, c := range g.t.Key {
		o.columns = append(o.columns, c.Name)
	}
	g.orders[""] = o
	o.sort(g, g.t.keys, g.t.rows())
	return o
}

// columnOrder returns nil if some version does not fit the columns.
func (x *tables) columnOrder(g *group, name string, at int) *order {
	if o, made := g.orders[name]; made {
		return o
	}
	g.orders[name] = nil
	values := newColumn(&g.t.Groups[g.number].Columns[at], len(g.versions))
	for i := range g.versions {
		content, err := x.parse(g, g.versions[i].value)
		if err != nil {
			return nil
		}
		values.add(content[at])
	}
	o := &order{columns: []string{name}}
	g.orders[name] = o
	o.sort(g, []*column{values}, len(g.versions))
	return o
}

// sort sorts n rows or versions by their values and enters those that are in the state.
func (o *order) sort(g *group, values []*column, n int) {
	type entry struct {
		prefix int64
		n      int32
	}
	list := make([]entry, n)
	for i := range list {
		list[i] = entry{values[0].prefix(int32(i)), int32(i)}
	}
	slices.SortFunc(list, func(a, b entry) int {
		c := cmp.Compare(a.prefix, b.prefix)
		for i := 0; i < len(values) && c == 0; i++ {
			c = values[i].compare(a.n, b.n)
		}
		return c
	})
	o.of, o.at, o.present = make([]int32, n), make([]int32, n), newSet(n)
	for i, e := range list {
		o.of[i], o.at[e.n] = e.n, int32(i)
	}
	for _, c := range values {
		o.values = append(o.values, c.permuted(o.of))
	}
	for row, v := range g.current {
		o.move(int32(row), none, v)
	}
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
					return where[i].Place(o.values[n].at(from+int32(p))) >= place
				}))
			}
			from, to = first(0), first(1)
		}
		if from >= to || o.values[n].compare(from, to-1) != 0 {
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
