package history

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/isohound/isohound/history/quote"
	"github.com/isohound/isohound/history/schema"
)

// Statement is what a predicate asks for. Predicates that ask the same may share one: a statement must not
// be changed once a record or a history has it.
type Statement struct {
	Kind  string `json:"kind"`  // one of ScanRead, ScanUpdate, ScanDelete and ScanCount
	Table string `json:"table"` // "" in a history of plain keys (schema.Plain)
	schema.Predicate
	// Groups are the groups of columns that were read or written.
	Groups []string `json:"groups"`
}

// Predicate is a statement on all rows of a table that fulfil conditions, as one transaction ran it. The
// rows that it returned or changed are among the transaction's operations, which checkers judge as reads
// and writes of items. Package checker/scans judges what the statement implies about the other rows.
type Predicate struct {
	*Statement
	// Count is the number of rows that a ScanCount returned.
	Count int `json:"count,omitempty"`
	// Ops are its operations: the index of the first, and the index after the last.
	Ops [2]int `json:"ops"`
	// Implied is how many of these operations, the first ones, the statement did not return. They
	// follow from its conditions (checker/scans): what the transaction saw, or did not see, of rows
	// that were not found, or that were changed without being read.
	Implied int `json:"implied,omitempty"`
	// Added is how many of the implied operations, the first ones, History.Extend has added. The
	// file has the others.
	Added int `json:"-"`
	// Omitted lists, in a part of a history, the items that the statement also returned or
	// changed and whose operations are left out.
	Omitted quote.Texts `json:"omitted"`
	// Partial: the history is a part of another one. Of rows that the statement did not return, only
	// the implied operations say anything; other rows may have been left out.
	Partial bool `json:"partial,omitempty"`
	// Number is that of the statement. In a history two predicates have the same number exactly if they point to
	// the same statement, and numbers are below History.StatementCount. In a record it is a hint, so that a Builder
	// need not search: a source that numbers its statements from 0 sets it.
	Number int32 `json:"-"`
	// Choices are what the statement leaves open. A recorder writes none; a counterexample has those on which
	// it rests.
	Choices []Choice `json:"choices,omitempty"`
	// AddedChoices is how many of the choices, the last ones, History.WithChoices has added.
	AddedChoices int `json:"-"`
}

// The kinds of predicates. ScanRead returned the rows. ScanUpdate changed them; those whose old values
// it returned are read, too. ScanDelete removed them. ScanCount returned their number alone: it has no
// operations but implied ones.
const (
	ScanRead   = "read"
	ScanUpdate = "update"
	ScanDelete = "delete"
	ScanCount  = "count"
)

// Kinds are the kinds of predicates.
var Kinds = []string{ScanRead, ScanUpdate, ScanDelete, ScanCount}

// check reports what is wrong with a predicate, but not with its statement, in a transaction with these
// operations.
func (p *Predicate) check(ops []Op) error {
	if p.Ops[0] < 0 || p.Ops[1] < p.Ops[0] || p.Ops[1] > len(ops) {
		return fmt.Errorf("a predicate's operations are %d to %d, of %d", p.Ops[0], p.Ops[1], len(ops))
	}
	if p.Implied < 0 || p.Implied > p.Ops[1]-p.Ops[0] {
		return fmt.Errorf("a predicate has %d implied operations, of %d", p.Implied, p.Ops[1]-p.Ops[0])
	}
	switch {
	case p.Kind != ScanCount && p.Count != 0:
		return fmt.Errorf("a predicate of kind %s has a count", p.Kind)
	case p.Kind == ScanCount && (p.Count < 0 || p.Ops[1]-p.Ops[0] > p.Implied):
		return errors.New("a predicate of kind count has a negative count, or operations")
	case p.Kind == ScanRead && slices.ContainsFunc(ops[p.Ops[0]:p.Ops[1]], func(op Op) bool { return op.Kind == Write }):
		return errors.New("a predicate of kind read has a write among its operations; its kind is update or delete")
	}
	for _, c := range p.Choices {
		if err := c.check(); err != nil {
			return err
		}
	}
	return nil
}

// check reports what is wrong with a statement. If the tables are known, it must fit its table.
func (s *Statement) check(tables schema.Schema) error {
	switch {
	case !slices.Contains(Kinds, s.Kind):
		return fmt.Errorf("a predicate's kind is %q; it must be one of %s", s.Kind, strings.Join(Kinds, ", "))
	case s.Limit < 0:
		return fmt.Errorf("a predicate: a limit of %d rows is not possible", s.Limit)
	case s.Kind != ScanRead && (s.Limit != 0 || len(s.Order) > 0):
		return fmt.Errorf("a predicate of kind %s has an order or a limit, which only reads may have", s.Kind)
	}
	if len(tables) == 0 {
		for i := range s.Where {
			if err := s.Where[i].Check(); err != nil {
				return fmt.Errorf("a predicate: %w", err)
			}
		}
		return nil
	}
	t, ok := tables.Table(s.Table)
	if !ok {
		return fmt.Errorf("a predicate is on table %s, which the header's schema does not have", s.Table)
	}
	if err := s.Predicate.Check(t); err != nil {
		return fmt.Errorf("a predicate: %w", err)
	}
	return nil
}

// Asked says what the statement asked for: "rows of t with v > 10 and name = 'x'", or "the first row of t".
func (p *Statement) Asked() string {
	text, of := "row", " of "+p.Table
	if p.Table == "" {
		text, of = "key", ""
	}
	if p.Limit != 1 {
		text += "s"
	}
	switch {
	case p.Limit == 1:
		text = "the first " + text
	case p.Limit > 1:
		text = fmt.Sprintf("the first %d %s", p.Limit, text)
	}
	text += of
	if len(p.Where) > 0 {
		text += " with " + p.Conditions()
	}
	if len(p.Order) > 0 {
		text += " by " + strings.Join(p.Order, ", ")
	}
	return text
}
