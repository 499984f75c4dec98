// Package postgres drives PostgreSQL through pgx.
package postgres

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"iter"
	"regexp"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/pkg/errors"

	"github.com/isohound/isohound/drivers"
)

func init() { drivers.Register(driver{}) }

type driver struct{}

func (driver) Info() drivers.Info {
	return drivers.Info{
		Name:    "postgres",
		Title:   "PostgreSQL",
		DSN:     "postgres://user:password@127.0.0.1:5432/database",
		DSNHelp: "a connection URL or keyword string of libpq; PGHOST and the like fill what it leaves out",
		Isolations: []drivers.Isolation{
			{Name: "serializable", Promises: "ser", Lightweight: "lin", Note: "serializable snapshot isolation"},
			{Name: "repeatable read", Promises: "si", Lightweight: "lin", Note: "snapshot isolation"},
			{Name: "read committed", Lightweight: "lin", Note: "a snapshot for each statement"},
		},
		Can: []drivers.Capability{drivers.Transactions, drivers.Deletes, drivers.Tables, drivers.Predicates, drivers.Lightweight},
		Notes: []string{
			"A commit whose answer was lost is resolved with txid_status, unless the server has been through crash recovery since, when transaction ids may have been given out again.",
			"synchronous_commit=off is turned on in each session: after a crash it loses commits, which is no isolation bug.",
			"deadlock_timeout is set to 10 ms in each session where the user may (a superuser, or one with SET privilege); with the default of 1 s, hot keys make runs slow.",
		},
	}
}

var keywordPassword = regexp.MustCompile(`(password\s*=\s*)('(?:[^'\\]|\\.)*'|(?:[^\s\\]|\\.)+)`)

// MaskDSN implements drivers.Masker.
func (driver) MaskDSN(dsn string) string {
	if strings.Contains(dsn, "://") {
		return drivers.MaskURL(dsn)
	}
	return keywordPassword.ReplaceAllString(dsn, "${1}"+drivers.Masked)
}

// setupTimeout bounds connecting, creating and dropping, each.
const setupTimeout = 15 * time.Second

func (driver) Open(ctx context.Context, cfg drivers.Config) (drivers.DB, error) {
	conf, err := pgx.ParseConfig(cfg.DSN)
	if err != nil {
		return nil, &drivers.DSNError{Driver: "postgres", Err: err}
	}
	if conf.ConnectTimeout == 0 {
		conf.ConnectTimeout = setupTimeout
	}
	name := make([]byte, 6)
	if _, err := rand.Read(name); err != nil {
		return nil, errors.WithStack(err)
	}
	d := &db{conf: conf, schema: "isohound_" + hex.EncodeToString(name), level: pgx.TxIsoLevel(cfg.Isolation)}
	err = d.admin(ctx, func(ctx context.Context, c *pgx.Conn) error {
		return c.QueryRow(ctx, "SELECT version()").Scan(&d.version)
	})
	if err != nil {
		return nil, &drivers.UnreachableError{Driver: "postgres", Err: plain(err)}
	}
	if at := strings.Index(d.version, " on "); at > 0 {
		d.version = d.version[:at]
	}
	return d, nil
}

type db struct {
	conf    *pgx.ConnConfig
	schema  string
	level   pgx.TxIsoLevel
	version string
	created bool
}

func (d *db) Server() string { return d.version }

// admin runs f on a connection of its own.
func (d *db) admin(ctx context.Context, f func(context.Context, *pgx.Conn) error) error {
	ctx, cancel := context.WithTimeout(ctx, setupTimeout)
	defer cancel()
	c, err := pgx.ConnectConfig(ctx, d.conf.Copy())
	if err != nil {
		return err
	}
	defer c.Close(context.WithoutCancel(ctx))
	return f(ctx, c)
}

