// Package dbcop reads and writes the histories of dbcop: the binary format, which VeriStrong,
// PolySI and AWDIT use too, and its JSON (see JSONReader).
//
// Layout of the binary format, little-endian: five u64 (id, nodes, variables, transactions,
// events), three strings (info, start, end), each a u64 length and UTF-8; then a u64 count of
// sessions, and in each a u64 count of transactions, and in each a u64 count of events of {u8
// write, u64 key, u64 value, u8 success} and a u8 success of the transaction itself. A key
// begins as 0, unless the file writes the first 0 itself (see fit.Openings). The counts in the
// header are wrong in some public files and are not used. An event without success did not
// happen. A transaction without success aborted. There are no times.
package dbcop

import (
	"bufio"
	"encoding/binary"
	"io"
	"math"
	"strconv"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/fit"
)

// maxString bounds the header's texts, in bytes.
const maxString = 1 << 20

// Reader reads a dbcop history. It implements history.Source.
type Reader struct {
	path string
	size int64
	r    *bufio.Reader
	off  int64
	hdr  history.Header
	sym  *history.Symbols

	sessions, session uint64 // in all, and read so far
	txns              uint64 // left in the session
	id                int64
	openings          *fit.Openings
}

var _ history.Source = (*Reader)(nil)

// Detect reports whether head, the beginning of a file, looks like a dbcop
// history of size bytes (0 if the size is not known).
func Detect(head []byte, size int64) bool {
	const strings = 5 * 8
	if len(head) < strings+8 {
		return false
	}
	at := strings
	for range 3 {
		if len(head) < at+8 {
			return true // the texts are longer than head, and valid so far
		}
		n := binary.LittleEndian.Uint64(head[at:])
		if n > maxString || size > 0 && int64(n) > size {
			return false
		}
		at += 8 + int(n)
	}
	return true
}

// NewReader reads the header. path is for messages; size is the length of the input in bytes, or
// 0 if it is not known.
func NewReader(r io.Reader, path string, size int64) (*Reader, error) {
	d := &Reader{path: path, size: size, r: bufio.NewReaderSize(r, 64<<10), sym: history.NewSymbols()}
	d.sym.DefaultInitial = d.sym.Int(0)
	d.openings = fit.NewOpenings(d.sym)
	d.sym.ExpectKeys(int(min(size/eventSize, 1<<14)))
	for range 5 {
		if _, err := d.u64("header"); err != nil {
			return nil, err
		}
	}
	texts := [3]string{}
	for i, what := range []string{"info", "start", "end"} {
		var err error
		if texts[i], err = d.text(what); err != nil {
			return nil, err
		}
	}
	d.hdr = history.Header{Created: texts[1], Source: path}
	if texts[0] != "" {
		d.hdr.Params = map[string]string{"info": texts[0]}
	}
	var err error
	d.sessions, err = d.u64("number of sessions")
	return d, err
}

func (d *Reader) Header() *history.Header   { return &d.hdr }
func (d *Reader) Symbols() *history.Symbols { return d.sym }

// SizeHint extrapolates from what was read so far. It returns 0 if the length of the input is
// not known.
func (d *Reader) SizeHint() int {
	if d.size == 0 || d.off == 0 {
		return 0
	}
	return int(float64(d.id) * float64(d.size) / float64(d.off))
}

func (d *Reader) Closed() bool { return true }

// Notes reports, after io.EOF, how many keys the file itself sets to 0 first.
func (d *Reader) Notes() []string {
	if note := d.openings.Note(); note != "" {
		return []string{note}
	}
	return nil
}

// At returns err as a history.FormatError at the current offset.
func (d *Reader) At(err error) error {
	return &history.FormatError{Path: d.path, Byte: d.off, Err: err}
}

// Next reads the next transaction. Sessions are numbered from 1, transactions
// from 1 in the order of the file.
func (d *Reader) Next(rec *history.Record) error {
	for d.txns == 0 {
		if d.session == d.sessions {
			if _, err := d.r.ReadByte(); err != io.EOF {
				return d.At(errors.New("there is data after the last transaction; this is not a dbcop history, or it is damaged"))
			}
			return io.EOF
		}
		n, err := d.u64("number of transactions")
		if err != nil {
			return err
		}
		d.txns = n
		d.session++
	}
	d.txns--
	d.id++
	*rec = history.Record{
		ID: d.id, Session: int64(d.session), Status: history.Aborted, Ops: rec.Ops[:0],
		Begin: history.NoTime, End: history.NoTime, Due: history.NoTime,
	}
	events, err := d.u64("number of events")
	if err != nil {
		return err
	}
	for ; events > 0; events-- {
		op, happened, err := d.event()
		if err != nil {
			return err
		}
		if happened {
			rec.Ops = append(rec.Ops, op)
		}
	}
	ok, err := d.flag("success of a transaction")
	if ok {
		rec.Status = history.Committed
		d.openings.Add(d.sym, rec.Ops)
	}
	return err
}

// eventSize is the length of an event: kind, key, value, success.
const eventSize = 1 + 8 + 8 + 1

func (d *Reader) event() (op history.Op, happened bool, err error) {
	if b, err := d.r.Peek(eventSize); err == nil && b[0] <= 1 && b[eventSize-1] == 1 {
		value := binary.LittleEndian.Uint64(b[9:])
		if value <= math.MaxInt64 {
			op = history.Op{Kind: history.Read, Key: d.sym.KeyNumber(binary.LittleEndian.Uint64(b[1:])), Value: d.sym.Int(int64(value))}
			if b[0] == 1 {
				op.Kind = history.Write
			}
			d.off += eventSize
			_, _ = d.r.Discard(eventSize)
			return op, true, nil
		}
	}
	write, err := d.flag("kind of an event")
	if err != nil {
		return op, false, err
	}
	key, err := d.u64("key")
	if err != nil {
		return op, false, err
	}
	value, err := d.u64("value")
	if err != nil {
		return op, false, err
	}
	happened, err = d.flag("success of an event")
	if err != nil || !happened {
		return op, false, err
	}
	op.Kind = history.Read
	if write {
		op.Kind = history.Write
	}
	op.Key = d.sym.KeyNumber(key)
	if value <= math.MaxInt64 {
		op.Value = d.sym.Int(int64(value))
	} else {
		op.Value = d.sym.Raw(strconv.FormatUint(value, 10))
	}
	return op, true, nil
}

func (d *Reader) u64(what string) (uint64, error) {
	b, err := d.r.Peek(8)
	if err != nil {
		return 0, d.cut(err, what)
	}
	v := binary.LittleEndian.Uint64(b)
	_, _ = d.r.Discard(8)
	d.off += 8
	return v, nil
}

func (d *Reader) flag(what string) (bool, error) {
	b, err := d.r.ReadByte()
	if err != nil {
		return false, d.cut(err, what)
	}
	if b > 1 {
		return false, d.At(errors.Errorf("%s is %d; it must be 0 or 1, so this is not a dbcop history, or a damaged one", what, b))
	}
	d.off++
	return b == 1, nil
}

func (d *Reader) text(what string) (string, error) {
	n, err := d.u64("length of " + what)
	if err != nil {
		return "", err
	}
	if n > maxString {
		return "", d.At(errors.Errorf("%s is %d bytes long; this is not a dbcop history, or a damaged one", what, n))
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(d.r, b); err != nil {
		return "", d.cut(err, what)
	}
	d.off += int64(n)
	return string(b), nil
}

func (d *Reader) cut(err error, what string) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		err = errors.Errorf("the file ends where the %s should be", what)
	}
	return d.At(err)
}
