package postgres

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/drivers/drivertest"
)

// TestCodes: the class of each error within a transaction and at its commit. At a commit only
// errors that exclude a commit count as aborted.
func TestCodes(t *testing.T) {
	c := (*drivertest.Begin(t, drivertest.Open(t, driver{}, server.DSN(), "")).(*tx)).c
	const unknown, aborted, fatal, refused = drivers.OutcomeUnknown, drivers.Aborted, drivers.Fatal, drivers.Refused
	standby := &tx{c: c, db: &db{flavour: plainPostgres, standby: true}}
	for code, want := range map[string]struct{ statement, commit drivers.Class }{
		"40001": {aborted, aborted}, // also CockroachDB's and YugabyteDB's retry errors
		"40P01": {aborted, aborted},
		"40003": {aborted, unknown}, // CockroachDB's ambiguous result
		"23505": {aborted, aborted},
		"25P02": {aborted, unknown},
		"XX000": {aborted, unknown},
		"57014": {aborted, unknown},
		"42P01": {fatal, unknown},
		"42501": {fatal, unknown},
		"28000": {fatal, unknown},
		"53100": {aborted, unknown}, // disk full
		"25006": {fatal, unknown},
	} {
		err := &pgconn.PgError{Code: code, Severity: "ERROR", Message: "x"}
		drivertest.Class(t, code, statementError(err, c), want.statement, false)
		drivertest.Class(t, code+" at commit", commitError(err, c), want.commit, false)
		if code == "25006" {
			want.statement = refused
		}
		drivertest.Class(t, code+" at a standby", standby.failed(err), want.statement, false)
	}
	drivertest.Class(t, "a commit that rolled back", commitError(pgx.ErrTxCommitRollback, c), aborted, false)
}
