// Package file opens histories of any format that isohound knows, from files,
// folders and standard input, and writes them.
package file

import (
	"bufio"
	"context"
	"io"
	"io/fs"
	"os"
	"sync/atomic"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/cobra"
	"github.com/isohound/isohound/history/dbcop"
	"github.com/isohound/isohound/history/debezium"
	"github.com/isohound/isohound/history/dsl"
	"github.com/isohound/isohound/history/elle"
	"github.com/isohound/isohound/history/etcd"
	"github.com/isohound/isohound/history/native"
	"github.com/isohound/isohound/history/text"
	"github.com/isohound/isohound/internal/infile"
)

// File is an open history.
type File struct {
	history.Source
	Format Format
	close  func()
	taken  *counter
	size   int64
}

// Progress returns how many bytes of the file were read and how many it has, 0 if that is not
// known. It may be called while the file is read.
func (f *File) Progress() (read, total int64) { return f.taken.n.Load(), f.size }

// counter counts the bytes that are read through it. Reads fail when ctx has ended: a reader may have to read the whole file
// before it yields anything.
type counter struct {
	ctx context.Context
	r   io.Reader
	n   atomic.Int64
}

func (c *counter) Read(b []byte) (int, error) { return c.count(c.r, b) }

func (c *counter) count(r io.Reader, b []byte) (int, error) {
	if c.ctx.Err() != nil {
		return 0, context.Cause(c.ctx)
	}
	n, err := r.Read(b)
	c.n.Add(int64(n))
	return n, err
}

// countedFolder counts the bytes of files that are opened in it.
type countedFolder struct {
	fs.FS
	c *counter
}

// Open opens regular files and folders only: the open or the read of a pipe might wait for ever.
func (f countedFolder) Open(name string) (fs.File, error) {
	if st, err := f.Stat(name); err == nil && !st.Mode().IsRegular() && !st.IsDir() {
		return nil, errors.Errorf("%s is not a regular file; write what it holds to a file of that name", name)
	}
	file, err := f.FS.Open(name)
	return countedFile{file, f.c}, err
}

// Stat opens nothing.
func (f countedFolder) Stat(name string) (fs.FileInfo, error) { return fs.Stat(f.FS, name) }

func (f countedFolder) ReadDir(name string) ([]fs.DirEntry, error) { return fs.ReadDir(f.FS, name) }

type countedFile struct {
	fs.File
	c *counter
}

func (f countedFile) Read(b []byte) (int, error) { return f.c.count(f.File, b) }

// Interleave makes a folder of Cobra's logs be read in turn, and not one log after the other. It has no effect on files, and must be
// called before the first transaction is read.
func (f *File) Interleave() {
	if r, ok := f.Source.(*cobra.Reader); ok {
		r.Interleave()
	}
}

// Limit makes the history end after so many transactions. It is then not closed.
func (f *File) Limit(txns int) { f.Source = &limited{f.Source, txns} }

// limited is a source that ends early.
type limited struct {
	history.Source
	left int
}

func (l *limited) Next(rec *history.Record) error {
	if l.left == 0 {
		return io.EOF
	}
	l.left--
	return l.Source.Next(rec)
}

func (l *limited) Closed() bool    { return false }
func (l *limited) Notes() []string { return nil }
func (l *limited) SizeHint() int   { return min(l.left, l.Source.SizeHint()) }

// Close releases the file.
func (f *File) Close() { f.close() }

// Open opens the history at path, or on stdin if path is "-". Errors are history.FormatErrors,
// or those of the operating system.
func Open(path string, format Format, stdin io.Reader) (*File, error) {
	return OpenContext(context.Background(), path, format, stdin)
}

// OpenContext is Open. The open and all reads end with ctx, those that wait for input, too; their error is its cause, or has it
// in its chain.
func OpenContext(ctx context.Context, path string, format Format, stdin io.Reader) (*File, error) {
	if path == "-" {
		closer := func() {}
		if ctx.Done() != nil {
			r := infile.Reader(ctx, stdin)
			stdin, closer = r, func() { r.Close() }
		}
		return open(ctx, stdin, "standard input", 0, format, closer)
	}
	f, st, err := infile.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	if st.IsDir() {
		f.Close()
		return openFolder(ctx, path, format)
	}
	size := int64(0)
	if st.Mode().IsRegular() {
		size = st.Size()
	}
	out, err := open(ctx, f, path, size, format, func() { f.Close() })
	if err != nil {
		f.Close()
	}
	return out, err
}

