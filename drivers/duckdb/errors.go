package duckdb

import (
	"context"
	"strings"

	client "github.com/duckdb/duckdb-go/v2"
	"github.com/pkg/errors"

	"github.com/isohound/isohound/drivers"
)

// conflicts are parts of the messages by which DuckDB refuses a transaction that meets another one, or a key that is
// there, with the texts under which they are counted. Nothing is committed after any of them: one at a commit rolls
// back, too. DuckDB has no codes for them.
var conflicts = []struct {
	part, cause string
	kind        client.ErrorType
}{
	{"Conflict on update", "conflict on update", client.ErrorTypeTransaction},
	{"Conflict on tuple deletion", "conflict on deletion", client.ErrorTypeTransaction},
	{"write-write conflict", "write-write conflict", client.ErrorTypeTransaction},
	{"PRIMARY KEY or UNIQUE constraint violation", "duplicate key at the commit", client.ErrorTypeTransaction},
	{"Transaction conflict", "transaction conflict", client.ErrorTypeTransaction},
	{"Duplicate key", "duplicate key", client.ErrorTypeConstraint},
}

// conflict returns the cause of an error that is a conflict, or "".
func conflict(err error) string {
	var e *client.Error
	if errors.As(err, &e) {
		for _, c := range conflicts {
			if e.Type == c.kind && strings.Contains(e.Msg, c.part) {
				return c.cause
			}
		}
	}
	return ""
}

// statementError classifies an error of any call but a commit. Whatever it is, the transaction did not commit.
func statementError(err error) error {
	if err == nil {
		return nil
	}
	out := &drivers.Error{Class: drivers.Fatal, Cause: cause(err), Err: err}
	var e *client.Error
	switch {
	case interrupted(err) || !errors.As(err, &e):
		out.Class, out.Broken = drivers.Aborted, true
	case e.Type == client.ErrorTypeTransaction, conflict(err) != "":
		out.Class = drivers.Aborted
	case e.Type == client.ErrorTypeFatal, e.Type == client.ErrorTypeInternal:
		out.Broken = true
	}
	return out
}

// commitError classifies an error of a commit, or of a statement that commits by itself. Only after a conflict it is
// certain that nothing was done.
func commitError(err error) error {
	if err == nil {
		return nil
	}
	if cause := conflict(err); cause != "" {
		return &drivers.Error{Class: drivers.Aborted, Cause: cause, Err: err}
	}
	return &drivers.Error{Class: drivers.OutcomeUnknown, Cause: cause(err), Broken: true, Err: err}
}

func cause(err error) string {
	if c := conflict(err); c != "" {
		return c
	}
	var e *client.Error
	switch {
	case interrupted(err):
		return "call timed out"
	case errors.As(err, &e):
		return strings.Join(strings.Fields(e.Msg), " ")
	}
	return "connection error"
}

func interrupted(err error) bool {
	var e *client.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) ||
		errors.As(err, &e) && e.Type == client.ErrorTypeInterrupt
}
