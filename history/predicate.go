package history

import (
	"fmt"
	"strings"

	"github.com/isohound/isohound/history/schema"
)

// Predicate is a statement on all rows of a table that fulfil conditions: a read, an update or a
// deletion. The rows that it returned or changed are among the transaction's operations, which
// checkers judge as reads and writes of items. What the statement implies about rows that it did
// not return is recorded, but not judged yet.
type Predicate struct {
	// Kind is "read" or "update".
	Kind  string `json:"kind"`
	Table string `json:"table"`
	schema.Predicate
	// Groups are the groups of columns that were read or written.
	Groups []string `json:"groups"`
	// Ops are its operations: the index of the first, and the index after the last.
	Ops [2]int `json:"ops"`
	// Implied is how many of these operations, the first ones, the statement did not return. They
	// follow from its conditions (checker/scans): what the transaction saw, or did not see, of rows
	// that were not found, or that were changed without being read.
	Implied int `json:"implied,omitempty"`
	// Omitted lists, in a part of a history, the items that the statement also returned or
	// changed and whose operations are left out.
	Omitted []string `json:"omitted"`
}

// check reports what is wrong with a predicate of a transaction with that many operations. If
// the tables are known, the predicate must fit its table.
func (p *Predicate) check(ops int, tables schema.Schema) error {
	if p.Kind != "read" && p.Kind != "update" {
		return fmt.Errorf("a predicate's kind is %q; it must be read or update", p.Kind)
	}
	if p.Ops[0] < 0 || p.Ops[1] < p.Ops[0] || p.Ops[1] > ops {
		return fmt.Errorf("a predicate's operations are %d to %d, of %d", p.Ops[0], p.Ops[1], ops)
	}
	if p.Implied < 0 || p.Implied > p.Ops[1]-p.Ops[0] {
		return fmt.Errorf("a predicate has %d implied operations, of %d", p.Implied, p.Ops[1]-p.Ops[0])
	}
	if len(tables) == 0 {
		for i := range p.Where {
			if err := p.Where[i].Check(); err != nil {
				return fmt.Errorf("a predicate: %w", err)
			}
		}
		return nil
	}
	t, ok := tables.Table(p.Table)
	if !ok {
		return fmt.Errorf("a predicate is on table %s, which the header's schema does not have", p.Table)
	}
	if err := p.Predicate.Check(t); err != nil {
		return fmt.Errorf("a predicate: %w", err)
	}
	return nil
}

// Asked says what the statement asked for: "rows of t with v > 10 and name = 'x'".
func (p *Predicate) Asked() string {
	text := "rows of " + p.Table
	for n, c := range p.Where {
		word := " and "
		if n == 0 {
			word = " with "
		}
		text += word + c.String()
	}
	if p.Limit > 0 {
		text = fmt.Sprintf("the first %d %s", p.Limit, text)
	}
	if len(p.Order) > 0 {
		text += " by " + strings.Join(p.Order, ", ")
	}
	return text
}
