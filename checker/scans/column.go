package scans

import (
	"math"

	"github.com/isohound/isohound/history/schema"
)

// column has values of one column: of all versions of a group, or of all rows.
type column struct {
	ints  []int64  // of an integer column
	texts []string // of a text column
	null  []bool   // which are null; nil if none is
}

func newColumn(c *schema.Column, n int) column {
	var out column
	if c.Type == schema.Int {
		out.ints = make([]int64, n)
	} else {
		out.texts = make([]string, n)
	}
	return out
}

func (c *column) set(i int, v any) {
	switch v := v.(type) {
	case int64:
		c.ints[i] = v
	case string:
		c.texts[i] = v
	default:
		if c.null == nil {
			c.null = make([]bool, max(len(c.ints), len(c.texts)))
		}
		c.null[i] = true
	}
}

func (c *column) at(i int32) any {
	switch {
	case c.null != nil && c.null[i]:
		return nil
	case c.ints != nil:
		return c.ints[i]
	}
	return c.texts[i]
}

// compare orders two values of the column.
func (c *column) compare(a, b int32) int {
	if c.null == nil && c.ints != nil {
		switch x, y := c.ints[a], c.ints[b]; {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	}
	return schema.Compare(c.at(a), c.at(b))
}

// test is a condition on a column whose place is known.
type test struct {
	*schema.Condition
	column int // in its group or in the primary key
	// interval: the condition is true exactly for the integers from low to high.
	interval  bool
	low, high int64
}

func newTest(c *schema.Condition, column int) test {
	t := test{Condition: c, column: column, low: math.MinInt64, high: math.MaxInt64}
	if list, ok := c.Value.([]any); ok && c.Op == "between" {
		if t.low, t.interval = list[0].(int64); t.interval {
			t.high = list[1].(int64)
		}
		return t
	}
	n, isInt := c.Value.(int64)
	if !isInt {
		return t
	}
	switch t.interval = true; {
	case c.Op == "=":
		t.low, t.high = n, n
	case c.Op == "<=":
		t.high = n
	case c.Op == ">=":
		t.low = n
	case c.Op == "<" && n > math.MinInt64:
		t.high = n - 1
	case c.Op == ">" && n < math.MaxInt64:
		t.low = n + 1
	default:
		t.interval = false
	}
	return t
}

// of reports whether value i of the column fulfils the condition.
func (t *test) of(c *column, i int32) bool {
	if t.interval && c.null == nil {
		n := c.ints[i]
		return t.low <= n && n <= t.high
	}
	return t.Holds(c.at(i))
}
