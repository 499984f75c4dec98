package scans

import (
	"math"

	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/schema"
)

// query is a statement of a transaction, prepared for a store.
type query struct {
	*question
	p     *history.Predicate
	ops   []history.Op // what it returned or changed
	order []sortedBy
	own   question // memory for the question of a statement that store.asked does not have
	// found are the rows of ops, if these are many; nil until they are needed. See schedule.returned.
	found map[int32]bool
}

// question is what all queries of one statement have in common.
type question struct {
	t       *storedTable
	groups  []*stored // a row must exist in each of them
	demands []demand  // and have these values
	onKey   []test
	// drive is the demand in which rows are looked for, -1 for the positions from and to in the order of
	// the key.
	drive    int
	from, to int32
	// room is memory for most of these lists, beside the question.
	room struct {
		groups  [1]*stored
		demands [1]demand
	}
}

// demand is what conditions on a column demand: a rank in an interval, and these conditions.
type demand struct {
	g          *stored
	c          *ordered
	from, to   int32 // from is at most to
	conditions []test
}

// sortedBy is a column of an order, of the key if g is nil.
type sortedBy struct {
	g    *stored
	c    *ordered
	at   int
	down bool
}

// prepare makes q the query of a predicate, and reports whether a store can evaluate it. ops are the
// operations of its transaction.
func (s *store) prepare(q *query, p *history.Predicate, ops []history.Op) bool {
	q.question = &q.own
	if int(p.Number) < len(s.asked) {
		q.question = &s.asked[p.Number]
	}
	if (q.question == &q.own || q.t == nil) && !s.ask(q.question, p.Statement) {
		return false
	}
	q.p, q.ops, q.order, q.found = p, ops[p.Ops[0]+p.Implied:p.Ops[1]], q.order[:0], nil
	for i := range q.ops {
		if s.places[q.ops[i].Key].t != q.t.table {
			return false
		}
	}
	return !p.Partial && len(p.Omitted) == 0 && s.sorting(q, q.t.table)
}

// ask makes q the question of a statement, and reports whether the statement has a table.
func (s *store) ask(q *question, p *history.Statement) bool {
	schemaTable, ok := s.h.Schema.Table(p.Table)
	if !ok {
		return false
	}
	t := s.index.tables[schemaTable]
	*q = question{t: s.tables[t], onKey: q.onKey[:0], drive: -1}
	q.groups, q.demands = q.room.groups[:0], q.room.demands[:0]
	for i := range p.Where {
		g, at, _ := t.Column(p.Where[i].Column)
		x := newTest(&p.Where[i], at)
		if g < 0 {
			q.onKey = append(q.onKey, x)
			continue
		}
		q.restrict(s.groups[t.first+g], &x)
	}
	if len(q.groups) == 0 {
		q.groups = append(q.groups, s.groups[t.first+standing(t, p)])
	}
	q.from, q.to = 0, int32(len(t.byKey))
	if len(q.onKey) > 0 {
		q.from, q.to = t.keyRange(&p.Predicate)
	}
	least := int64(math.MaxInt64)
	if len(q.onKey) > 0 || len(q.demands) == 0 {
		least = int64(q.to - q.from)
	}
	for i := range q.demands {
		x := &q.demands[i]
		if n := int64(x.to-x.from) * int64(len(t.rows)) / int64(1+len(x.c.first)); n < least {
			least, q.drive = n, i
		}
	}
	return true
}

// restrict adds a condition on a column of a group.
func (q *question) restrict(g *stored, x *test) {
	if !holds(q.groups, g) {
		q.groups = append(q.groups, g)
	}
	c := g.column(x.column)
	from, to, exact := c.span(x)
	for i := range q.demands {
		if have := &q.demands[i]; have.c == c {
			have.from = max(have.from, from)
			have.to = max(have.from, min(have.to, to))
			if !exact {
				have.conditions = append(have.conditions, *x)
			}
			return
		}
	}
	added := demand{g: g, c: c, from: from, to: max(from, to)}
	if !exact {
		added.conditions = []test{*x}
	}
	q.demands = append(q.demands, added)
}

func holds(list []*stored, g *stored) bool {
	for _, x := range list {
		if x == g {
			return true
		}
	}
	return false
}

func (g *stored) column(at int) *ordered {
	for _, c := range g.columns {
		if c.at == at {
			return c
		}
	}
	return nil
}

