package native

import (
	"io"

	"github.com/isohound/isohound/history"
)

// Writer writes a history that is already complete: a conversion, a synthetic history, a
// counterexample. Recorders of live runs use Log.
type Writer struct {
	log  *Log
	buf  []byte
	sym  *history.Symbols
	txns int64
}

// flushAt is how many bytes a Writer collects before it writes them.
const flushAt = 1 << 20

// NewWriter writes the header and the initial values known to sym so far.
func NewWriter(w io.Writer, compressed bool, hdr *history.Header, sym *history.Symbols) (*Writer, error) {
	log, err := NewLog(w, compressed)
	if err != nil {
		return nil, err
	}
	wr := &Writer{log: log, sym: sym}
	if wr.buf, err = AppendHeader(nil, hdr, sym.ValueText(sym.DefaultInitial)); err != nil {
		return nil, err
	}
	var in Initials
	err = sym.OwnInitials(func(k history.Key, v history.Value) error {
		wr.buf = in.Append(wr.buf, sym.KeyName(k), sym.ValueText(v))
		return wr.spill()
	})
	wr.buf = in.End(wr.buf)
	return wr, err
}

// Write appends one transaction.
func (w *Writer) Write(rec *history.Record) error {
	w.buf = AppendRecord(w.buf, rec, w.sym)
	w.txns++
	return w.spill()
}

func (w *Writer) spill() error {
	if len(w.buf) < flushAt {
		return nil
	}
	_, err := w.log.Write(w.buf)
	w.buf = w.buf[:0]
	return err
}

// Close writes what is left, with the closing line if the history was closed.
func (w *Writer) Close(closed bool, reason string) error {
	if closed {
		var err error
		if w.buf, err = AppendEnding(w.buf, Ending{Reason: reason, Txns: w.txns}); err != nil {
			return err
		}
	}
	if _, err := w.log.Write(w.buf); err != nil {
		return err
	}
	return w.log.Close()
}
