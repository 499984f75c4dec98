package main

import (
	"io"
	"os"
	"strings"

	"github.com/pkg/errors"
	"github.com/spf13/cobra"

	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/dsl"
	"github.com/isohound/isohound/history/file"
	"github.com/isohound/isohound/history/native"
)

func (a *app) convertCommand() *cobra.Command {
	var from, to string
	c := &cobra.Command{
		Use:   "convert FILE|- OUT|-",
		Short: "Rewrite a history in another format",
		Long: `convert reads a history of any format that isohound knows and writes it as
native JSON Lines, compressed where the name of OUT ends in .zst, or in the
notation of the docs (dsl), which has no header.`,
		Example: `  isohound convert history.bincode history.jsonl.zst
  isohound convert history.jsonl - --to dsl`,
		Args: exactly(2, "a file to read and a file to write"),
		RunE: func(_ *cobra.Command, args []string) error {
			format, err := file.ParseFormat(from)
			if err != nil {
				return withCode(exitUsage, err)
			}
			if to != string(file.Native) && to != string(file.DSL) {
				return usage("--to %s: histories can be written as native and dsl", to)
			}
			return a.convert(args[0], args[1], format, file.Format(to))
		},
	}
	c.Flags().StringVar(&from, "from", "auto", "format of FILE: auto, native, dbcop, dsl")
	c.Flags().StringVar(&to, "to", "native", "format of OUT: native, dsl")
	return c
}

func (a *app) convert(in, out string, from, to file.Format) error {
	f, err := file.Open(in, from, a.in)
	if err != nil {
		return err
	}
	defer f.Close()
	w := a.out
	if out != "-" {
		if w, err = createHistory(out); err != nil {
			return err
		}
	}
	if to == file.DSL {
		err = a.convertDSL(f, w)
	} else {
		err = a.convertNative(f, w, strings.HasSuffix(out, ".zst"))
	}
	if out != "-" {
		if cerr := w.Close(); err == nil {
			err = withCode(exitIO, cerr)
		}
		if st, serr := os.Lstat(out); err != nil && serr == nil && st.Mode().IsRegular() {
			os.Remove(out) // half a conversion is worth nothing
		}
	}
	return err
}

func (a *app) convertDSL(f *file.File, w io.Writer) error {
	h, err := history.Load(a.stop, f)
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, dsl.Format(h))
	return withCode(exitIO, err)
}

// convertNative rewrites record by record, so that memory stays small.
func (a *app) convertNative(f *file.File, w io.Writer, compressed bool) error {
	// Initial values stand before the first record, so that reading it makes
	// them known.
	var rec history.Record
	first := f.Next(&rec)
	if first != nil && first != io.EOF {
		return first
	}
	hdr := *f.Header()
	if hdr.Source == "" && f.Format != file.Native {
		hdr.Source = string(f.Format)
	}
	out, err := native.NewWriter(w, compressed, &hdr, f.Symbols())
	if err != nil {
		return withCode(exitIO, err)
	}
	for err := first; err != io.EOF; err = f.Next(&rec) {
		if err != nil {
			return err
		}
		if a.stop.Err() != nil {
			return errInterrupted
		}
		if err := out.Write(&rec); err != nil {
			return withCode(exitIO, errors.Wrap(err, "cannot write"))
		}
	}
	reason := "converted"
	if n, ok := f.Source.(*native.Reader); ok && n.Closed() {
		reason = n.Ending().Reason
	}
	return withCode(exitIO, out.Close(f.Closed(), reason))
}
