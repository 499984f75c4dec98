//go:build !front

package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pkg/errors"
	"github.com/spf13/cobra"

	"github.com/isohound/isohound/accel/choose"
	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/nearness"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/file"
	"github.com/isohound/isohound/results"
	"github.com/isohound/isohound/workloads/fromfile"
)

// runOptions are the flags of run besides the settings.
type runOptions struct {
	check, expect, engine, accel, versions, out, maxMemory string
	checkTimeout, explain                                  time.Duration
	certify, asJSON, plain                                 bool
	recordOnly                                             bool
	summary                                                string
	cutEvery, keep, onViolation                            string
	resume, share, metrics                                 string
	judgeShare                                             float64
	maxLag                                                 time.Duration
	attach                                                 []string
	publish                                                natsServer
	away                                                   elsewhere // of publish
	loaders                                                string
}

func (a *app) runCommand() *cobra.Command {
	s, o := &settings{}, &runOptions{}
	c := &cobra.Command{
		Use:   "run [flags]",
		Short: "Run a workload against a database, check its history, write a report",
		Long: `run drives a database with concurrent transactions, records the history, judges
it at each level, and writes a folder with the history, the verdicts, a report
for the browser and a JUnit file. If a level is violated, the folder also has a
subfolder repro with all that someone else needs to see it. docs/reports.md lists the files.

` + exitHelp,
		Example: `  isohound run
  isohound run --driver postgres --dsn postgres://me@127.0.0.1/test --isolation serializable --check ser,sser
  isohound run --driver mariadb --dsn mariadb://me@127.0.0.1/ --isolation "repeatable read" --check si --duration 1m`,
		Args: exactly(0, "flags only"),
		RunE: func(c *cobra.Command, _ []string) error {
			if c.Flags().Changed("resume") && o.resume == "" {
				return usage("--resume needs the folder of a run")
			}
			if path, described := strings.CutPrefix(s.workload, fromfile.Kind+"="); described && o.loaders != "" && !regular(path) {
				return usage("--loaders: load generators read the file of the workload, too, and %s is not a regular file; write it to a file first", path)
			}
			if o.resume != "" {
				var err error
				if s.resume, err = a.prepareResume(c, o.resume); err != nil {
					return err
				}
			}
			var err error
			if s.loaders, err = parseLoaders(o.loaders); err != nil {
				return err
			}
			if err := s.resolve(a.stop, c); err != nil {
				return err
			}
			s.given = given(c, s)
			return a.run(s, o)
		},
	}
	s.flags(c)
	f := c.Flags()
	f.StringVar(&o.check, "check", "claimed", "levels to check, separated by commas; claimed stands for what the isolation promises")
	f.StringVar(&o.expect, "expect", verdict.Satisfied.String(), expectUsage)
	f.StringVar(&o.engine, "engine", "auto", "checker: auto, replay, linear, polygraph, weak, psi, baseline; see isohound check --help")
	f.StringVar(&o.accel, "accel", "auto", accelUsage+"; see isohound check --help")
	f.StringVar(&o.versions, "versions", string(checker.Hint), versionsUsage)
	f.DurationVar(&o.checkTimeout, "check-timeout", 10*time.Minute, "time limit for each level, after which the verdict is unknown; 0 is no limit")
	f.DurationVar(&o.explain, "explain-timeout", explainFor, explainUsage)
	f.StringVar(&o.maxMemory, "max-memory", "", memoryUsage)
	f.BoolVar(&o.certify, "certify", true, "verify the proof of each verdict by independent code")
	f.StringVar(&o.out, "out", "", "folder for the results, which must not hold another run (default a new folder in runs/)")
	f.BoolVar(&o.plain, "plain", false, "do not compress the history")
	f.BoolVar(&o.recordOnly, "record-only", false, "record the run and do not judge it; isohound report FOLDER judges it, then or on another machine")
	f.StringVar(&o.cutEvery, "cut-every", "", "cut the run into windows that are judged as it goes on: auto, a time (30s) or a number of transactions (100000txns); see docs/windows.md")
	f.StringVar(&o.keep, "keep", "all", "which windows stay on disk: all, violated, or the last so many and those not satisfied")
	f.StringVar(&o.onViolation, "on-violation", "stop", "what a violated window does to the run: stop or continue")
	f.DurationVar(&o.maxLag, "max-lag", 10*time.Second, "how far the checker may be behind a run in windows; the run waits for it then, and says so")
	f.StringVar(&o.share, "judge-share", "100%", "part of all cores that the checker may use while a run in windows goes on; it uses one core at most")
	f.StringVar(&o.resume, "resume", "", "go on with the run in windows in this folder, which was cut off, with the flags and the DSN of that time (a password must be given again, with --dsn or $"+dsnVariable+"); others may be given; --duration and --txns count anew")
	f.StringVar(&o.publish.url, "publish", "", "have the windows judged by isohound judge on other machines, through this NATS server (nats://HOST:4222); see docs/scale.md")
	f.StringVar(&o.loaders, "loaders", "", "let load generators on other machines join (isohound load), and begin when so many have; 0 waits for none. See docs/scale.md")
	f.StringVar(&o.publish.creds, "nats-creds", "", natsCredsHelp)
	f.StringVar(&o.publish.ca, "nats-ca", "", natsCAHelp)
	f.StringVar(&o.metrics, "metrics", "", "serve figures of the run to Prometheus at this address, :9090 say, as long as it goes on; see docs/reports.md")
	f.BoolVar(&o.asJSON, "json", false, "print JSON, one line for each level")
	f.StringVar(&o.summary, "summary", "", summaryHelp)
	f.StringArrayVar(&o.attach, "attach", nil, "keep this file too if a level is violated, such as the server's log; may be repeated")
	return c
}

