package explain

import (
	"strings"

	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/dsl"
)

// Op is an operation of a Txn. Its text, in JSON too, is in the notation of history/dsl, for
// example r(x,1).
type Op struct {
	// Kind is 0 if there is only a text: for operations that are left out, and for those read from
	// JSON.
	Kind history.OpKind
	Key  string
	// Value is a JSON scalar.
	Value string

	text string
}

// NewOp describes an operation of h.
func NewOp(h *history.History, op history.Op) Op {
	return Op{Kind: op.Kind, Key: h.KeyName(op.Key), Value: h.ValueText(op.Value)}
}

// String returns the operation. What terminals would interpret is escaped.
func (o Op) String() string {
	if o.Kind == 0 {
		return o.text
	}
	return Printable(dsl.Spell(o.Kind, o.Key, o.Value))
}

// MarshalText implements encoding.TextMarshaler.
func (o Op) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (o *Op) UnmarshalText(b []byte) error {
	*o = Op{text: string(b)}
	return nil
}

// Join writes operations in one line.
func Join(ops []Op) string { return strings.Join(texts(ops), " ") }

func texts(ops []Op) []string {
	out := make([]string, len(ops))
	for i, op := range ops {
		out[i] = op.String()
	}
	return out
}
