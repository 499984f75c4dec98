package dsl

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/fit"
	"github.com/isohound/isohound/history/quote"
)

// Carries is what the notation can hold: everything except the header, of which it has NoCommonClock.
func Carries() fit.Carries {
	return fit.Carries{
		Format: "dsl", Times: true, Clocks: true, Unknown: true, Aborted: fit.AbortedWhole, Open: true, ReadNot: true, Empty: true,
		Initial: fit.InitialAny, PlainScans: true, Claims: true,
	}
}

// Format writes h in the notation that Parse reads. Parse(Format(h)) equals h except for its
// header other than NoCommonClock, and for operations that follow from statements with conditions (history.Predicate.Implied),
// which are left out, unless the statement is partial.
func Format(h *history.History) string {
	var b strings.Builder
	if zero := h.Int(0); h.DefaultInitial != zero {
		b.WriteString("initial " + value(h, h.DefaultInitial) + "\n")
	}
	_ = h.OwnInitials(func(k history.Key, v history.Value) error {
		b.WriteString("initial " + key(h.KeyName(k)) + "=" + value(h, v) + "\n")
		return nil
	})
	if !h.Closed {
		b.WriteString("open\n")
	}
	if h.NoCommonClock {
		b.WriteString(noCommonClock + "\n")
	}
	for i := range h.Txns {
		b.WriteString(Txn(h, i) + "\n")
	}
	return b.String()
}

// Txn writes the transaction at index i as a line of the notation.
func Txn(h *history.History, i int) string {
	var b strings.Builder
	t := &h.Txns[i]
	b.WriteString("s" + strconv.FormatInt(h.SessionName(t.Session), 10) + " T" + strconv.FormatInt(t.ID, 10))
	if t.Begin != history.NoTime || t.End != history.NoTime {
		b.WriteString(" [" + moment(t.Begin) + "," + moment(t.End) + "]")
	}
	if id := h.DBTxn(i); id != 0 && h.HasVisible() {
		b.WriteString(" $" + strconv.FormatInt(id, 10))
	}
	c := h.Claim(i)
	if c.Placed() {
		b.WriteString(" @")
		if c.Commit != 0 {
			b.WriteString(strconv.FormatInt(c.Commit, 10))
		}
		if c.Snapped {
			b.WriteString("<" + strconv.FormatInt(c.Snapshot, 10))
		}
	}
	if c.Visible != nil {
		b.WriteString(" {" + c.Visible.String() + "}")
	}
	b.WriteByte(':')
	ops, done := h.Ops(t), 0
	write := func(from, to int) {
		for n, op := range ops[from:to] {
			b.WriteString(" " + Op(h, op))
			if v := h.Version(t, from+n); v != 0 {
				b.WriteString("@" + strconv.FormatInt(history.SpellVersion(v), 10))
			}
		}
	}
	if len(h.Schema) == 1 && h.Schema[0].IsPlain() {
		for _, p := range h.Predicates(i) {
			write(done, p.Ops[0])
			if p.Partial { // what follows from the statement cannot be found again
				write(p.Ops[0], p.Ops[0]+p.Implied)
			}
			b.WriteString(" " + Scan(h, t, &p))
			done = p.Ops[1]
		}
	}
	write(done, len(ops))
	switch t.Status {
	case history.Aborted:
		b.WriteString(" abort")
	case history.Unknown:
		b.WriteString(" unknown")
	}
	return b.String()
}

// Op writes one operation, such as r(x,1).
func Op(h *history.History, op history.Op) string {
	return Spell(op.Kind, h.KeyName(op.Key), h.ValueText(op.Value))
}

// Spell is Op for an operation whose value is given as a JSON scalar.
func Spell(kind history.OpKind, name, value string) string {
	return kind.String() + "(" + key(name) + "," + word(value) + ")"
}

// key spells the name of a key, in quotes if it could not be read back without them.
func key(name string) string {
	s := scanner{rest: name}
	if plain, err := s.key(); err != nil || plain != name || name[0] == '"' || !isPrintable(name) {
		return string(quote.Append(nil, name))
	}
	return name
}

// isPrintable reports whether s looks the same to a person and to a machine.
func isPrintable(s string) bool {
	return utf8.ValidString(s) && strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) < 0
}

func value(h *history.History, v history.Value) string { return word(h.ValueText(v)) }

// word spells a JSON scalar in the notation.
func word(text string) string {
	if text == "null" {
		return "nil"
	}
	s, err := quote.Unquote([]byte(text))
	// A word needs no quotes unless it would be read as something else without them.
	if err != nil || s == "" || isScalar(s) || strings.ContainsAny(s, separators) || !isPrintable(s) {
		return text
	}
	return s
}

func moment(t int64) string {
	if t == history.NoTime {
		return "?"
	}
	return strconv.FormatInt(t, 10)
}
