package mariadb

import (
	"context"
	"database/sql"
	"strings"

	"github.com/isohound/isohound/drivers"
)

// The isolations, by the databases' own names. The variants of repeatable read also name the
// setting in which they differ.
const (
	serializable      = "serializable"
	repeatableRead    = "repeatable read"
	repeatableReadOn  = "repeatable read, innodb_snapshot_isolation=ON"
	repeatableReadOff = "repeatable read, innodb_snapshot_isolation=OFF"
	readCommitted     = "read committed"
	readUncommitted   = "read uncommitted"
)

// Pages that say what isolations promise. MariaDB's manual leaves the details of consistent reads to
// that of MySQL.
const (
	isolationPage   = "https://mariadb.com/kb/en/set-transaction/"
	variablesPage   = "https://mariadb.com/kb/en/innodb-system-variables/#innodb_snapshot_isolation"
	consistentReads = "https://dev.mysql.com/doc/refman/8.4/en/innodb-consistent-read.html"
	galeraPage      = "https://galeracluster.com/library/documentation/isolation-levels.html"
)

// currentWrites is the promise where plain reads see one snapshot and statements that write see the
// newest rows. A snapshot contains everything that was committed before it, so a session sees its own
// transactions (ryw) and never less than it has seen (mr), and nothing that is not committed. Within a
// transaction a plain read may return an older state than a statement before it that wrote and said
// what it found. That breaks rc, mw and wfr.
const currentWrites = "ryw,mr"

// flavour is a database that speaks MySQL's protocol.
type flavour struct {
	info drivers.Info
	// sign occurs in VERSION() of this database, and of no other. It is empty for MariaDB, which
	// also stands for all other servers.
	sign string
	// settings are those that a session needs besides what the name of the isolation says. If it is
	// nil, the server must know all that the name says.
	settings func(ctx context.Context, c *sql.Conn, d *db) error
	// rereads: what an update left is read by a second statement (rereads.go), because a user
	// variable cannot record it.
	rereads bool
}

var schemes = []string{"mysql", "mariadb"}

var plainMariaDB = &flavour{info: drivers.Info{
	Name:    "mariadb",
	Title:   "MariaDB",
	DSN:     "mariadb://user:password@127.0.0.1:3306/",
	DSNHelp: "a URL, mariadb://user:password@host:port/?socket=/path, or a DSN of go-sql-driver, user:password@tcp(host:port)/; further parameters set system variables",
	Schemes: schemes,
	Isolations: []drivers.Isolation{
		{Name: serializable, Promises: "ser", Lightweight: "lin", Source: isolationPage, Note: "locking; plain reads lock in share mode. On nodes of Galera it promises ryw and mr: it is honoured within one node only (" + galeraPage + ")"},
		{Name: repeatableRead, ByServer: true, Lightweight: "lin", Source: isolationPage, Note: "as the server or the DSN sets innodb_snapshot_isolation: si when that is on, else ryw and mr"},
		{Name: repeatableReadOn, Promises: "si", Lightweight: "lin", Source: variablesPage, Note: "a write to a row that changed since the snapshot fails"},
		{Name: repeatableReadOff, Promises: currentWrites, Lightweight: "lin", Source: consistentReads, Note: "plain reads see one snapshot; statements that write see the newest rows, so a later read may go back behind what they saw"},
		{Name: readCommitted, Promises: "rc", Lightweight: "lin", Source: isolationPage, Note: "a snapshot for each statement"},
		{Name: readUncommitted, Promises: "ru", Lightweight: "ru", Source: isolationPage, Note: "reads see what is not committed"},
	},
	Can: []drivers.Capability{drivers.Transactions, drivers.Deletes, drivers.Tables, drivers.Predicates, drivers.Lightweight, drivers.Endpoints, drivers.Disturb, drivers.Positions},
	Notes: []string{
		"A commit whose answer was lost stays of unknown outcome: MariaDB cannot be asked later.",
		"InnoDB shows a commit to others before it is durable. If the server crashes during the run, what they read in that moment may be gone, which looks like a violation and is one of durability.",
		"Statements wait for locks at most half of --call-timeout, but at least the 1 s that innodb_lock_wait_timeout can be; after any error the whole transaction is rolled back, since MariaDB itself rolls back only the statement.",
		"Positions are told where the server has a binary log (log_bin), on nodes of Galera where wsrep_gtid_mode is ON, and not by MySQL.",
		"Several endpoints are nodes of Galera, or a primary, named first, with replicas that are read_only to the user.",
	},
}}

var flavours = []*flavour{plainMariaDB, tidb}

// identify returns the flavour of the server whose VERSION() is given.
func identify(version string) *flavour {
	if strings.Contains(version, tidb.sign) {
		return tidb
	}
	return plainMariaDB
}

// title names the database whose VERSION() is given. The driver for MariaDB is also used with
// MySQL.
func (f *flavour) title(version string) string {
	if f.sign == "" && !strings.Contains(strings.ToLower(version), "mariadb") {
		return "MySQL"
	}
	return f.info.Title
}

// sessionSetting spells an assignment such as tidb_txn_mode=optimistic.
func sessionSetting(setting string) string {
	name, value, _ := strings.Cut(setting, "=")
	return "SET SESSION " + name + " = '" + value + "'"
}
