package history

import "io"

// Replay is a Source that yields the transactions of a History.
type Replay struct {
	h *History
	n int
}

// NewReplay returns a Source that starts at the first transaction of h.
func NewReplay(h *History) *Replay { return &Replay{h: h} }

func (r *Replay) Header() *Header   { return &r.h.Header }
func (r *Replay) Symbols() *Symbols { return r.h.Symbols }
func (r *Replay) SizeHint() int     { return len(r.h.Txns) }
func (r *Replay) Closed() bool      { return r.h.Closed }
func (r *Replay) Notes() []string   { return r.h.Notes }
func (r *Replay) At(err error) error {
	return &FormatError{Byte: -1, Err: err}
}

// Next yields the next transaction. Its Ops are shared with the history.
func (r *Replay) Next(rec *Record) error {
	if r.n == len(r.h.Txns) {
		return io.EOF
	}
	*rec = r.h.Record(r.n)
	r.n++
	return nil
}

// Record returns the transaction at index i as a record that shares its Ops.
func (h *History) Record(i int) Record {
	t := &h.Txns[i]
	return Record{
		ID: t.ID, Session: h.SessionName(t.Session), Begin: t.Begin, End: t.End, Due: NoTime,
		DBTxn: h.DBTxn(i), Node: t.Node, Status: t.Status, Ops: h.Ops(t), Versions: h.versionsOf(t),
		Predicates: h.Predicates(i), Claim: h.Claim(i),
	}
}
