//go:build !front

package cli

import (
	"fmt"
	"time"

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

// unjudged reports whether dir holds a run that report can judge. Windows of a run are judged by the
// run, which run --resume continues.
func unjudged(dir string) bool {
	if results.Judged(dir) {
		return false
	}
	r, err := results.Load(dir)
	return err == nil && r.Config.History != results.WindowsFolder && len(r.Outcomes) == 0 && results.HasHistory(dir, r)
}

// judgeLate judges a run that was recorded and not judged, or whose process was killed, as the run would have done.
// A history that was cut off is judged to its last complete line.
func (a *app) judgeLate(dir string, o *lateJudging) error {
	run, err := results.Load(dir)
	if err != nil {
		return withCode(exitData, err)
	}
	if o.checkTimeout < 0 || o.explain < 0 {
		return usage("--check-timeout and --explain-timeout must not be negative")
	}
	k := &checking{timeout: o.checkTimeout, explain: o.explain, stand: true, certify: true, quiet: o.quiet, format: file.Native, engine: checker.Auto, versions: checker.Hint}
	if k.memory, err = parseMemory(o.maxMemory); err != nil {
		return err
	}
	for _, name := range run.Config.Levels {
		lvl, err := level.Parse(name)
		if err != nil {
			return withCode(exitData, err)
		}
		k.levels = append(k.levels, lvl)
	}
	early := run.Config.Early()
	if early != "" && !o.quiet {
		fmt.Fprintf(a.msg, "note: %s; what was recorded until then is judged\n", early)
	}
	if err := a.conclude(&settings{quiet: o.quiet}, &runOptions{}, k, dir, run, &recording{}); err != nil {
		return err
	}
	switch {
	case early == "":
	case run.Config.Ended == generator.Interrupted, run.Config.Ended == results.NotYet, run.Config.Ended == results.Killed:
		a.found(exitInterrupted)
	default:
		a.found(exitUnavailable)
	}
	return nil
}