func open(ctx context.Context, r io.Reader, path string, size int64, format Format, closer func()) (*File, error) {
	taken := &counter{ctx: ctx, r: r}
	out := &File{taken: taken, size: size, close: closer}
	br := bufio.NewReaderSize(taken, 64<<10)
	head, err := begin(br)
	if err == errEmpty {
		err = &history.FormatError{Path: path, Byte: -1, Err: err}
	}
	if err != nil {
		return nil, err
	}
	if format == Auto {
		more := func() []byte {
			head, _ := br.Peek(longHead) // the reader meets the error again
			return head
		}
		if format, err = detect(head, size, more); err != nil {
			return nil, &history.FormatError{Path: path, Byte: -1, Err: err}
		}
	}
	out.Format, err = format, nil
	switch format {
	case Native:
		n, err := native.NewReader(br, path, size)
		if err != nil {
			return nil, err
		}
		stop := context.AfterFunc(ctx, func() { n.Interrupt(context.Cause(ctx)) })
		out.Source, out.close = n, func() { stop(); n.Close(); closer() }
	case Dbcop:
		out.Source, err = dbcop.NewReader(br, path, size)
	case DbcopJSON:
		out.Source, err = dbcop.NewJSONReader(br, path)
	case Text:
		out.Source = text.NewReader(br, path)
	case Awdit:
		out.Source = text.NewAwdit(br, path)
	case Elle, ElleJSON:
		out.Source = elle.NewReader(br, path, format == ElleJSON)
	case Debezium:
		out.Source = debezium.NewReader(br, path)
	case Cobra, CobraUV:
		err = &history.FormatError{Path: path, Byte: -1, Err: errors.New("histories of Cobra are folders of logs; name the folder")}
	case Etcd:
		err = &history.FormatError{Path: path, Byte: -1, Err: errors.New("a report of etcd's robustness tests is a folder; name the one with the folder client-1")}
	default:
		out.Source, err = openDSL(br, path)
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

// openFolder opens a folder of Cobra's logs, or a report of etcd.
func openFolder(ctx context.Context, path string, format Format) (*File, error) {
	out := &File{taken: &counter{ctx: ctx}, Format: format}
	folder := countedFolder{os.DirFS(path), out.taken}
	if format == Etcd || format == Auto && !cobra.IsFolder(folder.FS) && etcd.IsFolder(folder.FS) {
		out.Format, out.Source, out.close = Etcd, etcd.NewReader(folder, path), func() {}
		return out, nil
	}
	if format == Auto {
		if !cobra.IsFolder(folder.FS) {
			return nil, &history.FormatError{Path: path, Byte: -1, Err: errors.New("this is a folder without logs of Cobra (T0.log) and without a report of etcd (client-1), not a history; name a file in it")}
		}
		id, err := cobra.Detect(folder.FS)
		if err != nil {
			return nil, &history.FormatError{Path: path, Byte: -1, Err: err}
		}
		out.Format = Format(id.String())
	}
	id := cobra.ByValue
	switch out.Format {
	case Cobra:
	case CobraUV:
		id = cobra.ByWrite
	default:
		return nil, &history.FormatError{Path: path, Byte: -1, Err: errors.Errorf("this is a folder, not a history of the format %s; name a file in it", format)}
	}
	r, err := cobra.NewReader(folder, path, id)
	if err != nil {
		return nil, err
	}
	out.Source, out.close = r, r.Close
	return out, nil
}

func openDSL(r io.Reader, path string) (history.Source, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxDSL+1))
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
	return history.NewReplay(h), nil
}

// maxDSL bounds the size of a DSL file, in bytes.
const maxDSL = 16 << 20

// Load opens and reads the whole history at path.
func Load(ctx context.Context, path string, format Format, stdin io.Reader) (*history.History, error) {
	f, err := OpenContext(ctx, path, format, stdin)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return history.Load(ctx, f)
}
