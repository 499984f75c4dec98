// Package sqlite drives an embedded SQLite database, which is one file, through
// modernc.org/sqlite, a translation of SQLite to Go.
package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"iter"
	"net/url"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/pkg/errors"
	_ "modernc.org/sqlite" // registers the driver of database/sql

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/internal/scratch"
)

func init() { drivers.Register(driver{}) }

type driver struct{}

// mode is the settings of an isolation.
type mode struct{ begin, journal, more string }

const (
	inJournal       = ", journal_mode=DELETE"
	readUncommitted = "read uncommitted"
)

var modes = map[string]mode{
	"deferred":              {begin: "BEGIN DEFERRED", journal: "WAL"},
	"immediate":             {begin: "BEGIN IMMEDIATE", journal: "WAL"},
	"deferred" + inJournal:  {begin: "BEGIN DEFERRED", journal: "DELETE"},
	"immediate" + inJournal: {begin: "BEGIN IMMEDIATE", journal: "DELETE"},
	readUncommitted:         {begin: "BEGIN DEFERRED", journal: "WAL", more: "&cache=shared&_pragma=read_uncommitted(1)"},
}

// isolationPage says what SQLite promises.
const isolationPage = "https://www.sqlite.org/isolation.html"

func (driver) Info() drivers.Info {
	return drivers.Info{
		Name:     "sqlite",
		Title:    "SQLite (embedded)",
		Embedded: true,
		DSN:      "/var/tmp",
		DSNHelp:  "a folder, in which the database gets a folder of its own and synchronous=FULL; without it the database is in the system's temporary folder, with synchronous=OFF",
		Isolations: []drivers.Isolation{
			// A transaction that writes holds the only write lock from its first write to its
			// commit. The first write fails unless everything read is still the newest state.
			// The commit is visible before it returns. So the transaction acts at its commit. A
			// transaction that only reads acts when it takes its snapshot. With a rollback
			// journal, no commit happens while anybody reads.
			{Name: "deferred", Promises: "sser", Lightweight: "lin", Source: isolationPage, Note: "WAL; locks are taken when they are needed: a write after a read of what is not the newest fails (SQLITE_BUSY_SNAPSHOT)"},
			{Name: "immediate", Promises: "sser", Lightweight: "lin", Source: isolationPage, Note: "WAL; one transaction at a time"},
			{Name: "deferred" + inJournal, Promises: "sser", Lightweight: "lin", Source: isolationPage, Note: "rollback journal: a commit waits for all readers, and of two readers that write one fails"},
			{Name: "immediate" + inJournal, Promises: "sser", Lightweight: "lin", Source: isolationPage, Note: "rollback journal; one transaction at a time"},
			{Name: readUncommitted, Promises: "ru", Lightweight: "ru", Source: "https://www.sqlite.org/sharedcache.html", Note: "WAL; connections share their cache, and with it what is not committed"},
		},
		Can: []drivers.Capability{drivers.Transactions, drivers.Deletes, drivers.Tables, drivers.Predicates, drivers.Lightweight, drivers.Positions},
		Notes: []string{
			"SQLite has no queue for locks: a waiting session retries after up to 100 ms, so with many sessions some wait long.",
		},
	}
}

// maxWait is the longest time that SQLite waits for a lock. The end of a context does not end
// the wait, so it is kept below the time that a call may take.
const maxWait = 5 * time.Second

func (driver) Open(ctx context.Context, cfg drivers.Config) (drivers.DB, error) {
	folder, err := scratch.In(cfg.DSN, "sqlite")
	if err != nil {
		if cfg.DSN == "" {
			return nil, err
		}
		return nil, &drivers.DSNError{Driver: "sqlite", Err: errors.Wrap(err, "expected an existing folder")}
	}
	d := &db{folder: folder, mode: modes[cfg.Isolation], synchronous: "OFF", positions: cfg.Positions}
	if cfg.DSN != "" {
		d.synchronous = "FULL"
	}
	wait := maxWait
	if cfg.CallTimeout > 0 {
		wait = min(wait, cfg.CallTimeout/2)
	}
	file := url.URL{Path: filepath.Join(folder.Path, "db")}
	d.pool, err = sql.Open("sqlite", fmt.Sprintf("file:%s?_pragma=busy_timeout(%d)&_pragma=journal_mode(%s)&_pragma=synchronous(%s)%s",
		file.EscapedPath(), wait.Milliseconds(), d.mode.journal, d.synchronous, d.mode.more))
	if err == nil {
		d.pool.SetMaxIdleConns(-1) // closing a connection closes the file
		err = d.pool.QueryRowContext(ctx, "SELECT sqlite_version()").Scan(&d.version)
	}
	if err != nil {
		folder.Remove()
		return nil, &drivers.UnreachableError{Driver: "sqlite", Err: err}
	}
	return d, nil
}

type db struct {
	pool                 *sql.DB
	folder               *scratch.Folder
	mode                 mode
	synchronous, version string
	positions            bool         // commits are counted
	commits              atomic.Int64 // the number of commits that were tried
}

func (d *db) Server() string {
	return fmt.Sprintf("SQLite %s, journal_mode=%s, synchronous=%s", d.version, d.mode.journal, d.synchronous)
}

func (d *db) Create(ctx context.Context, initial iter.Seq2[string, int64]) error {
	return d.fill(ctx, func(t *sql.Tx) error {
		if _, err := t.ExecContext(ctx, "CREATE TABLE kv (k TEXT PRIMARY KEY, v INTEGER NOT NULL) STRICT, WITHOUT ROWID"); err != nil {
			return err
		}
		put, err := t.PrepareContext(ctx, "INSERT INTO kv VALUES (?, ?)")
		if err != nil {
			return err
		}
		defer put.Close()
		for k, v := range initial {
			if _, err := put.ExecContext(ctx, k, v); err != nil {
				return err
			}
		}
		return nil
	})
}

// fill runs f, which creates the initial content, in one transaction.
func (d *db) fill(ctx context.Context, f func(*sql.Tx) error) error {
	t, err := d.pool.BeginTx(ctx, nil)
	if err == nil {
		if err = f(t); err == nil {
			err = t.Commit()
		} else {
			t.Rollback()
		}
	}
	if err != nil {
		return &drivers.UnreachableError{Driver: "sqlite", Err: errors.Wrap(err, "creating tables")}
	}
	return nil
}

// Connect opens the file once more.
func (d *db) Connect(ctx context.Context) (drivers.Session, error) {
	c, err := d.pool.Conn(ctx)
	if err != nil {
		return nil, statementError(err)
	}
	s := &session{c: c, begin: d.mode.begin, db: d}
	if err := s.hook(); err != nil {
		s.Close()
		return nil, statementError(err)
	}
	return s, nil
}

func (d *db) Close(context.Context) error {
	err := d.pool.Close()
	if rerr := d.folder.Remove(); err == nil {
		err = rerr
	}
	return err
}
