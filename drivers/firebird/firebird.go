// Package firebird drives Firebird through nakagami/firebirdsql.
//
// Firebird 3 has no schemas. Each run makes its own tables in the database of the DSN; their names begin with the name
// of the run (tables.go).
package firebird

import (
	"context"
	"crypto/rand"
	"database/sql"
	sqldriver "database/sql/driver"
	"encoding/hex"
	"fmt"
	"iter"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nakagami/firebirdsql"
	"github.com/pkg/errors"

	"github.com/isohound/isohound/drivers"
)

func init() { drivers.Register(driver{}) }

type driver struct{}

// The isolations, by Firebird's names.
const (
	snapshot            = "snapshot"
	tableStability      = "snapshot table stability"
	readCommitted       = "read committed"
	readCommittedNoWait = "read committed, no wait"
)

// levels are the client's names for the isolations.
var levels = map[string]sql.IsolationLevel{
	snapshot:            sql.LevelRepeatableRead,
	tableStability:      sql.LevelSerializable,
	readCommitted:       sql.LevelReadCommitted,
	readCommittedNoWait: firebirdsql.LevelReadCommittedNoWait,
}

// currentRows is the promise where each row is the newest that is committed at the moment at which it is read. A session
// sees its own transactions (ryw) and never less than it has seen (mr), and nothing that is not committed. The rows of one
// statement are read at several moments, in an order that is not known. That breaks rc and mw. Where statements
// read single rows, rc holds.
const currentRows = "ryw,mr"

const isolationPage = "https://firebirdsql.org/file/documentation/html/en/refdocs/fblangref30/firebird-30-language-reference.html#fblangref30-transacs-settransac-iso"

var info = drivers.Info{
	Name:    "firebird",
	Title:   "Firebird",
	DSN:     "firebird://user:password@127.0.0.1:3050/path/to/test.fdb",
	DSNHelp: "a URL with the path of a database on the server, or its alias, firebird://user:password@host:port/alias; parameters are those of nakagami/firebirdsql, such as role and wire_crypt",
	Schemes: []string{"firebird"},
	Isolations: []drivers.Isolation{
		{Name: snapshot, Promises: "si", Lightweight: "lin", Source: isolationPage, Note: "concurrency, the default: a write to a row that changed since the snapshot fails"},
		{Name: tableStability, Promises: "si", Lightweight: "lin", Source: isolationPage, Note: "consistency: a snapshot, and locks on the tables that are used, which are taken later than the snapshot, so that it is not serializable (https://github.com/FirebirdSQL/firebird/issues/7546)"},
		{Name: readCommitted, Promises: currentRows, Lightweight: "lin", Source: isolationPage, Note: "record version, wait: each row that a statement reads is the newest that is committed at that moment, so a statement on several rows may see half of a transaction"},
		{Name: readCommittedNoWait, Promises: currentRows, Lightweight: "lin", Source: isolationPage, Note: "the same, and a write to a row that another transaction has written fails at once"},
	},
	Can: []drivers.Capability{drivers.Transactions, drivers.Deletes, drivers.Tables, drivers.Predicates, drivers.Lightweight, drivers.Disturb},
	Notes: []string{
		"A commit whose answer was lost stays of unknown outcome: Firebird cannot be asked later.",
		"Each run makes tables in the database of the DSN, whose names begin with the name of the run. The database must have dialect 3. The user must own it or may create tables: GRANT CREATE TABLE TO USER name.",
		"Transactions wait for each other without a limit, and Firebird looks for deadlocks after DeadlockTimeout, which is 10 s unless firebird.conf sets it: use 1 for tests. A private server has 1. The client offers neither a lock timeout nor read committed without record versions.",
		"Firebird 3 has no statement that commits by itself: a lightweight transaction is one statement in its own transaction.",
	},
}

func (driver) Info() drivers.Info { return info }

// setupTimeout bounds connecting, creating and dropping separately.
const setupTimeout = 15 * time.Second

type db struct {
	pool    *sql.DB
	level   sql.IsolationLevel
	schema  string // the name of the run
	version string
	created bool
	notes   []string
	// late is a wait of which a note tells if the statement fails then, waited is the longest such wait.
	late   time.Duration
	waited atomic.Int64
	relay  *relay // nil without faults on connections
}

