package file

import (
	"context"
	"io"
	"os"
	"path/filepath"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/cobra"
	"github.com/isohound/isohound/history/dbcop"
	"github.com/isohound/isohound/history/dsl"
	"github.com/isohound/isohound/history/elle"
	"github.com/isohound/isohound/history/fit"
	"github.com/isohound/isohound/history/join"
	"github.com/isohound/isohound/history/native"
	"github.com/isohound/isohound/history/text"
)

// Folder reports whether a format consists of several files in a folder.
func Folder(f Format) bool { return f == Cobra || f == CobraUV || f == Etcd }

// Carries returns what a format other than native can hold. Native holds everything.
func Carries(f Format) fit.Carries {
	switch f {
	case Dbcop:
		return dbcop.Carries()
	case DbcopJSON:
		return dbcop.CarriesJSON()
	case Cobra:
		return cobra.Carries(cobra.ByValue)
	case CobraUV:
		return cobra.Carries(cobra.ByWrite)
	case Text:
		return text.Carries()
	case Awdit:
		return text.CarriesAwdit()
	case Elle, ElleJSON:
		return elle.Carries(string(f))
	}
	return dsl.Carries()
}

// Write writes h in a format of one file. fit.To must have prepared it, unless the format is native,
// which holds everything.
func Write(w io.Writer, h *history.History, f Format) error {
	switch f {
	case Native:
		return native.WriteHistory(w, false, h, "complete")
	case Dbcop:
		return dbcop.Write(w, h)
	case DbcopJSON:
		return dbcop.WriteJSON(w, h)
	case Text:
		return text.Write(w, h)
	case Awdit:
		return text.WriteAwdit(w, h)
	case Elle, ElleJSON:
		return elle.Write(w, h, f == ElleJSON)
	}
	_, err := io.WriteString(w, dsl.Format(h))
	return err
}

// Notes reports what a reader might not expect of h, which fit.To must have prepared, in a
// format.
func Notes(h *history.History, f Format) []string {
	if f == Elle || f == ElleJSON {
		return elle.Notes(h)
	}
	return nil
}

// WriteFolder writes h, which fit.To must have prepared, as a folder of Cobra's logs. The folder
// may exist, but must be empty. After an error, everything written is removed.
func WriteFolder(path string, h *history.History, f Format) error {
	id := cobra.ByValue
	if f == CobraUV {
		id = cobra.ByWrite
	}
	made, err := emptyFolder(path)
	if err != nil {
		return err
	}
	var files []*os.File
	err = cobra.Write(func(name string) (io.WriteCloser, error) {
		out, err := os.OpenFile(filepath.Join(path, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if err == nil {
			files = append(files, out)
		}
		return out, err
	}, h, id)
	if err != nil {
		for _, out := range files {
			out.Close()
			os.Remove(out.Name())
		}
		if made {
			os.Remove(path)
		}
	}
	return err
}

// emptyFolder makes a folder, or checks that an existing one is empty.
func emptyFolder(path string) (made bool, err error) {
	entries, err := os.ReadDir(path)
	switch {
	case os.IsNotExist(err):
		return true, os.Mkdir(path, 0o777)
	case err == nil && len(entries) > 0:
		err = errors.Errorf("%s is not empty; logs are written to a folder of their own", path)
	}
	return false, err
}

// WriteNative writes what src yields as native JSON Lines, record by record, which needs little
// memory. This works if the initial values are known before the first transaction. Otherwise all
// of src is read first. inFull says that each line says everything (native.NewPlainWriter).
func WriteNative(ctx context.Context, w io.Writer, f *File, compressed, inFull bool) error {
	src := f.Source
	switch f.Format {
	case Native, DbcopJSON, Text, Awdit, DSL:
	default: // initial values are only known at the end
		h, err := history.Load(ctx, src)
		if err != nil {
			return err
		}
		src = history.NewReplay(h)
	}
	// Reading the first record makes the initial values known.
	var rec history.Record
	first := src.Next(&rec)
	if first != nil && first != io.EOF {
		return first
	}
	hdr := *src.Header()
	if hdr.Source == "" && f.Format != Native {
		hdr.Source = string(f.Format)
	}
	begin := native.NewWriter
	if inFull {
		begin = native.NewPlainWriter
	}
	out, err := begin(w, compressed, &hdr, src.Symbols())
	if err != nil {
		return &WriteError{err}
	}
	for err := first; err != io.EOF; err = src.Next(&rec) {
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := out.Write(&rec); err != nil {
			return &WriteError{err}
		}
	}
	reason, closed := "converted", src.Closed()
	read := f.Source
	if j, ok := read.(*join.Joined); ok {
		read = j.Source
	}
	if n, ok := read.(*native.Reader); ok && n.Ending().Reason != "" { // the header says Incomplete if it is not Closed
		reason, closed = n.Ending().Reason, true
	}
	if err := out.Close(closed, reason); err != nil {
		return &WriteError{err}
	}
	return nil
}

// WriteError is an error of the output, not of the history.
type WriteError struct{ Err error }

func (e *WriteError) Error() string { return "cannot write: " + e.Err.Error() }
func (e *WriteError) Unwrap() error { return e.Err }
