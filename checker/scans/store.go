package scans

import (
	"math"
	"slices"
	"sort"

	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/schema"
)

// store is a state of all keys, in which rows are found by the values of their columns. Only groups and
// columns that some statement looks at are indexed.
type store struct {
	*index
	values []history.Value // by key
	groups []*stored       // by number; nil if no statement looks at the group
	tables map[*table]*storedTable
	// asked has questions by the number of the statement, for the first ones, without a table until they are prepared.
	asked    []question
	counting bool // there is a statement that counts
}

type storedTable struct {
	*table
	keyAt []int32 // by row: its position in byKey
	// stamp is, by row, the latest statement that returned the row, by the number stamps.
	stamp  []int32
	stamps int32
}

// stored is the state of one group of the rows of a table.
type stored struct {
	t *storedTable
	g int
	contents
	now     []int32 // by row: its content, or -1
	present *tree   // of positions in byKey: the rows that exist
	columns []*ordered
	// pending are statements without conditions on columns of groups; see schedule.
	pending []pending
}

// contents numbers the values of a group.
type contents struct {
	list  []history.Value
	least history.Value
	dense []int32 // by value minus least: the number plus 1, or 0; nil if values are far apart
	far   map[history.Value]int32
	most  history.Value
	count int // of values, repetitions included
}

// ordered has the rows in the order of a column.
type ordered struct {
	at     int     // the number of the column in its group
	column column  // by content
	rank   []int32 // by content: its place among the different values
	first  []int32 // by rank: a content that has the value
	ints   []int64 // by rank, if the values are integers without nulls
	ranks  []int32 // by integer minus the least one: the first rank of one that is not smaller; nil if there are large gaps
	head   []int32 // by rank: the first of the rows that have the value, or -1
	next   []int32 // by row
	before []int32 // by row
	filled *tree   // the ranks that some row has
	// pending are the statements with conditions on the column; see schedule.
	pending []pending
}

// mostAsked bounds the questions that are kept. With more, it takes less time to prepare a question again than to fetch
// it from memory.
const mostAsked = 1 << 10

// newStore returns the initial state, or nil if a value does not fit its columns.
func newStore(x *index) *store {
	s := &store{index: x, values: make([]history.Value, len(x.places)), groups: make([]*stored, x.groups), tables: map[*table]*storedTable{},
		asked: make([]question, min(x.h.StatementCount(), mostAsked))}
	wanted := make([]bool, x.h.StatementCount())
	for i := range x.h.Txns {
		list := x.h.Predicates(i)
		for n := range list {
			if wanted[list[n].Number] {
				continue
			}
			wanted[list[n].Number] = true
			s.counting = s.counting || list[n].Kind == history.ScanCount
			if t, ok := x.h.Schema.Table(list[n].Table); ok {
				s.want(x.tables[t], list[n].Statement)
			}
		}
	}
	if !s.number() {
		return nil
	}
	for _, g := range s.groups {
		if g != nil {
			g.sort()
		}
	}
	for k := range s.values {
		s.values[k] = history.Absent
		s.write(history.Key(k), x.h.Initial(history.Key(k)))
	}
	return s
}

// want notes what a statement looks at.
func (s *store) want(t *table, p *history.Statement) {
	some := false
	for i := range p.Where {
		if g, at, _ := t.Column(p.Where[i].Column); g >= 0 {
			s.group(t, g).want(at)
			some = true
		}
	}
	if !some {
		s.group(t, standing(t, p))
	}
	for _, name := range p.Order {
		if g, at, _ := t.Column(trimmed(name)); g >= 0 {
			s.group(t, g).want(at)
		}
	}
}

// standing is the group that stands for the existence of a row, if no group has conditions.
func standing(t *table, p *history.Statement) int {
	return max(0, slices.IndexFunc(t.Groups, func(g schema.Group) bool { return slices.Contains(p.Groups, g.Name) }))
}

func trimmed(name string) string {
	if name != "" && name[0] == '-' {
		return name[1:]
	}
	return name
}

func (s *store) group(t *table, g int) *stored {
	if x := s.groups[t.first+g]; x != nil {
		return x
	}
	st := s.tables[t]
	if st == nil {
		st = &storedTable{table: t, keyAt: make([]int32, len(t.rows)), stamp: make([]int32, len(t.rows))}
		for i, r := range t.byKey {
			st.keyAt[r] = int32(i)
		}
		s.tables[t] = st
	}
	x := &stored{t: st, g: g, now: make([]int32, len(t.rows)), present: newTree(len(t.rows)), contents: contents{least: math.MaxInt64, most: math.MinInt64}}
	for r := range x.now {
		x.now[r] = -1
	}
	s.groups[t.first+g] = x
	return x
}

func (g *stored) want(at int) {
	if !slices.ContainsFunc(g.columns, func(c *ordered) bool { return c.at == at }) {
		g.columns = append(g.columns, &ordered{at: at})
	}
}

// number numbers the values of all groups, and reports whether all fit their columns.
func (s *store) number() bool {
	s.each(func(g *stored, v history.Value) bool {
		g.least, g.most, g.count = min(g.least, v), max(g.most, v), g.count+1
		return true
	})
	for _, g := range s.groups {
		if g == nil || g.count == 0 {
			continue
		}
		if span := uint64(g.most) - uint64(g.least); span < uint64(8*g.count+1024) {
			g.dense = make([]int32, span+1)
		} else {
			g.far = map[history.Value]int32{}
		}
	}
	if !s.each(func(g *stored, v history.Value) bool { return g.add(v) }) {
		return false
	}
	for _, g := range s.groups {
		if g == nil || len(g.columns) == 0 {
			continue
		}
		columns := g.t.Groups[g.g].Columns
		for _, c := range g.columns {
			c.column = newColumn(&columns[c.at], len(g.list))
		}
		for i, v := range g.list {
			if v >= history.MinInt && len(columns) == 1 && columns[0].Type == schema.Int {
				g.columns[0].column.ints[i] = int64(v)
				continue
			}
			content, ok := s.content(g.t.table, g.g, v)
			if !ok {
				return false
			}
			for _, c := range g.columns {
				c.column.set(i, content[c.at])
			}
		}
	}
	return true
}

