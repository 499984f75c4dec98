package text

import (
	"bufio"
	"bytes"
	"io"
	"math"
	"strconv"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/history"
)

// maxLine is the longest line, in bytes.
const maxLine = 1 << 16

// lines reads lines and counts them.
type lines struct {
	path string
	r    *bufio.Reader
	line int
}

func newLines(r io.Reader, path string) lines {
	return lines{path: path, r: bufio.NewReaderSize(r, maxLine)}
}

// next returns the next line that is not blank, without the space around it, and io.EOF after
// the last one.
func (l *lines) next() ([]byte, error) {
	for {
		line, err := l.r.ReadSlice('\n')
		l.line++
		if err == bufio.ErrBufferFull {
			return nil, errors.Errorf("line is longer than %d KiB", maxLine>>10)
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			return line, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// at returns err as a history.FormatError at the latest line.
func (l *lines) at(err error) error {
	return &history.FormatError{Path: l.path, Line: l.line, Byte: -1, Err: err}
}

// key returns the key with the given name, which must be a non-negative integer.
func key(sym *history.Symbols, b []byte) (history.Key, error) {
	if _, err := number(b); err != nil {
		return 0, errors.Errorf("key %.40q is not an integer from 0", b)
	}
	return sym.KeyBytes(b), nil
}

// value returns the value of a non-negative integer.
func value(sym *history.Symbols, b []byte) (history.Value, error) {
	n, err := number(b)
	if err != nil {
		return 0, errors.Errorf("value %.40q is not an integer from 0", b)
	}
	if n > math.MaxInt64 {
		return sym.Raw(string(b)), nil
	}
	return sym.Int(int64(n)), nil
}

// number reads an integer in its canonical spelling, since keys are compared by their spelling.
func number(b []byte) (uint64, error) {
	if len(b) > 1 && b[0] == '0' || len(b) > 20 {
		return 0, strconv.ErrSyntax
	}
	return strconv.ParseUint(string(b), 10, 64)
}

// plain refuses a transaction that a format without times, outcomes and absence cannot carry.
func plain(h *history.History, t *history.Txn) error {
	if t.Begin != history.NoTime || t.End != history.NoTime || t.Status == history.Unknown {
		return errors.Errorf("transaction %d has times or an unknown outcome, which the format cannot carry", t.ID)
	}
	for _, op := range h.Ops(t) {
		if op.Kind == history.ReadNot || op.Value < 0 {
			return errors.Errorf("transaction %d: the format cannot carry %s(%s,%s)", t.ID, op.Kind, h.KeyName(op.Key), h.ValueText(op.Value))
		}
	}
	return nil
}
