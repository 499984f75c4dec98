package native

import (
	"bytes"
	"io"

	"github.com/pkg/errors"
)

// MaxLine is the longest line that the reader accepts, in bytes. It bounds the
// memory that a hostile file can ask for.
const MaxLine = 64 << 20

// lineReader splits a stream into lines without copying them. A line is valid
// until the next call.
type lineReader struct {
	src      io.Reader
	buf      []byte
	from, to int
	off      int64 // offset in the stream of buf[from]
	line     int   // number of the latest line, from 1
	err      error
}

func newLineReader(src io.Reader) *lineReader {
	return &lineReader{src: src, buf: make([]byte, 256<<10)}
}

// next returns the next line without its newline. torn says that the stream ended before the
// newline. At the end of the stream it returns io.EOF. A read error is returned after all lines
// before it.
func (r *lineReader) next() (line []byte, torn bool, err error) {
	scanned := 0
	for {
		if i := bytes.IndexByte(r.buf[r.from+scanned:r.to], '\n'); i >= 0 {
			end := r.from + scanned + i
			line = r.buf[r.from:end]
			r.off += int64(end + 1 - r.from)
			r.from = end + 1
			r.line++
			return line, false, nil
		}
		scanned = r.to - r.from
		if r.err != nil {
			if scanned == 0 {
				return nil, false, r.err
			}
			line = r.buf[r.from:r.to]
			r.off += int64(scanned)
			r.from = r.to
			r.line++
			return line, true, nil
		}
		if err := r.fill(); err != nil {
			r.line++
			return nil, false, err
		}
	}
}

// fill reads more bytes after the unfinished line, and makes room for them first.
func (r *lineReader) fill() error {
	if r.from > 0 {
		copy(r.buf, r.buf[r.from:r.to])
		r.to -= r.from
		r.from = 0
	}
	if r.to == len(r.buf) {
		if len(r.buf) >= MaxLine {
			return errors.Errorf("line is longer than %d MiB; is this an isohound history?", MaxLine>>20)
		}
		grown := make([]byte, 2*len(r.buf))
		copy(grown, r.buf[:r.to])
		r.buf = grown
	}
	n, err := r.src.Read(r.buf[r.to:])
	r.to += n
	if err != nil {
		r.err = err
	}
	return nil
}