// checked returns the levels of --check. promises takes the place of claimed.
func checked(names, promises string) ([]level.Level, error) {
	list := strings.Split(names, ",")
	for n, name := range list {
		if strings.EqualFold(strings.TrimSpace(name), "claimed") {
			list[n] = promises
		}
	}
	return level.ParseList(strings.Join(list, ","))
}

func (a *app) run(s *settings, o *runOptions) error {
	k := &checking{timeout: o.checkTimeout, explain: o.explain, stand: true, certify: o.certify, quiet: s.quiet, noProgress: s.noProgress, format: file.Native}
	var err error
	if k.engine, err = checker.ParseEngine(o.engine); err != nil {
		return withCode(exitUsage, err)
	}
	if k.accel, err = checker.ParseAccel(o.accel, k.engine); err != nil {
		return withCode(exitUsage, err)
	}
	if k.versions, err = checker.ParseVersions(o.versions, k.engine); err != nil {
		return withCode(exitUsage, err)
	}
	if k.memory, err = parseMemory(o.maxMemory); err != nil {
		return err
	}
	if k.expectViolated, err = parseExpect(o.expect); err != nil {
		return err
	}
	if s.cuts, err = parseCuts(o.cutEvery); err != nil {
		return err
	}
	if s.fenceEvery > 0 && o.cutEvery != "" {
		return usage("--fence-every is for histories that are judged in rounds, and --cut-every for windows; choose one of them")
	}
	if _, err := parseKeep(o.keep); err != nil {
		return err
	}
	if o.onViolation != "stop" && o.onViolation != "continue" {
		return usage("--on-violation %s: expected stop or continue", o.onViolation)
	}
	if k.levels, err = checked(o.check, level.SER.String()); err != nil { // before a connection is made
		return withCode(exitUsage, err)
	}
	if o.judgeShare, err = parseShare(o.share); err != nil {
		return err
	}
	if o.maxLag <= 0 {
		return usage("--max-lag must be positive")
	}
	if s.resume != nil && o.out != "" {
		return usage("--resume goes on in the folder that it names; --out does not go with it")
	}
	if s.resume != nil && o.publish.url != "" {
		return usage("--resume judges the windows here; --publish does not go with it")
	}
	if o.recordOnly && (s.cuts.Every > 0 || o.cutEvery != "" || s.resume != nil) {
		return usage("--record-only is for a run that is not cut into windows; windows are judged while the run goes on")
	}
	if err := o.checkPublish(); err != nil {
		return err
	}
	if err := o.checkLoaders(s, k.levels); err != nil {
		return err
	}
	if o.checkTimeout < 0 {
		return usage("--check-timeout must not be negative")
	}
	if o.explain < 0 {
		return usage("--explain-timeout must not be negative")
	}
	if o.out != "" && results.Holds(o.out) {
		return holdsRun(o.out)
	}
	if o.publish.url != "" {
		if o.away, err = a.publish(o); err != nil {
			return err
		}
	}
	if o.metrics != "" {
		var stop func()
		if a.metrics, stop, err = serveMetrics(o.metrics); err != nil {
			return err
		}
		defer stop()
		if !s.quiet {
			fmt.Fprintf(a.msg, "metrics at %s\n", a.metrics.at)
		}
	}
	db, err := a.open(s)
	if err != nil {
		return err
	}
	release := sync.OnceFunc(func() {
		if s.resume != nil && !s.resume.begins {
			a.closeDB(kept{db})
			return
		}
		a.closeDB(db)
	})
	defer release()
	if k.levels, err = checked(o.check, promises(s, db)); err != nil {
		return errors.Wrapf(err, "driver %s, isolation %q", s.driver, s.level.Name)
	}
	if err := o.checkLoaders(s, k.levels); err != nil {
		return err
	}
	defer func() { s.verdicts.Close() }() // when the results are written
	dir := o.resume
	if s.resume == nil {
		if err := a.create(s, db); err != nil {
			return err
		}
		if o.loaders != "" {
			if err := a.letJoin(s, o, db); err != nil {
				return err
			}
		}
		if dir, err = runFolder(s, o.out); err != nil {
			return err
		}
		if err := s.keepWorkload(dir); err != nil {
			return err
		}
	} else {
		if err := s.sameWorkload(dir); err != nil {
			return err
		}
		if s.verdicts, err = lockRun(dir); err != nil { // before anything is changed, in the folder and on the server
			return err
		}
		if err := s.resume.load(a.stop, dir); err != nil {
			return err
		}
		if err := a.attach(s, db); err != nil {
			return err
		}
		if err := results.Unjudge(dir); err != nil { // report may have judged what there was
			return withCode(exitIO, err)
		}
	}
	log, err := a.openLog(s, db)
	if err != nil {
		return err
	}
	a.announce(s, db)
	conf := a.config(s, o, k, db)
	conf.Repeat = s.repeat(dir, o, k)
	if err := s.keepBase(&conf); err != nil {
		return err
	}
	a.metrics.run(&conf)
	run := &results.Run{Config: conf, Outcomes: []results.Outcome{}}
	if o.cutEvery != "" {
		rec, err := a.generateWindows(s, o, k, db, log, dir, run)
		if err != nil {
			return err
		}
		release()
		return a.concludeWindows(s, o, k, dir, run, rec)
	}
	rec, err := a.generateInto(s, db, dir, run)
	if err != nil {
		return err
	}
	if log != nil && rec.err == nil {
		log.join(filepath.Join(dir, run.Config.History))
		log.tell()
	}
	release()                                              // judging may take long and needs memory, but no database
	if err := results.SaveRecorded(dir, run); err != nil { // if judging is cut off, report can do it
		return withCode(exitIO, err)
	}
	if o.recordOnly {
		return a.recorded(s, dir, rec)
	}
	return a.conclude(s, o, k, dir, run, rec)
}

