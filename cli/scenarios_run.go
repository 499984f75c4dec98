//go:build !front

package cli

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/pkg/errors"
	"github.com/spf13/cobra"

	"github.com/isohound/isohound/catalogue"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func seconds(d catalogue.Duration) float64 { return time.Duration(d).Seconds() }

// staging are the options of a run of scenarios.
type staging struct {
	choosing
	out, summary        string
	asJSON, keep, quiet bool
	jobs                int
}

const scenariosExits = `Exit codes:
  0 all scenarios that ran gave the expected result   1 one did not: an unexpected
  violation, or an expected one that was not found   2 one could not be decided
  69 a target did not start, or nothing could run here   65 a scenario is invalid
  64, 70, 74, 130 as for isohound --help, also when a run ended with one
The first that occurs of 1, 70, 74, 69, 65, 130, 2, 0.`

func (a *app) scenariosRunCommand() *cobra.Command {
	st := &staging{}
	c := &cobra.Command{
		Use:   "run NAME...|all",
		Short: "Run scenarios and compare the results with the expected ones",
		Long: `run starts the target of each scenario, runs and checks it, compares the verdicts
with the expected ones, and stops what it started. Names may be patterns: 'figure5/*'.
Scenarios of one target share one start. Scenarios that cannot run here are listed as
not run. --out receives the folder of each run, scenarios.json, and the table of engines
and anomalies as scenarios.md and scenarios.html.

` + scenariosExits,
		Example: `  isohound scenarios run all --target embedded
  isohound scenarios run 'figure5/*' 'regressions/*'
  isohound scenarios run all --target local --summary "$GITHUB_STEP_SUMMARY"`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage("expected the names of scenarios, or all; isohound scenarios lists them")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if st.jobs < 1 {
				return usage("--jobs must be at least 1")
			}
			list, err := st.choose(args...)
			if err != nil {
				return err
			}
			return a.runScenarios(st, list, args)
		},
	}
	st.flags(c)
	f := c.Flags()
	f.StringVar(&st.out, "out", "", "folder for the results, which must not hold others (default runs/scenarios-DATE-TIME)")
	f.StringVar(&st.summary, "summary", "", "append the results to this file in Markdown, for the summary of a CI job")
	f.BoolVar(&st.asJSON, "json", false, "print JSON, one line for each scenario")
	f.BoolVar(&st.keep, "keep", false, "keep each target running after its scenarios, until interrupted")
	f.IntVar(&st.jobs, "jobs", 1, "how many targets to use at once; more make runs disturb one another")
	f.BoolVarP(&st.quiet, "quiet", "q", false, "print results only")
	return c
}

func (a *app) runScenarios(st *staging, list []*catalogue.Scenario, names []string) error {
	self, err := os.Executable()
	if err != nil {
		return errors.WithStack(err)
	}
	now := time.Now()
	if _, err := newFolder(&st.out, "scenarios"); err != nil {
		return err
	}
	r := &catalogue.Runner{Command: self, Out: st.out, Jobs: st.jobs}
	var printed error
	r.Tell = func(res catalogue.Result) {
		a.found(scenarioCode(&res))
		if err := a.tellScenario(st, &res); printed == nil {
			printed = withCode(exitIO, err)
		}
	}
	r.Note = func(text string) {
		if !st.quiet {
			fmt.Fprintf(a.msg, "  %s\n", text)
		}
	}
	r.Holds = func(what string) {
		if what == "" {
			a.owns.Store(nil)
		} else {
			a.owns.Store(&what)
		}
	}
	kept := false
	if st.keep {
		r.Keep = func(what string) {
			kept = true
			fmt.Fprintf(a.msg, "still running: %s; interrupt to stop them\n", what)
			<-a.stop.Done()
		}
	}
	words := append([]string{"isohound", "scenarios", "run"}, names...)
	for _, f := range [][2]string{{"--dir", st.dir}, {"--target", st.target}} {
		if f[1] != "" {
			words = append(words, f[0], f[1])
		}
	}
	all := &catalogue.Results{
		Started: now, Version: version(), Command: commandLine(words...),
		Machine:   fmt.Sprintf("%s, %s/%s, %d cores", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU()),
		Scenarios: r.Run(a.stop, list),
	}
	page, serr := all.Save(st.out)
	if serr == nil && st.summary != "" {
		serr = errors.Wrap(all.Summary(st.summary), "--summary")
	}
	count := catalogue.Count(all.Scenarios)
	if count[catalogue.NotRun] == len(list) && a.stop.Err() == nil {
		a.found(exitUnavailable)
	}
	if a.stop.Err() != nil && !kept {
		a.found(exitInterrupted)
	}
	if !st.asJSON && serr == nil && printed == nil {
		_, printed = fmt.Fprintf(a.out, "\n%s; table: %s\n", catalogue.Tally(all.Scenarios), page)
		printed = withCode(exitIO, printed)
	}
	return firstError(withCode(exitIO, serr), printed)
}

// scenarioCode is the exit code for the result of a scenario.
func scenarioCode(res *catalogue.Result) exitCode {
	switch res.Status {
	case catalogue.Unmet:
		return exitViolated
	case catalogue.Undecided:
		return exitUnknown
	case catalogue.Failed:
		if code := exitCode(res.Code); code != exitUsage {
			return code
		}
		return exitData // the error is in the scenario
	}
	return exitSatisfied
}

func (a *app) tellScenario(st *staging, res *catalogue.Result) error {
	if st.asJSON {
		return json.NewEncoder(a.out).Encode(res)
	}
	_, err := fmt.Fprintln(a.out, res.Line())
	return err
}
