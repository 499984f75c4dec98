package certify

import (
	"cmp"
	"encoding/binary"
	"math"
	"strings"

	"github.com/isohound/isohound/history/schema"
)

// column are values of one column of a table.
type column struct {
	numbers []int64
	texts   []string // if it is a text
	null    []bool   // if it may be null
	// firsts is, of sorted numbers without large gaps, by number minus the least one: the first position of a number that
	// is not smaller. It is nil for other columns.
	firsts []int32
}

// newColumn returns a column without values, with room for n.
func newColumn(c *schema.Column, n int) *column {
	x := &column{}
	if c.Type == schema.Text {
		x.texts = make([]string, 0, n)
	} else {
		x.numbers = make([]int64, 0, n)
	}
	if c.Null {
		x.null = make([]bool, 0, n)
	}
	return x
}

func (c *column) add(v any) {
	if c.null != nil {
		c.null = append(c.null, v == nil)
	}
	if c.texts != nil {
		text, _ := v.(string)
		c.texts = append(c.texts, text)
		return
	}
	number, _ := v.(int64)
	c.numbers = append(c.numbers, number)
}

// number adds an integer to a column of integers.
func (c *column) number(n int64) {
	if c.null != nil {
		c.null = append(c.null, false)
	}
	c.numbers = append(c.numbers, n)
}

func (c *column) at(i int32) any {
	switch {
	case c.null != nil && c.null[i]:
		return nil
	case c.texts != nil:
		return c.texts[i]
	}
	return c.numbers[i]
}

// compare orders two values as schema.Compare does.
func (c *column) compare(i, j int32) int {
	switch {
	case c.null != nil && (c.null[i] || c.null[j]):
		return schema.Compare(c.at(i), c.at(j))
	case c.texts != nil:
		return strings.Compare(c.texts[i], c.texts[j])
	}
	return cmp.Compare(c.numbers[i], c.numbers[j])
}

// prefix returns a number with which most values can be compared. It is not larger for a smaller value.
func (c *column) prefix(i int32) int64 {
	switch {
	case c.null != nil && c.null[i]:
		return math.MinInt64
	case c.texts != nil:
		var b [8]byte
		copy(b[:], c.texts[i])
		return int64(binary.BigEndian.Uint64(b[:]) ^ 1<<63)
	}
	return c.numbers[i]
}

// permuted returns the column with the values in another order.
func (c *column) permuted(order []int32) *column {
	return &column{numbers: permute(c.numbers, order), texts: permute(c.texts, order), null: permute(c.null, order)}
}

func permute[T any](list []T, order []int32) []T {
	if list == nil {
		return nil
	}
	out := make([]T, len(order))
	for i, n := range order {
		out[i] = list[n]
	}
	return out
}
