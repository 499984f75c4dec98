// Package elle reads and writes the histories of Jepsen and Elle: EDN, a stream of operation
// maps or one vector of them, and the JSON of elle-cli, one array of the same maps with strings
// for keywords.
//
//	{:index 3, :time 52000, :process 1, :type :ok, :f :txn, :value [[:r :x 1] [:w :y 2]]}
//
// An operation is an :invoke and the :ok (committed), :fail (aborted) or :info (unknown) of the
// same process. An invoke without any of these has an unknown outcome. An outcome without an
// invoke is read alone, as Elle does. A process is a session. Each operation without a process
// has its own session, and an outcome without a process belongs to the first invoke that asks
// for the same.
//
// Begin and end are the :time of the invoke and of the outcome, in nanoseconds. If operations
// have no :time, their positions in the file are used, since operations are in the order of
// time. The end of an unknown transaction means nothing and is not kept. The number of a
// transaction is the :index of its last operation, or, if there is none, its position among all
// operations.
//
// Only reads of committed transactions are known. Reads of others are left out: their nil means
// that the answer never came. A nil that was read is absence, which is also the initial value of
// every key.
//
// An operation is a transaction if its :f is :txn or missing, or if its value is a list of
// micro-operations. Reads, writes and compare-and-sets of one register are transactions of one
// call (see call). Other operations are left out and named in the header, because they may have
// written. Operations of the nemesis are skipped.
//
// A :txn-info of TiDB's has the timestamp of the commit, which is kept as its position.
//
// Keys and values may be integers, strings, keywords and other scalars. Lists with append become
// registers, see lists.go. Histories may also be tables, see table.go.
package elle

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/forms"
)

// Reader reads a history. It implements history.Source. Histories of registers stream. From the
// first append on, transactions are held back, since the effect of an append only shows in the
// lists that other transactions read.
type Reader struct {
	path string
	in   *forms.Scanner
	hdr  history.Header
	sym  *history.Symbols
	p    parser
	op   operation // the latest

	started, vector bool // the file is one vector
	ops             int64
	times           times
	pending         map[int64]*invocation    // by session
	loose           map[string][]*invocation // operations without a process, by what they ask for
	order           int64                    // number of the latest invocation, to find the oldest pending one
	sessions        map[string]int64         // of processes that have names
	fresh           int64                    // the latest session given to a process without a number, below 0
	placed          map[int64]int64          // by session, the latest timestamp of a commit
	lists           *lists
	left            []history.Record
	eof             bool

	nemesis int64            // operations of the nemesis
	out     map[string]int64 // operations that were left out, counted by :f
}

// times says where times come from.
type times uint8

const (
	undecided times = iota
	ownTimes        // of operations that have one
	fileOrder       // the position in the file
)

// placeUnit is the time between two operations that have no :time: one second.
const placeUnit = 1_000_000_000

var _ history.Source = (*Reader)(nil)

// NewReader returns a reader of EDN, or of JSON. path is for messages.
func NewReader(r io.Reader, path string, json bool) *Reader {
	if !json {
		r = newTables(r)
	}
	rd := &Reader{
		path: path, in: forms.NewScanner(r, json), sym: history.NewSymbols(), hdr: history.Header{Source: path},
		pending: map[int64]*invocation{}, loose: map[string][]*invocation{}, sessions: map[string]int64{}, placed: map[int64]int64{}, out: map[string]int64{},
	}
	rd.lists = newLists(rd.sym)
	rd.p = parser{in: rd.in, sym: rd.sym, kinds: map[history.Key]forms.Kind{}, texts: map[history.Value]forms.Kind{}}
	return rd
}

func (r *Reader) Header() *history.Header   { return &r.hdr }
func (r *Reader) Symbols() *history.Symbols { return r.sym }
func (r *Reader) SizeHint() int             { return 0 }

// Closed is false where operations were left out that may have written.
func (r *Reader) Closed() bool { return len(r.out) == 0 }

