package native

import (
	"bytes"
	"io"

	"github.com/pkg/errors"
)

// MaxLine is the longest line that the reader accepts, in bytes. It bounds the
// memory that a hostile file can ask for.
const MaxLine = 64 << 20

// textLine is a line of a file. Its text and predicates are valid until the next one is read.
type textLine struct {
	text   []byte // without the newline
	torn   bool   // the stream ended before the newline
	number int    // from 1
	end    int64  // offset in the stream of what follows
	ahead  predicatesAhead
}

// lineReader splits a stream into lines without copying them.
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

// next reads the next line. At the end of the stream it returns io.EOF. A read error is returned after all lines
// before it. With an error it sets only the number of the line.
func (r *lineReader) next(l *textLine) error {
	scanned := 0
	for {
		if i := bytes.IndexByte(r.buf[r.from+scanned:r.to], '\n'); i >= 0 {
			end := r.from + scanned + i
			l.text, l.torn = r.buf[r.from:end], false
			r.off += int64(end + 1 - r.from)
			r.from = end + 1
			r.line++
			l.number, l.end = r.line, r.off
			return nil
		}
		scanned = r.to - r.from
		if r.err != nil {
			if scanned == 0 {
				l.number = r.line
				return r.err
			}
			l.text, l.torn = r.buf[r.from:r.to], true
			r.off += int64(scanned)
			r.from = r.to
			r.line++
			l.number, l.end = r.line, r.off
			return nil
		}
		if err := r.fill(); err != nil {
			r.line++
			l.number = r.line
			return err
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
