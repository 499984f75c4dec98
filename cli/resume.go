//go:build !front

package cli

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pkg/errors"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/rounds"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/file"
	"github.com/isohound/isohound/history/native"
	"github.com/isohound/isohound/results"
)

// stateFile has what the checker knows after the latest window that was judged.
const stateFile = "rounds.json"

// judgeState is the content of stateFile.
type judgeState struct {
	Window int         `json:"window"`
	Digest string      `json:"digest"`
	Tested bool        `json:"tested"`
	Rounds *rounds.Run `json:"rounds"`
}

// saveState writes the verdicts of the latest window to the disk, and then stateFile.
func (w *windowRun) saveState() error {
	if err := w.log.Sync(); err != nil {
		return err
	}
	j := w.judge
	b, err := json.Marshal(judgeState{j.number, j.digest, j.tested, &j.state})
	if err != nil {
		return err
	}
	path := filepath.Join(w.dir, stateFile)
	f, err := os.Create(path + ".part")
	if err != nil {
		return err
	}
	if _, err = f.Write(b); err == nil {
		err = f.Sync() // else the file may be empty after a power failure
	}
	if err = firstError(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(path+".part", path)
}

// notResumed are flags that belong to one process of a run and not to the run.
var notResumed = []string{"dsn", "resume", "out", "json", "quiet", "no-progress", "summary", "attach", "publish", "nats-creds", "nats-ca", "help"}

// given returns the flags that were given, for a later process that goes on with the run.
func given(c *cobra.Command, s *settings) map[string][]string {
	flags := map[string][]string{"seed": {fmt.Sprint(s.seed)}}
	c.Flags().Visit(func(f *pflag.Flag) {
		switch list, isList := f.Value.(pflag.SliceValue); {
		case slices.Contains(notResumed, f.Name):
		case isList:
			flags[f.Name] = list.GetSlice()
		default:
			flags[f.Name] = []string{f.Value.String()}
		}
	})
	return flags
}

// resumed is a run in windows that an earlier process left.
type resumed struct {
	conf results.Config
	// last is the last window, at path. digest is that of its file.
	last         *history.History
	path, digest string
	files        []string // of all windows, without begun
	begun        []string // windows that had just begun, which the run begins anew
	// lost says why records of the earlier process may be missing; "" if all are there.
	lost string
	// ready is called when the window in which the run goes on has been begun. begins says that this succeeded: until then
	// a later process can go on with what is on the server.
	ready  func() error
	begins bool
}

// prepareResume reads the folder of a run that was cut off, and sets the flags with which it was started. Flags
// that are given take the place of these.
func (a *app) prepareResume(c *cobra.Command, dir string) (*resumed, error) {
	run, err := results.Load(dir)
	if err != nil {
		return nil, withCode(exitData, errors.Wrap(err, "--resume"))
	}
	r := &resumed{conf: run.Config}
	switch {
	case run.Config.Ended != results.NotYet && run.Config.Ended != results.Killed:
		return nil, withCode(exitData, errors.Errorf("--resume: the run in %s has ended (%s)", dir, run.Config.Ended))
	case run.Config.Loaders:
		return nil, withCode(exitData, errors.Errorf("--resume: load generators could join the run in %s, and such a run cannot go on; isohound check %s judges what was recorded", dir, dir))
	case run.Config.Recorded() != ".":
		return nil, withCode(exitData, errors.Errorf("--resume: the run in %s was not recorded in windows (--cut-every); isohound report %s judges what was recorded", dir, dir))
	case run.Config.Schema == "":
		return nil, withCode(exitData, errors.Errorf("--resume: no later process can go on with the database of the run in %s (driver %s); isohound report %s judges what was recorded", dir, run.Config.Driver, dir))
	}
	for name, values := range run.Config.Flags {
		f := c.Flags().Lookup(name)
		if f == nil {
			return nil, withCode(exitData, errors.Errorf("--resume: the run in %s was started with --%s, which this isohound does not have", dir, name))
		}
		if f.Changed {
			continue
		}
		for _, v := range values {
			if name == "workload" {
				v = keptWorkload(dir, v)
			}
			if err := c.Flags().Set(name, v); err != nil {
				return nil, withCode(exitUsage, err)
			}
		}
	}
	return r, resumeDSN(c, dir, &run.Config)
}

// resumeDSN takes the DSNs of the run if none are given. Their passwords are not in its folder.
func resumeDSN(c *cobra.Command, dir string, conf *results.Config) error {
	if c.Flags().Changed("dsn") || strings.TrimSpace(os.Getenv(dsnVariable)) != "" {
		return nil
	}
	words := []string{program(), "run", "--resume", dir}
	hidden := false
	for _, dsn := range conf.DSN {
		hidden = hidden || strings.Contains(dsn, drivers.Masked)
		words = append(words, "--dsn", dsn)
	}
	if hidden {
		return usage("--resume: the folder of the run has no password; type it in place of %s: %s (or set %s to the DSN, one a line)", drivers.Masked, commandLine(words...), dsnVariable)
	}
	for _, dsn := range conf.DSN {
		if err := c.Flags().Set("dsn", dsn); err != nil {
			return withCode(exitUsage, err)
		}
	}
	return nil
}

// load reads the last window of the run in dir.
func (r *resumed) load(ctx context.Context, dir string) (err error) {
	if r.files, err = results.WindowFiles(dir); err != nil {
		return withCode(exitIO, err)
	}
	newest, begunIncomplete := "", false
	if len(r.files) > 0 {
		newest = r.files[len(r.files)-1]
	}
	for r.last == nil && len(r.files) > 0 {
		n := len(r.files) - 1
		r.path = r.files[n]
		h, err := loadWindow(ctx, r.path)
		if err != nil {
			return err
		}
		var before *history.History
		if n > 0 && h != nil && !slices.ContainsFunc(h.Txns, func(t history.Txn) bool { return t.Status == history.Committed }) {
			if before, err = loadWindow(ctx, r.files[n-1]); err != nil {
				return err
			}
		}
		if h != nil && len(h.Txns) > 0 && !within(h, before) {
			r.last = h
			break
		}
		// The process ended when it had begun this window. Nothing is in it that is not in the one before, except that it lacks records.
		begunIncomplete = begunIncomplete || h != nil && h.Incomplete
		r.begun, r.files = append(r.begun, r.path), r.files[:n]
	}
	if r.last == nil {
		return withCode(exitData, errors.Errorf("--resume: no transaction of the run in %s was recorded; start it anew", dir))
	}
	if err := generator.Resumable(r.last); err != nil { // before anything is changed
		return withCode(exitData, errors.Wrap(err, "--resume"))
	}
	st, err := os.Stat(newest)
	if err != nil {
		return withCode(exitIO, err)
	}
	complete := generator.HasEnd(r.last)
	r.lost = readMark(dir).lost(bootID(), results.WindowNumber(newest), st.Size(), complete && newest == r.path)
	if r.lost == "" && !complete && newest != r.path {
		r.lost = "its file has lost its end"
	}
	if r.lost == "" && begunIncomplete { // the mark is of the process that began the window
		r.lost = "an earlier process that went on with the run found so"
	}
	r.digest, err = digestOf(r.path)
	return withCode(exitIO, err)
}

// loadWindow loads a window; it returns nil for an empty file.
func loadWindow(ctx context.Context, path string) (*history.History, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, withCode(exitIO, err)
	}
	if st.Size() == 0 {
		return nil, nil
	}
	return file.Load(ctx, path, file.Native, nil)
}

