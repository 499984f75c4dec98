package firebird

import (
	"context"
	"slices"
	"strings"

	"github.com/nakagami/firebirdsql"
	"github.com/pkg/errors"

	"github.com/isohound/isohound/drivers"
)

// causes are the texts under which aborts are counted, by Firebird's error codes. An error has several codes; the first
// one here names it. "deadlock" alone comes last, because Firebird puts it before an update conflict, too.
var causes = []struct {
	code int
	text string
}{
	{firebirdsql.ISCUpdateConflict, "update conflict"},
	{firebirdsql.ISCLockTimeout, "lock timeout"},
	{firebirdsql.ISCUniqueKeyViolation, "unique violation"},
	{firebirdsql.ISCNoDup, "duplicate value"},
	{firebirdsql.ISCDeadlock, "deadlock"},
	{firebirdsql.ISCLockConflict, "lock conflict"},
	{firebirdsql.ISCCancelled, "statement cancelled"},
	{firebirdsql.ISCAttShutdown, "connection shut down"},
	{firebirdsql.ISCShutdown, "database shut down"},
}

// conflicts are the errors by which Firebird refuses a transaction that meets another one.
var conflicts = []int{firebirdsql.ISCUpdateConflict, firebirdsql.ISCLockTimeout, firebirdsql.ISCDeadlock, firebirdsql.ISCLockConflict}

// gone are errors after which the connection is of no use.
var gone = []int{firebirdsql.ISCAttShutdown, firebirdsql.ISCShutdown, firebirdsql.ISCNetworkError, firebirdsql.ISCNetReadErr, firebirdsql.ISCNetWriteErr, firebirdsql.ISCLostDbConnection, firebirdsql.ISCBadDbHandle, firebirdsql.ISCBadTransHandle, firebirdsql.ISCBugCheck, firebirdsql.ISCCancelled}

// hopeless are errors for which a retry makes no sense: no permission, no such database or table, a damaged file, a
// full disk.
var hopeless = []int{firebirdsql.ISCLogin, firebirdsql.ISCNoPriv, firebirdsql.ISCDsqlRelationErr, firebirdsql.ISCRelnotdef, firebirdsql.ISCReadOnlyDatabase, firebirdsql.ISCIoError, firebirdsql.ISCBadDbFormat, firebirdsql.ISCDbCorrupt}

func has(fe *firebirdsql.FbError, codes ...int) bool {
	return slices.ContainsFunc(codes, func(code int) bool { return slices.Contains(fe.GDSCodes, code) })
}

func cause(fe *firebirdsql.FbError) string {
	for _, c := range causes {
		if has(fe, c.code) {
			return c.text
		}
	}
	return strings.TrimSpace(fe.Message)
}

// statementError classifies an error of any call but a commit. The transaction certainly did not commit: no commit was
// sent, and the server rolls back the transaction of an ended connection.
func statementError(err error) error {
	if err == nil {
		return nil
	}
	var fe *firebirdsql.FbError
	if !errors.As(err, &fe) || timedOut(err) {
		return &drivers.Error{Class: drivers.Aborted, Cause: lost(err), Broken: true, Err: err}
	}
	e := &drivers.Error{Class: drivers.Aborted, Cause: cause(fe), Broken: has(fe, gone...), Err: err}
	if has(fe, hopeless...) && !e.Broken && !has(fe, conflicts...) {
		e.Class = drivers.Fatal
	}
	return e
}

// commitError classifies an error of a commit. The transaction certainly aborted only if the server explicitly says so;
// it is then still open, so the session ends and with it the transaction.
func commitError(err error) error {
	if err == nil {
		return nil
	}
	var fe *firebirdsql.FbError
	if !errors.As(err, &fe) || timedOut(err) {
		return &drivers.Error{Class: drivers.OutcomeUnknown, Cause: lost(err), Broken: true, Err: err}
	}
	e := &drivers.Error{Class: drivers.OutcomeUnknown, Cause: cause(fe), Broken: true, Err: err}
	if has(fe, conflicts...) && !has(fe, gone...) {
		e.Class = drivers.Aborted
	}
	return e
}

// connectError classifies an error of connecting, before anything was sent.
func connectError(err error) error {
	e := statementError(err).(*drivers.Error)
	e.Broken = true
	return e
}

func timedOut(err error) bool { return errors.Is(err, context.DeadlineExceeded) }

// lost names a lost connection, or a call that took too long.
func lost(err error) string {
	if timedOut(err) {
		return "call timed out"
	}
	return "connection lost"
}
