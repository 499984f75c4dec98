package postgres

import (
	"strings"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/drivers/sqltable"
)

// flavour is a database that speaks PostgreSQL's protocol, and how it differs from PostgreSQL.
type flavour struct {
	info drivers.Info
	// sign occurs in version() of this database, and of no other.
	sign string
	// dialect is for tables.
	dialect *sqltable.Dialect
	// keys is the type of the primary key of the table of keys: texts ordered by their bytes.
	keys string
	// returning is appended to each statement that writes, so that a row found is a row
	// returned. It returns the transaction's id if the database has ids that Resolve can use,
	// else 0.
	returning string
	// recovers says that the storage is PostgreSQL's own: with txid_status, crash recovery,
	// standbys, row versions with an xmax, and their settings.
	recovers bool
}

// Pages that say what isolations promise.
const (
	isolationPage = "https://www.postgresql.org/docs/current/transaction-iso.html"
	yugabytePage  = "https://docs.yugabyte.com/stable/architecture/transactions/isolation-levels/"
)

// schemes are those of libpq.
var schemes = []string{"postgres", "postgresql"}

const noID = " RETURNING 0::bigint"

var plainPostgres = &flavour{
	info: drivers.Info{
		Name:    "postgres",
		Title:   "PostgreSQL",
		DSN:     "postgres://user:password@127.0.0.1:5432/database",
		DSNHelp: "a connection URL or keyword string of libpq; PGHOST and the like fill what it leaves out",
		Schemes: schemes,
		Isolations: []drivers.Isolation{
			{Name: "serializable", Promises: "ser", Lightweight: "lin", Source: isolationPage, Note: "serializable snapshot isolation"},
			{Name: "repeatable read", Promises: "si", Lightweight: "lin", Source: isolationPage, Note: "snapshot isolation"},
			{Name: "read committed", Promises: "rc", Lightweight: "lin", Source: isolationPage, Note: "a snapshot for each statement; a statement that writes also sees rows that were committed while it waited"},
		},
		Can: []drivers.Capability{drivers.Transactions, drivers.Deletes, drivers.Tables, drivers.Predicates, drivers.HashIndexes, drivers.GinIndexes, drivers.BrinIndexes, drivers.Lightweight, drivers.Endpoints, drivers.Disturb, drivers.CommitLog, drivers.Snapshots},
		Notes: []string{
			"With --claims log a temporary logical replication slot, named like the schema, tells the order of the commits after the run. It needs wal_level = logical and the right to replicate, and goes with the connection.",
			"At serializable and repeatable read the first statement of a transaction also asks for its snapshot (txid_current_snapshot), in the same round trip; --claims off leaves that out.",
			"A commit whose answer was lost is resolved with txid_status, unless the server has been through crash recovery since, when transaction ids may have been given out again.",
			"synchronous_commit=off is turned on in each session, unless the DSN asks for it: after a crash it loses commits, which is no isolation bug.",
			"enable_seqscan is turned off in each session, unless the DSN has it (?enable_seqscan=on): otherwise serializable scans and locks small tables whole, and half of the transactions abort.",
			"An index of kind gin needs the extension btree_gin. It is installed in schema public unless the database has it, and stays there.",
			"deadlock_timeout is set to 10 ms in each session where the user may (a superuser, or one with SET privilege); with the default of 1 s, hot keys make runs slow. For other users, statements wait at most 50 ms for a lock (lock_timeout, unless it is set), and a note says so.",
			"Of several endpoints the first is the primary; hot standbys only read, lag behind it, and have no serializable isolation.",
		},
	},
	sign: "PostgreSQL", dialect: dialect, keys: `text COLLATE "C"`, returning: " RETURNING txid_current()", recovers: true,
}

var cockroach = &flavour{
	info: drivers.Info{
		Name:    "cockroach",
		Title:   "CockroachDB",
		DSN:     "postgres://root@127.0.0.1:26257/defaultdb?sslmode=disable",
		DSNHelp: "a connection URL or keyword string of libpq, as for driver postgres",
		Schemes: schemes,
		Isolations: []drivers.Isolation{
			{Name: "serializable", Promises: "ser", Source: "https://www.cockroachlabs.com/docs/stable/demo-serializable", Note: "not strict: real time is kept for single keys only"},
			{Name: "read committed", Promises: "rc", Source: "https://www.cockroachlabs.com/docs/stable/read-committed", Note: "a snapshot for each statement; refused where sql.txn.read_committed_isolation.enabled is off, since transactions are then serializable"},
		},
		Can: []drivers.Capability{drivers.Transactions, drivers.Deletes, drivers.Tables, drivers.Predicates, drivers.Endpoints, drivers.Disturb, drivers.Positions},
		Notes: []string{
			"Never run against a CockroachDB server by isohound's own tests: they run its statements on PostgreSQL.",
			"A commit whose answer was lost, or answered by 40003, stays of unknown outcome. Transactions have no ids in the history: cluster_logical_timestamp() would change how they run.",
		},
	},
	// Texts are ordered by their bytes, without a collation.
	sign: "CockroachDB", keys: "text", returning: noID,
	dialect: &sqltable.Dialect{
		Quote: dialect.Quote, Numbered: true, Int: dialect.Int, Concat: dialect.Concat, Text: func(int) string { return "text" },
	},
}

var yugabyte = &flavour{
	info: drivers.Info{
		Name:    "yugabyte",
		Title:   "YugabyteDB",
		DSN:     "postgres://yugabyte@127.0.0.1:5433/yugabyte",
		DSNHelp: "a connection URL or keyword string of libpq, as for driver postgres (YSQL)",
		Schemes: schemes,
		Isolations: []drivers.Isolation{
			{Name: "serializable", Promises: "ser", Source: yugabytePage, Note: "optimistic or waiting, as the server is set"},
			{Name: "repeatable read", Promises: "si", Source: yugabytePage, Note: "its snapshot isolation"},
			{Name: "read committed", Promises: "rc", Source: "https://docs.yugabyte.com/stable/architecture/transactions/read-committed/", Note: "a snapshot for each statement; repeatable read where yb_enable_read_committed_isolation is off"},
		},
		Can: []drivers.Capability{drivers.Transactions, drivers.Deletes, drivers.Tables, drivers.Predicates, drivers.Endpoints, drivers.Disturb},
		Notes: []string{
			"Never run against a YugabyteDB server by isohound's own tests: they run its statements on PostgreSQL.",
			"A commit whose answer was lost stays of unknown outcome, and transactions have no ids in the history.",
			"Without the flag yb_enable_read_committed_isolation, read committed is repeatable read under another name, and no error says so.",
		},
	},
	sign: "-YB-", dialect: dialect, keys: `text COLLATE "C"`, returning: noID,
}

var flavours = []*flavour{plainPostgres, cockroach, yugabyte}

// identify returns the flavour of the server whose version() is given, or nil. YugabyteDB's
// version() also contains PostgreSQL.
func identify(version string) *flavour {
	for _, f := range []*flavour{cockroach, yugabyte, plainPostgres} {
		if strings.Contains(version, f.sign) {
			return f
		}
	}
	return nil
}
