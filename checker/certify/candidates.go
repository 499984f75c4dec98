package certify

import (
	"slices"

	"github.com/isohound/isohound/history/schema"
)

// fewRows is how many rows are looked at one by one, without an index.
const fewRows = 64

// each calls f once with each row that may fulfil the conditions in the current state or, if ever is
// set, in some version.
func (s *scan) each(stop *stop, ever bool, f func(row int32) error) error {
	spans := s.plan.spans
	switch {
	case s.full && len(s.order) > 0: // rows behind the page need not be looked at
		c := schema.AtMost(s.order[0].name, s.last[0])
		if s.order[0].down {
			c.Op = ">="
		}
		spans = s.spansOf(append(slices.Clip(s.p.Where), c))
	case len(spans) == 0:
		spans = s.spansOf(s.p.Where)
		s.plan.spans = spans
	}
	s.t.looks++
	look := func(row int32) error {
		if s.t.looked[row] == s.t.looks {
			return nil
		}
		s.t.looked[row] = s.t.looks
		if err := stop.after(1); err != nil {
			return err
		}
		return f(row)
	}
	for i := range spans {
		x := &spans[i]
		for p := x.from; p < x.to; p++ {
			row := p
			if x.o != nil {
				if !ever {
					if p = x.o.present.next(p, x.to); p == none {
						break
					}
				}
				if row = x.o.of[p]; !x.o.byRow {
					row = x.g.versions[row].row
				}
			}
			if err := look(row); err != nil {
				return err
			}
		}
	}
	return nil
}

// span is a part of an order, with its group, or of all rows if the order is nil.
type span struct {
	g        *group
	o        *order
	from, to int32
}

// spansOf returns where the rows are that may fulfil the conditions.
func (s *scan) spansOf(where []schema.Condition) []span {
	var out []span
	for _, part := range parts(where) {
		g, o, from, to := s.narrowest(part)
		out = append(out, span{g, o, from, to})
	}
	return out
}

// parts replaces a list of constants by its constants, because an index finds each of them faster than
// the range between the first and the last.
func parts(where []schema.Condition) [][]schema.Condition {
	for i, c := range where {
		if list := c.Constants(); c.Op == "in" && len(list) > 1 {
			var out [][]schema.Condition
			for _, v := range list {
				one := slices.Clone(where)
				one[i] = schema.Is(c.Column, v)
				out = append(out, one)
			}
			return out
		}
	}
	return [][]schema.Condition{where}
}

// narrowest returns the order in which the conditions leave the shortest range, with its group. It
// returns no order, and all rows, if there are few rows or no index helps.
func (s *scan) narrowest(where []schema.Condition) (of *group, best *order, from, to int32) {
	to = int32(s.t.rows())
	try := func(g *group, o *order) {
		if o == nil {
			return
		}
		if a, b := o.narrow(where); b-a < to-from {
			of, best, from, to = g, o, a, b
		}
	}
	on := func(c schema.Condition) bool { return c.Column == s.t.Key[0].Name }
	if to > fewRows && slices.ContainsFunc(where, on) {
		g := s.t.groups[s.groups[0]]
		try(g, s.keyOrder(g))
	}
	for i, c := range where {
		if slices.ContainsFunc(where[:i], func(x schema.Condition) bool { return x.Column == c.Column && x.Op != "<>" }) {
			continue // the order of this column has been tried, with all conditions on it
		}
		g, at, _ := s.t.Column(c.Column)
		if to-from > fewRows && g >= 0 && c.Op != "<>" && slices.Contains(s.groups, g) {
			try(s.t.groups[g], s.columnOrder(s.t.groups[g], c.Column, at))
		}
	}
	return of, best, from, to
}
