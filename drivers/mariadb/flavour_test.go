package mariadb

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/drivers/drivertest"
)

// TestIdentify: versions are what VERSION() returns, from the manuals.
func TestIdentify(t *testing.T) {
	for version, want := range map[string]string{
		"10.11.14-MariaDB-0+deb12u2": "MariaDB",
		"8.0.34":                     "MySQL",
		"8.4.3-debug":                "MySQL",
		"8.0.11-TiDB-v7.5.0":         "TiDB",
		"5.7.25-TiDB-v3.0.0-beta":    "TiDB",
	} {
		f := identify(version)
		if got := f.title(version); got != want || (f == tidb) != (want == "TiDB") {
			t.Errorf("%q is taken for %s", version, got)
		}
	}
}

// TestRereads runs TiDB's statements on MariaDB, which is a TiDB without TiDB's variables to the driver.
func TestRereads(t *testing.T) {
	forced := *tidb
	forced.sign = ""
	d := driver{&forced}
	db := drivertest.Open(t, d, server.DSN(), readCommitted).(*db)
	drivertest.Tables(t, atReadCommitted{d}, server.DSN())
	drivertest.Counting(t, atReadCommitted{d}, server.DSN())
	for isolation, want := range map[string]string{pessimistic: "no variable tidb_txn_mode", autoRetry: "no variable tidb_disable_txn_auto_retry"} {
		_, err := d.Open(ctx, drivers.Config{DSN: server.DSN(), Isolation: isolation})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", isolation, err)
		}
	}
	if got := fmt.Sprint(db.onOpen); strings.Contains(got, "tidb") || !strings.Contains(got, "ISOLATION LEVEL READ COMMITTED") || len(db.notes) != 2 {
		t.Error(got, db.notes)
	}
}

// atReadCommitted is a driver whose default is the only isolation of TiDB that MariaDB has, too.
type atReadCommitted struct{ driver }

func (d atReadCommitted) Info() drivers.Info {
	info := d.driver.Info()
	info.Isolations = slices.DeleteFunc(slices.Clone(info.Isolations), func(i drivers.Isolation) bool { return i.Name != readCommitted })
	return info
}

func TestOtherServer(t *testing.T) {
	_, err := driver{tidb}.Open(ctx, drivers.Config{DSN: server.DSN(), Isolation: optimistic})
	if err == nil || !strings.Contains(err.Error(), "this is MariaDB; use --driver mariadb") {
		t.Errorf("%v", err)
	}
}

// TestCommitErrors: only errors that exclude a commit count as aborted.
func TestCommitErrors(t *testing.T) {
	for number, want := range map[uint16]drivers.Class{
		1213: drivers.Aborted, 1062: drivers.Aborted, 8002: drivers.Aborted, 8005: drivers.Aborted,
		8022: drivers.Aborted, 8027: drivers.Aborted, 8028: drivers.Aborted, 9007: drivers.Aborted,
		1105: drivers.OutcomeUnknown, 8501: drivers.OutcomeUnknown, 9001: drivers.OutcomeUnknown, 9002: drivers.OutcomeUnknown,
		9005: drivers.OutcomeUnknown, 1053: drivers.OutcomeUnknown, 1205: drivers.OutcomeUnknown, 1290: drivers.OutcomeUnknown,
	} {
		err := commitError(&mysql.MySQLError{Number: number, Message: "x"})
		drivertest.Class(t, fmt.Sprint(number), err, want, want == drivers.OutcomeUnknown)
	}
	for message, want := range map[string]drivers.Class{
		"[try again later]: startTS 405533 is stale":              drivers.Aborted,
		"[try again later]: con:1 2PC commit failed: abort:\"x\"": drivers.Aborted,
		"Region is unavailable[try again later]":                  drivers.OutcomeUnknown,
		"startTS 405533 is stale":                                 drivers.OutcomeUnknown,
	} {
		drivertest.Class(t, message, commitError(&mysql.MySQLError{Number: noNumber, Message: message}), want, want == drivers.OutcomeUnknown)
	}
}

// TestReadOnly: writes refused by a replica do not end a run; writes refused by the only endpoint do.
func TestReadOnly(t *testing.T) {
	err := &mysql.MySQLError{Number: readOnly, Message: "running with the --read-only option"}
	drivertest.Class(t, "at a replica", tx{readOnly: true}.failed(err), drivers.Refused, false)
	drivertest.Class(t, "at the only endpoint", tx{}.failed(err), drivers.Fatal, false)
}

// TestHopeless: errors that a retry cannot fix end a run.
func TestHopeless(t *testing.T) {
	for number, want := range map[uint16]drivers.Class{
		1044: drivers.Fatal, 1045: drivers.Fatal, 1142: drivers.Fatal, 1146: drivers.Fatal, diskFull: drivers.Aborted, tableFull: drivers.Aborted,
		1205: drivers.Aborted, 1020: drivers.Aborted, 1047: drivers.Aborted, 9007: drivers.Aborted,
	} {
		drivertest.Class(t, fmt.Sprint(number), statementError(&mysql.MySQLError{Number: number, Message: "x"}), want, false)
	}
}

// TestFull: no limit of connections is taken for an outage, and no error is told twice.
func TestFull(t *testing.T) {
	for _, number := range []uint16{1040, 1203, 1226} {
		e := drivers.AsError(connectError(&mysql.MySQLError{Number: number, Message: "no more"}))
		if !e.Full || e.Class != drivers.Aborted {
			t.Errorf("%d: %+v", number, e)
		}
	}
	if text := statementError(&mysql.MySQLError{Number: 1235, Message: "not yet"}).Error(); strings.Count(text, "not yet") != 1 {
		t.Error(text)
	}
}

// TestJoin lets two endpoints, here of one server, use one database.
func TestJoin(t *testing.T) {
	first := drivertest.Open(t, driver{}, server.DSN(), "").(*db)
	second, err := driver{}.Open(ctx, drivers.Config{DSN: server.DSN(), Isolation: serializable, CallTimeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close(ctx)
	if err := second.(drivers.Joiner).Join(ctx, first); err != nil {
		t.Fatal(err)
	}
	if v, found, err := drivertest.Begin(t, second).Read(ctx, "a"); err != nil || !found || v != drivertest.Initial["a"] {
		t.Errorf("%d, %v, %v", v, found, err)
	}
	if second.(drivers.Owner).Owns() != "" {
		t.Error("the endpoint that joined would drop what it has not made")
	}
	second.Close(ctx)
	if _, _, err := drivertest.Begin(t, first).Read(ctx, "a"); err != nil {
		t.Error(err)
	}
	if err := first.Join(ctx, second); err == nil {
		t.Error("joined an endpoint that has created nothing")
	}
}
