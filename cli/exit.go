package cli

import (
	"context"
	"fmt"
	"os"
	"slices"
	"syscall"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/file"
	"github.com/isohound/isohound/internal/scratch"
)

// exitCode is the exit code of the process. Scripts rely on the numbers.
type exitCode int

const (
	exitSatisfied   exitCode = 0
	exitViolated    exitCode = 1
	exitUnknown     exitCode = 2
	exitVacuous     exitCode = 3
	exitUsage       exitCode = 64
	exitData        exitCode = 65
	exitUnavailable exitCode = 69
	exitInternal    exitCode = 70
	exitIO          exitCode = 74
	exitInterrupted exitCode = 130
	exitPipe        exitCode = 141 // as of other filters, which SIGPIPE ends
)

const exitHelp = `Exit codes:
  0 satisfied   1 violated   2 unknown   3 vacuous (run only)
  (--expect violated: 0 violated   1 satisfied)
  64 usage   65 unreadable history   69 server unreachable
  70 internal error   74 cannot write   130 interrupted
  141 the reader of standard output, such as head, has ended
With several files or levels, the first of these that occurs: 1, 70, 74, 141, 69, 65, 2,
3, 0. An interruption comes before 2.`

// precedence orders codes if several apply. An interrupted command that has found a violation
// exits with the code for a violation.
var precedence = []exitCode{exitViolated, exitInternal, exitIO, exitPipe, exitUnavailable, exitData, exitInterrupted, exitUnknown, exitVacuous, exitSatisfied}

// worse returns the code with the higher precedence.
func worse(a, b exitCode) exitCode {
	ra, rb := slices.Index(precedence, a), slices.Index(precedence, b)
	switch {
	case ra < 0: // a usage error: nothing was done
		return a
	case rb < 0:
		return b
	}
	return precedence[min(ra, rb)]
}

func codeOf(v verdict.Verdict) exitCode {
	switch v {
	case verdict.Satisfied:
		return exitSatisfied
	case verdict.Violated:
		return exitViolated
	case verdict.Vacuous:
		return exitVacuous
	}
	return exitUnknown
}

const expectUsage = "expected verdict of every level: satisfied, or violated, with which the exit codes 0 and 1 change places"

// parseExpect reports whether --expect asks for violations.
func parseExpect(value string) (bool, error) {
	switch value {
	case verdict.Satisfied.String():
		return false, nil
	case verdict.Violated.String():
		return true, nil
	}
	return false, usage("--expect %s: expected satisfied or violated", value)
}

// codeOf returns the exit code for a verdict, as it was expected or not.
func (c *checking) codeOf(v verdict.Verdict) exitCode {
	switch code := codeOf(v); {
	case c.expectViolated && code == exitViolated:
		return exitSatisfied
	case c.expectViolated && code == exitSatisfied:
		return exitViolated
	default:
		return code
	}
}

// coded is an error with its exit code.
type coded struct {
	code exitCode
	err  error
}

func (c *coded) Error() string { return c.err.Error() }
func (c *coded) Unwrap() error { return c.err }

func withCode(code exitCode, err error) error {
	if err == nil {
		return nil
	}
	return &coded{code, err}
}

func usage(format string, args ...any) error {
	return withCode(exitUsage, errors.Errorf(format, args...))
}

// codeOfError returns the exit code for an error.
func codeOfError(err error) exitCode {
	var c *coded
	var proof *checker.ProofError
	var format *history.FormatError
	var log *generator.LogError
	var write *file.WriteError
	var dsn *drivers.DSNError
	var unreachable *drivers.UnreachableError
	var temporary *scratch.Error
	var path *os.PathError
	switch {
	case errors.As(err, &c):
		return c.code
	case errors.As(err, &proof):
		return exitInternal
	case errors.As(err, &format):
		return exitData
	case errors.As(err, &log), errors.As(err, &write), errors.As(err, &temporary):
		return exitIO
	case errors.As(err, &dsn):
		return exitUsage
	case errors.As(err, &unreachable):
		return exitUnavailable
	case errors.Is(err, context.Canceled), errors.Is(err, errInterrupted):
		return exitInterrupted
	case errors.As(err, &path) && path.Op == "write":
		return exitIO
	case errors.As(err, &path):
		return exitData
	}
	return exitInternal
}

// finish prints the error that ended the command and returns the exit code: the worse of the
// error's and of those found before. Nothing is said if the reader of standard output, such as head, has read enough.
func (a *app) finish(err error) exitCode {
	if err == nil {
		return a.code
	}
	if a.readerEnded(err) {
		return worse(a.code, exitPipe)
	}
	code := codeOfError(err)
	switch code {
	case exitInternal:
		fmt.Fprintf(a.msg, "isohound: %+v\n", err)
	default:
		fmt.Fprintf(a.msg, "isohound: %v\n", err)
	}
	return worse(a.code, code)
}

// readerEnded reports whether err is that of a write to standard output that nobody reads any more. Connections to servers
// break, too.
func (a *app) readerEnded(err error) bool {
	var path *os.PathError
	return errors.As(err, &path) && path.Path == a.out.Name() && errors.Is(path.Err, syscall.EPIPE)
}

func firstError(all ...error) error {
	for _, err := range all {
		if err != nil {
			return err
		}
	}
	return nil
}