// each calls f with each value of the groups, in the initial state and in writes of transactions that did
// not abort. It ends, and returns false, if f returns false.
func (s *store) each(f func(*stored, history.Value) bool) bool {
	see := func(k history.Key, v history.Value) bool {
		p := &s.places[k]
		if p.t == nil || v == history.Absent {
			return true
		}
		g := s.groups[p.t.first+int(p.group)]
		return g == nil || f(g, v)
	}
	for k := range s.places {
		if !see(history.Key(k), s.h.Initial(history.Key(k))) {
			return false
		}
	}
	for i := range s.h.Txns {
		t := &s.h.Txns[i]
		if t.Status == history.Aborted {
			continue
		}
		ops := s.h.Ops(t)
		for n := range ops {
			if ops[n].Kind == history.Write && !see(ops[n].Key, ops[n].Value) {
				return false
			}
		}
	}
	return true
}

func (c *contents) add(v history.Value) bool {
	if c.dense != nil {
		if at := &c.dense[v-c.least]; *at == 0 {
			c.list = append(c.list, v)
			*at = int32(len(c.list))
		}
		return true
	}
	if _, known := c.far[v]; !known {
		c.far[v] = int32(len(c.list))
		c.list = append(c.list, v)
	}
	return true
}

// of returns the number of a value, -1 for absence.
func (c *contents) of(v history.Value) int32 {
	switch {
	case v == history.Absent:
		return -1
	case c.dense != nil:
		return c.dense[v-c.least] - 1
	}
	return c.far[v]
}

// sort ranks the values of the columns.
func (g *stored) sort() {
	for _, c := range g.columns {
		order := make([]int32, len(g.list))
		for i := range order {
			order[i] = int32(i)
		}
		slices.SortFunc(order, c.column.compare)
		c.rank = make([]int32, len(order))
		plain := c.column.ints != nil && c.column.null == nil
		for n, i := range order {
			if n == 0 || c.column.compare(order[n-1], i) != 0 {
				c.first = append(c.first, i)
				if plain {
					c.ints = append(c.ints, c.column.ints[i])
				}
			}
			c.rank[i] = int32(len(c.first) - 1)
		}
		c.findRanks()
		c.head = make([]int32, len(c.first))
		for n := range c.head {
			c.head[n] = -1
		}
		c.next, c.before = make([]int32, len(g.t.rows)), make([]int32, len(g.t.rows))
		c.filled = newTree(len(c.first))
	}
}

// findRanks makes ranks.
func (c *ordered) findRanks() {
	n := len(c.ints)
	if n == 0 || uint64(c.ints[n-1])-uint64(c.ints[0]) >= uint64(4*n) {
		return
	}
	c.ranks = make([]int32, 0, c.ints[n-1]-c.ints[0]+1)
	for rank, i := range c.ints {
		for int64(len(c.ranks)) <= i-c.ints[0] {
			c.ranks = append(c.ranks, int32(rank))
		}
	}
}

// atLeast returns the first rank whose integer is at least n.
func (c *ordered) atLeast(n int64) int32 {
	last := len(c.ints) - 1
	switch {
	case last < 0 || n <= c.ints[0]:
		return 0
	case n > c.ints[last]:
		return int32(last + 1)
	case c.ranks != nil:
		return c.ranks[n-c.ints[0]]
	}
	return int32(sort.Search(len(c.ints), func(i int) bool { return c.ints[i] >= n }))
}

// write gives a key a value.
func (s *store) write(k history.Key, v history.Value) {
	s.values[k] = v
	p := &s.places[k]
	if p.t == nil {
		return
	}
	g := s.groups[p.t.first+int(p.group)]
	if g == nil {
		return
	}
	old, now := g.now[p.row], g.of(v)
	g.now[p.row] = now
	for _, c := range g.columns {
		if old >= 0 {
			c.unlink(p.row, c.rank[old])
		}
		if now >= 0 {
			c.link(p.row, c.rank[now])
		}
	}
	switch {
	case old < 0 && now >= 0:
		g.present.insert(g.t.keyAt[p.row])
	case old >= 0 && now < 0:
		g.present.remove(g.t.keyAt[p.row])
	}
}

func (c *ordered) link(row, rank int32) {
	first := c.head[rank]
	if c.next[row], c.before[row] = first, -1; first >= 0 {
		c.before[first] = row
	} else {
		c.filled.insert(rank)
	}
	c.head[rank] = row
}

func (c *ordered) unlink(row, rank int32) {
	next, before := c.next[row], c.before[row]
	if next >= 0 {
		c.before[next] = before
	}
	if before >= 0 {
		c.next[before] = next
	} else if c.head[rank] = next; next < 0 {
		c.filled.remove(rank)
	}
}

// span returns the ranks of the smallest interval that has all values that fulfil a condition, and
// whether all values in it do.
func (c *ordered) span(x *test) (from, to int32, exact bool) {
	if x.interval && c.ints != nil {
		from, to = c.atLeast(x.low), int32(len(c.ints))
		if x.high < math.MaxInt64 {
			to = max(from, c.atLeast(x.high+1))
		}
		return from, to, true
	}
	a, b := cut(len(c.first), x.Condition, func(i int) any { return c.column.at(c.first[i]) })
	return int32(a), int32(b), x.Op != "<>" && x.Op != "in"
}