// sorting prepares the order. It reports false if the end of a page is not certain: a page that is full
// and ordered by columns of several groups, or by columns that the statement did not read.
func (s *store) sorting(q *query, t *table) bool {
	var by *stored
	for _, name := range q.p.Order {
		g, at, _ := t.Column(trimmed(name))
		o := sortedBy{at: at, down: trimmed(name) != name}
		if g >= 0 {
			o.g = s.groups[t.first+g]
			o.c = o.g.column(at)
			if by != nil && by != o.g {
				return false
			}
			by = o.g
		}
		q.order = append(q.order, o)
	}
	if by == nil {
		return true
	}
	for i := range q.ops { // the first operation on each row reads the column
		r := s.places[q.ops[i].Key].row
		if i > 0 && s.places[q.ops[i-1].Key].row == r {
			continue
		}
		read := false
		for _, op := range q.ops[i:] {
			p := &s.places[op.Key]
			if p.row != r {
				break
			}
			read = read || op.Kind == history.Read && int(p.group) == by.g
		}
		if !read {
			return false
		}
	}
	return true
}

// has reports whether a value of a row fulfils the conditions of a demand.
func (x *demand) has(content int32) bool {
	if content < 0 {
		return false
	}
	if r := x.c.rank[content]; r < x.from || r >= x.to {
		return false
	}
	for i := range x.conditions {
		if !x.conditions[i].of(&x.c.column, content) {
			return false
		}
	}
	return true
}

// matches reports whether a row fulfils the conditions, those of demand but left out, -1 if none is.
func (q *question) matches(r int32, but int) bool {
	for i := range q.demands {
		if x := &q.demands[i]; i != but && !x.has(x.g.now[r]) {
			return false
		}
	}
	if len(q.demands) == 0 && but < 0 && q.groups[0].now[r] < 0 {
		return false
	}
	for i := range q.onKey {
		if x := &q.onKey[i]; !x.of(&q.t.keys[x.column], r) {
			return false
		}
	}
	return true
}

// evaluate compares what a statement found with the rows that it has to find in the current state. wrong is
// a row that it found and does not have to find, or the other way round, or that is at a wrong place, or -1.
func (s *store) evaluate(q *query) (wrong int32, fits bool) {
	t := q.t
	t.stamps++
	rows, previous := 0, int32(-1)
	for i := range q.ops {
		r := s.places[q.ops[i].Key].row
		if r == previous {
			continue
		}
		if t.stamp[r] != t.stamps {
			t.stamp[r] = t.stamps
			rows++
		}
		if len(q.order) > 0 && previous >= 0 && q.sorts(previous) && q.sorts(r) && q.compare(previous, r) > 0 {
			return r, false
		}
		previous = r
	}
	full := q.p.Limit > 0 && rows >= q.p.Limit
	if full && rows > q.p.Limit {
		return -1, false
	}
	paged := full && len(q.order) > 0
	if paged && !q.sorts(previous) {
		return previous, false
	}
	counts := q.p.Kind == history.ScanCount
	found := 0
	see := func(r int32) bool {
		switch {
		case !q.matches(r, -1):
		case counts || t.stamp[r] == t.stamps:
			found++
		case full && (!paged || !q.sorts(r) || q.compare(r, previous) >= 0):
		default:
			wrong = r
			return false
		}
		return true
	}
	if !q.each(see) {
		return wrong, false
	}
	if counts {
		return -1, found == q.p.Count
	}
	if found == rows {
		return -1, true
	}
	for i := range q.ops {
		if r := s.places[q.ops[i].Key].row; !q.matches(r, -1) {
			return r, false
		}
	}
	return -1, false
}

// count returns how many rows fulfil the conditions.
func (q *question) count() int {
	n := 0
	q.each(func(r int32) bool {
		if q.matches(r, -1) {
			n++
		}
		return true
	})
	return n
}

// sorts reports whether a row has the columns of the order now.
func (q *query) sorts(r int32) bool {
	for _, o := range q.order {
		if o.g != nil && o.g.now[r] < 0 {
			return false
		}
	}
	return true
}

// each calls f with rows, among them all that fulfil the conditions, until f returns false.
func (q *question) each(f func(r int32) bool) bool {
	if q.drive >= 0 {
		x := &q.demands[q.drive]
		for n := x.c.filled.next(x.from); n >= 0 && n < x.to; n = x.c.filled.next(n + 1) {
			for r := x.c.head[n]; r >= 0; r = x.c.next[r] {
				if !f(r) {
					return false
				}
			}
		}
		return true
	}
	set := q.groups[0].present
	for i := set.next(q.from); i >= 0 && i < q.to; i = set.next(i + 1) {
		if !f(q.t.byKey[i]) {
			return false
		}
	}
	return true
}

// compare orders two rows by the columns of the order, which both must have.
func (q *query) compare(a, b int32) int {
	for _, o := range q.order {
		c := 0
		if o.g == nil {
			c = q.t.keys[o.at].compare(a, b)
		} else {
			c = schema.Compare(o.c.column.at(o.g.now[a]), o.c.column.at(o.g.now[b]))
		}
		if c != 0 {
			if o.down {
				return -c
			}
			return c
		}
	}
	return 0
}
