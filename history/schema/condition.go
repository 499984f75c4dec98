package schema

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/history/quote"
)

// Condition compares a column with a constant. In files it is [column, comparison, constant].
// "in" has a list of constants, "between" a list of two, the least and the greatest value.
// "like-prefix" has the beginning of a text. "is-null" and "is-not-null" have no constant:
// [column, comparison]. A null fulfils "is-null" only.
type Condition struct {
	Column string
	Op     string // one of Comparisons
	Value  any    // int64 or string; []any of them for in and between; nil if there is no constant
}

// Comparisons are the comparisons of conditions. Texts are compared by their bytes.
var Comparisons = []string{"=", "<>", "<", "<=", ">", ">=", "in", "between", "like-prefix", "is-null", "is-not-null"}

// Is, Below, AtMost, Above, AtLeast, Not, In, Between, Prefix, IsNull and IsNotNull make conditions.
func Is(column string, v any) Condition         { return Condition{column, "=", v} }
func Not(column string, v any) Condition        { return Condition{column, "<>", v} }
func Below(column string, v any) Condition      { return Condition{column, "<", v} }
func AtMost(column string, v any) Condition     { return Condition{column, "<=", v} }
func Above(column string, v any) Condition      { return Condition{column, ">", v} }
func AtLeast(column string, v any) Condition    { return Condition{column, ">=", v} }
func In(column string, list ...any) Condition   { return Condition{column, "in", list} }
func Between(column string, a, b any) Condition { return Condition{column, "between", []any{a, b}} }
func Prefix(column, text string) Condition      { return Condition{column, "like-prefix", text} }
func IsNull(column string) Condition            { return Condition{column, "is-null", nil} }
func IsNotNull(column string) Condition         { return Condition{column, "is-not-null", nil} }

// MarshalJSON implements json.Marshaler.
func (c Condition) MarshalJSON() ([]byte, error) {
	if c.Value == nil {
		return json.Marshal([]any{c.Column, c.Op})
	}
	return json.Marshal([]any{c.Column, c.Op, spelled(c.Value)})
}

// spelled replaces the texts among constants by ones that stay themselves in JSON.
func spelled(v any) any {
	switch v := v.(type) {
	case string:
		return quote.Text(v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = spelled(v[i])
		}
		return out
	}
	return v
}

// UnmarshalJSON implements json.Unmarshaler.
func (c *Condition) UnmarshalJSON(b []byte) error {
	var parts []json.RawMessage
	if err := json.Unmarshal(b, &parts); err != nil || len(parts) < 2 || len(parts) > 3 {
		return errors.Errorf("a condition is %s; it must be [column, comparison, constant]", b)
	}
	if err := json.Unmarshal(parts[0], &c.Column); err != nil {
		return errors.Wrap(err, "a condition's column")
	}
	if err := json.Unmarshal(parts[1], &c.Op); err != nil {
		return errors.Wrap(err, "a condition's comparison")
	}
	c.Value = nil
	if len(parts) == 2 {
		return c.shape()
	}
	if parts[2][0] != '[' {
		v, err := constant(c.Column, parts[2])
		if err != nil {
			return err
		}
		c.Value = v
		return c.shape()
	}
	var raw []json.RawMessage
	if err := json.Unmarshal(parts[2], &raw); err != nil {
		return errors.Wrap(err, "a condition's constants")
	}
	list := make([]any, len(raw))
	for i := range raw {
		v, err := constant(c.Column, raw[i])
		if err != nil {
			return err
		}
		list[i] = v
	}
	c.Value = list
	return c.shape()
}

func constant(column string, b []byte) (any, error) {
	if b[0] == '"' {
		return quote.Unquote(b)
	}
	var number *int64
	if err := json.Unmarshal(b, &number); err != nil || number == nil {
		return nil, errors.Errorf("a condition compares %s with %s, which is neither a 64-bit integer nor a text", column, b)
	}
	return *number, nil
}

// String returns the condition as in SQL: "v > 10", "name = 'x'", "v in (1,2)", "name like 'ab%'".
func (c Condition) String() string {
	switch c.Op {
	case "in":
		return c.Column + " in (" + string(appendTuple(nil, c.Constants())) + ")"
	case "between":
		if list := c.Constants(); len(list) == 2 {
			return c.Column + " between " + string(appendTuple(nil, list[:1])) + " and " + string(appendTuple(nil, list[1:]))
		}
	case "like-prefix":
		if text, ok := c.Value.(string); ok {
			return c.Column + " like " + string(appendTuple(nil, []any{text + "%"}))
		}
	case "is-null":
		return c.Column + " is null"
	case "is-not-null":
		return c.Column + " is not null"
	}
	return c.Column + " " + c.Op + " " + string(appendTuple(nil, []any{c.Value}))
}

