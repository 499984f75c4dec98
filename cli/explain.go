package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/pkg/errors"
	"github.com/spf13/cobra"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history/file"
	"github.com/isohound/isohound/results"
)

func (a *app) explainCommand() *cobra.Command {
	var name, engine, format, out, maxMemory, versions string
	k := &checking{certify: true}
	c := &cobra.Command{
		Use:   "explain FILE|FOLDER|- --level L [--out DIR]",
		Short: "Show why a history violates a level",
		Long: `explain checks a history at a level and explains a violation: the names of the
anomaly, which levels the history violates and which it satisfies, the dependencies
between the transactions, and the smallest part of the history that is violated by
itself. --out writes that part and its pictures to files, with a folder for each
anomaly:

  minimal.txt      the smallest part, in isohound's short notation
  minimal.jsonl    the same as a history, which isohound check judges
  graph.svg        the dependencies between the transactions
  graph.dot        the same for Graphviz
  timeline.svg     the sessions, and other concurrent transactions
  explanation.txt  what is printed

The folder of a run stands for its history.

Levels: ` + levelHelp() + `

` + exitHelp,
		Example: `  isohound explain runs/x --level ser --out why`,
		Args:    exactly(1, "a history, or - for standard input"),
		RunE: func(_ *cobra.Command, args []string) error {
			if name == "" {
				return usage("explain needs --level; known are %s", strings.Join(level.Names(), ", "))
			}
			lvl, err := level.Parse(name)
			if err != nil {
				return withCode(exitUsage, err)
			}
			k.levels = []level.Level{lvl}
			if k.engine, err = checker.ParseEngine(engine); err != nil {
				return withCode(exitUsage, err)
			}
			if k.versions, err = checker.ParseVersions(versions, k.engine); err != nil {
				return withCode(exitUsage, err)
			}
			if k.engine == checker.Baseline {
				k.certify = false // the baseline engine gives no proof of a violation; the counterexample is certified separately
			}
			if k.format, err = file.ParseFormat(format); err != nil {
				return withCode(exitUsage, err)
			}
			if k.memory, err = parseMemory(maxMemory); err != nil {
				return err
			}
			if k.timeout < 0 || k.explain <= 0 {
				return usage("--timeout must not be negative, and --explain-timeout must be positive")
			}
			return a.explain(args[0], k, out)
		},
	}
	f := c.Flags()
	f.SortFlags = false
	f.StringVar(&name, "level", "", "the level to check")
	f.StringVar(&out, "out", "", "folder for the smallest part and the pictures, which must be new or empty")
	f.StringVar(&format, "format", "auto", "format of the file: auto, "+file.Names())
	f.StringVar(&engine, "engine", "auto", "checker: auto, linear, polygraph, weak, psi, baseline; see isohound check --help")
	f.StringVar(&versions, "versions", string(checker.Hint), versionsUsage)
	f.DurationVar(&k.timeout, "timeout", 0, "time limit, after which the verdict is unknown (default none)")
	f.StringVar(&maxMemory, "max-memory", "", memoryUsage)
	f.DurationVar(&k.explain, "explain-timeout", 6*explainFor, "time limit for the counterexamples and the other levels")
	f.BoolVarP(&k.quiet, "quiet", "q", false, "print results only")
	f.BoolVar(&k.noProgress, "no-progress", false, "show no progress")
	return c
}

func (a *app) explain(path string, k *checking, out string) error {
	if out != "" {
		made, err := emptyFolder(out)
		if err != nil {
			return err
		}
		if made { // it does not stay empty
			defer os.Remove(out)
		}
	}
	path, err := oneHistory(path)
	if err != nil {
		return err
	}
	return a.judge(path, k, nil, func(o results.Outcome) error {
		if err := a.print(o, false); err != nil || out == "" {
			return err
		}
		if o.Verdict == verdict.Violated && !hasPictures(&o) {
			why := "no counterexample was found in time; set a longer --explain-timeout"
			if o.Uncut != "" {
				why = "nothing is written: " + o.Uncut
			}
			fmt.Fprintln(a.msg, "isohound:", why)
		}
		for n := range o.Anomalies {
			if o.Anomalies[n].Counterexample == nil {
				continue
			}
			dir := filepath.Join(out, fmt.Sprintf("%d-%s", n+1, o.Anomalies[n].Name))
			if err := os.Mkdir(dir, 0o777); err != nil {
				return withCode(exitIO, err)
			}
			if err := results.WriteExplanation(dir, &o.Anomalies[n], text(o, nil)); err != nil {
				os.RemoveAll(dir) // the disk is full, say, and not all files are there
				return withCode(exitIO, err)
			}
			fmt.Fprintln(a.msg, "written:", dir)
		}
		return nil
	})
}

// oneHistory is the history that a path stands for: that of a run, if it is the folder of one. Of a run in windows that is
// the window that its report shows, if it shows one.
func oneHistory(path string) (string, error) {
	file, err := results.HistoryFile(path)
	if err != nil {
		return "", withCode(exitData, err)
	}
	if windows, err := results.WindowFiles(path); err == nil && len(windows) > 0 && filepath.Base(file) == results.WindowsFolder {
		return "", usage("%s is a run in windows; name one of them, such as %s", path, windows[0])
	}
	return file, nil
}

func hasPictures(o *results.Outcome) bool {
	for n := range o.Anomalies {
		if o.Anomalies[n].Counterexample != nil {
			return true
		}
	}
	return false
}

// emptyFolder makes a folder, or checks that an existing one is empty. It reports whether it made one.
func emptyFolder(path string) (made bool, err error) {
	entries, err := os.ReadDir(path)
	switch {
	case os.IsNotExist(err):
		made, err = true, os.MkdirAll(path, 0o777)
	case err == nil && len(entries) > 0:
		err = errors.Errorf("--out %s is not empty; name a new folder", path)
	}
	return made, withCode(exitIO, err)
}
