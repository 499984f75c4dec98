package text

import (
	"bufio"
	"io"
	"strconv"

	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/fit"
)

// Carries is what the text of PolySI and Plume can hold.
func Carries() fit.Carries {
	notNegative := func(n int64) bool { return n >= 0 }
	return fit.Carries{
		Format: "text", Aborted: fit.AbortedWrites,
		Key: fit.NotNegative, Value: fit.NotNegative, Txn: notNegative, Session: notNegative,
	}
}

// CarriesAwdit is what AWDIT's text can hold.
func CarriesAwdit() fit.Carries {
	return fit.Carries{Format: "awdit", Initial: fit.InitialNone, Key: fit.NotNegative, Value: fit.NotNegative, Renumbers: true}
}

// Write writes h, which fit.To must have prepared, as the text of PolySI and Plume. Aborted
// transactions come last, so that the order of the others does not change.
func Write(w io.Writer, h *history.History) error {
	b := bufio.NewWriterSize(w, 64<<10)
	for _, st := range []history.Status{history.Committed, history.Aborted} {
		for i := range h.Txns {
			t := &h.Txns[i]
			if err := plain(h, t); err != nil {
				return err
			}
			if t.Status != st {
				continue
			}
			id := t.ID
			if st == history.Aborted {
				id = aborted
			}
			for _, op := range h.Ops(t) {
				line := append(b.AvailableBuffer(), op.Kind.String()...)
				line = append(append(line, '('), h.KeyName(op.Key)...)
				line = h.AppendValue(append(line, ','), op.Value)
				line = strconv.AppendInt(append(line, ','), h.SessionName(t.Session), 10)
				line = strconv.AppendInt(append(line, ','), id, 10)
				_, _ = b.Write(append(line, ")\n"...))
			}
		}
	}
	return b.Flush() // Flush returns the first error of all writes
}

// WriteAwdit writes h, which fit.To must have prepared, as AWDIT's text.
func WriteAwdit(w io.Writer, h *history.History) error {
	b := bufio.NewWriterSize(w, 64<<10)
	for s, txns := range h.BySession() {
		if s > 0 {
			_, _ = b.WriteString("=\n")
		}
		for n, i := range txns {
			t := &h.Txns[i]
			if err := plain(h, t); err != nil {
				return err
			}
			if n > 0 {
				_, _ = b.WriteString("-\n")
			}
			for _, op := range h.Ops(t) {
				line := append(b.AvailableBuffer(), op.Kind.String()...)
				line = append(append(line, ' '), h.KeyName(op.Key)...)
				line = h.AppendValue(append(line, ' '), op.Value)
				_, _ = b.Write(append(line, '\n'))
			}
		}
	}
	return b.Flush() // Flush returns the first error of all writes
}
