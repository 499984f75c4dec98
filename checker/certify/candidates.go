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
	where := s.p.Where
	if s.full && len(s.order) > 0 { // rows behind the page need not be looked at
		c := schema.AtMost(s.order[0].name, s.last[0])
		if s.order[0].down {
			c.Op = ">="
		}
		where = append(slices.Clip(where), c)
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
	for _, part := range parts(where) {
		g, o, from, to := s.narrowest(part)
		for p := from; p < to; p++ {
			row := p
			if o != nil {
				if !ever {
					if p = o.present.next(p, to); p == none {
						break
					}
				}
				if row = o.of[p]; !o.byRow {
					row = g.versions[row].row
				}
			}
			if err := look(row); err != nil {
				return err
			}
		}
	}
	return nil
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
