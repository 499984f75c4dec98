package native

import (
	"io"

	"github.com/isohound/isohound/history"
)

// Writer writes a history that is already complete: a conversion, a synthetic history, a
// counterexample. Recorders of live runs use Log.
type Writer struct {
	log  *Log
	sym  *history.Symbols
	txns int64
	ops  []Op // of the transaction being written
	buf  []byte
}

// WriteHistory writes h to w. reason goes into the closing line, if h is closed.
func WriteHistory(w io.Writer, compressed bool, h *history.History, reason string) error {
	out, err := NewWriter(w, compressed, &h.Header, h.Symbols)
	if err != nil {
		return err
	}
	return out.history(h, reason)
}

// WritePlain is WriteHistory with NewPlainWriter.
func WritePlain(w io.Writer, h *history.History, reason string) error {
	out, err := NewPlainWriter(w, false, &h.Header, h.Symbols)
	if err != nil {
		return err
	}
	return out.history(h, reason)
}

func (w *Writer) history(h *history.History, reason string) error {
	for i := range h.Txns {
		rec := h.Record(i)
		if err := w.Write(&rec); err != nil {
			return err
		}
	}
	return w.Close(h.Closed, reason)
}

// NewWriter writes the header and the initial values known to sym so far.
func NewWriter(w io.Writer, compressed bool, hdr *history.Header, sym *history.Symbols) (*Writer, error) {
	log, err := NewLog(w, compressed)
	if err != nil {
		return nil, err
	}
	return newWriter(log, hdr, sym)
}

// NewPlainWriter is NewWriter for a history that people or other programs read: each line says
// everything, as in version 1 of the format, which is what is written.
func NewPlainWriter(w io.Writer, compressed bool, hdr *history.Header, sym *history.Symbols) (*Writer, error) {
	log, err := NewLog(w, compressed)
	if err != nil {
		return nil, err
	}
	log.refs.none = true
	return newWriter(log, hdr, sym)
}

func newWriter(log *Log, hdr *history.Header, sym *history.Symbols) (*Writer, error) {
	own := func(yield func(string, string) bool) {
		_ = sym.OwnInitials(func(k history.Key, v history.Value) error {
			if !yield(sym.KeyName(k), sym.ValueText(v)) {
				return io.EOF
			}
			return nil
		})
	}
	return &Writer{log: log, sym: sym}, log.Header(hdr, sym.ValueText(sym.DefaultInitial), own)
}

// Write appends one transaction.
func (w *Writer) Write(rec *history.Record) error {
	w.ops, w.buf = w.ops[:0], w.buf[:0]
	for n, op := range rec.Ops {
		from := len(w.buf)
		w.buf = w.sym.AppendValue(w.buf, op.Value)
		w.ops = append(w.ops, Op{Kind: op.Kind, Key: w.sym.KeyName(op.Key), Value: w.buf[from:]})
		if n < len(rec.Versions) {
			w.ops[n].Version = rec.Versions[n]
		}
	}
	w.txns++
	return w.log.add(rec, w.ops)
}

// Close writes what is left, with the closing line if the history was closed.
func (w *Writer) Close(closed bool, reason string) error {
	if closed {
		return w.log.End(Ending{Reason: reason, Txns: w.txns})
	}
	return w.log.Close()
}
