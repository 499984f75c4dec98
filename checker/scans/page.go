package scans

import (
	"strings"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/schema"
)

// page is what a full page of a statement with a limit allows: rows that sort behind the last one
// that it returned, or with it, may fulfil the conditions without being returned.
type page struct {
	full  bool
	group int  // of the columns of order that are not in the key, or -1
	added bool // group was added to the scan's groups, and has no conditions
	order []orderBy
	last  []any // the last row's values of the columns in order
}

// orderBy is a column of an order.
type orderBy struct {
	group, column int // group is -1 for the key
	down          bool
}

// fullPage finds the order, and whether the page is full. It must be called before omitted rows count
// as returned. The group of the order is added to the groups if the page is full.
func (s *scan) fullPage() error {
	rows := 0 // one may be there twice
	for n := range s.ops {
		if s.p.Limit > 0 && s.begins(n) {
			rows++
		}
	}
	s.page.full = s.p.Limit > 0 && rows+len(s.p.Omitted) >= s.p.Limit
	for _, name := range s.p.Order {
		column, down := strings.CutPrefix(name, "-")
		g, at, _ := s.t.Column(column)
		s.page.order = append(s.page.order, orderBy{g, at, down})
		if !s.page.full || g < 0 || g == s.page.group {
			continue
		}
		if s.page.group >= 0 {
			return errors.Errorf("a scan of %s has a limit and is ordered by columns of several groups", s.t.Title())
		}
		s.page.group = g
	}
	if g := s.page.group; g >= 0 && !contains(s.groups, g) {
		if len(s.groups) == 1 && len(s.tests[s.groups[0]]) == 0 {
			s.groups[0] = g // it stood for the existence of the row
		} else {
			s.groups, s.page.added = append(s.groups, g), true
		}
	}
	if s.page.full && len(s.p.Order) > 0 && len(s.p.Omitted) > 0 {
		return errors.Errorf("a scan of %s has an order and a limit, and some of its rows are omitted", s.t.Title())
	}
	return nil
}

func contains(list []int, g int) bool {
	for _, x := range list {
		if x == g {
			return true
		}
	}
	return false
}

// endPage finds the last row of a full page.
func (s *scan) endPage() error {
	if !s.page.full || len(s.page.order) == 0 {
		return nil
	}
	for n, op := range s.ops {
		r := s.index.places[op.Key].row
		if !s.begins(n) {
			continue
		}
		if values, ok := s.ordered(r, s.ops[n:]); ok && (s.page.last == nil || s.page.compare(values) > 0) {
			s.page.last = values
		}
	}
	if s.page.last == nil {
		return errors.Errorf("a scan of %s has an order and a limit, and did not read the columns of the order", s.t.Title())
	}
	return nil
}

// ordered returns the values by which a row that the statement returned sorts, if it read them.
// ops begin with the row's operations.
func (s *scan) ordered(r int32, ops []history.Op) ([]any, bool) {
	values := make([]any, len(s.page.order))
	for i, o := range s.page.order {
		if o.group < 0 {
			values[i] = s.t.keys[o.column].at(r)
			continue
		}
		v, ok := s.saw(s.index.item(s.t, r, o.group), ops)
		if !ok || v == history.Absent {
			return nil, false
		}
		content, ok := s.index.content(s.t, o.group, v)
		if !ok {
			return nil, false
		}
		values[i] = content[o.column]
	}
	return values, true
}

// compare says whether values of the columns of the order sort before the last row (-1), with it (0),
// or behind it (1).
func (p *page) compare(values []any) int {
	for i, o := range p.order {
		if c := schema.Compare(values[i], p.last[i]); c != 0 {
			if o.down {
				return -c
			}
			return c
		}
	}
	return 0
}

// behind reports whether the limit explains that a row was not returned while it had version i of
// group g. The order is judged in its own group, or in each group if it is on the key.
func (p *page) behind(s *scan, r int32, g int, i int32) bool {
	if !p.full || len(p.order) == 0 {
		return p.full
	}
	if p.group >= 0 && p.group != g {
		return false
	}
	for n, o := range p.order {
		c := 0
		if o.group < 0 {
			c = schema.Compare(s.t.keys[o.column].at(r), p.last[n])
		} else {
			c = schema.Compare(s.t.groups[g].columns[o.column].at(i), p.last[n])
		}
		if c != 0 {
			return c > 0 != o.down
		}
	}
	return true
}
