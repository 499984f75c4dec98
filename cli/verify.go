//go:build !front

package cli

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/pkg/errors"
	"github.com/spf13/cobra"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/drivers/drivertest"
	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/workloads"
)

// verifying is isohound drivers verify.
type verifying struct {
	driver, dsn, isolation, out string
	txns, sessions              int

	app  *app
	d    drivers.Driver
	text bytes.Buffer // what is printed, for the file
	bad  int
	runs int
}

// verifyFile is the file with what verify printed.
const verifyFile = "verify.txt"

// verifyWorkloads are the workloads that verify runs, if the driver can.
var verifyWorkloads = []string{"mini", "general", "scan", "lwt"}

func (a *app) verifyCommand() *cobra.Command {
	v := &verifying{app: a}
	c := &cobra.Command{
		Use:   "verify --driver NAME --dsn DSN [flags]",
		Short: "Test a driver against its database, and say what to send back",
		Long: `verify runs the tests that every driver must pass against a database, and then short
workloads at each isolation, which must keep what the isolation promises. The folder
has all that was found, in a form to send back. The database gets schemas of their own,
which are dropped. deploy/compose has databases to start.`,
		Example: `  docker compose -f deploy/compose/cockroach.yaml up --wait
  isohound drivers verify --driver cockroach --dsn "postgres://root@127.0.0.1:26257/defaultdb?sslmode=disable"`,
		Args: exactly(0, "flags only"),
		RunE: func(*cobra.Command, []string) error { return v.run() },
	}
	f := c.Flags()
	f.SortFlags = false
	f.StringVar(&v.driver, "driver", "", "driver to test; isohound drivers lists them")
	f.StringVar(&v.dsn, "dsn", "", "where the database is (default $"+dsnVariable+")")
	f.StringVar(&v.isolation, "isolation", "", "run workloads at this isolation only")
	f.StringVar(&v.out, "out", "", "folder for what was found (default verify-DRIVER)")
	f.IntVar(&v.txns, "txns", 100, "transactions per session of each run; a run in which they do not meet is repeated with more")
	f.IntVar(&v.sessions, "sessions", 10, "sessions of each run")
	return c
}

func (v *verifying) run() error {
	var err error
	if v.driver == "" {
		return usage("verify needs --driver")
	}
	if v.d, err = findDriver(v.driver); err != nil {
		return err
	}
	if v.dsn == "" {
		v.dsn = os.Getenv(dsnVariable)
	}
	isolations := v.d.Info().Isolations
	if v.isolation != "" {
		one, err := v.d.Info().FindIsolation(v.isolation)
		if err != nil {
			return withCode(exitUsage, err)
		}
		isolations = []drivers.Isolation{one}
	}
	switch info := v.d.Info(); {
	case v.dsn == "" && !info.Embedded:
		return usage("verify needs --dsn or $%s, such as %s", dsnVariable, info.DSN)
	case v.txns < 1 || v.sessions < 1 || v.sessions > maxSessions:
		return usage("--txns and --sessions must be at least 1, and --sessions at most %d", maxSessions)
	}
	if v.out == "" {
		v.out = "verify-" + v.driver
	}
	address := v.dsn
	if v.dsn, err = v.d.Info().Address(v.dsn); err != nil {
		return withCode(exitUsage, err)
	}
	db, err := v.d.Open(v.app.stop, drivers.Config{DSN: v.dsn, Isolation: v.d.Info().Isolations[0].Name, CallTimeout: generator.DefaultCallTimeout})
	if err != nil {
		return err
	}
	v.say("isohound %s, %s/%s\ndriver %s, server %s\n", version(), runtime.GOOS, runtime.GOARCH, v.driver, db.Server())
	if n, ok := db.(drivers.Noter); ok {
		for _, note := range n.Notes() {
			v.say("note: %s\n", note)
		}
	}
	if err := db.Close(v.app.ctx); err != nil {
		return err
	}
	if err := os.Mkdir(v.out, 0o755); err != nil {
		return withCode(exitIO, errors.Wrap(err, "--out"))
	}
	v.say("\ntests of the driver\n")
	drivertest.Verify(v.d, v.dsn, func(c drivertest.Checked) {
		if len(c.Failures) == 0 {
			v.say("  ok      %s\n", c.Name)
			return
		}
		v.bad++
		v.say("  FAILED  %s\n", c.Name)
		for _, f := range c.Failures {
			v.say("          %s\n", strings.ReplaceAll(strings.TrimSpace(f), "\n", "\n          "))
		}
	})
	v.say("\nruns of %d sessions with %d transactions each, checked for what the isolation promises\n", v.sessions, v.txns)
	for _, iso := range isolations {
		for _, name := range verifyWorkloads {
			if v.app.stop.Err() != nil {
				return errInterrupted
			}
			if can, err := v.can(iso, name); err != nil {
				return err
			} else if can {
				if err := v.one(v.app.stop, address, iso, name); err != nil {
					return err
				}
			}
		}
	}
	return v.conclude()
}

