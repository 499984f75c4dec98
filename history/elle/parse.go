package elle

import (
	"slices"
	"strconv"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/forms"
)

// realTime is the field by which Write marks a history without times: then the order of
// operations is not the order of time.
const realTime = "real-time"

// MaxOperation is the longest operation that is read, in bytes. It bounds the
// memory that a hostile file can ask for.
const MaxOperation = 64 << 20

var (
	errBehind = errors.New("there is data after the vector of operations")
	errNoMap  = errors.New("expected a map, {:process 1, :type :ok, :value [[:r :x 1]]} say")
)

// operation is one map of the file.
type operation struct {
	number   int64 // its :index, or its place in the file
	time     int64
	timeless bool // the operation says that the order of the file is not that of time
	who      process
	outcome  string
	f        string
	value    value
	commit   int64 // the timestamp of the commit, 0 if none is told
}

// process is who did an operation: a number, a name, or nothing.
type process struct {
	number int64
	name   string
	kind   processKind
}

type processKind uint8

const (
	nobody processKind = iota
	numbered
	named
)

// value is the value of an operation.
type value struct {
	shape    shape
	mops     []mop
	elements []history.Value // of all lists that were read
	unknown  string          // an unknown micro-operation, if there is one
	parts    []part          // of a scalar, or of a list that does not hold micro-operations
}

type shape uint8

const (
	missing shape = iota // there is no :value
	none                 // nil
	micro                // a list of micro-operations
	single               // a scalar, in parts
	several              // a list that begins with a scalar, its first parts in parts
	other
)

// part is an element of a list, a scalar or a list of scalars.
type part struct {
	kind  forms.Kind
	text  string
	value history.Value
	list  []history.Value // if kind is Vector
}

// maxParts is how many elements of the list of a register's operation are kept.
const maxParts = 2

// mop is a micro-operation: [:r k v], [:w k v], [:append k v].
type mop struct {
	kind     history.OpKind // or appended
	key      history.Key
	value    history.Value
	list     bool // the read returned elements[from:to], whose last is value
	from, to int
}

// appended is the kind of an append until lists turns it into a write.
const appended history.OpKind = 0

// parser reads operations.
type parser struct {
	in  *forms.Scanner
	sym *history.Symbols
	// kinds distinguishes keys with the same spelling, such as :x and "x". They have the same
	// name, so a history that uses both is refused.
	kinds map[history.Key]forms.Kind
	texts map[history.Value]forms.Kind // the same for values
	begin int64
}

// fields are the fields of an operation, each of which it may have once, as in every map of EDN.
var fields = [...]string{"index", "time", realTime, "process", "type", "f", "value", "txn-info"}