// within reports whether all transactions of h are those of an earlier window, too.
func within(h, before *history.History) bool {
	if before == nil {
		return false
	}
	known := map[int64]bool{}
	for i := range before.Txns {
		known[before.Txns[i].ID] = true
	}
	return !slices.ContainsFunc(h.Txns, func(t history.Txn) bool { return !known[t.ID] })
}

// attach makes the database use what the earlier process created. It is dropped at the end only if the run has gone on, see settings.recorder.
func (a *app) attach(s *settings, db drivers.DB) error {
	d, ok := db.(drivers.Resumer)
	if !ok {
		return usage("--resume: driver %s cannot go on with what an earlier process created", s.driver)
	}
	if err := d.Resume(a.stop, s.resume.conf.Schema); err != nil {
		return err
	}
	return a.join(s, db)
}

// reopen gives the windows that were not judged to the checker, and begins the one in which the run goes on.
func (w *windowRun) reopen(r *resumed) (io.Writer, error) {
	complete := r.files
	w.number = results.WindowNumber(r.path)
	if !generator.HasEnd(r.last) { // it is written once more
		complete = complete[:len(complete)-1]
		w.number--
	}
	if err := w.restore(r); err != nil {
		return nil, err
	}
	if r.lost != "" {
		fmt.Fprintf(w.app.msg, "note: window %d may lack transactions of the process that was cut off: %s. It and later windows are judged so that what nobody is known to have written is no violation\n", w.number+1, r.lost)
	}
	for _, path := range complete {
		if results.WindowNumber(path) > w.judge.number {
			w.enqueue(path)
		}
	}
	w.number++
	w.path = filepath.Join(w.dir, results.WindowFile(w.number, w.o.plain))
	part := w.path + ".part"
	f, err := os.Create(part)
	if err != nil {
		return nil, withCode(exitIO, err)
	}
	r.ready = func() error {
		for _, path := range r.begun {
			if err := os.Remove(path); err != nil {
				return err
			}
		}
		if err := os.Rename(part, w.path); err != nil {
			return err
		}
		return w.mark.begin(w.number, w.mark.mark.Bytes)
	}
	w.file, w.hash = f, sha256.New()
	return io.MultiWriter(f, w.hash, w.mark), nil
}

