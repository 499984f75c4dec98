package cobra

import (
	"bufio"
	"encoding/binary"
	"io"

	"github.com/pkg/errors"
)

// record is one record of a log. Fields that its letter does not use are 0.
type record struct {
	letter     byte
	txn        int64 // of S, C, A
	writer     int64 // of R
	wid        int64
	key, value int64
}

// log reads the records of one file.
type log struct {
	name  string
	r     *bufio.Reader
	start int64 // of the latest record
	after int64 // of the next one
	torn  bool  // the file ends inside a record
}

func newBuffer(r io.Reader) *bufio.Reader { return bufio.NewReaderSize(r, 64<<10) }

func newLog(r *bufio.Reader, name string) *log { return &log{name: name, r: r} }

// numbers is how many numbers follow each letter.
var numbers = [256]int{'S': 1, 'C': 1, 'A': 1, 'W': 3, 'R': 4}

// next returns the next record, and io.EOF after the last complete one.
func (l *log) next() (record, error) {
	l.start = l.after
	b, err := l.r.Peek(1)
	if err != nil {
		return record{}, err
	}
	letter := b[0]
	n := numbers[letter]
	if n == 0 {
		return record{}, errors.Errorf("a record begins with %q instead of S, R, W, C or A; this is not a log of Cobra, or it is damaged", letter)
	}
	if b, err = l.r.Peek(1 + 8*n); err != nil {
		l.torn = err == io.EOF
		return record{}, err
	}
	_, _ = l.r.Discard(len(b))
	l.after += int64(len(b))
	b = b[1:]
	at := func(i int) int64 { return int64(binary.BigEndian.Uint64(b[8*i:])) }
	switch letter {
	case 'W':
		return record{letter: letter, wid: at(0), key: at(1), value: at(2)}, nil
	case 'R':
		return record{letter: letter, writer: at(0), wid: at(1), key: at(2), value: at(3)}, nil
	}
	return record{letter: letter, txn: at(0)}, nil
}
