package schema

import (
	"cmp"
	"slices"
	"strings"

	"github.com/pkg/errors"
)

// Condition compares a column with a constant of its type.
type Condition struct {
	Column string
	Op     string // one of = <> < <= > >=
	Value  any
}

// Predicate selects rows of a table: those that fulfil all conditions, in an
// order, up to a number.
type Predicate struct {
	Where []Condition
	// Order lists columns; a leading minus sorts downwards. Texts are ordered
	// by their bytes.
	Order []string
	Limit int // 0 is no limit
}

// Where makes a predicate of conditions.
func Where(conditions ...Condition) Predicate { return Predicate{Where: conditions} }

// Is, Below, AtMost, Above, AtLeast and Not make conditions.
func Is(column string, v any) Condition      { return Condition{column, "=", v} }
func Not(column string, v any) Condition     { return Condition{column, "<>", v} }
func Below(column string, v any) Condition   { return Condition{column, "<", v} }
func AtMost(column string, v any) Condition  { return Condition{column, "<=", v} }
func Above(column string, v any) Condition   { return Condition{column, ">", v} }
func AtLeast(column string, v any) Condition { return Condition{column, ">=", v} }

// By sorts the rows; see Order.
func (p Predicate) By(columns ...string) Predicate {
	p.Order = columns
	return p
}

// First keeps the first n rows.
func (p Predicate) First(n int) Predicate {
	p.Limit = n
	return p
}

// Check reports what of a predicate makes no sense for a table.
func (p Predicate) Check(t *Table) error {
	for _, c := range p.Where {
		g, i, ok := t.Column(c.Column)
		if !ok {
			return errors.Errorf("table %s has no column %s", t.Name, c.Column)
		}
		column := t.Key
		if g >= 0 {
			column = t.Groups[g].Columns
		}
		_, isInt := c.Value.(int64)
		_, isText := c.Value.(string)
		if isInt != (column[i].Type == Int) || isText != (column[i].Type == Text) {
			return errors.Errorf("column %s of table %s is compared with a %T", c.Column, t.Name, c.Value)
		}
		if !slices.Contains([]string{"=", "<>", "<", "<=", ">", ">="}, c.Op) {
			return errors.Errorf("there is no comparison %q", c.Op)
		}
	}
	for _, name := range p.Order {
		if _, _, ok := t.Column(strings.TrimPrefix(name, "-")); !ok {
			return errors.Errorf("table %s has no column %s", t.Name, name)
		}
	}
	return nil
}

// Matches reports whether a row fulfils all conditions. The groups that they
// name must have been read.
func (p Predicate) Matches(t *Table, r Row) bool {
	for _, c := range p.Where {
		v, ok := t.Value(r, c.Column)
		if !ok || !holds(compare(v, c.Value), c.Op) {
			return false
		}
	}
	return true
}

func holds(sign int, op string) bool {
	switch op {
	case "=":
		return sign == 0
	case "<>":
		return sign != 0
	case "<":
		return sign < 0
	case "<=":
		return sign <= 0
	case ">":
		return sign > 0
	}
	return sign >= 0
}

func compare(a, b any) int {
	if x, ok := a.(int64); ok {
		return cmp.Compare(x, b.(int64))
	}
	return strings.Compare(a.(string), b.(string))
}

// Arrange sorts rows by the order of a predicate, the primary key where that
// leaves a choice, and cuts them at its limit.
func (p Predicate) Arrange(t *Table, rows []Row) []Row {
	slices.SortFunc(rows, func(a, b Row) int {
		for _, name := range p.Order {
			column, down := strings.CutPrefix(name, "-")
			x, _ := t.Value(a, column)
			y, _ := t.Value(b, column)
			if c := compare(x, y); c != 0 {
				if down {
					return -c
				}
				return c
			}
		}
		for i := range a.Key {
			if c := compare(a.Key[i], b.Key[i]); c != 0 {
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

// Columns lists the groups, without the primary key, that conditions and order
// name.
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

// Leading returns the values of the primary key's first columns that conditions
// fix.
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
