package postgres

import (
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
	undefinedFunction          = "42883"
	statementCompletionUnknown = "40003"
)

// causes are the texts under which aborts are counted.
var causes = map[string]string{
	"40001": "serialization failure",
	"40P01": "deadlock",
	"23505": "unique violation",
	"55P03": "lock not available",
	"57014": "statement cancelled",
	"57P01": "server shut down",
	"57P02": "server crashed",
	"57P03": "server not ready",
	"53300": "too many connections",
}

func cause(pe *pgconn.PgError) string {
	if text, ok := causes[pe.Code]; ok {
		return pe.Code + " " + text
	}
	return pe.Code + " " + pe.Message
}

func isCode(err error, code string) bool {
	var pe *pgconn.PgError
	return errors.As(err, &pe) && pe.Code == code
}

// statementError classifies an error of any call but a commit. Whatever it is,
// the transaction did not commit: no commit was sent, and the server rolls
// back what a connection leaves behind.
func statementError(err error, c *pgx.Conn) error {
	if err == nil {
		return nil
	}
	var pe *pgconn.PgError
	if !errors.As(err, &pe) {
		return &drivers.Error{Class: drivers.Aborted, Cause: lost(err), Broken: true, Err: err}
	}
	e := &drivers.Error{Class: drivers.Aborted, Cause: cause(pe), Broken: c.IsClosed() || pe.Severity != "ERROR", Err: err}
	if hopeless(pe.Code) {
		e.Class = drivers.Fatal
	}
	return e
}

// hopeless reports whether trying again makes no sense: no such table or no
// permission (class 42), not authorised (28), no such database (3D), disk full,
// a server that only reads.
func hopeless(code string) bool {
	class := code[:min(2, len(code))]
	return class == "42" || class == "28" || class == "3D" || code == "53100" || code == "25006"
}

// commitError classifies an error of a commit. It is certain that the
// transaction aborted only when the server says so in as many words.
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
	e := &drivers.Error{Class: drivers.OutcomeUnknown, Cause: cause(pe), Broken: c.IsClosed() || pe.Severity != "ERROR", Err: err}
	// 40: serialization failure, deadlock; 23: a deferred constraint.
	class := pe.Code[:min(2, len(pe.Code))]
	if pe.Severity == "ERROR" && (class == "40" && pe.Code != statementCompletionUnknown || class == "23") {
		e.Class = drivers.Aborted
	}
	return e
}

// connectError classifies an error of connecting, when nothing is at stake.
func connectError(err error) error {
	var pe *pgconn.PgError
	if !errors.As(err, &pe) {
		return &drivers.Error{Class: drivers.Aborted, Cause: lost(err), Broken: true, Err: err}
	}
	e := &drivers.Error{Class: drivers.Aborted, Cause: cause(pe), Broken: true, Err: err}
	if hopeless(pe.Code) {
		e.Class = drivers.Fatal
	}
	return e
}

// lost names the loss of a connection, or a call that took too long.
func lost(err error) string {
	if pgconn.Timeout(err) {
		return "call timed out"
	}
	return "connection lost"
}
