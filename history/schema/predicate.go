package schema

import (
	"slices"
	"strings"

	"github.com/pkg/errors"
)

// Predicate selects the rows of a table that fulfil all conditions, sorted by Order, at most
// Limit of them.
type Predicate struct {
	Where []Condition `json:"where"`
	// Order lists columns; a leading minus sorts downwards. Texts are ordered
	// by their bytes.
	Order []string `json:"order"`
	Limit int      `json:"limit"` // 0 is no limit
}

// Where makes a predicate of conditions.
func Where(conditions ...Condition) Predicate { return Predicate{Where: conditions} }

// By sorts the rows; see Order.
func (p Predicate) By(columns ...string) Predicate {
	p.Order = columns
	return p
}

// First limits the predicate to the first n rows.
func (p Predicate) First(n int) Predicate {
	p.Limit = n
	return p
}

// Conditions spells the conditions: "v > 10 and name = 'x'".
func (p Predicate) Conditions() string {
	texts := make([]string, len(p.Where))
	for i, c := range p.Where {
		texts[i] = c.String()
	}
	return strings.Join(texts, " and ")
}

// Check reports errors in a predicate for a table.
func (p *Predicate) Check(t *Table) error {
	for i := range p.Where {
		if err := p.Where[i].fits(t); err != nil {
			return err
		}
	}
	for _, name := range p.Order {
		name = strings.TrimPrefix(name, "-")
		switch column, ok := t.find(name); {
		case !ok:
			return errors.Errorf("%s has no column %s", t.Title(), name)
		case column.Null:
			return errors.Errorf("%s is ordered by column %s, which may be null; databases sort nulls in different ways", t.Title(), name)
		}
	}
	if p.Limit < 0 {
		return errors.Errorf("a limit of %d rows is not possible", p.Limit)
	}
	return nil
}

// Matches reports whether a row fulfils all conditions. The groups of their columns must have
// been read.
func (p Predicate) Matches(t *Table, r Row) bool {
	for i := range p.Where {
		v, ok := t.Value(r, p.Where[i].Column)
		if !ok || !p.Where[i].Holds(v) {
			return false
		}
	}
	return true
}

// Arrange sorts rows by the order of a predicate, ties by the primary key, and applies the
// limit.
func (p Predicate) Arrange(t *Table, rows []Row) []Row {
	slices.SortFunc(rows, func(a, b Row) int {
		for _, name := range p.Order {
			column, down := strings.CutPrefix(name, "-")
			x, _ := t.Value(a, column)
			y, _ := t.Value(b, column)
			if c := Compare(x, y); c != 0 {
				if down {
					return -c
				}
				return c
			}
		}
		for i := range a.Key {
			if c := Compare(a.Key[i], b.Key[i]); c != 0 {
				return c
			}
		}
		return 0
	})
	if p.Limit > 0 && len(rows) > p.Limit {
		rows = rows[:p.Limit]
	}
	return rows
}

// Columns lists the groups of the columns in conditions and order, without the primary key.
func (p Predicate) Columns(t *Table) []int {
	var groups []int
	add := func(name string) {
		if g, _, ok := t.Column(name); ok && g >= 0 && !slices.Contains(groups, g) {
			groups = append(groups, g)
		}
	}
	for _, c := range p.Where {
		add(c.Column)
	}
	for _, name := range p.Order {
		add(strings.TrimPrefix(name, "-"))
	}
	return groups
}

// Leading returns the values of the primary key's first columns that conditions fix to a
// constant.
func (p Predicate) Leading(t *Table) []any {
	var out []any
	for _, column := range t.Key {
		i := slices.IndexFunc(p.Where, func(c Condition) bool { return c.Column == column.Name && c.Op == "=" })
		if i < 0 {
			break
		}
		out = append(out, p.Where[i].Value)
	}
	return out
}
