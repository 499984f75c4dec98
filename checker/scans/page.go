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
	order []string
	last  []any // the last row's values of the columns in order
}

// fullPage sets s.page. It must be called before omitted rows count as returned.
func (s *scan) fullPage() error {
	if s.p.Limit == 0 || len(s.returned)+len(s.p.Omitted) < s.p.Limit {
		return nil
	}
	s.page = page{full: true, order: s.p.Order}
	if len(s.p.Order) == 0 {
		return nil
	}
	if len(s.p.Omitted) > 0 {
		return errors.Errorf("a scan of table %s has an order and a limit, and some of its rows are omitted", s.p.Table)
	}
	for _, op := range s.ops {
		at := s.index.places[op.Key]
		if op.Kind != history.Read || op.Value == history.Absent || int(at.group) != s.group {
			continue
		}
		v := version{row: at.row, value: op.Value}
		c := 1
		if s.page.last != nil {
			var err error
			if c, err = s.page.compare(s.index, s.t, s.group, &v); err != nil {
				return err
			}
		}
		if c > 0 {
			if err := s.page.endAt(s.index, s.t, s.group, &v); err != nil {
				return err
			}
		}
	}
	if s.page.last == nil {
		return errors.Errorf("a scan of table %s has an order and a limit, and did not read the columns of the order", s.p.Table)
	}
	return nil
}

// endAt makes a version the last row of the page.
func (p *page) endAt(x *index, t *table, g int, v *version) error {
	last := make([]any, len(p.order))
	for i, name := range p.order {
		c, err := x.value(t, g, v, strings.TrimPrefix(name, "-"))
		if err != nil {
			return err
		}
		last[i] = c
	}
	p.last = last
	return nil
}

// compare says whether a version sorts before the last row (-1), with it (0), or behind it (1).
func (p *page) compare(x *index, t *table, g int, v *version) (int, error) {
	for i, name := range p.order {
		column, down := strings.CutPrefix(name, "-")
		mine, err := x.value(t, g, v, column)
		if err != nil {
			return 0, err
		}
		if c := schema.Compare(mine, p.last[i]); c != 0 {
			if down {
				return -c, nil
			}
			return c, nil
		}
	}
	return 0, nil
}

// behind reports whether the limit explains that a version was not returned.
func (p *page) behind(x *index, t *table, g int, v *version) (bool, error) {
	if !p.full || len(p.order) == 0 {
		return p.full, nil
	}
	c, err := p.compare(x, t, g, v)
	return c >= 0, err
}
