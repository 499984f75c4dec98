package cli

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pkg/errors"
	"github.com/spf13/cobra"

	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/debezium"
	"github.com/isohound/isohound/history/file"
	"github.com/isohound/isohound/history/fit"
	joining "github.com/isohound/isohound/history/join"
	"github.com/isohound/isohound/internal/infile"
)

// conversion are the options of a conversion.
type conversion struct {
	from, to file.Format
	lossy    bool
	inFull   bool   // native: each line says everything
	claims   string // a log with the positions of commits, or ""
}

func (a *app) convertCommand() *cobra.Command {
	var from, to string
	var k conversion
	c := &cobra.Command{
		Use:   "convert FILE|FOLDER|- OUT|-",
		Short: "Rewrite a history in another format",
		Long: `convert reads a history of any format that isohound knows and writes it in
another. Without --to the name of OUT decides: .bincode is dbcop, .edn is elle,
all else native, with a note if the extension is not .jsonl, compressed where it
ends in .zst. OUT is a folder for cobra and cobra-uv.

Formats:
  native       isohound's own, JSON Lines; carries everything
  dbcop        dbcop's binary format (VeriStrong, PolySI, AWDIT)
  dbcop-json   dbcop's JSON
  cobra        a folder of Cobra's logs, writes known by their values
  cobra-uv     the same, writes known by unique ids
  text         r(key,value,session,transaction), of PolySI and Plume
  awdit        AWDIT's text, r key value
  elle         Jepsen's and Elle's EDN, registers and lists (written: lists for
               the workload append, else registers)
  elle-json    the same as elle-cli's JSON
  dsl          the notation of the docs
  etcd         a folder with client-1 …, a report of etcd's robustness tests (only read)
  debezium     change events of MySQL, MariaDB and PostgreSQL, lines of JSON (only read)

Some formats cannot carry everything that could change a verdict (times, unknown
outcomes, deleted keys …). convert then fails, unless --lossy is given: it leaves out
or replaces such parts, and prints what was lost to standard error.

Lines of native refer to lines before them. For scripts that read single lines, --in-full
writes version 1 of the format, whose lines have all keys and values.

--claims adds the positions of commits that the database told after the run, in a log:
what PostgreSQL's test_decoding wrote, as lsn|xid|COMMIT xid, Debezium's change events, or
JSON lines such as {"dbtxn":751,"commit":120}. docs/claims.md says how to get one.`,
		Example: `  isohound convert history.bincode history.jsonl.zst
  isohound convert history.jsonl - --to dsl
  isohound convert history.jsonl.zst logs --to cobra --lossy
  isohound convert history.jsonl.zst claimed.jsonl.zst --claims commits.txt`,
		Args: exactly(2, "a file to read and a file to write"),
		RunE: func(_ *cobra.Command, args []string) error {
			var err error
			if k.from, err = file.ParseFormat(from); err != nil {
				return withCode(exitUsage, errors.Wrap(err, "--from"))
			}
			if k.to, err = file.ParseFormat(to); err != nil {
				return withCode(exitUsage, errors.Wrap(err, "--to"))
			}
			guessed := k.to == file.Auto
			if guessed {
				k.to = file.ByName(args[1])
			}
			if slices.Contains(file.Imports, k.to) {
				return usage("--to %s: isohound reads this format, and does not write it; it writes %s", k.to, file.Written())
			}
			if k.inFull && k.to != file.Native {
				return usage("--in-full: this is for native, not for %s", k.to)
			}
			if file.Folder(k.to) && args[1] == "-" {
				return usage("--to %s: a folder cannot be written to standard output", k.to)
			}
			err = a.convert(args[0], args[1], k)
			if ext := foreignExtension(args[1]); err == nil && guessed && k.to == file.Native && ext != "" {
				a.note([]string{fmt.Sprintf("%s is in the format native; --to names another one, since %s does not", args[1], ext)})
			}
			return err
		},
	}
	f := c.Flags()
	f.SortFlags = false
	f.StringVar(&from, "from", "auto", "format of FILE: auto, "+file.Names())
	f.StringVar(&to, "to", "auto", "format of OUT: auto, "+file.Written())
	f.BoolVar(&k.lossy, "lossy", false, "convert even if something is lost, and say what")
	f.StringVar(&k.claims, "claims", "", "log of the database with the positions of its commits, to be added")
	f.BoolVar(&k.inFull, "in-full", false, "native: write keys and values in full in each line")
	return c
}