// restore makes the checker know what it knew after the latest window whose verdicts are complete.
func (w *windowRun) restore(r *resumed) error {
	fine, size, err := w.judge.restore(w.number)
	if err != nil {
		return err
	}
	// A window whose verdicts are not complete is judged once more.
	if err := w.log.Truncate(size); err != nil {
		return withCode(exitIO, err)
	}
	for _, path := range r.files {
		if n := results.WindowNumber(path); n <= w.judge.number {
			w.kept = append(w.kept, judged{path, fine[n]})
		}
	}
	return nil
}

// restore makes j know what the process that left a run knew after the latest window whose verdicts are complete. fine
// says which of these windows are satisfied at all levels, and size is that of their verdicts. If the verdict on a window is lost
// whose history is there, that window and those after it must be judged again. So must windows
// after the last complete one, which the run makes anew. Without the state all windows are judged again whose histories are there. What is known
// of earlier windows is then what the lines of their verdicts tell.
func (j *windowJudge) restore(complete int) (fine map[int]bool, size int64, err error) {
	fine = map[int]bool{}
	path := filepath.Join(j.dir, stateFile)
	if err := results.Regular(path); err != nil {
		return nil, 0, withCode(exitData, err)
	}
	b, err := os.ReadFile(path)
	switch {
	case os.IsNotExist(err): // no window was judged
		return fine, 0, nil
	case err != nil:
		return nil, 0, withCode(exitIO, err)
	}
	var state judgeState
	unread := json.Unmarshal(b, &state)
	if unread == nil && state.Rounds == nil {
		unread = errors.New("no rounds")
	}
	first := 0
	if unread != nil {
		if first, err = j.tail(complete); err != nil {
			return nil, 0, withCode(exitIO, err)
		}
		state = judgeState{Window: first - 1, Rounds: &rounds.Run{}}
	}
	again, err := j.lost(min(state.Window, complete))
	if err != nil {
		return nil, 0, withCode(exitData, err)
	}
	j.number, j.digest, j.tested, j.state = state.Window, state.Digest, state.Tested, *state.Rounds
	switch {
	case unread != nil:
		if again > 0 {
			first = again
		}
		fmt.Fprintf(j.app.msg, "note: %s cannot be read (%v); windows are judged again from window %d on\n", stateFile, unread, first)
		j.number = first - 1
		if j.state, _, err = j.recall(); err != nil {
			return nil, 0, withCode(exitData, err)
		}
	case again > 0:
		fmt.Fprintf(j.app.msg, "note: %s lacks verdicts; windows are judged again from window %d on\n", results.WindowVerdicts, again)
		j.number, j.digest = again-1, ""
		if j.state, _, err = j.recall(); err != nil {
			return nil, 0, withCode(exitData, err)
		}
	case state.Window > complete:
		j.notes = append(j.notes, fmt.Sprintf("window %d had been judged, and its file was lost; the run went on in window %d", state.Window, complete+1))
		j.number, j.digest = complete, ""
		if err := j.withoutLost(); err != nil {
			return nil, 0, withCode(exitData, err)
		}
	}
	older, recalled := false, unread != nil || again > 0
	err = results.EachWindow(j.dir, func(n, length int, o *results.Outcome) error {
		if n > j.number {
			return nil // not all of its verdicts need be there
		}
		older = older || (n > 1 || recalled) && o.Learned == nil && o.UnknownOutcome > 0
		size += int64(length)
		if before, known := fine[n]; known {
			fine[n] = before && o.Verdict == verdict.Satisfied
		} else {
			fine[n] = o.Verdict == verdict.Satisfied
		}
		lvl, err := level.Parse(o.Level)
		if err != nil {
			return err
		}
		// The process that left the run may have worked in another folder.
		o.Path = filepath.Join(j.dir, results.WindowsFolder, filepath.Base(o.Path))
		j.add(n, lvl, o)
		return nil
	})
	if older {
		j.notes = append(j.notes, "an older version of isohound judged some windows: transactions of unknown outcome may be counted, and taken to take effect, more than once")
	}
	return fine, size, withCode(exitData, err)
}

