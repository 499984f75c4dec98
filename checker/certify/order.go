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

// order is an index of the current rows of a group, by the primary key or by a column of the group. Each
// combination of values of its columns that some row or version has is a place; the places are in the order of
// the values.
type order struct {
	columns []string
	values  []*column // of these columns, by place
	at      []int32   // by row (if it is ordered by the primary key) or version: its place
	byRow   bool
	// The rows at a place are a list: head has the first one by place, next and before the others by row, or none.
	// next and before are nil if no place can have two rows.
	head, next, before []int32
	now                []int32 // by row: its place, or none
	present            set     // of places that have rows
	// The rows that are at a place in some state are rows[starts[place]:starts[place+1]], with repetitions. They are
	// made when they are needed.
	rows, starts []int32
	// heads are the different values of the first column, if they are few, and firsts where each begins,
	// with one more at the end. They fit into the processor's cache.
	heads  *column
	firsts []int32
}

// move replaces the current version of a row. none stands for absence.
func (o *order) move(row, version int32) {
	place := version
	if version != none {
		if o.byRow {
			version = row
		}
		place = o.at[version]
	}
	old := o.now[row]
	if place == old {
		return
	}
	if o.now[row] = place; old != none {
		next, before := none, none
		if o.next != nil {
			next, before = o.next[row], o.before[row]
		}
		if next != none {
			o.before[next] = before
		}
		if before != none {
			o.next[before] = next
		} else if o.head[old] = next; next == none {
			o.present.remove(old)
		}
	}
	if place != none {
		next := o.head[place]
		if o.head[place] = row; o.next != nil {
			o.next[row], o.before[row] = next, none
		}
		if next != none {
			o.before[next] = row
		} else {
			o.present.insert(place)
		}
	}
}

// following returns the row after a row at its place, or none.
func (o *order) following(row int32) int32 {
	if o.next == nil {
		return none
	}
	return o.next[row]
}

// ever returns the rows that are at a place in some state.
func (o *order) ever(g *group, place int32) []int32 {
	if o.starts == nil {
		o.starts, o.rows = make([]int32, len(o.head)+1), make([]int32, len(o.at))
		for _, p := range o.at {
			o.starts[p]++
		}
		sum := int32(0)
		for p, n := range o.starts {
			sum += n
			o.starts[p] = sum
		}
		for n, p := range o.at { // starts moves from the end of each place to its beginning
			o.starts[p]--
			row := int32(n)
			if !o.byRow {
				row = g.versions[n].row
			}
			o.rows[o.starts[p]] = row
		}
	}
	return o.rows[o.starts[place]:o.starts[place+1]]
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

// sort finds the places of n rows or versions by their values, and enters the rows that are in the state.
func (o *order) sort(g *group, values []*column, n int) {
	o.at = make([]int32, n)
	samples, firsts := o.dense(values, n) // one row or version of each place
	if samples == nil {
		samples = o.compare(values, n)
	}
	for _, c := range values {
		o.values = append(o.values, c.permuted(samples))
	}
	o.values[0].firsts = firsts
	o.head, o.present = absent(len(samples)), newSet(len(samples))
	o.group()
	if o.now = absent(len(g.current)); !o.byRow || len(samples) < n {
		o.next, o.before = absent(len(g.current)), absent(len(g.current))
	}
	for row, v := range g.current {
		o.move(int32(row), v)
	}
	g.made = append(g.made, o)
}

func absent(n int) []int32 {
	list := make([]int32, n)
	for i := range list {
		list[i] = none
	}
	return list
}

// dense finds the places of integers without large gaps. It returns nil for other values. firsts is for the column of
// the places.
func (o *order) dense(values []*column, n int) (samples, firsts []int32) {
	c := values[0]
	if len(values) > 1 || c.texts != nil || c.null != nil || n == 0 {
		return nil, nil
	}
	least := slices.Min(c.numbers)
	span := uint64(slices.Max(c.numbers)) - uint64(least) // right even if the difference is no int64
	if span >= uint64(2*n) {
		return nil, nil
	}
	of := make([]int32, span+1) // by value: one of those that have it, plus 1, and then its place or the next one
	for i, v := range c.numbers {
		of[v-least] = int32(i) + 1
	}
	samples = []int32{}
	for v, i := range of {
		if of[v] = int32(len(samples)); i > 0 {
			samples = append(samples, i-1)
		}
	}
	for i, v := range c.numbers {
		o.at[i] = of[v-least]
	}
	return samples, of
}

// compare finds the places of any values.
func (o *order) compare(values []*column, n int) (samples []int32) {
	type entry struct {
		prefix int64
		n      int32
	}
	list := make([]entry, n)
	for i := range list {
		list[i] = entry{values[0].prefix(int32(i)), int32(i)}
	}
	compare := func(a, b entry) int {
		c := cmp.Compare(a.prefix, b.prefix)
		for i := 0; i < len(values) && c == 0; i++ {
			c = values[i].compare(a.n, b.n)
		}
		return c
	}
	slices.SortFunc(list, compare)
	samples = []int32{}
	for i, e := range list {
		if i == 0 || compare(list[i-1], e) != 0 {
			samples = append(samples, e.n)
		}
		o.at[e.n] = int32(len(samples) - 1)
	}
	return samples
}

// group finds the different values of the first column.
func (o *order) group() {
	first, places := o.values[0], len(o.head)
	for i := range int32(places) {
		if i == 0 || first.compare(i-1, i) != 0 {
			if o.firsts = append(o.firsts, i); len(o.firsts) > places/4 {
				o.firsts = nil
				return
			}
		}
	}
	o.heads = first.permuted(o.firsts)
	o.firsts = append(o.firsts, int32(places))
}

// narrow returns the places of everything that may fulfil the conditions: the first columns have
// one value, and the next one is in a range.
func (o *order) narrow(where []schema.Condition) (from, to int32) {
	to = int32(len(o.head))
	for n, name := range o.columns {
		if n == 0 && o.heads != nil {
			a, b := o.heads.narrow(name, where, 0, int32(len(o.firsts)-1))
			if from, to = o.firsts[a], o.firsts[b]; b-a > 1 || from >= to {
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
			if high < math.MaxInt64 {
				to = c.atLeast(high+1, from, to)
			}
			from = c.atLeast(low, from, to)
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

// atLeast returns the first position, from some position to another, where the sorted numbers are at least n.
func (c *column) atLeast(n int64, from, to int32) int32 {
	switch {
	case from == to || n <= c.numbers[from]:
		return from
	case n > c.numbers[to-1]:
		return to
	case c.firsts != nil:
		return c.firsts[n-c.numbers[0]]
	}
	return from + int32(sort.Search(int(to-from), func(p int) bool { return c.numbers[from+int32(p)] >= n }))
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
