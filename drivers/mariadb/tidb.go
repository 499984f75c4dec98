package mariadb

import (
	"context"
	"database/sql"
	"strings"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/drivers"
)

// TiDB's isolations. All name the settings in which they differ.
const (
	optimistic  = "repeatable read, tidb_txn_mode=optimistic"
	pessimistic = "repeatable read, tidb_txn_mode=pessimistic"
	autoRetry   = "repeatable read, tidb_disable_txn_auto_retry=OFF"
)

const (
	tidbPage        = "https://docs.pingcap.com/tidb/stable/transaction-isolation-levels"
	tidbPessimistic = "https://docs.pingcap.com/tidb/stable/pessimistic-transaction"
	tidbRetries     = "https://docs.pingcap.com/tidb/v7.5/optimistic-transaction#automatic-retry"
)

// System variables of TiDB.
const (
	txnMode          = "tidb_txn_mode"
	disableAutoRetry = "tidb_disable_txn_auto_retry"
)

var tidb = &flavour{
	info: drivers.Info{
		Name:    "tidb",
		Title:   "TiDB",
		DSN:     "tidb://root@127.0.0.1:4000/",
		DSNHelp: "a URL or a DSN of go-sql-driver, as for driver mariadb; with scheme tidb the port is 4000 if none is given",
		Schemes: append([]string{"tidb"}, schemes...),
		Isolations: []drivers.Isolation{
			{Name: optimistic, Promises: "si", Lightweight: "lin", Source: tidbPage, Note: "snapshot isolation, which TiDB calls repeatable read; conflicts show at the commit"},
			{Name: pessimistic, Promises: currentWrites, Lightweight: "lin", Source: tidbPessimistic, Note: "TiDB's default: plain reads see the snapshot, writes lock and see the newest rows, so that updates can be lost as in MySQL"},
			{Name: readCommitted, Promises: "rc", Lightweight: "lin", Source: tidbPage, Note: "a snapshot for each statement, in pessimistic transactions"},
			{Name: autoRetry, Promises: "ru", Lightweight: "lin", Source: tidbRetries, Note: "optimistic transactions whose statements TiDB executes again after a conflict, without telling what they find then: lost updates. Workloads with tables are refused. Before 8.0 only"},
		},
		Can: []drivers.Capability{drivers.Transactions, drivers.Deletes, drivers.Tables, drivers.Predicates, drivers.Lightweight, drivers.Endpoints, drivers.Disturb, drivers.Positions},
		Notes: []string{
			"It meets TiDB's own server in tests: that of July 2024 on unistore, and that of January 2019 on mocktikv, both one process without TiKV and PD.",
			"A commit whose answer was lost stays of unknown outcome. Transactions have no ids in the history.",
			"TiDB's own retries of transactions, which break snapshot isolation, are turned off in each session (tidb_disable_txn_auto_retry), except at the isolation that is named after them.",
		},
	},
	sign: "TiDB", settings: tidbSettings, rereads: true,
}

// tidbSettings finds out which of the settings of an isolation the server has.
func tidbSettings(ctx context.Context, c *sql.Conn, d *db) error {
	want := []struct{ name, value string }{{txnMode, "optimistic"}, {disableAutoRetry, "ON"}}
	switch d.name {
	case pessimistic, readCommitted:
		want[0].value = "pessimistic" // read committed is one of pessimistic transactions only
	case autoRetry:
		want[1].value = "OFF"
	}
	for _, w := range want {
		_, has, err := sessionVariable(ctx, c, w.name)
		switch {
		case err != nil:
			return err
		case has:
			set := sessionSetting(w.name + "=" + w.value)
			if _, err := c.ExecContext(ctx, set); err != nil {
				return errors.Wrap(err, set)
			}
			// The server may accept a value and ignore it.
			got, _, err := sessionVariable(ctx, c, w.name)
			switch {
			case err != nil:
				return err
			case on(got) != on(w.value) && w.name == disableAutoRetry:
				return errors.Errorf("%s stays %s: this version of TiDB does not retry transactions any more", w.name, got)
			}
			d.onOpen = append(d.onOpen, set)
		case d.name == autoRetry && w.name == disableAutoRetry:
			return errors.Errorf("this server has no variable %s, so it is not known whether it retries transactions", w.name)
		case d.name == pessimistic && w.name == txnMode:
			return errors.Errorf("this server has no variable %s: all its transactions are optimistic; use --isolation %q", w.name, optimistic)
		case w.name == txnMode:
			d.notes = append(d.notes, "this server has no variable "+w.name+": all its transactions are optimistic, and see one snapshot")
		default:
			d.notes = append(d.notes, "this server has no variable "+w.name+": if it retries transactions by itself, it does not keep snapshot isolation")
		}
	}
	return nil
}

// on reads a switch, which old versions show as a number. A value that is none is not on.
func on(value string) bool { return value == "1" || strings.EqualFold(value, "ON") }

// sessionVariable returns the value of a system variable, and false if the server has none of the name.
func sessionVariable(ctx context.Context, c *sql.Conn, name string) (value string, has bool, err error) {
	var variable string
	err = c.QueryRowContext(ctx, "SHOW SESSION VARIABLES LIKE '"+name+"'").Scan(&variable, &value)
	if err == sql.ErrNoRows {
		return "", false, nil
	}
	return value, err == nil, err
}

// errRetried: a transaction's statements are executed again, and find something else than the
// client was told, so a history of updates that depend on rows would be wrong.
var errRetried = errors.New("TiDB executes statements again without telling what they found (" + disableAutoRetry + "=OFF), so updates that depend on rows cannot be recorded; use a workload without tables, such as mini")