// withoutLost makes the state that of a run whose windows after the latest one were lost: the run gives the ids of their
// transactions again. What one of an earlier window did in a lost one is known, and stays.
func (j *windowJudge) withoutLost() error {
	told, all, err := j.recall()
	if err == nil && all { // else it is not known whose ids are of earlier windows
		j.state = rounds.Restore(j.state.State().Of(told.State().Seen))
	}
	return err
}

// recall returns what the lines of verdicts tell of transactions of unknown outcome in the windows up to the latest one. If it is
// not all, since an older version wrote a line, say, it is as if windows were missing.
func (j *windowJudge) recall() (state rounds.Run, all bool, err error) {
	known := map[int]bool{}
	err = results.EachWindow(j.dir, func(n, _ int, o *results.Outcome) error {
		switch {
		case n > j.number:
		case o.Learned != nil:
			state.Learn(*o.Learned)
			known[n] = true
		case o.UnknownOutcome == 0 && o.Again == nil && !o.Unread:
			known[n] = true
		}
		return nil
	})
	all = true
	for n := 1; n <= j.number; n++ {
		if !known[n] {
			state.Skip()
			all = false
		}
	}
	return state, all, err
}

// tail returns the first of the latest windows, up to one, of which no history is missing.
func (j *windowJudge) tail(upTo int) (int, error) {
	files, err := results.WindowFiles(j.dir)
	if err != nil {
		return 0, err
	}
	first := 0
	for n := len(files) - 1; n >= 0; n-- {
		switch number := results.WindowNumber(files[n]); {
		case number > upTo:
		case first == 0 || number == first-1:
			first = number
		default:
			return first, nil
		}
	}
	if first == 0 && len(files) > 0 {
		return upTo + 1, nil
	}
	return max(1, first), nil
}

// lost returns the first window, up to one, from which on windows must be judged again, since the verdict on a window whose history
// is there is lost; 0 if there is none. Windows before the lost one are judged again, too, as long as each follows the one before
// it. A window of which nothing is left becomes a note, and counts as one that was not judged.
func (j *windowJudge) lost(upTo int) (again int, err error) {
	files, err := results.WindowFiles(j.dir)
	if err != nil {
		return 0, err
	}
	there := map[int]bool{}
	for _, path := range files {
		there[results.WindowNumber(path)] = true
	}
	told := map[string]map[int]bool{}
	err = results.EachWindow(j.dir, func(n, _ int, o *results.Outcome) error {
		if told[o.Level] == nil {
			told[o.Level] = map[int]bool{}
		}
		told[o.Level][n] = true
		return nil
	})
	if err != nil {
		return 0, err
	}
	judged, more := j.levels()
	levels := append(judged, more...)
	for n := 1; n <= upTo; n++ {
		complete := !slices.ContainsFunc(levels, func(lvl level.Level) bool { return !told[lvl.String()][n] })
		switch {
		case complete:
		case there[n]:
			for again = n; there[again-1]; again-- {
			}
			return again, nil
		default:
			j.notes = append(j.notes, fmt.Sprintf("window %d has neither a verdict nor a history", n))
			j.seen[n] = true // and no level is satisfied
		}
	}
	return 0, nil
}

// recorder begins the history of a run, or goes on with it.
func (s *settings) recorder(log *native.Log, db drivers.DB) (*generator.Recorder, *generator.Left, error) {
	if s.resume == nil {
		rec, err := generator.NewRecorder(log, s.header(db), s.work)
		if err == nil && s.next != nil {
			rec.Windows(s.work, s.next)
		}
		return rec, nil, err
	}
	rec, left, err := generator.Resume(log, s.resume.last, s.resume.digest, s.positions(db), s.resume.lost != "", s.next)
	if err == nil {
		err = s.resume.ready()
	}
	s.resume.begins = err == nil
	s.resume.last = nil // its memory
	return rec, left, err
}