func (a *app) convert(in, out string, k conversion) error {
	in, err := oneHistory(in)
	if err != nil {
		return err
	}
	f, err := a.openHistory(a.stop, in, k.from)
	if err != nil {
		return a.interruptedOr(err)
	}
	defer f.Close()
	if k.claims != "" {
		if err := a.joinClaims(f, k.claims); err != nil {
			return a.interruptedOr(err)
		}
	}
	var h *history.History
	if k.to != file.Native {
		if h, err = a.fit(f, k); err != nil {
			return a.interruptedOr(err)
		}
	}
	if file.Folder(k.to) {
		return withCode(exitIO, errors.Wrap(file.WriteFolder(out, h, k.to), "cannot write"))
	}
	w := a.out
	if out != "-" {
		if w, err = createHistory(out); err != nil {
			return err
		}
	}
	if k.to == file.Native {
		if err = file.WriteNative(a.stop, w, f, strings.HasSuffix(out, ".zst"), k.inFull); err == nil {
			a.note(f.Notes())
			if left := f.Header().LeftOut; left != "" {
				a.note([]string{left})
			}
		}
	} else {
		err = withCode(exitIO, errors.Wrap(file.Write(w, h, k.to), "cannot write"))
	}
	if out != "-" {
		if cerr := w.Close(); err == nil {
			err = withCode(exitIO, cerr)
		}
		if st, serr := os.Stat(out); err != nil && serr == nil && st.Mode().IsRegular() {
			os.Remove(out) // removes an incomplete file; a device stays
		}
	}
	return a.interruptedOr(err)
}

// joinClaims adds to the transactions of f the positions of a log.
func (a *app) joinClaims(f *file.File, path string) error {
	r, _, err := infile.Open(a.stop, path)
	if err != nil {
		return withCode(exitIO, errors.WithStack(err))
	}
	defer r.Close()
	log, err := a.readClaims(r, path)
	if err == nil {
		var joined *joining.Joined
		if joined, err = joining.New(f.Source, log); err == nil {
			f.Source = joined
		}
	}
	return withCode(exitData, errors.Wrapf(err, "--claims %s", path))
}

// readClaims reads a log in one of its forms.
func (a *app) readClaims(r io.Reader, path string) (*joining.Log, error) {
	in := bufio.NewReader(r)
	if head, _ := in.Peek(in.Size()); !debezium.Detect(head) { // an error comes again when the log is read
		return joining.Read(in)
	}
	h, err := history.Load(a.stop, debezium.NewReader(in, path))
	if err != nil {
		return nil, err
	}
	return joining.OfHistory(h, h.Server == debezium.Postgres) // whose log has 32 bits of the numbers
}

// interruptedOr returns err, the end of a command, or that it was interrupted.
func (a *app) interruptedOr(err error) error {
	if err != nil && a.stop.Err() != nil {
		return errInterrupted
	}
	return err
}

// fit reads a history and, if allowed, leaves out what the format cannot carry.
func (a *app) fit(f *file.File, k conversion) (*history.History, error) {
	h, err := history.Load(a.stop, f)
	if err != nil {
		return nil, err
	}
	out, losses, notes, err := fit.To(h, file.Carries(k.to))
	if err != nil {
		return nil, err
	}
	if len(losses) > 0 && !k.lossy {
		return nil, withCode(exitUsage, &fit.Error{Format: string(k.to), Losses: losses, Remedy: "Nothing was written; convert to native, or use --lossy"})
	}
	if len(out.Txns) == 0 {
		return nil, withCode(exitUsage, errors.Errorf("the format %s cannot carry any of the transactions; nothing was written", k.to))
	}
	for _, l := range losses {
		fmt.Fprintf(a.msg, "lost: %s\n", l)
	}
	notes = append(notes, file.Notes(out, k.to)...)
	a.note(append(h.Notes, notes...))
	return out, nil
}

// createHistory creates a file, or opens a device or a pipe. It never overwrites an existing
// file.
func createHistory(path string) (*os.File, error) {
	flags := os.O_WRONLY | os.O_CREATE | os.O_EXCL
	if st, err := os.Stat(path); err == nil && !st.Mode().IsRegular() {
		flags = os.O_WRONLY // a device or a pipe
	}
	f, err := os.OpenFile(path, flags, 0o644)
	if os.IsExist(err) {
		err = errors.Errorf("%s exists; histories are not overwritten, remove it or name another file", path)
	}
	return f, withCode(exitIO, err)
}

// foreignExtension returns the extension of a path that the format native does not have, or "".
func foreignExtension(path string) string {
	if ext := filepath.Ext(strings.TrimSuffix(path, ".zst")); ext != ".jsonl" {
		return ext
	}
	return ""
}

// note prints assumptions of a conversion, and changes without consequence.
func (a *app) note(notes []string) {
	for _, n := range notes {
		fmt.Fprintf(a.msg, "note: %s\n", n)
	}
}