// conclude checks the history and writes the results, even if the recording ended early.
func (a *app) conclude(s *settings, o *runOptions, k *checking, dir string, run *results.Run, rec *recording) error {
	interrupted := rec.ended == generator.Interrupted
	if interrupted {
		a.work = a.ctx // the history is still judged; the next signal ends that
	}
	path := filepath.Join(dir, run.Config.History)
	var near *nearness.Nearness
	finish := func(h *history.History, out *results.Outcome) {
		vacuous(h, out)
		if out.Verdict == verdict.Vacuous && run.Config.Cause != "" {
			out.Reason = run.Config.Cause + "; " + out.Reason
		}
		if near == nil && h != nil {
			near = nearness.Measure(h) // the same for all levels
		}
		out.Nearness = near
		a.metrics.verdict(out)
		run.Config.Weigh(out)
	}
	err := a.judge(path, k, finish, func(out results.Outcome) error {
		run.Outcomes = append(run.Outcomes, out)
		out.Invariants = run.Invariants
		if k.accel != choose.Auto {
			tellReachability(&out)
		} else if !o.asJSON {
			out.Accel = nil // the user did not ask for it
		}
		return a.print(out, o.asJSON)
	})
	return a.writeResults(s, o, k, dir, run, rec, err)
}

// writeResults writes the results of a run. err is of judging it.
func (a *app) writeResults(s *settings, o *runOptions, k *checking, dir string, run *results.Run, rec *recording, err error) error {
	if err != nil && a.work.Err() != nil {
		err = errInterrupted
	}
	for _, out := range run.Config.BrokenPromises(run.Outcomes) {
		run.Outcomes = append(run.Outcomes, out)
		a.found(k.codeOf(out.Verdict))
		if perr := a.print(out, o.asJSON); err == nil {
			err = perr
		}
	}
	if len(run.Broken()) > 0 && !k.expectViolated {
		a.found(exitViolated)
	}
	repro := reproOf(&run.Config, o.attach)
	kerr := keepScenario(run, repro)
	report, serr := a.save(dir, run, repro, o)
	serr = firstError(serr, kerr)
	if !s.quiet && serr == nil {
		fmt.Fprintf(a.msg, "report: %s\nrepeat: %s\n", report, run.Config.Repeat)
		if alone := run.Config.Alone(); alone != "" {
			fmt.Fprintf(a.msg, "note: %s\n", alone)
		}
	}
	for _, e := range []error{rec.err, serr, err} {
		if e != nil {
			a.found(codeOfError(e))
		}
	}
	if rec.ended == generator.Interrupted {
		a.found(exitInterrupted)
	}
	// All errors are printed; the first becomes the command's error.
	var first error
	for _, e := range []error{rec.err, err, serr} {
		switch {
		case e == nil:
		case first == nil:
			first = e
		default:
			fmt.Fprintf(a.msg, "isohound: %v\n", e)
		}
	}
	return first
}

