package explain

import (
	"slices"
	"strconv"
	"strings"

	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/dsl"
)

// Op is a step of a Txn: an operation, or a statement with conditions. The text of an operation, in
// JSON too, is in the notation of history/dsl, for example r(x,1). The text of a statement has what it
// asked for, the rows that it returned or changed, and rows that it did not find: "scan t where v > 10
// -> t(1)=12; not found: t(2)".
type Op struct {
	// Kind is 0 if there is only a text: for statements, for operations that are left out, and for
	// those read from JSON.
	Kind history.OpKind
	Key  string
	// Value is a JSON scalar.
	Value string
	// Version is that of a read, as the database told it, or 0: see history.History.Version.
	Version int64

	inferred bool // the client did not make this read; an append followed what it says

	text  string
	items []Op // of a statement
	near  bool // it is, or has, an operation that was chosen as near
}

// Note is a text in place of operations.
func Note(text string) Op { return Op{text: text} }

// newOp describes operation n of the transaction at index i of h.
func newOp(h *history.History, i, n int) Op {
	t := &h.Txns[i]
	op := h.Ops(t)[n]
	_, _, inferred := h.InferredRead(t, n)
	return Op{Kind: op.Kind, Key: h.KeyName(op.Key), Value: h.ValueText(op.Value), Version: h.Version(t, n), inferred: inferred}
}

// Statement reports whether o is a statement with conditions.
func (o Op) Statement() bool {
	for _, verb := range verbs {
		if o.Kind == 0 && strings.HasPrefix(o.text, verb+" ") {
			return true
		}
	}
	return false
}

// Items are the operations on items that o stands for: o itself, or those of a statement. What
// follows from the conditions of the statement is among them. There are none if o was left out or
// read from JSON.
func (o Op) Items() []Op {
	if o.Kind != 0 {
		return []Op{o}
	}
	return o.items
}

// String returns the operation. What terminals would interpret is escaped.
func (o Op) String() string {
	if o.Kind == 0 {
		return o.text
	}
	text := dsl.Spell(o.Kind, o.Key, o.Value)
	if o.Version != 0 {
		text += "@" + strconv.FormatInt(history.SpellVersion(o.Version), 10)
	}
	if o.inferred {
		text = "inferred " + text
	}
	return Printable(text)
}

// InferredOf returns those of some operations that are inferred.
func InferredOf(ops []Op) []Op {
	return slices.DeleteFunc(ops, func(o Op) bool { return !o.inferred })
}

// As returns the operation with what the same one of other, such as one of the whole history, says of its origin.
func (o Op) As(others []Op) Op {
	o.inferred = o.inferred || slices.ContainsFunc(others, func(other Op) bool {
		return other.inferred && other.Kind == o.Kind && other.Key == o.Key && other.Value == o.Value
	})
	return o
}

// Versioned reports whether the operation is written with the version that was read.
func (o Op) Versioned() bool {
	text := o.String()
	return !o.Statement() && strings.HasPrefix(text[strings.LastIndexByte(text, ')')+1:], "@")
}

// MarshalText implements encoding.TextMarshaler.
func (o Op) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (o *Op) UnmarshalText(b []byte) error {
	*o = Op{text: string(b)}
	return nil
}

// Join writes operations in one line.
func Join(ops []Op) string {
	var b strings.Builder
	for n, line := range Lines(ops) {
		if n > 0 {
			b.WriteString("; ")
		}
		b.WriteString(line)
	}
	return b.String()
}

// Lines writes operations in lines: each statement in one of its own, the operations between two of
// them in one.
func Lines(ops []Op) []string {
	var lines []string
	var between []string
	flush := func() {
		if len(between) > 0 {
			lines = append(lines, strings.Join(between, " "))
			between = between[:0]
		}
	}
	for _, o := range ops {
		if o.Statement() {
			flush()
			lines = append(lines, o.String())
		} else {
			between = append(between, o.String())
		}
	}
	flush()
	return lines
}
