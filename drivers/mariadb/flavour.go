package mariadb

import (
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
	optimistic        = "repeatable read, tidb_txn_mode=optimistic"
	pessimistic       = "repeatable read, tidb_txn_mode=pessimistic"
	readCommitted     = "read committed"
	readUncommitted   = "read uncommitted"
)

// flavour is a database that speaks MySQL's protocol.
type flavour struct {
	info drivers.Info
	// sign occurs in VERSION() of this database, and of no other. It is empty for MariaDB, which
	// also stands for all other servers.
	sign string
	// on are system variables to turn on if the server has them.
	on []string
	// rereads: what an update left is read by a second statement (rereads.go), because a user
	// variable cannot record it.
	rereads bool
}

var plainMariaDB = &flavour{info: drivers.Info{
	Name:    "mariadb",
	Title:   "MariaDB",
	DSN:     "mariadb://user:password@127.0.0.1:3306/",
	DSNHelp: "a URL, mariadb://user:password@host:port/?socket=/path, or a DSN of go-sql-driver, user:password@tcp(host:port)/; further parameters set system variables",
	Isolations: []drivers.Isolation{
		{Name: serializable, Promises: "ser", Lightweight: "lin", Note: "locking; plain reads lock in share mode"},
		{Name: repeatableRead, ByServer: true, Lightweight: "lin", Note: "as the server or the DSN sets innodb_snapshot_isolation; promises si when that is on"},
		{Name: repeatableReadOn, Promises: "si", Lightweight: "lin", Note: "a write to a row that changed since the snapshot fails"},
		{Name: repeatableReadOff, Lightweight: "lin", Note: "writes go to the newest row version, reads to the snapshot"},
		{Name: readCommitted, Lightweight: "lin", Note: "a snapshot for each statement"},
		{Name: readUncommitted, Note: "reads see what is not committed"},
	},
	Can: []drivers.Capability{drivers.Transactions, drivers.Deletes, drivers.Tables, drivers.Predicates, drivers.Lightweight, drivers.Endpoints, drivers.Disturb},
	Notes: []string{
		"A commit whose answer was lost stays of unknown outcome: MariaDB cannot be asked later.",
		"InnoDB shows a commit to others before it is durable. If the server crashes during the run, what they read in that moment may be gone, which looks like a violation and is one of durability.",
		"Statements wait for locks at most half of --call-timeout, but at least the 1 s that innodb_lock_wait_timeout can be; after any error the whole transaction is rolled back, since MariaDB itself rolls back only the statement.",
		"Several endpoints are nodes of Galera, or a primary, named first, with replicas that are read_only to the user.",
	},
}}

var tidb = &flavour{
	info: drivers.Info{
		Name:    "tidb",
		Title:   "TiDB",
		DSN:     "mysql://root@127.0.0.1:4000/",
		DSNHelp: "a URL or a DSN of go-sql-driver, as for driver mariadb",
		Isolations: []drivers.Isolation{
			{Name: optimistic, Promises: "si", Note: "snapshot isolation, which TiDB calls repeatable read; conflicts show at the commit"},
			{Name: pessimistic, Note: "TiDB's default: writes lock and go to the newest row version, reads to the snapshot, so that updates can be lost as in MySQL"},
			{Name: readCommitted, Note: "a snapshot for each statement, in pessimistic transactions"},
		},
		Can: []drivers.Capability{drivers.Transactions, drivers.Deletes, drivers.Tables, drivers.Predicates, drivers.Endpoints, drivers.Disturb},
		Notes: []string{
			"isohound's own tests run its statements on MariaDB. By hand it was run against TiDB of January 2019, at read committed.",
			"A commit whose answer was lost stays of unknown outcome. Transactions have no ids in the history.",
			"TiDB's own retries of transactions, which break snapshot isolation, are turned off in each session (tidb_disable_txn_auto_retry).",
		},
	},
	sign: "TiDB", on: []string{"tidb_disable_txn_auto_retry"}, rereads: true,
}

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
