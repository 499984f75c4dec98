// Package jsonlines reads files line by line whose lines may be long, such as JSON Lines.
package jsonlines

import (
	"bufio"
	"bytes"
	"io"

	"github.com/pkg/errors"
)

// MaxLine bounds a line, in bytes. Memory grows only with bytes that were read.
const MaxLine = 1 << 30

// Reader reads lines.
type Reader struct {
	r    *bufio.Reader
	buf  []byte
	line int
}

// New returns a reader of r.
func New(r io.Reader) *Reader { return &Reader{r: bufio.NewReaderSize(r, 64<<10)} }

// Line is the number of the latest line, from 1.
func (l *Reader) Line() int { return l.line }

// Next returns the next line that is not blank, without the space around it, and io.EOF after the last one. The line is
// valid until the next call.
func (l *Reader) Next() ([]byte, error) {
	for {
		l.buf = l.buf[:0]
		l.line++
		var err error
		for err = bufio.ErrBufferFull; err == bufio.ErrBufferFull; {
			var part []byte
			part, err = l.r.ReadSlice('\n')
			if l.buf = append(l.buf, part...); len(l.buf) > MaxLine {
				return nil, errors.Errorf("the line is longer than %d MiB", MaxLine>>20)
			}
		}
		if err != nil && err != io.EOF {
			return nil, err
		}
		if text := bytes.TrimSpace(l.buf); len(text) > 0 {
			return text, nil
		}
		if err != nil {
			return nil, err
		}
	}
}
