package dbcop

import (
	"math"
	"strconv"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/forms"
)

func (d *JSONReader) events(rec *history.Record) error {
	for {
		kind, err := d.in.Next()
		var op history.Op
		switch {
		case err != nil:
			return err
		case kind == forms.Close:
			return nil
		case kind == forms.Map:
			op, err = d.long()
		case kind == forms.Vector:
			op, err = d.short()
		default:
			err = errors.New("expected an event")
		}
		if err != nil {
			return err
		}
		rec.Ops = append(rec.Ops, op)
	}
}

// long reads {"Read":{"variable":0,"version":1}} after its first bracket.
func (d *JSONReader) long() (op history.Op, err error) {
	name, kind, err := d.field()
	if err != nil {
		return op, err
	}
	switch name {
	case "Read":
		op.Kind = history.Read
	case "Write":
		op.Kind = history.Write
	default:
		return op, errors.Errorf("unknown event %.40q; known are Read and Write", name)
	}
	if kind != forms.Map {
		return op, errors.New("expected an object with variable and version")
	}
	variable, version := false, false
	for {
		name, kind, err := d.field()
		switch {
		case err != nil:
			return op, err
		case name == "variable" && !variable:
			variable = true
			op.Key, err = d.key(kind)
		case name == "version" && !version:
			version = true
			op.Value, err = d.version(kind, op.Kind)
		case name != "":
			return op, errors.Errorf("unexpected field %.40q of an event", name)
		case !(variable && version):
			return op, errors.New(`an event lacks "variable" or "version"`)
		default:
			return op, d.close()
		}
		if err != nil {
			return op, err
		}
	}
}

// short reads ["r",0,1] after its bracket.
func (d *JSONReader) short() (op history.Op, err error) {
	kind, err := d.in.Next()
	if err != nil {
		return op, err
	}
	switch text := string(d.in.Text()); {
	case kind == forms.String && text == "r":
		op.Kind = history.Read
	case kind == forms.String && text == "w":
		op.Kind = history.Write
	default:
		return op, errors.New(`expected "r" or "w" at the head of an event`)
	}
	if kind, err = d.in.Next(); err != nil {
		return op, err
	}
	if op.Key, err = d.key(kind); err != nil {
		return op, err
	}
	if kind, err = d.in.Next(); err != nil {
		return op, err
	}
	if op.Value, err = d.version(kind, op.Kind); err != nil {
		return op, err
	}
	return op, d.close()
}

// close reads the end of an event.
func (d *JSONReader) close() error {
	kind, err := d.in.Next()
	if err == nil && kind != forms.Close {
		err = errors.New("there is more in an event than a variable and a version")
	}
	return err
}

func (d *JSONReader) key(kind forms.Kind) (history.Key, error) {
	if kind != forms.String && !(kind == forms.Number && isUint(d.in.Text())) {
		return 0, errors.New("a variable is neither a number from 0 nor a text")
	}
	return d.sym.KeyBytes(d.in.Text()), nil
}

func isUint(b []byte) bool {
	_, err := strconv.ParseUint(string(b), 10, 64)
	return err == nil && (len(b) == 1 || b[0] != '0')
}

func (d *JSONReader) version(kind forms.Kind, of history.OpKind) (history.Value, error) {
	switch {
	case kind == forms.Nil && of == history.Read:
		return history.Absent, nil
	case kind == forms.Number && isUint(d.in.Text()):
		n, err := strconv.ParseUint(string(d.in.Text()), 10, 64)
		if err == nil && n <= math.MaxInt64 {
			return d.sym.Int(int64(n)), nil
		}
		return d.sym.Raw(string(d.in.Text())), err
	}
	return 0, errors.New("a version is not a number from 0, or null where one was read")
}