// recorded ends a run that is not judged. What ended the recording early is the command's error.
func (a *app) recorded(s *settings, dir string, rec *recording) error {
	if rec.ended == generator.Interrupted {
		a.found(exitInterrupted)
	}
	if !s.quiet {
		fmt.Fprintf(a.msg, "recorded: %s\njudge it: isohound report %s\n", dir, commandLine(dir))
	}
	return rec.err
}

// generateInto records a run into dir.
func (a *app) generateInto(s *settings, db drivers.DB, dir string, run *results.Run) (*recording, error) {
	if err := results.SaveConfig(dir, &run.Config); err != nil {
		return nil, withCode(exitIO, err)
	}
	f, err := createHistory(filepath.Join(dir, run.Config.History))
	if err != nil {
		return nil, err
	}
	rec, err := a.record(s, db, f, strings.HasSuffix(run.Config.History, ".zst"))
	if err != nil {
		f.Close()
		return nil, err
	}
	if cerr := f.Close(); cerr != nil && rec.err == nil {
		rec.err = &generator.LogError{Err: cerr}
	}
	a.summarize(s, rec)
	a.lateNotes(db, &run.Config)
	rec.tell(run)
	return rec, nil
}

// vacuous changes the verdict to vacuous for a run that tested nothing: if it was satisfied, or
// unknown without any commit.
func vacuous(h *history.History, o *results.Outcome) {
	if h == nil || o.Verdict != verdict.Satisfied && !(o.Verdict == verdict.Unknown && h.Count().Committed == 0) {
		return
	}
	if reason := checker.Vacuous(h); reason != "" {
		o.Verdict, o.Reason = verdict.Vacuous, reason
	}
}

