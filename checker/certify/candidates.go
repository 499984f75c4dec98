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
		spans = s.spansOf(nil, append(slices.Clip(s.p.Where), c), ever)
	case len(spans) == 0:
		spans = s.spansOf(spans, s.p.Where, ever)
		s.plan.spans = spans
	}
	s.t.looks++
	again := ever || len(spans) > 1 // a row may be met more than once
	look := func(row int32) error {
		if again {
			if s.t.looked[row] == s.t.looks {
				return nil
			}
			s.t.looked[row] = s.t.looks
		}
		if err := stop.after(1); err != nil {
			return err
		}
		return f(row)
	}
	for i := range spans {
		if err := spans[i].each(ever, look); err != nil {
			return err
		}
	}
	return nil
}

// each calls f with each row of the span in the current state or, if ever is set, in some state.
func (x *span) each(ever bool, f func(row int32) error) error {
	switch {
	case x.o == nil:
		for row := x.from; row < x.to; row++ {
			if err := f(row); err != nil {
				return err
			}
		}
	case ever:
		for p := x.from; p < x.to; p++ {
			for _, row := range x.o.ever(x.g, p) {
				if err := f(row); err != nil {
					return err
				}
			}
		}
	default:
		for p := x.o.present.next(x.from, x.to); p != none; p = x.o.present.next(p+1, x.to) {
			for row := x.o.head[p]; row != none; row = x.o.following(row) {
				if err := f(row); err != nil {
					return err
				}
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

// spansOf appends to out where the rows are that may fulfil the conditions in the current state or, if ever is set, in
// some state.
func (s *scan) spansOf(out []span, where []schema.Condition, ever bool) []span {
	if !slices.ContainsFunc(where, func(c schema.Condition) bool { return c.Op == "in" }) {
		g, o, from, to := s.narrowest(where, ever)
		return append(out, span{g, o, from, to})
	}
	for _, part := range parts(where) {
		g, o, from, to := s.narrowest(part, ever)
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

// narrowest returns the order in which the conditions probably leave the fewest rows, with its group. It returns no
// order, and all rows, if there are few rows or no index helps.
func (s *scan) narrowest(where []schema.Condition, ever bool) (of *group, best *order, from, to int32) {
	to = int32(s.t.rows())
	least := int64(to)
	try := func(g *group, o *order) {
		if o == nil {
			return
		}
		all := s.t.rows()
		if ever {
			all = len(o.at)
		}
		a, b := o.narrow(where)
		if n := int64(b-a) * int64(all) / int64(max(1, len(o.head))); n < least {
			of, best, from, to, least = g, o, a, b, n
		}
	}
	on := func(c schema.Condition) bool { return c.Column == s.t.Key[0].Name }
	if least > fewRows && slices.ContainsFunc(where, on) {
		g := s.t.groups[s.groups[0]]
		try(g, s.keyOrder(g))
	}
	for i, c := range where {
		if slices.ContainsFunc(where[:i], func(x schema.Condition) bool { return x.Column == c.Column && x.Op != "<>" }) {
			continue // the order of this column has been tried, with all conditions on it
		}
		g, at, _ := s.t.Column(c.Column)
		if least > fewRows && g >= 0 && c.Op != "<>" && slices.Contains(s.groups, g) {
			try(s.t.groups[g], s.columnOrder(s.t.groups[g], c.Column, at))
		}
	}
	return of, best, from, to
}
