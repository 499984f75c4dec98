package certify

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"sort"

	"github.com/isohound/isohound/history"
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
	// heads are the different values of the first column, if they are few, and starts where each begins,
	// with one more at the end. They fit into the processor's cache.
	heads  *column
	starts []int32
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
	columns := g.t.Groups[g.number].Columns
	values := newColumn(&columns[at], len(g.versions))
	whole := len(columns) == 1 && columns[0].Type == schema.Int
	for i := range g.versions {
		if v := g.versions[i].value; whole && v >= history.MinInt { // parse would say the same
			values.number(int64(v))
			continue
		}
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
	o.group()
	for row, v := range g.current {
		o.move(int32(row), none, v)
	}
	g.made = append(g.made, o)
}

// group finds the different values of the first column.
func (o *order) group() {
	first := o.values[0]
	for i := range o.of {
		if i == 0 || first.compare(int32(i-1), int32(i)) != 0 {
			if o.starts = append(o.starts, int32(i)); len(o.starts) > len(o.of)/4 {
				o.starts = nil
				return
			}
		}
	}
	o.heads = first.permuted(o.starts)
	o.starts = append(o.starts, int32(len(o.of)))
}

// narrow returns the positions of everything that may fulfil the conditions: the first columns have
// one value, and the next one is in a range.
func (o *order) narrow(where []schema.Condition) (from, to int32) {
	to = int32(len(o.of))
	for n, name := range o.columns {
		if n == 0 && o.heads != nil {
			a, b := o.heads.narrow(name, where, 0, int32(len(o.starts)-1))
			if from, to = o.starts[a], o.starts[b]; b-a > 1 || from >= to {
				break
			}
			continue
		}
		from, to = o.values[n].narrow(name, where, from, to)
		if from >= to || o.values[n].compare(from, to-1) != 0 {
			break
		}
	}
	return from, to
}

// narrow returns the part of sorted values, from some position to another, that has all values that fulfil
// the conditions on the column of this name.
func (c *column) narrow(name string, where []schema.Condition, from, to int32) (int32, int32) {
	for i := range where {
		if where[i].Column != name {
			continue
		}
		if low, high, ok := bounds(&where[i]); ok && c.null == nil && c.texts == nil {
			part := c.numbers[from:to]
			behind := int32(sort.Search(len(part), func(p int) bool { return part[p] > high }))
			part = part[:behind]
			from, to = from+int32(sort.Search(len(part), func(p int) bool { return part[p] >= low })), from+behind
			continue
		}
		first := func(place int) int32 {
			return from + int32(sort.Search(int(to-from), func(p int) bool {
				return where[i].Place(c.at(from+int32(p))) >= place
			}))
		}
		from, to = first(0), first(1)
	}
	return from, to
}

// bounds returns the least and the greatest integer that fulfil a condition, if those between do, too.
func bounds(c *schema.Condition) (low, high int64, ok bool) {
	v, ok := c.Value.(int64)
	low, high = math.MinInt64, math.MaxInt64
	switch {
	case !ok:
		return 0, 0, false
	case c.Op == "=":
		return v, v, true
	case c.Op == ">=":
		return v, high, true
	case c.Op == "<=":
		return low, v, true
	case c.Op == ">" && v < high:
		return v + 1, high, true
	case c.Op == "<" && v > low:
		return low, v - 1, true
	}
	return 0, 0, false
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
