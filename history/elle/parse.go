package elle

import (
	"strconv"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/forms"
)

// MaxOperation is the longest operation that is read, in bytes. It bounds the
// memory that a hostile file can ask for.
const MaxOperation = 64 << 20

var (
	errBehind = errors.New("there is more behind the vector of operations")
	errNoMap  = errors.New("expected a map, {:process 1, :type :ok, :value [[:r :x 1]]} say")
)

// operation is one map of the file.
type operation struct {
	number  int64 // its :index, or its place in the file
	time    int64
	process int64
	client  bool // process is a number
	outcome string
	f       string
	value   value
}

// value is what an operation has to say.
type value struct {
	shape    shape
	mops     []mop
	elements []history.Value // of all lists that were read
	unknown  string          // a micro-operation that is not known, if there is one
}

type shape uint8

const (
	none  shape = iota // nil, or no value at all
	micro              // a list of micro-operations
	other
)

// mop is a micro-operation: [:r k v], [:w k v], [:append k v].
type mop struct {
	kind     history.OpKind // or appended
	key      history.Key
	value    history.Value
	list     bool // the read returned elements[from:to], whose last is value
	from, to int
}

// appended is the kind of an append until the lists are known.
const appended history.OpKind = 0

// parser reads operations.
type parser struct {
	in  *forms.Scanner
	sym *history.Symbols
	// kinds tells keys apart that are spelt the same, :x and "x" say, which
	// cannot be told apart by their names.
	kinds map[history.Key]forms.Kind
	begin int64
}

// operation reads a map whose bracket was read.
func (p *parser) operation(op *operation) error {
	p.begin = p.in.Offset()
	for {
		kind, err := p.in.Next()
		if err != nil {
			return err
		}
		if kind == forms.Close {
			return nil
		}
		name := ""
		if kind == forms.Keyword || kind == forms.String {
			name = string(p.in.Text())
		} else if err := p.in.Skip(kind); err != nil {
			return err
		}
		if kind, err = p.in.Next(); err != nil {
			return err
		}
		if err := p.field(op, name, kind); err != nil {
			return err
		}
		if p.in.Offset()-p.begin > MaxOperation {
			return errTooLong
		}
	}
}

var errTooLong = errors.Errorf("an operation is longer than %d MiB", MaxOperation>>20)

// field reads the value of a field, whose first token is of the given kind.
func (p *parser) field(op *operation, name string, kind forms.Kind) (err error) {
	text := p.in.Text()
	word := kind == forms.Keyword || kind == forms.String
	switch name {
	case "index":
		if kind != forms.Nil {
			op.number, err = p.int(kind, "index")
			return err
		}
	case "time":
		if kind != forms.Nil {
			op.time, err = p.int(kind, "time")
			return err
		}
	case "process":
		if kind == forms.Number {
			op.process, err = p.int(kind, "process")
			op.client = true
			return err
		}
	case "type":
		if word {
			op.outcome = string(text)
			return nil
		}
	case "f":
		if word {
			op.f = string(text)
			return nil
		}
	case "value":
		return p.value(&op.value, kind)
	}
	return p.in.Skip(kind)
}

func (p *parser) int(kind forms.Kind, what string) (int64, error) {
	if kind == forms.Number {
		if n, err := strconv.ParseInt(string(p.in.Text()), 10, 64); err == nil {
			return n, nil
		}
	}
	return 0, errors.Errorf("the %s of an operation is not an integer", what)
}

// value reads a list of micro-operations, or passes over something else.
func (p *parser) value(v *value, kind forms.Kind) error {
	*v = value{mops: v.mops[:0], elements: v.elements[:0]}
	if kind == forms.Nil {
		return nil
	}
	v.shape = other
	if kind != forms.Vector {
		return p.in.Skip(kind)
	}
	depth := p.in.Depth() - 1
	for {
		kind, err := p.in.Next()
		if err != nil {
			return err
		}
		if kind == forms.Close {
			v.shape = micro
			return nil
		}
		ok := kind == forms.Vector
		if ok {
			if ok, err = p.mop(v); err != nil {
				return err
			}
		}
		if !ok {
			// What was read so far stays: if that was a micro-operation, v is
			// wrong rather than a value of another kind.
			if v.unknown == "" {
				v.unknown = "something else"
			}
			return p.leave(depth)
		}
	}
}

// leave passes over everything down to the given depth.
func (p *parser) leave(depth int) error {
	for p.in.Depth() > depth {
		if _, err := p.in.Next(); err != nil {
			return err
		}
	}
	return nil
}

// mop reads a micro-operation whose bracket was read. ok is false where it is
// none; then its rest may not have been read.
func (p *parser) mop(v *value) (ok bool, err error) {
	if p.in.Offset()-p.begin > MaxOperation {
		return false, errTooLong
	}
	kind, err := p.in.Next()
	if err != nil {
		return false, err
	}
	var m mop
	name := ""
	if kind == forms.Keyword || kind == forms.String {
		name = string(p.in.Text())
	}
	switch name {
	case "r":
		m.kind = history.Read
	case "w":
		m.kind = history.Write
	case "append":
		m.kind = appended
	default:
		if name != "" {
			v.unknown = name
		}
		return false, nil
	}
	if m.key, err = p.key(); err != nil {
		return false, err
	}
	if kind, err = p.in.Next(); err != nil {
		return false, err
	}
	if kind == forms.Vector && m.kind == history.Read {
		m.list, m.from = true, len(v.elements)
		if err := p.list(v); err != nil {
			return false, err
		}
		if m.to = len(v.elements); m.to > m.from {
			m.value = v.elements[m.to-1]
		} else {
			m.value = history.Absent
		}
	} else if m.value, err = p.scalar(kind); err != nil {
		return false, err
	}
	if m.kind == appended && m.value == history.Absent {
		return false, errors.New("nil is appended; an element must have a value")
	}
	if kind, err = p.in.Next(); err == nil && kind != forms.Close {
		err = errors.New("a micro-operation has more than three parts")
	}
	v.mops = append(v.mops, m)
	return true, err
}

func (p *parser) list(v *value) error {
	for {
		kind, err := p.in.Next()
		if err != nil {
			return err
		}
		if kind == forms.Close {
			return nil
		}
		e, err := p.scalar(kind)
		if err != nil {
			return err
		}
		if e == history.Absent {
			return errors.New("a list has nil among its elements")
		}
		v.elements = append(v.elements, e)
		if p.in.Offset()-p.begin > MaxOperation {
			return errTooLong
		}
	}
}
