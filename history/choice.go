package history

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/isohound/isohound/history/quote"
)

// Choice is what a statement leaves open: its transaction saw one of several things, and what the statement
// returned does not say which. A count does not say which rows it counted. A row of several groups of
// columns may be missing because of any of them. All of one of the lists hold.
type Choice [][]Seen

// Seen says that a transaction saw a version of an item, or that it did not.
type Seen struct {
	// Kind is r or n, as for an operation.
	Kind string     `json:"kind"`
	Item quote.Text `json:"item"`
	// Value is a JSON scalar, null for absence.
	Value json.RawMessage `json:"value"`
	// Version is the position of the commit whose version this is, where History.ByVersion tells it from others, or 0.
	Version int64 `json:"version,omitempty"`
}

// Equal reports whether two say the same.
func (s Seen) Equal(o Seen) bool {
	return s.Kind == o.Kind && s.Item == o.Item && s.Version == o.Version && string(s.Value) == string(o.Value)
}

// NewSeen returns an operation as Seen.
func (h *History) NewSeen(op Op) Seen {
	return Seen{op.Kind.String(), quote.Text(h.KeyName(op.Key)), json.RawMessage(h.ValueText(op.Value)), h.Commit(op.Value)}
}

// Op returns what was seen as an operation. It adds the item and the value to the names of h if they are new.
func (h *History) Op(s *Seen) Op {
	op := Op{Kind: Read, Key: h.Key(string(s.Item))}
	if s.Kind == ReadNot.String() {
		op.Kind = ReadNot
	}
	text := string(s.Value)
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		op.Value = h.Int(n)
	} else if text == "null" {
		op.Value = Absent
	} else {
		op.Value = h.Raw(text)
	}
	if v, known := h.versionOf[valueVersion{op.Value, s.Version}]; known {
		op.Value = v
	}
	return op
}

// check reports what is wrong with a choice.
func (c Choice) check() error {
	if len(c) == 0 {
		return fmt.Errorf("a choice of a predicate has no alternatives")
	}
	for _, list := range c {
		for _, s := range list {
			if s.Kind != Read.String() && s.Kind != ReadNot.String() {
				return fmt.Errorf("a choice of a predicate has an operation %q; it must be r or n", s.Kind)
			}
			if !json.Valid(s.Value) || s.Value[0] == '[' || s.Value[0] == '{' {
				return fmt.Errorf("a choice of a predicate has a value that is no JSON scalar: %s", s.Value)
			}
		}
	}
	return nil
}

// ChoiceRef is a choice: the index of its transaction in the history, the number of its predicate there, and
// its number in the predicate.
type ChoiceRef struct{ Txn, Predicate, Choice int }

// Assumed is what one assumes of a predicate, beyond what is known: its transaction saw all this.
type Assumed struct {
	ScanRef
	Seen []Seen
}

// Choice returns a choice, or nil if there is none of this number.
func (h *History) Choice(r ChoiceRef) Choice {
	if r.Txn < 0 || r.Txn >= len(h.Txns) || r.Predicate < 0 || r.Choice < 0 {
		return nil
	}
	if list := h.Predicates(r.Txn); r.Predicate < len(list) && r.Choice < len(list[r.Predicate].Choices) {
		return list[r.Predicate].Choices[r.Choice]
	}
	return nil
}

// AllChoices lists the choices of transactions that did not abort.
func (h *History) AllChoices() []ChoiceRef {
	var out []ChoiceRef
	for i, list := range h.predicates {
		if h.Txns[i].Status == Aborted {
			continue
		}
		for n := range list {
			for c := range list[n].Choices {
				out = append(out, ChoiceRef{i, n, c})
			}
		}
	}
	return out
}

// WithChoices returns h with further choices of predicates. It shares everything else with h.
func (h *History) WithChoices(more map[ScanRef][]Choice) *History {
	out := *h
	out.predicates = slices.Clone(h.predicates)
	changed := map[int]bool{}
	for at, list := range more {
		if !changed[at.Txn] {
			out.predicates[at.Txn], changed[at.Txn] = slices.Clone(out.predicates[at.Txn]), true
		}
		p := &out.predicates[at.Txn][at.Number]
		p.Choices = slices.Concat(p.Choices, list)
		p.AddedChoices += len(list)
	}
	return &out
}

// Assume returns h with the operations of assumptions, at most one for each predicate, and without choices. No
// scan of the result counts as judged: what it adds does not follow from the statements.
func (h *History) Assume(list []Assumed) *History {
	more := map[int][][]Op{}
	for i := range list {
		a := &list[i]
		if more[a.Txn] == nil {
			more[a.Txn] = make([][]Op, len(h.Predicates(a.Txn)))
		}
		for n := range a.Seen {
			more[a.Txn][a.Number] = append(more[a.Txn][a.Number], h.Op(&a.Seen[n]))
		}
	}
	out := h.Extend(more, nil)
	out.predicates = slices.Clone(out.predicates)
	for i, list := range out.predicates {
		if slices.ContainsFunc(list, func(p Predicate) bool { return len(p.Choices) > 0 }) {
			list = slices.Clone(list)
			for n := range list {
				list[n].Choices, list[n].AddedChoices = nil, 0
			}
			out.predicates[i] = list
		}
	}
	return out
}

// Scan is the predicate of a choice.
func (r ChoiceRef) Scan() ScanRef { return ScanRef{r.Txn, r.Predicate} }