// say prints, and keeps what was printed. A DSN in the text of an error is masked.
func (v *verifying) say(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if v.dsn != "" {
		text = strings.ReplaceAll(text, v.dsn, drivers.MaskDSN(v.d, v.dsn))
	}
	v.text.WriteString(text)
	fmt.Fprint(v.app.out, text)
}

// can reports whether the driver has what a workload needs, at an isolation.
func (v *verifying) can(iso drivers.Isolation, name string) (bool, error) {
	spec, err := workloads.Find(name)
	if err != nil {
		return false, err
	}
	values, err := spec.Resolve(nil)
	if err != nil {
		return false, err
	}
	w, err := spec.New(workloads.Common{Sessions: v.sessions, Keys: 100, Dist: "uniform"}, values)
	if err != nil {
		return false, err
	}
	needs := spec.Needs
	if n, ok := w.(generator.Needer); ok {
		needs = slices.Concat(needs, n.Needs())
	}
	light := slices.Contains(needs, drivers.Lightweight)
	if light && iso.Lightweight == "" || !light && iso.Promises == "" && !iso.ByServer {
		return false, nil
	}
	if iso.Lacks(needs) != "" {
		return false, nil
	}
	for _, need := range needs {
		if !slices.Contains(v.d.Info().Can, need) {
			return false, nil
		}
	}
	return true, nil
}

// longerRuns is how often a run in which transactions did not meet is repeated, each time with four times as many. No
// session has more than longestRun then.
const (
	longerRuns = 3
	longestRun = 10_000
)

// one runs a workload in a process of its own.
func (v *verifying) one(ctx context.Context, dsn string, iso drivers.Isolation, name string) error {
	v.runs++
	folder := strconv.Itoa(v.runs) + "-" + name
	txns := v.txns
	code, text, err := v.try(ctx, dsn, iso, name, folder, txns)
	for n := 0; err == nil && code == exitVacuous && n < longerRuns && 4*txns <= longestRun; n++ {
		if err = os.RemoveAll(filepath.Join(v.out, folder)); err != nil {
			return withCode(exitIO, err)
		}
		txns *= 4
		code, text, err = v.try(ctx, dsn, iso, name, folder, txns)
	}
	if err != nil {
		return err
	}
	word := map[exitCode]string{exitSatisfied: "ok", exitViolated: "VIOLATED", exitUnknown: "unknown", exitVacuous: "vacuous"}[code]
	if word == "" {
		word = "FAILED"
	}
	more := ""
	if txns > v.txns {
		more = fmt.Sprintf(", with %d transactions each, since fewer did not meet", txns)
	}
	v.say("  %-8s %s at %q, %s%s\n", word, name, iso.Name, folder, more)
	if code == exitSatisfied {
		return nil
	}
	v.bad++
	if text != "" {
		v.say("          %s\n", strings.ReplaceAll(text, "\n", "\n          "))
	}
	return nil
}

// try runs a workload once, and returns the exit code and what was printed.
func (v *verifying) try(ctx context.Context, dsn string, iso drivers.Isolation, name, folder string, txns int) (exitCode, string, error) {
	self, err := os.Executable()
	if err != nil {
		return 0, "", errors.WithStack(err)
	}
	c := exec.CommandContext(ctx, self, "run", "--driver", v.driver, "--isolation", iso.Name, "--workload", name, "--sessions", strconv.Itoa(v.sessions),
		"--txns", strconv.Itoa(txns), "--check", "claimed", "--quiet", "--out", filepath.Join(v.out, folder))
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	// The environment does not show a password to other users, as arguments do.
	c.Env = append(slices.DeleteFunc(os.Environ(), func(e string) bool { return strings.HasPrefix(e, dsnVariable+"=") }), dsnVariable+"="+dsn)
	var out, msg bytes.Buffer
	c.Stdout, c.Stderr = &out, &msg
	err = c.Run()
	if ctx.Err() != nil {
		return 0, "", errInterrupted
	}
	if _, exited := err.(*exec.ExitError); err != nil && !exited {
		return 0, "", errors.WithStack(err)
	}
	printed := strings.TrimSpace(strings.TrimSpace(out.String()) + "\n" + strings.TrimSpace(msg.String()))
	return exitCode(c.ProcessState.ExitCode()), printed, nil
}

// conclude writes the file, and says what to send back.
func (v *verifying) conclude() error {
	verdict := "All passed."
	if v.bad > 0 {
		verdict = fmt.Sprintf("%d of these did not pass.", v.bad)
		v.app.found(exitViolated)
	}
	v.say("\n%s\n", verdict)
	if err := os.WriteFile(filepath.Join(v.out, verifyFile), v.text.Bytes(), 0o644); err != nil {
		return withCode(exitIO, err)
	}
	_, err := fmt.Fprintf(v.app.out, `Send back %s. Unless all passed, send the whole folder, which has the histories, verdicts and
reproductions of the runs; passwords in DSNs are masked:
  tar czf %s.tar.gz %s
`, filepath.Join(v.out, verifyFile), filepath.Base(v.out), v.out)
	return withCode(exitIO, err)
}
