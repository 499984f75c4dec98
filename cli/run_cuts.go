//go:build !front

package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/accel/choose"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/native"
	"github.com/isohound/isohound/results"
	"github.com/isohound/isohound/results/pages"
)

// keeping says which windows stay on disk.
type keeping struct {
	all bool
	// last is how many of the latest windows are kept at least. Windows that are not satisfied are kept
	// with the one before.
	last int
}

func parseKeep(text string) (keeping, error) {
	switch n, err := strconv.Atoi(text); {
	case text == "all":
		return keeping{all: true}, nil
	case text == "violated":
		return keeping{last: 1}, nil
	case err == nil && n > 0:
		return keeping{last: n}, nil
	}
	return keeping{}, usage("--keep %s: expected all, violated or a number of windows", text)
}

// parseCuts reads --cut-every: auto, a duration such as 30s, or a number of transactions such as
// 100000txns.
func parseCuts(text string) (generator.Cuts, error) {
	if text == "" {
		return generator.Cuts{}, nil
	}
	if text == "auto" {
		return generator.Cuts{Auto: true}, nil
	}
	if n, ok := strings.CutSuffix(text, "txns"); ok {
		if n, err := strconv.ParseInt(n, 10, 64); err == nil && n > 0 {
			return generator.Cuts{Txns: n}, nil
		}
	} else if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return generator.Cuts{Every: d}, nil
	}
	return generator.Cuts{}, usage("--cut-every %s: expected auto, a time such as 30s or a number of transactions such as 100000txns", text)
}

// windowRun records a run in windows, and judges each window when it is complete.
type windowRun struct {
	app  *app
	dir  string
	conf *results.Config
	o    *runOptions
	keep keeping
	// stop ends the run because of a violation.
	stop context.CancelCauseFunc

	judge  *windowJudge
	number int    // of the window that is being written
	path   string // of its file
	file   *os.File
	hash   hash.Hash
	mark   *marker
	queue  chan string
	done   chan struct{}
	lag    lag
	err    error // of judging or of writing verdicts
	kept   []judged
	log    *os.File  // the verdicts
	away   elsewhere // judges the windows, or nil
	// commits has the order of the commits, or is nil.
	commits *commitLog
}

// judged is a window that was judged and is still on disk.
type judged struct {
	path string
	fine bool
}

// errBusy says that another process has the lock of a run.
var errBusy = errors.New("another process is working on it")

// lockRun opens the file of the verdicts of the run in windows in dir, and locks it until it is closed. As long as a
// process has it, no other one works on the run: the error is then errBusy.
func lockRun(dir string) (*os.File, error) {
	path := filepath.Join(dir, results.WindowVerdicts)
	if err := results.Regular(path); err != nil {
		return nil, withCode(exitData, err)
	}
	log, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return nil, withCode(exitIO, err)
	}
	if err := lockFile(log); err != nil {
		log.Close()
		return nil, withCode(exitIO, errors.Wrapf(err, "the run in %s cannot be locked", dir))
	}
	return log, nil
}

func (a *app) newWindowRun(dir string, conf *results.Config, o *runOptions, keep keeping, k *checking, log *os.File) (*windowRun, error) {
	if err := os.MkdirAll(filepath.Join(dir, results.WindowsFolder), 0o755); err != nil {
		return nil, withCode(exitIO, err)
	}
	mark := &marker{}
	if conf.Schema != "" { // else no later process can go on
		var err error
		if mark, err = newMarker(dir); err != nil {
			return nil, withCode(exitIO, errors.Wrap(err, openFile))
		}
	}
	quiet := *k
	quiet.noProgress = true
	judge := a.newWindowJudge(dir, &quiet)
	if o.onViolation == "continue" {
		judge.explained = results.WindowPages
	}
	return &windowRun{
		app: a, dir: dir, conf: conf, o: o, keep: keep, judge: judge,
		queue: make(chan string, 1<<16), done: make(chan struct{}), log: log, mark: mark,
	}, nil
}

// open begins the next window, and returns the writer of its history.
func (w *windowRun) open() (io.Writer, error) {
	w.number++
	w.path = filepath.Join(w.dir, results.WindowFile(w.number, w.o.plain))
	f, err := createHistory(w.path)
	if err != nil {
		return nil, err
	}
	if err := w.mark.begin(w.number, 0); err != nil {
		f.Close()
		return nil, errors.Wrap(err, openFile)
	}
	w.file, w.hash = f, sha256.New()
	return io.MultiWriter(f, w.hash, w.mark), nil
}

