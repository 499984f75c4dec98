package schema

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/pkg/errors"
)

// Condition compares a column with a constant of its type. In files it is
// [column, comparison, constant].
type Condition struct {
	Column string
	Op     string // one of Comparisons
	Value  any    // int64 or string
}

// Comparisons are the comparisons of conditions. Texts are compared by their
// bytes.
var Comparisons = []string{"=", "<>", "<", "<=", ">", ">="}

// UnmarshalJSON implements json.Unmarshaler.
func (c *Condition) UnmarshalJSON(b []byte) error {
	var parts []json.RawMessage
	if err := json.Unmarshal(b, &parts); err != nil || len(parts) != 3 {
		return errors.Errorf("a condition is %s; it must be [column, comparison, constant]", b)
	}
	if err := json.Unmarshal(parts[0], &c.Column); err != nil {
		return errors.Wrap(err, "a condition's column")
	}
	if err := json.Unmarshal(parts[1], &c.Op); err != nil {
		return errors.Wrap(err, "a condition's comparison")
	}
	constant := parts[2]
	if constant[0] == '"' {
		var text string
		err := json.Unmarshal(constant, &text)
		c.Value = text
		return err
	}
	var number *int64
	if err := json.Unmarshal(constant, &number); err != nil || number == nil {
		return errors.Errorf("a condition compares %s with %s, which is neither a 64-bit integer nor a text", c.Column, constant)
	}
	c.Value = *number
	return nil
}

// String returns the condition as in SQL: "v > 10", "name = 'x'".
func (c Condition) String() string {
	return c.Column + " " + c.Op + " " + string(appendTuple(nil, []any{c.Value}))
}

// Check reports errors in a condition that do not depend on its table.
func (c *Condition) Check() error {
	if !slices.Contains(Comparisons, c.Op) {
		return errors.Errorf("there is no comparison %q", c.Op)
	}
	switch c.Value.(type) {
	case int64, string:
		return nil
	}
	return errors.Errorf("column %s is compared with %#v, which is neither a 64-bit integer nor a text", c.Column, c.Value)
}

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

// First limits the predicate to the first n rows.
func (p Predicate) First(n int) Predicate {
	p.Limit = n
	return p
}

// Check reports errors in a predicate for a table.
func (p *Predicate) Check(t *Table) error {
	for i := range p.Where {
		c := &p.Where[i]
		if err := c.Check(); err != nil {
			return err
		}
		column, ok := t.find(c.Column)
		if !ok {
			return errors.Errorf("table %s has no column %s", t.Name, c.Column)
		}
		if _, isInt := c.Value.(int64); isInt != (column.Type == Int) {
			return errors.Errorf("column %s of table %s has type %s and is compared with %#v", c.Column, t.Name, typeNames[column.Type], c.Value)
		}
	}
	for _, name := range p.Order {
		name = strings.TrimPrefix(name, "-")
		if _, ok := t.find(name); !ok {
			return errors.Errorf("table %s has no column %s", t.Name, name)
		}
	}
	return nil
}

// Matches reports whether a row fulfils all conditions. The groups of their columns must have
// been read.
func (p Predicate) Matches(t *Table, r Row) bool {
	for _, c := range p.Where {
		v, ok := t.Value(r, c.Column)
		if !ok || !holds(Compare(v, c.Value), c.Op) {
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

// Compare orders two values of one column: integers by size, texts by their bytes.
func Compare(a, b any) int {
	if x, ok := a.(int64); ok {
		return cmp.Compare(x, b.(int64))
	}
	return strings.Compare(a.(string), b.(string))
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
