// Package elle reads and writes the histories of Jepsen and Elle: EDN, a
// stream of operation maps or one vector of them, and the JSON of elle-cli,
// one array of the same maps with strings for keywords.
//
//	{:index 3, :time 52000, :process 1, :type :ok, :f :txn, :value [[:r :x 1] [:w :y 2]]}
//
// A transaction is an :invoke and the :ok (committed), :fail (aborted) or
// :info (unknown) of the same process. An invoke without any is of unknown
// outcome; an outcome without an invoke is taken by itself, as Elle does. A
// process is a session. Its begin and end are the :time of the two, in
// nanoseconds; the end of an unknown transaction means nothing and is not
// kept. Its number is the :index of its last operation, or its place among
// all operations where there is none.
//
// Only what a committed transaction read is known: reads of others are left
// out, since their nil says that the answer never came. A nil that was read is
// absence, which is also the initial value of every key.
//
// Operations of :f :txn, or of none, or whose value is a list of
// micro-operations, are transactions. Others, such as a nemesis's, are left
// out with a note; where a client did them, they may have written, so that the
// history does not count as closed.
//
// Keys and values may be integers, strings, keywords and other scalars. Lists
// with append become registers, see lists.go.
package elle

import (
	"fmt"
	"io"
	"slices"

	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/forms"
)

// Reader reads a history. It implements history.Source. Histories of
// registers stream; from the first append on transactions are held back, since
// what an append did shows in the lists that others read.
type Reader struct {
	path string
	in   *forms.Scanner
	hdr  history.Header
	sym  *history.Symbols
	p    parser
	op   operation // the latest

	started, vector bool // the file is one vector
	ops             int64
	pending         map[int64]*invocation
	order           int64 // of invocations, to find the first that is left
	lists           *lists
	left            []history.Record
	eof             bool

	nemesis, others int64 // operations that were left out
}

var _ history.Source = (*Reader)(nil)

// invocation is a transaction without its outcome.
type invocation struct {
	rec   history.Record
	named bool // it came with its micro-operations
	order int64
}

// NewReader returns a reader of EDN, or of JSON. path is for messages.
func NewReader(r io.Reader, path string, json bool) *Reader {
	rd := &Reader{
		path: path, in: forms.NewScanner(r, json), sym: history.NewSymbols(),
		hdr: history.Header{Source: path}, pending: map[int64]*invocation{},
	}
	rd.lists = newLists(rd.sym)
	rd.p = parser{in: rd.in, sym: rd.sym, kinds: map[history.Key]forms.Kind{}}
	return rd
}

func (r *Reader) Header() *history.Header   { return &r.hdr }
func (r *Reader) Symbols() *history.Symbols { return r.sym }
func (r *Reader) SizeHint() int             { return 0 }

// Closed is false where operations were left out that may have written.
func (r *Reader) Closed() bool { return r.others == 0 }

// Notes tells what was left out.
func (r *Reader) Notes() []string {
	var notes []string
	if r.nemesis > 0 {
		notes = append(notes, fmt.Sprintf("%d operations of no client were left out", r.nemesis))
	}
	if r.others > 0 {
		notes = append(notes, fmt.Sprintf("%d operations that are not transactions were left out; what they wrote is not known", r.others))
	}
	return notes
}

// At returns err as a history.FormatError at the latest line, or at its byte
// while the file has only one line.
func (r *Reader) At(err error) error {
	line, at := r.in.Place()
	return &history.FormatError{Path: r.path, Line: line, Byte: at, Err: err}
}

// Next yields the next transaction, in the order of their outcomes.
func (r *Reader) Next(rec *history.Record) error {
	for !r.eof {
		done, err := r.take(rec)
		if err != nil {
			return r.At(err)
		}
		if !done {
			continue
		}
		if !r.lists.any {
			return nil
		}
		held := *rec
		held.Ops = slices.Clone(rec.Ops)
		r.left = append(r.left, held)
	}
	if len(r.left) == 0 {
		return io.EOF
	}
	next := r.left[0]
	r.left[0] = history.Record{}
	r.left = r.left[1:]
	ops := r.lists.registers(rec.Ops[:0], next.Ops, next.Status)
	*rec = next
	rec.Ops = ops
	return nil
}

// take reads an operation, and reports whether rec now holds a transaction,
// whose appends are not registers yet.
func (r *Reader) take(rec *history.Record) (done bool, err error) {
	op := &r.op
	more, err := r.read(op)
	if err != nil {
		return false, err
	}
	if !more {
		return false, r.finish()
	}
	if done, err = r.operation(op, rec); err != nil || !done {
		return false, err
	}
	return true, r.lists.learn(rec, op.value.mops, op.value.elements)
}

// finish makes what has no outcome unknown.
func (r *Reader) finish() error {
	r.eof = true
	rest := make([]*invocation, 0, len(r.pending))
	for _, in := range r.pending {
		rest = append(rest, in)
	}
	slices.SortFunc(rest, func(a, b *invocation) int { return int(a.order - b.order) })
	for _, in := range rest {
		if err := r.lists.learn(&in.rec, nil, nil); err != nil {
			return err
		}
		r.left = append(r.left, in.rec)
	}
	r.pending = nil
	return nil
}

// read reads the next operation; more is false behind the last one.
func (r *Reader) read(op *operation) (more bool, err error) {
	kind, err := r.in.Next()
	if err == nil && !r.started {
		r.started = true
		if kind == forms.Vector {
			r.vector = true
			kind, err = r.in.Next()
		}
	}
	if err == nil && r.vector && kind == forms.Close {
		if kind, err = r.in.Next(); err == nil && kind != forms.End {
			err = errBehind
		}
	}
	switch {
	case err != nil:
		return false, err
	case kind == forms.End:
		return false, nil
	case kind != forms.Map:
		return false, errNoMap
	}
	r.ops++
	// The memory of the last operation's value is used again.
	*op = operation{number: r.ops - 1, time: history.NoTime, value: value{mops: op.value.mops[:0], elements: op.value.elements[:0]}}
	return true, r.p.operation(op)
}
