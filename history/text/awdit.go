package text

import (
	"bytes"
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
// An operation is a letter, a key and a value. A line of - separates
// transactions, one of = sessions, which are numbered from 1 in the order of
// the file. Every transaction committed; those without an operation are not
// there.
type Awdit struct {
	in      lines
	hdr     history.Header
	sym     *history.Symbols
	session int64
	used    bool // the session has a transaction
	id      int64
}

var _ history.Source = (*Awdit)(nil)

// NewAwdit returns a reader. path is for messages.
func NewAwdit(r io.Reader, path string) *Awdit {
	a := &Awdit{in: newLines(r, path), hdr: history.Header{Source: path}, sym: history.NewSymbols(), session: 1}
	a.sym.DefaultInitial = a.sym.Int(0)
	return a
}

func (a *Awdit) Header() *history.Header   { return &a.hdr }
func (a *Awdit) Symbols() *history.Symbols { return a.sym }
func (a *Awdit) SizeHint() int             { return 0 }
func (a *Awdit) Closed() bool              { return true }
func (a *Awdit) Notes() []string           { return nil }

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
	return nil
}