func (driver) Open(ctx context.Context, cfg drivers.Config) (drivers.DB, error) {
	u, err := parseDSN(cfg.DSN)
	if err != nil {
		return nil, &drivers.DSNError{Driver: info.Name, Err: err}
	}
	name := make([]byte, 6)
	if _, err := rand.Read(name); err != nil {
		return nil, errors.WithStack(err)
	}
	d := &db{schema: "isohound_" + hex.EncodeToString(name), level: levels[cfg.Isolation], late: 5 * time.Second}
	if cfg.Dial != nil {
		if d.relay, err = newRelay(u.Host, cfg.Dial); err != nil {
			return nil, err
		}
		u.Host = d.relay.address()
	}
	if d.pool, err = open(u.String()); err != nil {
		d.relay.close()
		return nil, &drivers.DSNError{Driver: info.Name, Err: err}
	}
	d.pool.SetMaxIdleConns(0) // closing a session closes its connection
	if err := d.admin(ctx, setupTimeout, d.inspect); err != nil {
		d.pool.Close()
		d.relay.close()
		return nil, unusable(stranger(err))
	}
	return d, nil
}

// open prepares connections. The client reports an invalid DSN only when it connects, and before it looks at the
// context.
func open(dsn string) (*sql.DB, error) {
	pool, err := sql.Open("firebirdsql", dsn)
	if err != nil {
		return nil, err
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	connector, err := pool.Driver().(sqldriver.DriverContext).OpenConnector(dsn)
	if err == nil {
		_, err = connector.Connect(ended)
	}
	if !errors.Is(err, context.Canceled) {
		pool.Close()
		return nil, err
	}
	return pool, nil
}

func unusable(err error) error { return &drivers.UnreachableError{Driver: info.Name, Err: err} }

// stranger explains an error of the first connection. A server that answers, but not in Firebird's protocol, is of
// another kind.
func stranger(err error) error {
	var fe *firebirdsql.FbError
	var op *net.OpError
	var name *net.DNSError
	switch {
	case errors.As(err, &fe), errors.As(err, &op) && op.Op == "dial", errors.As(err, &name), errors.As(err, new(*plainError)):
		return err
	case errors.Is(err, context.DeadlineExceeded):
		return errors.Errorf("it did not answer as Firebird does within %v; is this a Firebird server?", setupTimeout)
	}
	return errors.Errorf("%v; is this a Firebird server?", err)
}

// plainError is an error of isohound's own about a Firebird server.
type plainError struct{ text string }

func (e *plainError) Error() string { return e.text }

// inspect asks for the version, and whether the database can be used.
func (d *db) inspect(ctx context.Context, x *tx) error {
	if err := x.c.QueryRowContext(ctx, "SELECT RDB$GET_CONTEXT('SYSTEM', 'ENGINE_VERSION') FROM RDB$DATABASE").Scan(&d.version); err != nil {
		return err
	}
	d.version = strings.TrimSpace(d.version)
	var dialect, readOnly, forced int
	if err := x.c.QueryRowContext(ctx, "SELECT MON$SQL_DIALECT, MON$READ_ONLY, MON$FORCED_WRITES FROM MON$DATABASE").Scan(&dialect, &readOnly, &forced); err != nil {
		return err
	}
	switch {
	case dialect != 3:
		return &plainError{fmt.Sprintf("the database has SQL dialect %d, and isohound needs dialect 3", dialect)}
	case readOnly != 0:
		return &plainError{"the database is read-only"}
	case forced == 0:
		d.notes = append(d.notes, "forced writes are off in this database: if the server crashes during the run it may lose commits, which is no isolation bug but looks like one")
	}
	return nil
}

// Notes implements drivers.Noter. Firebird 3 does not tell its DeadlockTimeout, so there is a note only when statements
// waited long. The notes about the server come first.
func (d *db) Notes() []string {
	waited := time.Duration(d.waited.Load())
	if waited == 0 {
		return d.notes
	}
	return append(slices.Clone(d.notes), fmt.Sprintf("a statement waited %.1f s for another transaction and failed then: Firebird looks for deadlocks only after DeadlockTimeout, which is 10 s unless firebird.conf sets it, "+
		"and until then all that take part stand still; set it to 1 for tests, or use a shorter --call-timeout", waited.Seconds()))
}

// failed classifies an error of a statement that may wait. A server that does not answer is no wait.
func (d *db) failed(begun time.Time, err error) error {
	var fe *firebirdsql.FbError
	if waited := time.Since(begun); waited > d.late && errors.As(err, &fe) && (has(fe, conflicts...) || has(fe, firebirdsql.ISCCancelled)) {
		for before := d.waited.Load(); before < int64(waited) && !d.waited.CompareAndSwap(before, int64(waited)); before = d.waited.Load() {
		}
	}
	return statementError(err)
}

func (d *db) Server() string { return "Firebird " + d.version }

// Owns implements drivers.Owner.
func (d *db) Owns() string {
	if !d.created {
		return ""
	}
	return "tables whose names begin with " + d.schema + "; drop them with isohound clean --driver firebird --drop " + d.schema
}

// admin runs f in a transaction on its own connection.
func (d *db) admin(ctx context.Context, limit time.Duration, f func(context.Context, *tx) error) error {
	return d.adminAt(ctx, sql.LevelReadCommitted, limit, f)
}

func (d *db) adminAt(ctx context.Context, level sql.IsolationLevel, limit time.Duration, f func(context.Context, *tx) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	s, err := d.connect(ctx, level)
	if err != nil {
		return err
	}
	defer s.Close()
	return s.within(ctx, f)
}

// Create makes the table of keys.
func (d *db) Create(ctx context.Context, initial iter.Seq2[string, int64]) error {
	d.created = true // from here on there may be something to drop
	err := d.admin(ctx, setupTimeout, func(ctx context.Context, x *tx) error {
		// Keys are binary, so that no collation treats two keys as equal.
		_, err := x.c.ExecContext(ctx, "CREATE TABLE "+quoted(d.keys())+" (k VARCHAR(255) CHARACTER SET OCTETS NOT NULL PRIMARY KEY, v BIGINT NOT NULL)")
		return err
	})
	if err == nil {
		err = d.admin(ctx, loadTimeout, func(ctx context.Context, x *tx) error {
			insert, err := x.c.PrepareContext(ctx, "INSERT INTO "+quoted(d.keys())+" (k, v) VALUES (?, ?)")
			if err != nil {
				return err
			}
			defer insert.Close()
			for k, v := range initial {
				if _, err := insert.ExecContext(ctx, k, v); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err != nil {
		return d.notCreated(ctx, err)
	}
	return nil
}

// notCreated explains an error of creating the tables.
func (d *db) notCreated(ctx context.Context, err error) error {
	var fe *firebirdsql.FbError
	if errors.As(err, &fe) && has(fe, firebirdsql.ISCDynNoPriv) {
		user := "…"
		_ = d.admin(ctx, setupTimeout, func(ctx context.Context, x *tx) error {
			return x.c.QueryRowContext(ctx, "SELECT CURRENT_USER FROM RDB$DATABASE").Scan(&user)
		})
		err = errors.Errorf("%s; the owner of the database or SYSDBA can allow it: GRANT CREATE TABLE TO USER %s", strings.TrimSpace(err.Error()), quoted(strings.TrimSpace(user)))
	}
	return unusable(errors.Wrap(err, "creating the tables "+d.schema))
}

func (d *db) Connect(ctx context.Context) (drivers.Session, error) {
	s := &session{db: d}
	if err := s.renew(ctx); err != nil {
		return nil, connectError(err)
	}
	return s, nil
}

// connect opens a connection.
func (d *db) connect(ctx context.Context, level sql.IsolationLevel) (*tx, error) {
	c, err := d.pool.Conn(ctx)
	if err != nil {
		return nil, err
	}
	return &tx{c: c, db: d, level: sqldriver.IsolationLevel(level)}, nil
}

func (d *db) Close(ctx context.Context) error {
	defer d.relay.close()
	defer d.pool.Close()
	if !d.created {
		return nil
	}
	if err := d.drop(ctx, d.schema); err != nil {
		return errors.Wrapf(unusable(err), "tables are left behind; %s", d.Owns())
	}
	return nil
}