// operation reads a map whose opening bracket was read.
func (p *parser) operation(op *operation) error {
	p.begin = p.in.Offset()
	var told [len(fields)]bool
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
		if n := slices.Index(fields[:], name); n >= 0 {
			if told[n] {
				return errors.Errorf("an operation has :%s twice", name)
			}
			told[n] = true
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
	case realTime:
		op.timeless = kind == forms.Word && string(text) == "false"
	case "process":
		switch {
		case kind == forms.Number:
			op.who.kind = numbered
			op.who.number, err = p.int(kind, "process")
			return err
		case word:
			op.who = process{kind: named, name: string(text)}
			return nil
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
	case "txn-info":
		if kind == forms.Map {
			op.commit, err = p.txnInfo()
			return err
		}
	}
	return p.in.Skip(kind)
}

// txnInfo reads TiDB's tidb_last_txn_info, a map whose opening bracket was read, and returns the timestamp of the commit, or 0. PingCAP's
// tests for Jepsen add it to operations. Other fields are skipped: whether the start timestamp is the transaction's snapshot depends on
// settings that the history does not have.
func (p *parser) txnInfo() (commit int64, err error) {
	failed := false
	for {
		kind, err := p.in.Next()
		if err != nil {
			return 0, err
		}
		if kind == forms.Close {
			if failed {
				commit = 0
			}
			return commit, nil
		}
		name := ""
		if kind == forms.Keyword || kind == forms.String {
			name = string(p.in.Text())
		} else if err := p.in.Skip(kind); err != nil {
			return 0, err
		}
		if kind, err = p.in.Next(); err != nil {
			return 0, err
		}
		switch {
		case name == "commit_ts" && kind == forms.Number:
			if commit, err = p.int(kind, "commit_ts"); err != nil {
				return 0, err
			}
			commit = max(commit, 0)
		case name == "error" && kind == forms.String && len(p.in.Text()) > 0:
			failed = true
		default:
			if err := p.in.Skip(kind); err != nil {
				return 0, err
			}
		}
		if p.in.Offset()-p.begin > MaxOperation {
			return 0, errTooLong
		}
	}
}

func (p *parser) int(kind forms.Kind, what string) (int64, error) {
	if kind == forms.Number {
		if n, err := strconv.ParseInt(string(p.in.Text()), 10, 64); err == nil {
			return n, nil
		}
	}
	return 0, errors.Errorf("the %s of an operation is not an integer", what)
}

// value reads a list of micro-operations, a scalar, or a list of scalars, and skips anything
// else.
func (p *parser) value(v *value, kind forms.Kind) error {
	*v = value{mops: v.mops[:0], elements: v.elements[:0], parts: v.parts[:0]}
	switch kind {
	case forms.Nil:
		v.shape = none
		return nil
	case forms.Number, forms.String, forms.Keyword, forms.Word:
		v.shape = single
		return p.part(v, kind)
	case forms.Vector:
		return p.vector(v)
	}
	v.shape = other
	return p.in.Skip(kind)
}

// vector reads a list whose opening bracket was read.
func (p *parser) vector(v *value) error {
	v.shape = micro
	depth := p.in.Depth() - 1
	for {
		kind, err := p.in.Next()
		if err != nil || kind == forms.Close {
			return err
		}
		ok := false
		switch {
		case v.shape == several, v.shape == micro && len(v.mops) == 0 && isScalar(kind):
			v.shape, ok = several, isScalar(kind) || kind == forms.Vector
			if ok {
				err = p.part(v, kind)
			}
		case kind == forms.Vector:
			ok, err = p.mop(v)
		}
		if err != nil {
			return err
		}
		if !ok {
			// What was read so far stays. If that was a micro-operation, v is an invalid list of
			// micro-operations, not another kind of value.
			if v.shape == micro && v.unknown == "" {
				v.unknown = "something else"
			}
			v.shape = other
			return p.leave(depth)
		}
		if p.in.Offset()-p.begin > MaxOperation {
			return errTooLong
		}
	}
}

func isScalar(kind forms.Kind) bool {
	switch kind {
	case forms.Nil, forms.Number, forms.String, forms.Keyword, forms.Word:
		return true
	}
	return false
}

// part reads an element of a list, or a value that is not a list.
func (p *parser) part(v *value, kind forms.Kind) error {
	if len(v.parts) > maxParts {
		return p.in.Skip(kind)
	}
	x := part{kind: kind}
	if kind != forms.Vector {
		x.text = string(p.in.Text())
		var err error
		x.value, err = p.scalar(kind)
		v.parts = append(v.parts, x)
		return err
	}
	depth := p.in.Depth() - 1
	for {
		kind, err := p.in.Next()
		if err != nil {
			return err
		}
		if kind == forms.Close {
			break
		}
		if !isScalar(kind) || len(x.list) > maxParts {
			x.kind = forms.Map // not a value that a register can hold
			if err := p.leave(depth); err != nil {
				return err
			}
			break
		}
		e, err := p.scalar(kind)
		if err != nil {
			return err
		}
		x.list = append(x.list, e)
	}
	v.parts = append(v.parts, x)
	return nil
}

// leave skips everything down to the given depth.
func (p *parser) leave(depth int) error {
	for p.in.Depth() > depth {
		if _, err := p.in.Next(); err != nil {
			return err
		}
	}
	return nil
}

// mop reads a micro-operation whose opening bracket was read. ok is false if it is not a
// micro-operation; then its rest may not have been read.
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
