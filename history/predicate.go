package history

import (
	"fmt"

	"github.com/isohound/isohound/history/schema"
)

// Predicate is a statement on all rows of a table that fulfil conditions: a
// read of them, or an update or deletion. The rows that it returned or changed
// are among the transaction's operations, which checkers judge as reads and
// writes of items. What it says of rows that it did not return is recorded, and
// not judged yet.
type Predicate struct {
	// Kind is "read" or "update".
	Kind  string `json:"kind"`
	Table string `json:"table"`
	schema.Predicate
	// Groups are the groups of columns that were read or written.
	Groups []string `json:"groups"`
	// Ops are the operations that stem from it, from the first to the one
	// behind the last.
	Ops [2]int `json:"ops"`
	// Omitted are, in a part of a history, the items that it also returned or
	// changed and whose operations are left out.
	Omitted []string `json:"omitted"`
}

// check reports what is wrong with a predicate of a transaction of so many
// operations. Where the tables are known it must fit its own.
func (p *Predicate) check(ops int, tables schema.Schema) error {
	if p.Kind != "read" && p.Kind != "update" {
		return fmt.Errorf("a predicate's kind is %q; it must be read or update", p.Kind)
	}
	if p.Ops[0] < 0 || p.Ops[1] < p.Ops[0] || p.Ops[1] > ops {
		return fmt.Errorf("a predicate's operations are %d to %d, of %d", p.Ops[0], p.Ops[1], ops)
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
