package text

import (
	"bytes"
	"fmt"
	"io"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/history"
)

// Awdit reads the text of AWDIT. It implements history.Source.
//
//	r 1 0
//	w 1 5
//	-
//	r 1 5
//	=
//	w 2 7
//
// An operation is a letter, a key and a value. A line of - separates transactions, and a line of
// = separates sessions, which are numbered from 1 in the order of the file. Every transaction is
// committed; transactions without an operation are left out. Keys have no initial value: a read
// needs a writer in the file.
type Awdit struct {
	in      lines
	hdr     history.Header
	sym     *history.Symbols
	session int64
	used    bool // the session has a transaction
	id      int64
	zeros   []zeroUse // by key
}

// zeroUse says whether 0 was read from a key, and written to it.
type zeroUse struct{ read, written bool }

var _ history.Source = (*Awdit)(nil)

// NewAwdit returns a reader. path is for messages.
func NewAwdit(r io.Reader, path string) *Awdit {
	return &Awdit{in: newLines(r, path), hdr: history.Header{Source: path}, sym: history.NewSymbols(), session: 1}
}

func (a *Awdit) Header() *history.Header   { return &a.hdr }
func (a *Awdit) Symbols() *history.Symbols { return a.sym }
func (a *Awdit) SizeHint() int             { return 0 }
func (a *Awdit) Closed() bool              { return true }

// Notes reports, after io.EOF, keys that seem to begin as 0.
func (a *Awdit) Notes() []string {
	n := 0
	for _, z := range a.zeros {
		if z.read && !z.written {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return []string{fmt.Sprintf("keys have no initial value in this format, and 0 was read from %d to which nobody wrote it", n)}
}

// At returns err as a history.FormatError at the latest line.
func (a *Awdit) At(err error) error { return a.in.at(err) }

// Next reads the next transaction.
func (a *Awdit) Next(rec *history.Record) error {
	*rec = history.Record{
		Status: history.Committed, Ops: rec.Ops[:0],
		Begin: history.NoTime, End: history.NoTime, Due: history.NoTime,
	}
	for {
		line, err := a.in.next()
		if err != nil && err != io.EOF {
			return a.At(err)
		}
		switch {
		case err == io.EOF || all(line, '-') || all(line, '='):
			if len(rec.Ops) > 0 {
				a.id++
				rec.ID, rec.Session = a.id, a.session
				a.used = true
			}
			if a.used && err == nil && line[0] == '=' {
				a.session++
				a.used = false
			}
			if len(rec.Ops) > 0 {
				return nil
			}
			if err != nil {
				return err
			}
		default:
			if err := a.op(rec, line); err != nil {
				return a.At(err)
			}
		}
	}
}

// all reports whether line consists of c.
func all(line []byte, c byte) bool { return bytes.Count(line, []byte{c}) == len(line) }

// op reads an operation.
func (a *Awdit) op(rec *history.Record, line []byte) error {
	parts := bytes.Fields(line)
	var op history.Op
	switch {
	case len(parts) == 3 && string(parts[0]) == "r":
		op.Kind = history.Read
	case len(parts) == 3 && string(parts[0]) == "w":
		op.Kind = history.Write
	default:
		return errors.Errorf("expected an operation such as r 1 5, or a line of - or =, at %.40q", line)
	}
	var err error
	if op.Key, err = key(a.sym, parts[1]); err != nil {
		return err
	}
	if op.Value, err = value(a.sym, parts[2]); err != nil {
		return err
	}
	rec.Ops = append(rec.Ops, op)
	if n := a.sym.KeyCount(); n > len(a.zeros) {
		a.zeros = append(a.zeros, make([]zeroUse, n-len(a.zeros))...)
	}
	if op.Value == 0 {
		z := &a.zeros[op.Key]
		z.read = z.read || op.Kind == history.Read
		z.written = z.written || op.Kind == history.Write
	}
	return nil
}
