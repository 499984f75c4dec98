// Package duckdb drives an embedded DuckDB database through duckdb-go, which links DuckDB's own library. It needs cgo
// and more than a hundred megabytes, so it is a module of its own, and isohound-duckdb is the command line with it.
package duckdb

import (
	"context"
	"database/sql"
	"iter"
	"os"
	"path/filepath"
	"strings"

	client "github.com/duckdb/duckdb-go/v2"
	"github.com/pkg/errors"

	"github.com/isohound/isohound/drivers"
)

// Driver implements drivers.Driver.
type Driver struct{}

// isolationPage says what DuckDB promises. https://duckdb.org/docs/current/connect/concurrency.html adds that of two
// transactions that update or delete one row the second one fails.
const isolationPage = "https://duckdb.org/2024/09/25/changing-data-with-confidence-and-acid.html#isolation"

var info = drivers.Info{
	Name:     "duckdb",
	Title:    "DuckDB (embedded)",
	Embedded: true,
	DSN:      "/var/tmp",
	DSNHelp:  "a folder, in which the database gets a folder of its own; without it the database is in memory",
	Isolations: []drivers.Isolation{
		{Name: "snapshot isolation", Promises: "si", Lightweight: "lin", Source: isolationPage, Note: "DuckDB's only isolation: a snapshot from the first statement on, and a write to a row that changed since fails"},
	},
	Can: []drivers.Capability{drivers.Transactions, drivers.Deletes, drivers.Tables, drivers.Predicates, drivers.Lightweight},
	Notes: []string{
		"DuckDB 1.5.6 does not notice that one transaction updates a row in place and another one deletes it, or rewrites it: by UPDATE with RETURNING on a table with a primary key, or of a column with an index. Both commit, and si is violated; docs/drivers.md has more.",
		"Nothing waits: a transaction that meets another one fails at once.",
	},
}

// Info implements drivers.Driver.
func (Driver) Info() drivers.Info { return info }

// Open implements drivers.Driver.
func (Driver) Open(ctx context.Context, cfg drivers.Config) (drivers.DB, error) {
	d := &db{}
	if cfg.DSN != "" {
		if strings.ContainsAny(cfg.DSN, "?%") { // the client takes the path for a URL
			return nil, &drivers.DSNError{Driver: info.Name, Err: errors.New("the path of the folder must not contain ? or %")}
		}
		var err error
		if d.folder, err = os.MkdirTemp(cfg.DSN, "isohound-duckdb-"); err != nil {
			return nil, &drivers.DSNError{Driver: info.Name, Err: errors.Wrap(err, "expected an existing folder")}
		}
	}
	if err := d.open(ctx); err != nil {
		d.remove()
		return nil, &drivers.UnreachableError{Driver: info.Name, Err: err}
	}
	return d, nil
}

// db is one database. All its connections are in this process.
type db struct {
	folder  string // "" in memory
	pool    *sql.DB
	version string
}

func (d *db) open(ctx context.Context) error {
	file := ""
	if d.folder != "" {
		file = filepath.Join(d.folder, "db")
	}
	connector, err := client.NewConnector(file, nil)
	if err != nil {
		return err
	}
	d.pool = sql.OpenDB(connector)
	d.pool.SetMaxIdleConns(-1) // closing a session closes its connection
	if err := d.pool.QueryRowContext(ctx, "SELECT version()").Scan(&d.version); err != nil {
		d.pool.Close()
		return err
	}
	return nil
}

func (d *db) remove() error {
	if d.folder == "" {
		return nil
	}
	return os.RemoveAll(d.folder)
}

func (d *db) Server() string {
	where := "in memory"
	if d.folder != "" {
		where = "in a file"
	}
	return "DuckDB " + d.version + ", " + where
}

// Create makes the table of keys.
func (d *db) Create(ctx context.Context, initial iter.Seq2[string, int64]) error {
	return d.fill(ctx, func(t *sql.Tx) error {
		if _, err := t.ExecContext(ctx, "CREATE TABLE kv (k VARCHAR PRIMARY KEY, v BIGINT NOT NULL)"); err != nil {
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
		return &drivers.UnreachableError{Driver: info.Name, Err: errors.Wrap(err, "creating tables")}
	}
	return nil
}

// Connect opens a connection.
func (d *db) Connect(ctx context.Context) (drivers.Session, error) {
	c, err := d.pool.Conn(ctx)
	if err != nil {
		return nil, statementError(err)
	}
	return &session{c}, nil
}

func (d *db) Close(context.Context) error {
	err := d.pool.Close()
	if rerr := d.remove(); err == nil {
		err = rerr
	}
	return err
}
