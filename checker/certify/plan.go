package certify

import (
	"slices"

	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/schema"
)

// plan is what all scans of one statement have in common.
type plan struct {
	t     *table
	onKey []keyTest
	where [][]schema.Condition // by group
	// restricted are the groups with conditions. standing is the group that says whether the row exists if
	// there are none: the first one that the statement names.
	restricted []int
	standing   [1]int
	spans      []span // where the rows are that may fulfil the conditions; nil until it is needed
	tests      []test // by group
	// room is memory for most of these lists, beside the plan: a scan reads all of them.
	room struct {
		where      [2][]schema.Condition
		restricted [1]int
		spans      [1]span
		tests      [2]test
		parts      [1]part
	}
}

// keyTest is a condition on a column of the key.
type keyTest struct {
	*schema.Condition
	column    *column
	low, high int64
	interval  bool // the condition says that the integer is between low and high
}

// test are the conditions on a group, on the places of its versions in orders.
type test struct {
	state uint8 // one of the following
	parts []part
}

const (
	testNew  uint8 = iota
	testMade       // a version fulfils the conditions if it fulfils all parts
	testNone       // some version does not fit the columns
)

// part says that a place in an order is in a range, and that the value there fulfils conditions.
type part struct {
	o        *order
	from, to int32
	rest     []*schema.Condition
}

// mostPlans bounds the plans that are kept. With more, it takes less time to make a plan again than to fetch it from
// memory.
const mostPlans = 1 << 10

// planOf returns the plan of a predicate's statement. It is valid until the next call.
func (x *tables) planOf(t *table, p *history.Predicate) *plan {
	pl := &x.once
	if int(p.Number) < len(x.plans) {
		if pl = &x.plans[p.Number]; pl.t != nil {
			return pl
		}
	}
	pl.make(t, p.Statement)
	return pl
}

func (pl *plan) make(t *table, st *history.Statement) {
	*pl = plan{t: t, onKey: pl.onKey[:0]}
	pl.where, pl.tests = again(pl.room.where[:0], len(t.groups)), again(pl.room.tests[:0], len(t.groups))
	pl.restricted, pl.spans = pl.room.restricted[:0], pl.room.spans[:0]
	for i := range st.Where {
		c := &st.Where[i]
		g, at, _ := t.Column(c.Column)
		if g < 0 {
			k := keyTest{Condition: c, column: t.keys[at]}
			if k.column.null == nil && k.column.texts == nil {
				k.low, k.high, k.interval = bounds(c)
			}
			pl.onKey = append(pl.onKey, k)
			continue
		}
		if len(pl.where[g]) == 0 {
			pl.restricted = append(pl.restricted, g)
		}
		if len(pl.restricted) == 1 && len(pl.onKey) == 0 { // so are all conditions so far
			pl.where[g] = st.Where[: i+1 : i+1]
			continue
		}
		pl.where[g] = append(pl.where[g], *c)
	}
	pl.standing[0] = max(0, slices.IndexFunc(t.Groups, func(g schema.Group) bool { return slices.Contains(st.Groups, g.Name) }))
}

// again returns n empty elements, in the memory of list if it is large enough.
func again[T any](list []T, n int) []T {
	list = slices.Grow(list[:0], n)[:n]
	clear(list)
	return list
}

// keyFits reports whether the key of a row fulfils the conditions on it.
func (pl *plan) keyFits(row int32) bool {
	for i := range pl.onKey {
		k := &pl.onKey[i]
		if k.interval {
			if n := k.column.numbers[row]; n < k.low || n > k.high {
				return false
			}
		} else if !k.Holds(k.column.at(row)) {
			return false
		}
	}
	return true
}

// holds reports whether the version that the statement sees of group g of a row fulfils the conditions on it.
func (s *scan) holds(g int, row int32) (bool, error) {
	v := s.t.groups[g].current[row]
	if v == none || len(s.where[g]) == 0 {
		return v != none, nil
	}
	x := &s.tests[g]
	if x.state == testNew {
		s.makeTest(g)
	}
	if x.state == testNone {
		_, content, err := s.seen(g, row)
		return err == nil && s.fits(g, content), err
	}
	for i := range x.parts {
		p := &x.parts[i]
		place := p.o.now[row]
		if place < p.from || place >= p.to {
			return false, nil
		}
		for _, c := range p.rest {
			if !c.Holds(p.o.values[0].at(place)) {
				return false, nil
			}
		}
	}
	return true, nil
}

// makeTest makes the test of a group. An order has the versions between the least and the greatest value that
// fulfil the conditions; with these comparisons some of them do not.
func (s *scan) makeTest(g int) {
	x, where := &s.tests[g], s.where[g]
	for i := range where {
		name := where[i].Column
		if slices.ContainsFunc(where[:i], func(c schema.Condition) bool { return c.Column == name }) {
			continue // its part has all conditions on the column
		}
		_, at, _ := s.t.Column(name)
		p := part{o: s.columnOrder(s.t.groups[g], name, at)}
		if p.o == nil {
			x.state = testNone
			return
		}
		p.from, p.to = p.o.narrow(where)
		for j := range where {
			if c := &where[j]; c.Column == name && (c.Op == "in" || c.Op == "<>") {
				p.rest = append(p.rest, c)
			}
		}
		if x.parts == nil && len(s.restricted) == 1 {
			x.parts = s.room.parts[:0]
		}
		x.parts = append(x.parts, p)
	}
	x.state = testMade
}
