package cassandra

import (
	"context"
	"fmt"

	"github.com/gocql/gocql"
	"github.com/pkg/errors"

	"github.com/isohound/isohound/drivers"
)

// names are those of the error codes in the native protocol's specification.
var names = map[int]string{
	gocql.ErrCodeServer:          "server error",
	gocql.ErrCodeProtocol:        "protocol error",
	gocql.ErrCodeCredentials:     "authentication error",
	gocql.ErrCodeUnavailable:     "unavailable",
	gocql.ErrCodeOverloaded:      "overloaded",
	gocql.ErrCodeBootstrapping:   "bootstrapping",
	gocql.ErrCodeTruncate:        "truncate error",
	gocql.ErrCodeWriteTimeout:    "write timeout",
	gocql.ErrCodeReadTimeout:     "read timeout",
	gocql.ErrCodeReadFailure:     "read failure",
	gocql.ErrCodeFunctionFailure: "function failure",
	gocql.ErrCodeWriteFailure:    "write failure",
	gocql.ErrCodeCASWriteUnknown: "CAS write unknown",
	gocql.ErrCodeSyntax:          "syntax error",
	gocql.ErrCodeUnauthorized:    "unauthorized",
	gocql.ErrCodeInvalid:         "invalid",
	gocql.ErrCodeConfig:          "config error",
	gocql.ErrCodeAlreadyExists:   "already exists",
	gocql.ErrCodeUnprepared:      "unprepared",
}

// hopeless are codes with which a server refuses a statement before executing it, and would
// refuse it again.
var hopeless = map[int]bool{
	gocql.ErrCodeCredentials: true, gocql.ErrCodeSyntax: true, gocql.ErrCodeUnauthorized: true,
	gocql.ErrCodeInvalid: true, gocql.ErrCodeConfig: true, gocql.ErrCodeAlreadyExists: true,
}

// readError classifies an error of a statement that writes nothing.
func readError(err error) error { return classify(err, drivers.Aborted) }

// connectError classifies an error of connecting, before anything was sent.
func connectError(err error) error {
	e := drivers.AsError(classify(err, drivers.Aborted))
	e.Broken = true
	return e
}

// writeError classifies an error of a conditional statement. That it had no effect is only
// certain if it was refused before execution, or not sent. Any other error may follow a proposal
// that some replicas have accepted and that a later statement will complete. This includes
// Unavailable and Overloaded: the coordinator checks for live replicas at the beginning of each
// of its attempts (StorageProxy.cas), and since version 4 once more when it writes the accepted
// proposal.
// agreed on.
func writeError(err error) error { return classify(err, drivers.OutcomeUnknown) }

func classify(err error, otherwise drivers.Class) error {
	if err == nil {
		return nil
	}
	var answer gocql.RequestError
	switch {
	case errors.As(err, &answer):
		e := &drivers.Error{Class: otherwise, Cause: cause(answer), Err: err}
		if hopeless[answer.Code()] {
			e.Class = drivers.Fatal
		}
		return e
	case errors.Is(err, gocql.ErrNoConnections) || errors.Is(err, gocql.ErrNoStreams) || errors.Is(err, gocql.ErrSessionClosed):
		return &drivers.Error{Class: drivers.Aborted, Cause: "no connection", Broken: true, Err: err}
	case errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) || errors.Is(err, gocql.ErrTimeoutNoResponse):
		return &drivers.Error{Class: otherwise, Cause: "call timed out", Broken: true, Err: err}
	}
	return &drivers.Error{Class: otherwise, Cause: "connection lost", Broken: true, Err: err}
}

func cause(answer gocql.RequestError) string {
	name, ok := names[answer.Code()]
	if !ok {
		return fmt.Sprintf("error 0x%04x", answer.Code())
	}
	var wt *gocql.RequestErrWriteTimeout
	if errors.As(answer.(error), &wt) {
		name += " " + wt.WriteType
	}
	return name
}