// runFolder makes the folder of a run.
func runFolder(s *settings, out string) (string, error) {
	if out == "" {
		name := time.Now().Format("20060102-150405") + "-" + s.driver
		out = filepath.Join("runs", name)
		if err := os.MkdirAll("runs", 0o755); err != nil {
			return "", withCode(exitIO, err)
		}
		err := os.Mkdir(out, 0o755)
		for n := 2; os.IsExist(err); n++ {
			out = filepath.Join("runs", fmt.Sprintf("%s-%d", name, n))
			err = os.Mkdir(out, 0o755)
		}
		return out, withCode(exitIO, err)
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return "", withCode(exitIO, errors.Wrap(err, "--out"))
	}
	for _, name := range []string{"history.jsonl.zst", "history.jsonl", results.WindowsFolder} { // of a folder without its configuration, too
		if _, err := os.Stat(filepath.Join(out, name)); err == nil {
			return "", holdsRun(out)
		}
	}
	if err := results.Claim(out); os.IsExist(err) {
		return "", holdsRun(out)
	} else if err != nil {
		return "", withCode(exitIO, errors.Wrap(err, "--out"))
	}
	return out, nil
}

func holdsRun(out string) error {
	return withCode(exitIO, errors.Errorf("--out %s holds a run already; runs are not overwritten, name another folder", out))
}

func (a *app) config(s *settings, o *runOptions, k *checking, db drivers.DB) results.Config {
	var names []string
	for _, l := range k.levels {
		names = append(names, l.String())
	}
	c := results.Config{
		Started: time.Now(), Version: version(), Driver: s.driver, Server: db.Server(), Isolation: s.level.Name, Promises: promises(s, db), PromisedBy: s.level.Source, Loses: loses(s, db),
		Workload: s.workload, Params: s.values, Sessions: s.sessions, Txns: s.txns, Keys: s.keys, Dist: s.dist, Skew: s.skew,
		Seed: s.seed, Rate: s.rate, Levels: names, History: "history.jsonl.zst", Ended: results.NotYet, Notes: a.notes(db), Nodes: s.nodes(), Faults: s.script(),
	}
	if o.plain {
		c.History = "history.jsonl"
	}
	if o.cutEvery != "" {
		c.History = results.WindowsFolder
		c.Loaders = s.fleet != nil
		if d, ok := db.(drivers.Resumer); ok && !c.Loaders {
			c.Schema, c.Flags = d.Schema(), s.given
		}
	}
	if s.resume != nil {
		s.resume.conf.Resumed++
		c.Started, c.Resumed = s.resume.conf.Started, s.resume.conf.Resumed
	}
	if s.ownKeys {
		c.Keys, c.Dist = 0, ""
	}
	if s.duration > 0 {
		c.Duration = s.duration.String()
	}
	c.Command = commandLine(append(s.words(k, true), o.cutWords()...)...)
	if !s.info.Embedded && s.server == "" { // a server of the run is gone with it
		c.DSN = s.endpoints()
	}
	return c
}

// cutWords are the flags that cut a run.
func (o *runOptions) cutWords() []string {
	if o.cutEvery == "" {
		return nil
	}
	return []string{"--cut-every", o.cutEvery, "--keep", o.keep, "--on-violation", o.onViolation}
}

// repeat is the command that repeats the run in dir. It names what was kept of a workload that nobody can read again.
func (s *settings) repeat(dir string, o *runOptions, k *checking) string {
	words := append(s.words(k, false), o.cutWords()...)
	if n := slices.Index(words, s.workload); n > 0 && words[n-1] == "--workload" {
		words[n] = keptWorkload(dir, s.workload)
	}
	return commandLine(program()) + " " + commandLine(words...)
}

// words is the command that repeats the run.
func (s *settings) words(k *checking, forOthers bool) []string {
	var names []string
	for _, l := range k.levels {
		names = append(names, l.String())
	}
	words := append([]string{"run"}, s.arguments(forOthers)...)
	words = append(words, "--check", strings.Join(names, ","))
	if k.engine != checker.Auto {
		words = append(words, "--engine", string(k.engine))
	}
	if k.accel != choose.Auto {
		words = append(words, "--accel", string(k.accel))
	}
	if k.versions != checker.Hint {
		words = append(words, "--versions", string(k.versions))
	}
	return words
}