// close ends the file of the window, brings it to the disk, and gives it to the checker. A window that is not judged yet is then whole
// also after a power failure.
func (w *windowRun) close() (digest string, err error) {
	if err := w.file.Close(); err != nil {
		return "", err
	}
	digest = hex.EncodeToString(w.hash.Sum(nil))
	if w.commits != nil {
		if joined := w.commits.join(w.path); joined != "" {
			digest = joined
		}
	}
	if err := syncHistory(w.path); err != nil {
		return "", err
	}
	if w.away != nil {
		w.away.put(w.number, w.path, digest)
	}
	w.enqueue(w.path)
	return digest, nil
}

func (w *windowRun) enqueue(path string) {
	w.lag.complete(time.Now())
	w.queue <- path
}

// next is a generator.NextWindow.
func (w *windowRun) next() (*native.Log, string, error) {
	digest, err := w.close()
	if err != nil {
		return nil, "", err
	}
	if w.commits != nil {
		w.commits.renew()
	}
	out, err := w.open()
	if err != nil {
		return nil, "", err
	}
	log, err := native.NewLog(out, !w.o.plain)
	return log, digest, err
}

// lagShare: with --cut-every auto, windows are so long that judging one takes this part of --max-lag. Machines that do other
// things, too, are now and then several times as slow as a moment before.
const lagShare = 4

// atOnce is how many windows judges elsewhere work on: each judges one and fetches the next.
func (w *windowRun) atOnce() int {
	if w.away == nil {
		return 0
	}
	return 2 * w.away.judges()
}

// hold waits while the checker is too far behind.
func (w *windowRun) hold(ctx context.Context) {
	begun, told := time.Now(), false
	for ctx.Err() == nil {
		behind, windows := w.lag.now()
		if behind <= w.o.maxLag || windows <= w.atOnce() {
			break
		}
		if !told && w.lag.held() == 0 {
			fmt.Fprintf(w.app.msg, "note: the checker is %.1f s behind, %s; the run waits for it\n", behind.Seconds(), plural(windows, "window"))
		}
		told = true
		time.Sleep(5 * time.Millisecond)
	}
	if told {
		w.lag.hold(time.Since(begun))
	}
}

// judging judges windows until the queue ends.
func (w *windowRun) judging() {
	defer close(w.done)
	for path := range w.queue {
		if w.err == nil {
			begun := time.Now()
			if w.err = w.window(path); w.err != nil { // what is not judged need not be recorded
				w.stop(w.err)
			}
			if rest := restAfter(time.Since(begun), w.o.judgeShare); rest > 0 && !w.lag.ending() {
				pauseUntil(w.lag.end, rest)
			}
		}
		w.lag.judged(time.Now())
	}
}

// window judges one window, writes its verdicts to disk, and then removes windows that need not be kept.
func (w *windowRun) window(path string) error {
	fine, begun := true, time.Now()
	var outcomes []results.Outcome
	finish := w.judge.finish
	var failed error
	w.judge.finish = func(h *history.History, o *results.Outcome) {
		finish(h, o)
		w.app.metrics.verdict(o)
		fine = fine && o.Verdict == verdict.Satisfied
		outcomes = append(outcomes, *o)
		if err := json.NewEncoder(w.log).Encode(o); err != nil {
			failed = withCode(exitIO, errors.Wrap(err, "the verdicts of windows"))
		}
		if o.Verdict == verdict.Violated && w.o.onViolation == "stop" {
			w.stop(generator.ErrViolated)
		}
	}
	next := w.judge.next
	if w.away != nil {
		next = w.away.next
	}
	err := next(path)
	w.judge.finish = finish
	switch {
	case err != nil:
		return err
	case failed != nil:
		return failed
	}
	if w.away == nil && len(outcomes) > 0 {
		w.lag.learn(outcomes[0].Txns, time.Since(begun))
	}
	if err := w.saveState(); err != nil { // before any file is removed
		return withCode(exitIO, err)
	}
	w.kept = append(w.kept, judged{path, fine})
	if w.judge.violations <= results.WindowPages {
		if err := results.DrawWindow(w.dir, w.conf, w.judge.number, outcomes, pages.Draw); err != nil {
			return withCode(exitIO, err)
		}
	}
	return w.clean()
}

// clean removes windows. The latest ones stay, and those beside a window that is not satisfied.
func (w *windowRun) clean() error {
	if w.keep.all {
		return nil
	}
	for n := 0; n < len(w.kept)-w.keep.last; n++ {
		if w.kept[n].fine && w.kept[n+1].fine {
			if err := os.Remove(w.kept[n].path); err != nil {
				return withCode(exitIO, err)
			}
			w.kept = slices.Delete(w.kept, n, n+1)
			n--
		}
	}
	return nil
}

