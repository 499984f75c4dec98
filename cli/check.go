package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/dustin/go-humanize"
	"github.com/pkg/errors"
	"github.com/spf13/cobra"

	"github.com/isohound/isohound/accel/choose"
	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/polygraph"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history/file"
	"github.com/isohound/isohound/results"
)

func (a *app) checkCommand() *cobra.Command {
	var levels, expect, engine, format, maxMemory, pipeline, accel, versions, summary, inRounds string
	var asJSON bool
	k := &checking{}
	c := &cobra.Command{
		Use:   "check FILE|FOLDER...|- --level L[,L...]",
		Short: "Judge recorded histories",
		Long: `check reads histories in any format that isohound knows, and checks each of them at
each level. - means standard input. The folder of a run stands for its history; any
other folder is read as Cobra logs. isohound convert --help lists the formats. With several levels the strongest is checked first: if it is
satisfied, so are all weaker ones.

Levels: ` + levelHelp() + `

--pipeline runs the polygraph engine with other parts, for comparison. No part changes
a verdict. Name a preset, then add parts with + and leave out parts with -:
` + polygraph.ConfigHelp() + `
--accel chooses how the polygraph engine computes reachability between transactions.
The other engines do not use it. It changes no verdict:
` + choose.Help() + `
` + exitHelp,
		Example: `  isohound check h.jsonl --level ser
  isohound check runs/*/history.jsonl.zst --level ser,si --json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage("check needs at least one file, or - for standard input")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			var err error
			if levels == "" {
				return usage("check needs --level; known are %s", strings.Join(level.Names(), ", "))
			}
			if k.levels, err = level.ParseList(levels); err != nil {
				return withCode(exitUsage, err)
			}
			if k.engine, err = checker.ParseEngine(engine); err != nil {
				return withCode(exitUsage, err)
			}
			if c.Flags().Changed("pipeline") {
				if k.pipeline, k.engine, err = checker.ParsePipeline(pipeline, k.engine); err != nil {
					return withCode(exitUsage, err)
				}
			}
			if k.accel, err = checker.ParseAccel(accel, k.engine); err != nil {
				return withCode(exitUsage, err)
			}
			k.tellAccel = c.Flags().Changed("accel")
			if k.versions, err = checker.ParseVersions(versions, k.engine); err != nil {
				return withCode(exitUsage, err)
			}
			if k.format, err = file.ParseFormat(format); err != nil {
				return withCode(exitUsage, err)
			}
			if k.memory, err = parseMemory(maxMemory); err != nil {
				return err
			}
			if k.expectViolated, err = parseExpect(expect); err != nil {
				return err
			}
			if k.timeout < 0 {
				return usage("--timeout must not be negative")
			}
			if k.explain < 0 {
				return usage("--explain-timeout must not be negative")
			}
			if k.rounds, err = parseRounds(inRounds); err != nil {
				return err
			}
			if err = k.suitRounds(args); err != nil {
				return err
			}
			return a.check(args, k, asJSON, summary)
		},
	}
	f := c.Flags()
	f.SortFlags = false
	f.StringVar(&levels, "level", "", "levels to check, separated by commas")
	f.StringVar(&expect, "expect", verdict.Satisfied.String(), expectUsage)
	f.StringVar(&format, "format", "auto", "format of the files: auto, "+file.Names())
	f.StringVar(&engine, "engine", "auto", "checker: auto, replay, linear, polygraph, weak, psi, or baseline (a plain SAT encoding for comparison: slow, and without counterexamples)")
	f.DurationVar(&k.timeout, "timeout", 0, "time limit for each file and level, after which the verdict is unknown (default none)")
	f.DurationVar(&k.explain, "explain-timeout", explainFor, explainUsage)
	f.StringVar(&maxMemory, "max-memory", "", memoryUsage)
	f.BoolVar(&k.certify, "certify", false, "verify the proof of each verdict by independent code")
	f.StringVar(&pipeline, "pipeline", "", "use the polygraph engine with this configuration: a preset, then +part or -part, such as paper,-pruning")
	f.StringVar(&accel, "accel", "auto", accelUsage)
	f.StringVar(&inRounds, "rounds", "", roundsUsage)
	f.StringVar(&k.fenceKey, "fence-key", "", fenceKeyUsage)
	f.StringVar(&versions, "versions", string(checker.Hint), versionsUsage)
	f.BoolVar(&asJSON, "json", false, "print JSON, one line for each file and level")
	f.StringVar(&summary, "summary", "", summaryHelp)
	f.BoolVar(&k.pages, "pages", false, "in the folder of a run in windows, explain the first 20 violated windows, and write a page for each")
	f.BoolVarP(&k.quiet, "quiet", "q", false, "print results only")
	f.BoolVar(&k.noProgress, "no-progress", false, "show no progress")
	return c
}

const versionsUsage = "what to do with the order that the database claims, if the history has it: " + checker.VersionsHelp

var accelUsage = "how the polygraph engine computes reachability: " + choose.Names()

// explainFor is the default time limit for explaining a violation.
const explainFor = 10 * time.Second

const explainUsage = "time limit for explaining a violation: its counterexample, and the other levels; 0 explains nothing"

func levelHelp() string {
	var parts []string
	for _, l := range level.All() {
		parts = append(parts, l.String()+" ("+l.Title()+")")
	}
	return strings.Join(parts, ", ")
}

// check judges one file after another. If one cannot be read, it still judges the others.
func (a *app) check(paths []string, k *checking, asJSON bool, summary string) error {
	var outcomes []results.Outcome
	var unread []error
	judge := func() error {
		for _, path := range paths {
			tell := func(o results.Outcome) error {
				if summary != "" { // only kept for a summary: outcomes may be large, and files many
					outcomes = append(outcomes, o)
				}
				if k.tellAccel {
					tellReachability(&o)
				} else if !asJSON {
					o.Accel = nil
				}
				return a.print(o, asJSON)
			}
			windows, err := results.WindowFiles(path)
			switch {
			case err != nil:
			case len(windows) > 0 && k.rounds > 0:
				err = usage("%s is a run in windows, which are judged one by one without --rounds", path)
			case len(windows) > 0:
				err = a.checkWindows(path, windows, k, tell)
			case k.pages:
				return usage("--pages: %s is not the folder of a run in windows", path)
			default:
				path, err = results.HistoryFile(path)
				switch {
				case err != nil:
				case k.rounds > 0:
					err = a.checkRounds(path, k, tell)
				default:
					err = a.judge(path, k, nil, tell)
				}
			}
			switch {
			case err == nil:
			case a.work.Err() != nil:
				return errInterrupted
			case codeOfError(err) == exitIO:
				return err
			default:
				unread = append(unread, err)
				a.found(codeOfError(err))
				fmt.Fprintf(a.msg, "isohound: %v\n", err)
			}
		}
		return nil
	}
	err := judge()
	if serr := appendSummary(summary, func() string { return results.CheckSummary(outcomes, unread) }); err == nil {
		err = withCode(exitIO, serr)
	}
	return err
}

// print writes an outcome to standard output.
func (a *app) print(o results.Outcome, asJSON bool) error {
	var err error
	if asJSON {
		err = json.NewEncoder(a.out).Encode(o)
	} else {
		kept := o
		same := o.Repeated(a.printed)
		_, err = io.WriteString(a.out, text(o, same))
		if len(a.printed) > 0 && a.printed[0].Path != o.Path {
			a.printed = nil // outcomes may be large, and files many
		}
		a.printed = append(a.printed, kept)
	}
	return withCode(exitIO, errors.Wrap(err, "standard output"))
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// leastExplain is from how many seconds on the time for explaining a violation is told.
const leastExplain = 0.1

// printable is a file's name as it is printed: one with characters that change what a terminal shows is quoted.
func printable(path string) string {
	if strings.ContainsFunc(path, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(path)
	}
	return path
}

// text formats an outcome as text. same are texts about anomalies that were printed before.
func text(o results.Outcome, same []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s %s", printable(o.Path), o.Level, o.Words())
	if o.Txns > 0 {
		fmt.Fprintf(&b, "  (%s of %s", plural(o.Txns, "transaction"), plural(o.Sessions, "session"))
		fmt.Fprintf(&b, "; read in %.2f s, checked in %.2f s", o.ParseSeconds, o.CheckSeconds)
		if o.Verdict == verdict.Violated && o.ExplainSeconds >= leastExplain {
			fmt.Fprintf(&b, ", explained in %.2f s", o.ExplainSeconds)
		}
		if o.Certified {
			b.WriteString(", proof verified")
		}
		b.WriteString(")")
	}
	b.WriteString("\n")
	if o.Windows != nil {
		fmt.Fprintf(&b, "  %s\n", o.Windows.Text())
	}
	if o.Rounds != nil {
		fmt.Fprintf(&b, "  %s\n", o.Rounds.Text())
	}
	for _, note := range o.Notes {
		fmt.Fprintf(&b, "  note: %s\n", note)
	}
	if p := o.Predicates; p != nil {
		fmt.Fprintf(&b, "  scans: %d of %d judged", p.Judged, p.Scans)
		if p.ClassReads > 0 { // else none was needed
			fmt.Fprintf(&b, ", with %s that they could have returned and did not", plural(p.ClassReads, "row"))
		}
		b.WriteString("\n")
		if p.Reason != "" {
			fmt.Fprintf(&b, "  %s\n", p.Reason)
		}
	}
	if o.Snapshots != nil {
		fmt.Fprintf(&b, "  %s\n", o.Snapshots.Words())
	}
	if o.Claim != nil {
		fmt.Fprintf(&b, "  %s\n", o.Claim.Words(o.Level))
	}
	if o.Assumes != nil {
		fmt.Fprintf(&b, "  %s\n", o.Assumes.Words(o.Verdict))
	}
	if o.Accel != nil {
		fmt.Fprintf(&b, "  reachability: %s in %.2f s, %s of %s; %s\n", o.Accel.Backend, o.Accel.Seconds,
			humanize.IBytes(uint64(o.Accel.Bytes)), fmt.Sprintf("%d vertices", o.Accel.Vertices), o.Accel.Reason)
	}
	if o.Reason != "" {
		fmt.Fprintf(&b, "  %s\n", o.Reason)
	}
	if o.Standing != nil {
		fmt.Fprintf(&b, "  %s\n", o.Standing.Text)
	}
	for _, s := range same {
		fmt.Fprintf(&b, "  %s\n", s)
	}
	for _, an := range o.Anomalies {
		fmt.Fprintf(&b, "\n  %s", an.Name)
		if len(an.Names) > 1 {
			fmt.Fprintf(&b, " (%s)", strings.Join(an.Names[1:], ", "))
		}
		if times := an.Times(); times != "" {
			fmt.Fprintf(&b, ", %s; one of them:", times)
		}
		b.WriteString("\n")
		for _, line := range strings.Split(an.Text, "\n") {
			fmt.Fprintf(&b, "    %s\n", line)
		}
		shown, more := an.Shown()
		for _, t := range shown {
			for _, line := range results.TxnLines(t, "--json") {
				fmt.Fprintf(&b, "      %s\n", line)
			}
		}
		if more > 0 {
			fmt.Fprintf(&b, "      … and %s, which --json lists\n", plural(more, "more transaction"))
		}
		if c := an.Counterexample; c != nil && c.Standing.Text != o.Standing.Text {
			fmt.Fprintf(&b, "    This alone %s.\n", c.Standing.Text)
		}
	}
	if len(o.Anomalies) > 0 {
		b.WriteString("\n")
	}
	return b.String()
}

// parseSize reads a size such as 2GB.
func parseSize(flag, text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	n, err := humanize.ParseBytes(text)
	if err != nil || n > 1<<62 {
		return 0, usage("--%s %s: expected a size such as 2GiB", flag, text)
	}
	return int64(n), nil
}

const summaryHelp = "append the verdicts to this file as Markdown, such as \"$GITHUB_STEP_SUMMARY\"; an empty name writes nothing"

// appendSummary appends a summary, if path is set.
func appendSummary(path string, text func() string) error {
	if path == "" {
		return nil
	}
	return errors.Wrap(results.AppendSummary(path, text()), "--summary")
}

// noReachability is printed if the user chose a backend but the polygraph engine decided without
// one.
const noReachability = "reachability: this check did not need it, so no backend ran"

func tellReachability(o *results.Outcome) {
	if o.Accel == nil && o.Engine == polygraph.Name {
		o.Notes = append(o.Notes, noReachability)
	}
}
