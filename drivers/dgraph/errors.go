package dgraph

import (
	"context"
	"strings"

	"github.com/dgraph-io/dgo/v250"
	"github.com/pkg/errors"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/isohound/isohound/drivers"
)

// statementError classifies an error of any request that commits nothing.
func statementError(err error) error { return classify(err, drivers.Aborted) }

// commitError classifies an error of a request that commits. Only the code Aborted from an alpha
// is certain: it is used only when a zero has decided that the transaction aborts. Any other
// error may happen between alpha and zero, after the zero has decided.
//
// A commit must not be sent twice: a zero would find a conflict between the first and the
// second, and report that the transaction aborted.
func commitError(err error) error { return classify(err, drivers.OutcomeUnknown) }

func classify(err error, otherwise drivers.Class) error {
	var known *drivers.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known):
		return err
	case errors.Is(err, dgo.ErrAborted) || status.Code(err) == codes.Aborted:
		return &drivers.Error{Class: drivers.Aborted, Cause: "conflict", Err: err}
	case errors.Is(err, dgo.ErrFinished):
		return &drivers.Error{Class: drivers.Aborted, Cause: "already ended", Err: err}
	}
	e := &drivers.Error{Class: otherwise, Err: err}
	e.Cause, e.Broken = cause(err)
	if otherwise == drivers.Aborted && hopeless[status.Code(errors.Cause(err))] {
		e.Class, e.Broken = drivers.Fatal, true
	}
	return e
}

// hopeless are codes after which a retry makes no sense.
var hopeless = map[codes.Code]bool{codes.Unauthenticated: true, codes.PermissionDenied: true, codes.Unimplemented: true}

// refusals are error texts of servers for errors without their own code.
var refusals = []struct{ text, cause string }{
	{"predicate is being moved", "predicate being moved"},
	{"blocked due to predicate move", "predicate being moved"},
	{"Please retry", "asked to retry"},
	{"Server not ready", "server not ready"},
	{"No connection exists", "no connection inside the cluster"},
	{"Unhealthy connection", "no connection inside the cluster"},
	{"overloaded", "server overloaded"},
	{"pending", "too much pending"},
}

// cause names an error, and reports whether the connection is unusable.
func cause(err error) (string, bool) {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return "call timed out", true
	}
	s, ok := status.FromError(errors.Cause(err))
	if !ok {
		return "client error", true
	}
	switch s.Code() {
	case codes.DeadlineExceeded, codes.Canceled:
		return "call timed out", true
	case codes.Unavailable:
		return "connection lost", true
	}
	for _, r := range refusals {
		if strings.Contains(strings.ToLower(s.Message()), strings.ToLower(r.text)) {
			return r.cause, false
		}
	}
	if s.Code() == codes.Unknown {
		return "error of the server", false
	}
	return s.Code().String(), false
}
