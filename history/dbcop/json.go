package dbcop

import (
	"io"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/fit"
	"github.com/isohound/isohound/history/forms"
)

// JSONReader reads the JSON that dbcop writes since 2026. It implements
// history.Source.
//
//	{"params":{…},"info":"…","start":"…","end":"…","data":[session…]}
//
// or the array of sessions alone. A session is an array of transactions
// {"events":[…],"committed":true}; an event is {"Read":{"variable":0,"version":1}},
// {"Write":{…}}, or ["r",0,1]. Variables are numbers or texts. A read of the version null is a
// read of absence. Whether a key begins absent or as 0 depends on the whole file (see
// fit.Versions). Therefore the whole file is read before the first transaction is returned. The
// numbers in params are not used. There are no times.
type JSONReader struct {
	path string
	in   *forms.Scanner
	hdr  history.Header
	sym  *history.Symbols

	bare      bool // there is no object around the sessions
	inSession bool
	session   int64
	id        int64

	versions *fit.Versions
	all      *history.Replay // nil until everything was read
}

var _ history.Source = (*JSONReader)(nil)

// NewJSONReader reads up to the first session. path is for messages.
func NewJSONReader(r io.Reader, path string) (*JSONReader, error) {
	d := &JSONReader{path: path, in: forms.NewScanner(r, true), sym: history.NewSymbols(), hdr: history.Header{Source: path}}
	d.versions = fit.NewVersions(d.sym)
	if err := d.begin(); err != nil {
		return nil, d.At(err)
	}
	return d, nil
}

func (d *JSONReader) Header() *history.Header   { return &d.hdr }
func (d *JSONReader) Symbols() *history.Symbols { return d.sym }
func (d *JSONReader) Closed() bool              { return true }

// SizeHint returns how many transactions there are, once that is known.
func (d *JSONReader) SizeHint() int {
	if d.all == nil {
		return 0
	}
	return d.all.SizeHint()
}

// Notes reports, after io.EOF, which initial values were assumed.
func (d *JSONReader) Notes() []string { return d.versions.Notes() }

// At returns err as a history.FormatError at the latest line, or at the byte if the file has
// only one line so far.
func (d *JSONReader) At(err error) error {
	line, at := d.in.Place()
	return &history.FormatError{Path: d.path, Line: line, Byte: at, Err: err}
}

// begin reads up to the first session.
func (d *JSONReader) begin() error {
	kind, err := d.in.Next()
	switch {
	case err != nil:
		return err
	case kind == forms.Vector:
		d.bare = true
		return nil
	case kind != forms.Map:
		return errors.New(`expected an object with "data", or an array of sessions`)
	}
	for {
		name, kind, err := d.field()
		switch {
		case err != nil:
			return err
		case name == "":
			return errors.New(`the object has no "data"`)
		case name == "data":
			if kind != forms.Vector {
				return errors.New(`"data" is not an array of sessions`)
			}
			return nil
		case name == "info" && kind == forms.String:
			if info := string(d.in.Text()); info != "" {
				d.hdr.Params = map[string]string{"info": info}
			}
		case name == "start" && kind == forms.String:
			d.hdr.Created = string(d.in.Text())
		default:
			if err := d.in.Skip(kind); err != nil {
				return err
			}
		}
	}
}

// field reads the name of a field and the first token of its value. The name is empty after the
// last field.
func (d *JSONReader) field() (string, forms.Kind, error) {
	kind, err := d.in.Next()
	switch {
	case err != nil || kind == forms.Close:
		return "", kind, err
	case kind != forms.String || len(d.in.Text()) == 0:
		return "", kind, errors.New("expected the name of a field")
	}
	name := string(d.in.Text())
	kind, err = d.in.Next()
	return name, kind, err
}

// Next reads the next transaction. Sessions and transactions are numbered from
// 1 in the order of the file.
func (d *JSONReader) Next(rec *history.Record) error {
	if d.all == nil {
		if err := d.readAll(); err != nil {
			return d.At(err)
		}
	}
	if err := d.all.Next(rec); err != nil {
		return err
	}
	d.versions.Unify(rec.Ops)
	return nil
}

func (d *JSONReader) readAll() error {
	b := history.NewBuilder(d.hdr, d.sym, 0)
	var rec history.Record
	for {
		more, err := d.next(&rec)
		if err != nil {
			return err
		}
		if !more {
			break
		}
		d.versions.Add(d.sym, rec.Ops)
		if err := b.Add(&rec); err != nil {
			return err
		}
	}
	d.versions.SetInitial(d.sym)
	d.all = history.NewReplay(b.Done(true, nil))
	return nil
}

func (d *JSONReader) next(rec *history.Record) (bool, error) {
	for {
		kind, err := d.in.Next()
		switch {
		case err != nil:
			return false, err
		case d.inSession && kind == forms.Map:
			return true, d.txn(rec)
		case d.inSession && kind == forms.Close:
			d.inSession = false
		case d.inSession:
			return false, errors.New("expected a transaction, an object")
		case kind == forms.Vector:
			d.inSession = true
			d.session++
		case kind == forms.Close:
			return false, d.end()
		default:
			return false, errors.New("expected a session, an array of transactions")
		}
	}
}

// end reads what follows the sessions.
func (d *JSONReader) end() error {
	for !d.bare {
		name, kind, err := d.field()
		switch {
		case err != nil:
			return err
		case name == "data":
			return errors.New(`there is a second "data"`)
		case name == "":
			d.bare = true
		default:
			if err := d.in.Skip(kind); err != nil {
				return err
			}
		}
	}
	kind, err := d.in.Next()
	if err == nil && kind != forms.End {
		err = errors.New("there is data after the history")
	}
	return err
}

func (d *JSONReader) txn(rec *history.Record) error {
	d.id++
	*rec = history.Record{
		ID: d.id, Session: d.session, Ops: rec.Ops[:0],
		Begin: history.NoTime, End: history.NoTime, Due: history.NoTime,
	}
	events, committed := false, false
	for {
		name, kind, err := d.field()
		switch {
		case err != nil:
			return err
		case name == "" && !(events && committed):
			return errors.Errorf(`transaction %d lacks "events" or "committed"`, d.id)
		case name == "":
			return nil
		case name == "events" && kind == forms.Vector && !events:
			events = true
			if err := d.events(rec); err != nil {
				return err
			}
		case name == "committed" && kind == forms.Word && !committed:
			committed = true
			rec.Status = history.Aborted
			if string(d.in.Text()) == "true" {
				rec.Status = history.Committed
			}
		case name == "events" || name == "committed":
			return errors.Errorf("%q of transaction %d has the wrong type or occurs twice", name, d.id)
		default:
			if err := d.in.Skip(kind); err != nil {
				return err
			}
		}
	}
}
