// Package infile opens and reads files whose reads may wait for ever or never end: pipes, terminals and devices.
package infile

import (
	"context"
	"io"
	"os"

	"github.com/pkg/errors"
)

// Open opens the file or folder at path. The open and the reads of what is neither a regular file nor a folder end with ctx, with its
// cause: the open of a named pipe waits for a writer, and a read of it for bytes. info describes what was opened.
func Open(ctx context.Context, path string) (r io.ReadCloser, info os.FileInfo, err error) {
	if st, err := os.Stat(path); err == nil && !st.Mode().IsRegular() && !st.IsDir() {
		return openSlow(ctx, path)
	}
	return open(path)
}

func open(path string) (*os.File, os.FileInfo, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// openSlow opens path in a goroutine, which remains after ctx has ended, until the open returns.
func openSlow(ctx context.Context, path string) (io.ReadCloser, os.FileInfo, error) {
	type opened struct {
		f    *os.File
		info os.FileInfo
		err  error
	}
	done := make(chan opened)
	go func() {
		f, info, err := open(path)
		select {
		case done <- opened{f, info, err}:
		case <-ctx.Done():
			if err == nil {
				f.Close()
			}
		}
	}()
	select {
	case o := <-done:
		if o.err != nil {
			return nil, nil, o.err
		}
		return &slowFile{Reader(ctx, o.f), o.f}, o.info, nil
	case <-ctx.Done():
		return nil, nil, context.Cause(ctx)
	}
}

// slowFile is a reader of a file that is closed with it.
type slowFile struct {
	io.ReadCloser
	f *os.File
}

func (s *slowFile) Close() error {
	s.ReadCloser.Close()
	return s.f.Close()
}

// Reader returns a reader of r whose reads end with ctx, with its cause. A read of r itself cannot be interrupted; its goroutine
// remains until it returns. Close does not close r.
func Reader(ctx context.Context, r io.Reader) io.ReadCloser {
	pr, pw := io.Pipe()
	stop := context.AfterFunc(ctx, func() { pw.CloseWithError(context.Cause(ctx)) })
	go func() {
		_, err := io.CopyBuffer(struct{ io.Writer }{pw}, struct{ io.Reader }{r}, make([]byte, 256<<10))
		pw.CloseWithError(err)
		stop()
	}()
	return pr
}

// MaxText bounds the size of a file that people write, such as a plan, in bytes. A device may have no end.
const MaxText = 16 << 20

// ReadText reads the file at path, up to MaxText. The read ends with ctx.
func ReadText(ctx context.Context, path string) ([]byte, error) {
	r, _, err := Open(ctx, path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return ReadAll(r, path)
}

// ReadAll reads r, up to MaxText. path is for messages.
func ReadAll(r io.Reader, path string) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, MaxText+1))
	switch {
	case err != nil:
		return nil, err
	case len(text) > MaxText:
		return nil, errors.Errorf("%s is longer than %d MiB, too long for a plan, a workload or a scenario", path, MaxText>>20)
	}
	return text, nil
}