// Constants lists the constants of the condition.
func (c *Condition) Constants() []any {
	switch v := c.Value.(type) {
	case nil:
		return nil
	case []any:
		return v
	default:
		return []any{v}
	}
}

// Check reports errors in a condition that do not depend on its table.
func (c *Condition) Check() error {
	if !slices.Contains(Comparisons, c.Op) {
		return errors.Errorf("there is no comparison %q", c.Op)
	}
	for _, v := range c.Constants() {
		switch v.(type) {
		case int64, string:
		default:
			return errors.Errorf("column %s is compared with %#v, which is neither a 64-bit integer nor a text", c.Column, v)
		}
	}
	return c.shape()
}

// shape reports an error if the condition has more or fewer constants than its comparison needs.
func (c *Condition) shape() error {
	list, isList := c.Value.([]any)
	ok := false
	switch c.Op {
	case "in":
		ok = isList
	case "between":
		ok = isList && len(list) == 2
	case "is-null", "is-not-null":
		ok = c.Value == nil
	default:
		ok = c.Value != nil && !isList
	}
	if !ok {
		return errors.Errorf("a condition with %q on column %s does not have the constants that it needs", c.Op, c.Column)
	}
	return nil
}

// fits reports errors in a condition for a table.
func (c *Condition) fits(t *Table) error {
	if err := c.Check(); err != nil {
		return err
	}
	column, ok := t.find(c.Column)
	if !ok {
		return errors.Errorf("%s has no column %s", t.Title(), c.Column)
	}
	for _, v := range c.Constants() {
		if _, isInt := v.(int64); isInt != (column.Type == Int) {
			return errors.Errorf("column %s of %s has type %s and is compared with %#v", c.Column, t.Title(), typeNames[column.Type], v)
		}
	}
	if c.Op == "like-prefix" && column.Type != Text {
		return errors.Errorf("column %s of %s has type %s, and like-prefix compares texts", c.Column, t.Title(), typeNames[column.Type])
	}
	return nil
}

// Holds reports whether a value of the column fulfils the condition.
func (c *Condition) Holds(v any) bool {
	switch {
	case c.Op == "is-null":
		return v == nil
	case v == nil:
		return false
	}
	switch c.Op {
	case "=":
		return Compare(v, c.Value) == 0
	case "<>":
		return Compare(v, c.Value) != 0
	case "<":
		return Compare(v, c.Value) < 0
	case "<=":
		return Compare(v, c.Value) <= 0
	case ">":
		return Compare(v, c.Value) > 0
	case ">=":
		return Compare(v, c.Value) >= 0
	case "in":
		return slices.ContainsFunc(c.Value.([]any), func(x any) bool { return Compare(v, x) == 0 })
	case "between":
		list := c.Value.([]any)
		return Compare(v, list[0]) >= 0 && Compare(v, list[1]) <= 0
	case "like-prefix":
		return strings.HasPrefix(v.(string), c.Value.(string))
	}
	return true // is-not-null
}

// Place says where a value of the column lies relative to the smallest interval that has all values
// that fulfil the condition: before it (-1), in it (0), or behind it (1). Nulls lie before all other
// values. For in and <> the interval may have other values, too.
func (c *Condition) Place(v any) int {
	below := func(least any) bool { return Compare(v, least) < 0 }
	above := func(greatest any) bool { return Compare(v, greatest) > 0 }
	if c.Op == "is-null" {
		return min(Compare(v, nil), 1)
	}
	if v == nil {
		return -1
	}
	var outside [2]bool // before, behind
	switch c.Op {
	case "=":
		outside = [2]bool{below(c.Value), above(c.Value)}
	case "<":
		outside[1] = !below(c.Value)
	case "<=":
		outside[1] = above(c.Value)
	case ">":
		outside[0] = !above(c.Value)
	case ">=":
		outside[0] = below(c.Value)
	case "between":
		list := c.Value.([]any)
		outside = [2]bool{below(list[0]), above(list[1])}
	case "in":
		list := c.Value.([]any)
		if len(list) == 0 {
			return 1
		}
		outside = [2]bool{below(slices.MinFunc(list, Compare)), above(slices.MaxFunc(list, Compare))}
	case "like-prefix":
		outside[0] = below(c.Value)
		outside[1] = !outside[0] && !strings.HasPrefix(v.(string), c.Value.(string))
	}
	switch {
	case outside[0]:
		return -1
	case outside[1]:
		return 1
	}
	return 0
}

// Compare orders two values of one column: nulls first, integers by size, texts by their bytes.
func Compare(a, b any) int {
	switch x := a.(type) {
	case nil:
		if b == nil {
			return 0
		}
		return -1
	case int64:
		if b == nil {
			return 1
		}
		return cmp.Compare(x, b.(int64))
	}
	if b == nil {
		return 1
	}
	return strings.Compare(a.(string), b.(string))
}
