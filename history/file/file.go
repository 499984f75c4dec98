// Package file opens histories of any format that isohound reads, from files
// and from standard input, and writes those that it writes.
package file

import (
	"bufio"
	"context"
	"io"
	"os"
	"strings"
	"sync/atomic"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/dbcop"
	"github.com/isohound/isohound/history/dsl"
	"github.com/isohound/isohound/history/native"
)

// Format is a file format.
type Format string

const (
	Auto   Format = "auto"   // by the first bytes
	Native Format = "native" // JSON Lines, compressed or not
	Dbcop  Format = "dbcop"  // dbcop's binary format
	DSL    Format = "dsl"    // the notation of tests and docs
)

// Formats lists the formats that can be read, for help texts.
var Formats = []Format{Native, Dbcop, DSL}

// ParseFormat checks the name of a format.
func ParseFormat(s string) (Format, error) {
	if s == "" || Format(s) == Auto {
		return Auto, nil
	}
	names := []string{string(Auto)}
	for _, f := range Formats {
		if Format(s) == f {
			return f, nil
		}
		names = append(names, string(f))
	}
	return "", errors.Errorf("unknown format %q; known are %s", s, strings.Join(names, ", "))
}

// File is an open history.
type File struct {
	history.Source
	Format Format
	close  func()
	taken  *counter
	size   int64
}

// Progress returns how many bytes of the file were read, and how many there
// are, 0 where that is not known. It may be called while the file is read.
func (f *File) Progress() (read, total int64) { return f.taken.n.Load(), f.size }

// counter counts the bytes that are read through it.
type counter struct {
	r io.Reader
	n atomic.Int64
}

func (c *counter) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.n.Add(int64(n))
	return n, err
}

// Close releases the file.
func (f *File) Close() { f.close() }

// Open opens the history at path, or on stdin where path is "-". Errors are
// history.FormatErrors, or those of the operating system.
func Open(path string, format Format, stdin io.Reader) (*File, error) {
	if path == "-" {
		return open(stdin, "standard input", 0, format, func() {})
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, err
	}
	if st.IsDir() {
		f.Close()
		return nil, &history.FormatError{Path: path, Byte: -1, Err: errors.New("this is a folder, not a history; name a file in it")}
	}
	size := int64(0)
	if st.Mode().IsRegular() {
		size = st.Size()
	}
	out, err := open(f, path, size, format, func() { f.Close() })
	if err != nil {
		f.Close()
	}
	return out, err
}

func open(r io.Reader, path string, size int64, format Format, closer func()) (*File, error) {
	taken := &counter{r: r}
	out := &File{taken: taken, size: size, close: closer}
	br := bufio.NewReaderSize(taken, 64<<10)
	// A pipe may deliver its first bytes slowly; detection needs few of them.
	head, err := br.Peek(64)
	if err != nil && err != io.EOF {
		return nil, err
	}
	if format == Auto {
		if format, err = detect(head, size); err != nil {
			return nil, &history.FormatError{Path: path, Byte: -1, Err: err}
		}
	}
	switch out.Format = format; format {
	case Native:
		n, err := native.NewReader(br, path, size)
		if err != nil {
			return nil, err
		}
		out.Source, out.close = n, func() { n.Close(); closer() }
	case Dbcop:
		d, err := dbcop.NewReader(br, path)
		if err != nil {
			return nil, err
		}
		out.Source = d
	default:
		text, err := io.ReadAll(io.LimitReader(br, maxDSL+1))
		if err != nil {
			return nil, err
		}
		if len(text) > maxDSL {
			return nil, &history.FormatError{Path: path, Byte: maxDSL, Err: errors.Errorf("longer than %d MiB, too long for the notation of tests; is it in another format?", maxDSL>>20)}
		}
		h, err := dsl.Parse(string(text), path)
		if err != nil {
			return nil, err
		}
		out.Source = history.NewReplay(h)
	}
	return out, nil
}

// maxDSL bounds what is read as text before it is parsed, in bytes.
const maxDSL = 16 << 20

// detect tells the format by the first bytes.
func detect(head []byte, size int64) (Format, error) {
	if len(head) == 0 {
		return "", errors.New("the file is empty")
	}
	if ok, _ := native.Detect(head); ok {
		return Native, nil
	}
	if isText(head) {
		if head[0] == '{' {
			return Native, nil // its header then says what is wrong
		}
		return DSL, nil
	}
	if dbcop.Detect(head, size) {
		return Dbcop, nil
	}
	return "", errors.New("not a history in any format that isohound reads (native, dbcop, dsl); name it with --format if it is one")
}

func isText(b []byte) bool {
	for _, c := range b {
		if c == 0x7f || c < 0x20 && c != '\n' && c != '\t' && c != '\r' {
			return false
		}
	}
	return true
}

// Load opens and reads the whole history at path.
func Load(ctx context.Context, path string, format Format, stdin io.Reader) (*history.History, error) {
	f, err := Open(path, format, stdin)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return history.Load(ctx, f)
}
