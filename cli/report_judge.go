//go:build !front

package cli

import (
	"fmt"
	"math"
	"os"
	"slices"
	"time"

	"github.com/pkg/errors"
	"github.com/spf13/cobra"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/history/file"
	"github.com/isohound/isohound/results"
)

// lateJudging are the flags of report for a run that was recorded and not judged.
type lateJudging struct {
	checkTimeout, explain time.Duration
	maxMemory             string
	quiet                 bool
}

func (l *lateJudging) flags(c *cobra.Command) {
	f := c.Flags()
	f.DurationVar(&l.checkTimeout, "check-timeout", 10*time.Minute, "of a run that is not judged yet: time limit for each level, after which the verdict is unknown; 0 is no limit")
	f.DurationVar(&l.explain, "explain-timeout", explainFor, "of such a run: "+explainUsage)
	f.StringVar(&l.maxMemory, "max-memory", "", "of such a run: "+memoryUsage)
	f.BoolVarP(&l.quiet, "quiet", "q", false, "of such a run: print results only")
}

// unjudged reports whether dir holds a run that report can judge.
func unjudged(dir string) bool {
	if results.Judged(dir) {
		return false
	}
	r, err := results.Load(dir)
	if err != nil {
		return false
	}
	if r.Config.History == results.WindowsFolder {
		windows, err := results.WindowFiles(dir)
		if err != nil || len(windows) == 0 {
			return false
		}
		st, err := os.Stat(windows[0])
		return err == nil && st.Size() > 0 // else nothing was recorded
	}
	return len(r.Outcomes) == 0 && results.HasHistory(dir, r)
}

// judgeLate judges a run that was recorded and not judged, or whose process was killed, as the run would have done.
// A history that was cut off is judged to its last complete line.
func (a *app) judgeLate(dir string, o *lateJudging) error {
	run, err := results.Load(dir)
	if err != nil {
		return withCode(exitData, err)
	}
	k, err := o.checking(run)
	if err != nil {
		return err
	}
	if run.Config.History == results.WindowsFolder {
		return a.judgeLeft(dir, run, k)
	}
	early := a.noteEarly(run, k)
	if err := a.conclude(&settings{quiet: o.quiet}, &runOptions{}, k, dir, run, &recording{}); err != nil {
		return err
	}
	a.foundEarly(run, early)
	return nil
}

// judgeLeft judges the windows that a run whose process was killed left. If the run still goes on, only the report is
// drawn again.
func (a *app) judgeLeft(dir string, run *results.Run, k *checking) error {
	log, err := lockLeft(dir)
	if err == nil && !locks { // nobody knows whether it goes on
		log.Close()
		err = errBusy
	}
	if errors.Is(err, errBusy) {
		fmt.Fprintf(a.msg, "note: the run in %s goes on; the report shows the windows that were judged so far\n", dir)
		return a.redraw(dir)
	}
	if err != nil {
		return err
	}
	defer log.Close()
	if run, err = results.Load(dir); err != nil { // the run may have ended meanwhile
		return withCode(exitData, err)
	}
	if results.Judged(dir) {
		return a.redraw(dir)
	}
	if run.Config.Ended == results.NotYet {
		run.Config.Ended = results.Killed
	}
	early := a.noteEarly(run, k)
	j := a.newWindowJudge(dir, k)
	if _, _, err := j.restore(math.MaxInt); err != nil {
		return err
	}
	j.ofRun(&run.Config)
	files, err := results.WindowFiles(dir)
	if err != nil {
		return withCode(exitIO, err)
	}
	files = slices.DeleteFunc(files, func(path string) bool { return results.WindowNumber(path) <= j.number })
	if err := j.each(files, nil); err != nil {
		return err
	}
	run.Outcomes = j.concluded(nil)
	if err := a.concludeWindows(&settings{quiet: k.quiet}, &runOptions{}, k, dir, run, &recording{}); err != nil {
		return err
	}
	a.foundEarly(run, early)
	return nil
}

// lockLeft is lockRun. A process that was killed just now needs a moment to end.
func lockLeft(dir string) (log *os.File, err error) {
	for range 40 {
		if log, err = lockRun(dir); !errors.Is(err, errBusy) {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	return log, err
}

// checking are the options with which a run is judged late.
func (o *lateJudging) checking(run *results.Run) (*checking, error) {
	if o.checkTimeout < 0 || o.explain < 0 {
		return nil, usage("--check-timeout and --explain-timeout must not be negative")
	}
	var err error
	k := &checking{timeout: o.checkTimeout, explain: o.explain, stand: true, certify: true, quiet: o.quiet, format: file.Native, engine: checker.Auto, versions: checker.Hint}
	if k.memory, err = parseMemory(o.maxMemory); err != nil {
		return nil, err
	}
	for _, name := range run.Config.Levels {
		lvl, err := level.Parse(name)
		if err != nil {
			return nil, withCode(exitData, err)
		}
		k.levels = append(k.levels, lvl)
	}
	return k, nil
}

// noteEarly says why a run ended before its time, and returns that.
func (a *app) noteEarly(run *results.Run, k *checking) string {
	early := run.Config.Early()
	if early != "" && !k.quiet {
		fmt.Fprintf(a.msg, "note: %s; what was recorded until then is judged\n", early)
	}
	return early
}

// foundEarly makes a run that ended before its time the exit code, unless something is violated.
func (a *app) foundEarly(run *results.Run, early string) {
	switch {
	case early == "":
	case run.Config.Ended == generator.Interrupted, run.Config.Ended == results.NotYet, run.Config.Ended == results.Killed:
		a.found(exitInterrupted)
	default:
		a.found(exitUnavailable)
	}
}
