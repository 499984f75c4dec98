package postgres

import (
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/pkg/errors"

	"github.com/isohound/isohound/drivers"
)

const closeTimeout = time.Second

// SQLSTATE codes that need a name here (PostgreSQL manual, appendix A).
const (
	insufficientPrivilege      = "42501"
	duplicateObject            = "42710"
	undefinedFunction          = "42883"
	invalidParameterValue      = "22023"
	statementCompletionUnknown = "40003"
	readOnlyTransaction        = "25006"
	diskFull                   = "53100"
	lockNotAvailable           = "55P03"
	tooManyConnections         = "53300"
)

// causes are the texts under which aborts are counted.
var causes = map[string]string{
	"40001":  "serialization failure",
	"40P01":  "deadlock",
	"25006":  "the endpoint only reads",
	"23505":  "unique violation",
	"55P03":  "lock not available",
	"57014":  "statement cancelled",
	"57P01":  "server shut down",
	"57P02":  "server crashed",
	"57P03":  "server not ready",
	"53300":  "too many connections",
	diskFull: "disk full",
}

func cause(pe *pgconn.PgError) string {
	if text, ok := causes[pe.Code]; ok {
		return pe.Code + " " + text
	}
	return pe.Code + " " + pe.Message
}

// fatal reports whether the server ends the session with the error. The field Severity cannot be
// used, because it is in the server's language.
func fatal(pe *pgconn.PgError) bool {
	severity := pe.SeverityUnlocalized
	if severity == "" { // before PostgreSQL 9.6
		severity = pe.Severity
	}
	return severity != "ERROR"
}

// oneLine is an error of connecting, as one line. A client that tries several addresses, with
// and without TLS, reports each attempt on its own line. The answer of a server takes
// precedence, then the last attempt.
type oneLine struct {
	text string
	err  error
}

func (e *oneLine) Error() string { return e.text }
func (e *oneLine) Unwrap() error { return e.err }

func plain(err error) error {
	var pe *pgconn.PgError
	if errors.As(err, &pe) {
		return &oneLine{pe.Error(), err}
	}
	lines := strings.Split(strings.TrimSpace(err.Error()), "\n")
	return &oneLine{strings.TrimSpace(lines[len(lines)-1]), err}
}

func isCode(err error, code string) bool {
	var pe *pgconn.PgError
	return errors.As(err, &pe) && pe.Code == code
}

// statementError classifies an error of any call but a commit. The transaction certainly did not
// commit: no commit was sent, and the server rolls back the transaction of an ended connection.
func statementError(err error, c *pgx.Conn) error {
	if err == nil {
		return nil
	}
	var pe *pgconn.PgError
	if !errors.As(err, &pe) {
		return &drivers.Error{Class: drivers.Aborted, Cause: lost(err), Broken: true, Err: err}
	}
	e := &drivers.Error{Class: drivers.Aborted, Cause: cause(pe), Broken: c.IsClosed() || fatal(pe), NoSpace: pe.Code == diskFull, Err: err}
	if hopeless(pe.Code) {
		e.Class = drivers.Fatal
	}
	return e
}

// hopeless reports whether a retry makes no sense: no such table or no permission (class 42),
// not authorised (28), no such database (3D), a read-only server.
func hopeless(code string) bool {
	class := code[:min(2, len(code))]
	return class == "42" || class == "28" || class == "3D" || code == readOnlyTransaction
}

// commitError classifies an error of a commit. The transaction certainly aborted only if the
// server explicitly says so.
func commitError(err error, c *pgx.Conn) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, pgx.ErrTxCommitRollback) {
		return &drivers.Error{Class: drivers.Aborted, Cause: "rolled back at commit", Err: err}
	}
	var pe *pgconn.PgError
	if !errors.As(err, &pe) {
		return &drivers.Error{Class: drivers.OutcomeUnknown, Cause: lost(err), Broken: true, Err: err}
	}
	e := &drivers.Error{Class: drivers.OutcomeUnknown, Cause: cause(pe), Broken: c.IsClosed() || fatal(pe), Err: err}
	// 40: serialization failure, deadlock; 23: a deferred constraint.
	class := pe.Code[:min(2, len(pe.Code))]
	if !fatal(pe) && (class == "40" && pe.Code != statementCompletionUnknown || class == "23") {
		e.Class = drivers.Aborted
	}
	return e
}

// connectError classifies an error of connecting, before anything was sent.
func connectError(err error) error {
	var pe *pgconn.PgError
	if !errors.As(err, &pe) {
		return &drivers.Error{Class: drivers.Aborted, Cause: lost(err), Broken: true, Err: plain(err)}
	}
	e := &drivers.Error{Class: drivers.Aborted, Cause: cause(pe), Broken: true, Full: pe.Code == tooManyConnections, Err: plain(err)}
	if hopeless(pe.Code) {
		e.Class = drivers.Fatal
	}
	return e
}

// lost names a lost connection, or a call that took too long.
func lost(err error) string {
	if pgconn.Timeout(err) {
		return "call timed out"
	}
	return "connection lost"
}