// Notes reports what was skipped, and what was used as times.
func (r *Reader) Notes() []string {
	var notes []string
	if r.nemesis > 0 {
		notes = append(notes, fmt.Sprintf("%d operations of the nemesis were skipped", r.nemesis))
	}
	if r.times == fileOrder {
		notes = append(notes, "the operations have no times; their order in the file is used, one second apart")
	}
	return notes
}

// leaveOut counts an operation that may have written something unknown.
func (r *Reader) leaveOut(f string) { r.out[f]++ }

// leftOut describes what was left out, "" if nothing.
func (r *Reader) leftOut() string {
	var names, parts []string
	total := int64(0)
	for f, n := range r.out {
		names = append(names, f)
		total += n
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(r.out[b], r.out[a]), strings.Compare(a, b))
	})
	for n, f := range names {
		if n == maxNamed && len(names) > n+1 {
			parts = append(parts, "others")
			break
		}
		if f == "" {
			parts = append(parts, fmt.Sprintf("%d without :f and value", r.out[f]))
		} else {
			parts = append(parts, fmt.Sprintf("%d :%.40s", r.out[f], f))
		}
	}
	switch {
	case total == 0:
		return ""
	case total == 1:
		return "1 operation was not understood and left out (" + parts[0] + ")"
	}
	return fmt.Sprintf("%d operations were not understood and left out (%s)", total, strings.Join(parts, ", "))
}

// maxNamed is how many kinds of left-out operations the message names.
const maxNamed = 5

// session returns the session of a process.
func (r *Reader) session(who process) (int64, error) {
	switch who.kind {
	case numbered:
		if who.number < 0 && r.fresh < 0 {
			return 0, errors.Errorf("process %d has a negative number, and others have none; their sessions cannot be told apart", who.number)
		}
		return who.number, nil
	case named:
		if s, known := r.sessions[who.name]; known {
			return s, nil
		}
	}
	r.fresh--
	if who.kind == named {
		r.sessions[who.name] = r.fresh
	}
	return r.fresh, nil
}

func (p process) String() string {
	if p.kind == named {
		return p.name
	}
	return strconv.FormatInt(p.number, 10)
}

// At returns err as a history.FormatError at the latest line, or at the byte if the file has
// only one line so far.
func (r *Reader) At(err error) error {
	line, at := r.in.Place()
	return &history.FormatError{Path: r.path, Line: line, Byte: at, Err: err}
}

// Next yields the next transaction, in the order of the outcomes.
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

// take reads an operation, and reports whether rec now holds a transaction. Its appends are not
// yet turned into registers.
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

// finish gives every operation without an outcome the outcome unknown.
func (r *Reader) finish() error {
	r.eof = true
	rest := slices.Collect(maps.Values(r.pending))
	for _, all := range r.loose {
		rest = append(rest, all...)
	}
	slices.SortFunc(rest, func(a, b *invocation) int { return cmp.Compare(a.order, b.order) })
	for _, in := range rest {
		if in.how == notUnderstood || in.how == onRegister && !in.call.known && in.f != "read" {
			r.leaveOut(in.f)
			continue
		}
		if err := r.lists.learn(&in.rec, nil, nil); err != nil {
			return err
		}
		r.left = append(r.left, in.rec)
	}
	r.pending, r.loose = nil, nil
	if r.lists.any {
		r.hdr.ListReads = r.lists
		r.lists.by, r.lists.after = nil, nil // the rest stays with the history
	}
	r.hdr.LeftOut, r.hdr.Lists, r.hdr.ListsDiffer = r.leftOut(), r.lists.any, r.lists.any && r.lists.differ
	return nil
}

// read reads the next operation; more is false after the last one.
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
	// The memory of the last operation's value is reused.
	*op = operation{number: r.ops - 1, time: history.NoTime, value: value{mops: op.value.mops[:0], elements: op.value.elements[:0], parts: op.value.parts[:0]}}
	return true, r.p.operation(op)
}