// generateWindows records a run in windows into dir, and judges them as it goes.
func (a *app) generateWindows(s *settings, o *runOptions, k *checking, db drivers.DB, log *commitLog, dir string, run *results.Run) (*recording, error) {
	keep, err := parseKeep(o.keep)
	if err != nil {
		return nil, err
	}
	if err := results.SaveConfig(dir, &run.Config); err != nil {
		return nil, withCode(exitIO, err)
	}
	if s.verdicts == nil {
		if s.verdicts, err = lockRun(dir); err != nil {
			return nil, err
		}
	}
	w, err := a.newWindowRun(dir, &run.Config, o, keep, k, s.verdicts)
	if err != nil {
		return nil, err
	}
	defer w.mark.close()
	s.lag = &w.lag
	w.judge.ofRun(&run.Config)
	if judged, more := w.judge.levels(); len(more) > 0 {
		var follow []string
		for _, lvl := range k.levels {
			if !slices.Contains(judged, lvl) {
				follow = append(follow, lvl.String())
			}
		}
		fmt.Fprintf(a.msg, "note: windows cannot be judged at %s. They are judged at %s: the other levels are satisfied if it is, and unknown otherwise\n", strings.Join(follow, ", "), more[0])
	}
	var out io.Writer
	if s.resume == nil {
		out, err = w.open()
	} else {
		out, err = w.reopen(s.resume)
	}
	if err != nil {
		return nil, err
	}
	stop, cancel := context.WithCancelCause(a.stop)
	defer cancel(nil)
	w.stop = cancel
	if w.away = o.away; w.away != nil {
		w.away.begin(w)
		defer w.away.done()
	}
	s.next, s.cuts.Before, s.stop = w.next, w.hold, stop
	s.cuts.Most = func() int64 { return w.lag.judgeable(o.maxLag / lagShare) }
	a.work = a.ctx // the first signal ends the recording, and not the judging
	go w.judging()
	if w.commits = log; log != nil {
		defer log.follow()()
	}
	rec, err := a.record(s, db, out, !o.plain)
	w.lag.finish()
	if err != nil {
		close(w.queue)
		<-w.done
		return nil, err
	}
	if _, cerr := w.close(); cerr != nil && rec.err == nil {
		rec.err = &generator.LogError{Err: cerr}
	}
	log.tell()
	a.summarize(s, rec)
	a.lateNotes(db, &run.Config)
	if held := w.lag.held(); held > 0 {
		fmt.Fprintf(a.msg, "note: the run waited %.1f s for the checker, as --max-lag %s asks for\n", held.Seconds(), o.maxLag)
	}
	if _, windows := w.lag.now(); windows > 1 && !s.quiet {
		fmt.Fprintf(a.msg, "%d windows are still to be judged\n", windows)
	}
	close(w.queue)
	<-w.done
	if w.err != nil && rec.err == nil {
		rec.err = w.err
	}
	if rec.stats.Cuts != nil {
		rec.stats.Cuts.LongestLag, rec.stats.Cuts.Waited = w.lag.longest().Seconds(), w.lag.held().Seconds()
	}
	rec.tell(run)
	if s.fleet != nil {
		run.Config.Joined = s.fleet.Joined()
	}
	run.Outcomes = w.judge.concluded(w.err)
	return rec, nil
}

// ofRun makes the judge keep what the results of a run have of each window.
func (j *windowJudge) ofRun(conf *results.Config) {
	j.finish = func(_ *history.History, out *results.Outcome) { conf.Weigh(out) }
	promises, err := level.ParseList(conf.Promises)
	if err != nil { // the database promises nothing
		return
	}
	for _, lvl := range promises {
		if lvl.Weak() && j.direct(lvl) && !slices.Contains(j.k.levels, lvl) {
			j.promised = append(j.promised, lvl)
		}
	}
}

// concludeWindows reports the outcomes of a run in windows.
func (a *app) concludeWindows(s *settings, o *runOptions, k *checking, dir string, run *results.Run, rec *recording) error {
	var err error
	for n := range run.Outcomes {
		out := run.Outcomes[n]
		run.Config.Weigh(&out)
		out.Invariants = run.Invariants
		if w := out.Windows; w != nil && w.First != "" {
			if run.Config.History, err = filepath.Rel(dir, w.First); err != nil {
				run.Config.History = w.First
			}
		}
		run.Outcomes[n] = out
		a.found(k.codeOf(out.Verdict))
		if k.accel != choose.Auto {
			tellReachability(&out)
		} else if !o.asJSON {
			out.Accel = nil // the user did not ask for it
		}
		if err := a.print(out, o.asJSON); err != nil {
			return err
		}
	}
	return a.writeResults(s, o, k, dir, run, rec, nil)
}
