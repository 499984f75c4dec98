// Package text reads and writes two line formats with integers and without times.
//
// The text of PolySI, Plume and IsoVista has one operation per line,
//
//	r(key,value,session,transaction)
//	w(key,value,session,transaction)
//
// The operations of a transaction are in program order, though not always together. The
// transactions of a session are in the order of their first operations. Plume gives aborted
// operations the transaction number -1; here all aborted operations of a session become one
// transaction, of which only the writes count. If two sessions use the same number, they mean
// two transactions, and all transactions are renumbered. A key begins as 0, unless the file
// writes the first 0 itself (see fit.Openings).
//
// The text of AWDIT (see Awdit) has a line for each operation, and lines that separate
// transactions and sessions. Its keys have no initial value.
package text

import (
	"bytes"
	"io"
	"math"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/fit"
)

// aborted is the transaction number that Plume gives to aborted operations.
const aborted = -1

// Reader reads the text of PolySI and Plume. It implements history.Source. All
// operations are read before the first transaction is complete.
type Reader struct {
	in  lines
	hdr history.Header
	sym *history.Symbols

	index map[name]int32
	txns  []txn
	ops   []history.Op // of all transactions, in the order of lines
	of    []int32      // the transaction of each operation

	read     bool
	next     int
	renamed  bool
	openings *fit.Openings
}

// name identifies a transaction in the file.
type name struct{ session, txn int64 }

type txn struct {
	name
	id    int64
	first int64 // its first operation in the sorted list
	count int64
}

var _ history.Source = (*Reader)(nil)

// NewReader returns a reader. path is for messages.
func NewReader(r io.Reader, path string) *Reader {
	t := &Reader{in: newLines(r, path), hdr: history.Header{Source: path}, sym: history.NewSymbols(), index: map[name]int32{}}
	t.sym.DefaultInitial = t.sym.Int(0)
	t.openings = fit.NewOpenings(t.sym)
	return t
}

func (t *Reader) Header() *history.Header   { return &t.hdr }
func (t *Reader) Symbols() *history.Symbols { return t.sym }
func (t *Reader) SizeHint() int             { return len(t.txns) }
func (t *Reader) Closed() bool              { return true }

// Notes reports whether transactions were renumbered, and how many keys the file itself sets to
// 0 first.
func (t *Reader) Notes() []string {
	var notes []string
	if t.renamed {
		notes = append(notes, "the numbers of transactions occur twice; they were numbered anew")
	}
	if note := t.openings.Note(); note != "" {
		notes = append(notes, note)
	}
	return notes
}

// At returns err as a history.FormatError at the latest line.
func (t *Reader) At(err error) error { return t.in.at(err) }

// Next yields the next transaction, in the order of their first lines.
func (t *Reader) Next(rec *history.Record) error {
	if !t.read {
		t.read = true
		if err := t.readAll(); err != nil {
			return t.At(err)
		}
	}
	if t.next == len(t.txns) {
		return io.EOF
	}
	x := t.txns[t.next]
	*rec = history.Record{
		ID: x.id, Session: x.session, Status: history.Committed,
		Begin: history.NoTime, End: history.NoTime, Due: history.NoTime,
		Ops: append(rec.Ops[:0], t.ops[x.first:x.first+x.count]...),
	}
	if x.txn == aborted {
		rec.Status = history.Aborted
	}
	t.next++
	return nil
}

func (t *Reader) readAll() error {
	for {
		line, err := t.in.next()
		if err == io.EOF {
			break
		}
		if err == nil {
			err = t.line(line)
		}
		if err != nil {
			return err
		}
	}
	t.sort()
	t.number()
	for _, x := range t.txns {
		if x.txn != aborted {
			t.openings.Add(t.sym, t.ops[x.first:x.first+x.count])
		}
	}
	return nil
}

// line reads r(key,value,session,transaction).
func (t *Reader) line(line []byte) error {
	var op history.Op
	switch {
	case bytes.HasPrefix(line, []byte("r(")):
		op.Kind = history.Read
	case bytes.HasPrefix(line, []byte("w(")):
		op.Kind = history.Write
	default:
		return errors.Errorf("expected r(key,value,session,transaction) or w(…), at %.40q", line)
	}
	inner, ok := bytes.CutSuffix(line[2:], []byte(")"))
	var part [4][]byte
	for i := range part {
		if !ok {
			break
		}
		if i < 3 {
			part[i], inner, ok = bytes.Cut(inner, []byte(","))
		} else {
			part[i], ok = inner, !bytes.Contains(inner, []byte(","))
		}
		part[i] = bytes.TrimSpace(part[i])
	}
	if !ok {
		return errors.Errorf("expected four numbers in brackets, at %.40q", line)
	}
	var err error
	if op.Key, err = key(t.sym, part[0]); err != nil {
		return err
	}
	if op.Value, err = value(t.sym, part[1]); err != nil {
		return err
	}
	n, err := t.name(part[2], part[3])
	if err != nil {
		return err
	}
	i, known := t.index[n]
	if !known {
		if len(t.txns) == math.MaxInt32 {
			return errors.New("there are more transactions than this build can hold")
		}
		i = int32(len(t.txns))
		t.index[n] = i
		t.txns = append(t.txns, txn{name: n})
	}
	// Reads of an aborted transaction mean nothing.
	if n.txn != aborted || op.Kind == history.Write {
		t.txns[i].count++
		t.ops, t.of = append(t.ops, op), append(t.of, i)
	}
	return nil
}

func (t *Reader) name(session, txn []byte) (name, error) {
	s, err := number(session)
	if err != nil || s > math.MaxInt64 {
		return name{}, errors.Errorf("session %.40q is not an integer from 0", session)
	}
	if string(txn) == "-1" {
		return name{int64(s), aborted}, nil
	}
	n, err := number(txn)
	if err != nil || n > math.MaxInt64 {
		return name{}, errors.Errorf("transaction %.40q is not an integer from 0, nor -1", txn)
	}
	return name{int64(s), int64(n)}, nil
}

// sort groups the operations by transaction.
func (t *Reader) sort() {
	at := make([]int64, len(t.txns))
	sum := int64(0)
	for i := range t.txns {
		t.txns[i].first, at[i] = sum, sum
		sum += t.txns[i].count
	}
	sorted := make([]history.Op, len(t.ops))
	for n, i := range t.of {
		sorted[at[i]] = t.ops[n]
		at[i]++
	}
	t.ops, t.of = sorted, nil
}

// number gives transactions their ids: those of the file, and higher ones for aborted
// transactions; or new ids for all if the numbers of the file occur twice.
func (t *Reader) number() {
	t.index = nil
	last := int64(-1)
	for _, x := range t.txns {
		last = max(last, x.txn)
	}
	t.renamed = last > math.MaxInt64-int64(len(t.txns))
	seen := make(map[int64]struct{}, len(t.txns))
	for i := range t.txns {
		x := &t.txns[i]
		if x.id = x.txn; x.txn == aborted && !t.renamed {
			last++
			x.id = last
		}
		_, dup := seen[x.id]
		t.renamed = t.renamed || dup
		seen[x.id] = struct{}{}
	}
	for i := range t.txns {
		if t.renamed {
			t.txns[i].id = int64(i + 1)
		}
	}
}