// Create makes the table of keys, and epoch, an unlogged table of one row.
// Crash recovery empties unlogged tables, so that the row's presence proves
// that the server has not crashed since.
func (d *db) Create(ctx context.Context, initial iter.Seq2[string, int64]) error {
	err := d.admin(ctx, func(ctx context.Context, c *pgx.Conn) error {
		s := pgx.Identifier{d.schema}.Sanitize()
		d.created = true // from here on there may be something to drop
		if _, err := c.Exec(ctx, "CREATE SCHEMA "+s); err != nil {
			return err
		}
		for _, stmt := range []string{
			`CREATE TABLE ` + s + `.kv (k text COLLATE "C" PRIMARY KEY, v bigint NOT NULL)`,
			`CREATE UNLOGGED TABLE ` + s + `.epoch (alive boolean)`,
			`INSERT INTO ` + s + `.epoch VALUES (true)`,
		} {
			if _, err := c.Exec(ctx, stmt); err != nil {
				return err
			}
		}
		next, stop := iter.Pull2(initial)
		defer stop()
		_, err := c.CopyFrom(ctx, pgx.Identifier{d.schema, "kv"}, []string{"k", "v"}, pgx.CopyFromFunc(func() ([]any, error) {
			if k, v, ok := next(); ok {
				return []any{k, v}, nil
			}
			return nil, nil
		}))
		if err == nil {
			_, err = c.Exec(ctx, "ANALYZE "+s+".kv") // see CreateTables
		}
		return err
	})
	if err != nil {
		return &drivers.UnreachableError{Driver: "postgres", Err: errors.Wrap(plain(err), "creating the schema "+d.schema)}
	}
	return nil
}

func (d *db) Connect(ctx context.Context) (drivers.Session, error) {
	conf := d.conf.Copy()
	conf.RuntimeParams["search_path"] = d.schema
	// For statements that commit by themselves; Begin names the isolation anew.
	conf.RuntimeParams["default_transaction_isolation"] = string(d.level)
	if conf.RuntimeParams["application_name"] == "" {
		conf.RuntimeParams["application_name"] = "isohound"
	}
	c, err := pgx.ConnectConfig(ctx, conf)
	if err != nil {
		return nil, connectError(err)
	}
	// A server that crashes may lose commits of asynchronous sessions, which
	// would look like lost updates.
	if _, err := c.Exec(ctx, "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'"); err != nil {
		c.Close(context.WithoutCancel(ctx))
		return nil, connectError(err)
	}
	if _, err := c.Exec(ctx, "SET deadlock_timeout = '10ms'"); err != nil && !isCode(err, insufficientPrivilege) {
		c.Close(context.WithoutCancel(ctx))
		return nil, connectError(err)
	}
	return &session{c: c, opt: pgx.TxOptions{IsoLevel: d.level}}, nil
}

// Owns implements drivers.Owner.
func (d *db) Owns() string {
	if !d.created {
		return ""
	}
	return "schema " + d.schema + "; drop it with DROP SCHEMA " + d.schema + " CASCADE"
}

func (d *db) Close(ctx context.Context) error {
	if !d.created {
		return nil
	}
	err := d.admin(ctx, func(ctx context.Context, c *pgx.Conn) error {
		_, err := c.Exec(ctx, "DROP SCHEMA IF EXISTS "+pgx.Identifier{d.schema}.Sanitize()+" CASCADE")
		return err
	})
	if err == nil {
		return nil
	}
	return errors.Wrapf(&drivers.UnreachableError{Driver: "postgres", Err: plain(err)}, "schema %s is left behind, drop it with DROP SCHEMA %s CASCADE", d.schema, d.schema)
}

// Resolve asks txid_status, which exists since PostgreSQL 10.
func (d *db) Resolve(ctx context.Context, txnID int64) (drivers.Outcome, error) {
	out := drivers.Lost
	err := d.admin(ctx, func(ctx context.Context, c *pgx.Conn) error {
		var status *string
		var alive int
		s := pgx.Identifier{d.schema}.Sanitize()
		if err := c.QueryRow(ctx, "SELECT txid_status($1), (SELECT count(*) FROM "+s+".epoch)", txnID).Scan(&status, &alive); err != nil {
			return err
		}
		switch {
		case alive == 0 || status == nil:
		case *status == "committed":
			out = drivers.DidCommit
		case *status == "aborted":
			out = drivers.DidAbort
		case *status == "in progress":
			out = drivers.InProgress
		}
		return nil
	})
	if isCode(err, undefinedFunction) {
		return drivers.Lost, nil
	}
	if err != nil {
		return drivers.Lost, connectError(err)
	}
	return out, nil
}
