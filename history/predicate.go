package history

import (
	"fmt"
	"slices"
)

// Predicate is a statement on all rows of a table that fulfil conditions: a
// read of them, or an update or deletion. The rows that it returned or changed
// are among the transaction's operations, which checkers judge as reads and
// writes of items. What it says of rows that it did not return is recorded, and
// not judged yet.
type Predicate struct {
	// Kind is "read" or "update".
	Kind  string      `json:"kind"`
	Table string      `json:"table"`
	Where []Condition `json:"where,omitempty"`
	// Order and Limit cut what a read returned: columns, a minus for downwards.
	Order []string `json:"order,omitempty"`
	Limit int      `json:"limit,omitempty"`
	// Groups are the groups of columns that were read or written.
	Groups []string `json:"groups,omitempty"`
	// Ops are the operations that stem from it, from the first to the one
	// behind the last.
	Ops [2]int `json:"ops"`
	// Omitted are, in a part of a history, the items that it returned or changed
	// besides, whose operations were left out.
	Omitted []string `json:"omitted,omitempty"`
}

// Condition is [column, comparison, constant].
type Condition [3]any

// check reports what is wrong with a predicate of a transaction of so many
// operations.
func (p *Predicate) check(ops int) error {
	if p.Kind != "read" && p.Kind != "update" {
		return fmt.Errorf("a predicate's kind is %q; it must be read or update", p.Kind)
	}
	if p.Ops[0] < 0 || p.Ops[1] < p.Ops[0] || p.Ops[1] > ops {
		return fmt.Errorf("a predicate's operations are %d to %d, of %d", p.Ops[0], p.Ops[1], ops)
	}
	for _, c := range p.Where {
		column, isText := c[0].(string)
		op, known := c[1].(string)
		if !isText || !known || !slices.Contains([]string{"=", "<>", "<", "<=", ">", ">="}, op) {
			return fmt.Errorf("a predicate's condition is %v; it must be [column, comparison, constant]", c)
		}
		switch c[2].(type) {
		case string, int64:
		default:
			return fmt.Errorf("a predicate compares %s with %v, which is neither an integer nor a text", column, c[2])
		}
	}
	return nil
}
