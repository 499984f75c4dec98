// Package postgres drives PostgreSQL through pgx.
package postgres

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"iter"
	"net"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/pkg/errors"

	"github.com/isohound/isohound/drivers"
)

func init() {
	for _, f := range flavours {
		drivers.Register(driver{f})
	}
}

// driver drives a flavour, PostgreSQL itself if none is given.
type driver struct{ *flavour }

func (d driver) is() *flavour {
	if d.flavour == nil {
		return plainPostgres
	}
	return d.flavour
}

func (d driver) Info() drivers.Info { return d.is().info }

// value is that of a keyword. What is not of this form may have parts of a password anywhere.
const value = `('(?:[^'\\]|\\.)*'|(?:[^'\s\\]|\\.)(?:[^\s\\]|\\.)*|)`

var (
	keyword  = regexp.MustCompile(`(\w+)(\s*=\s*)` + value + `(\s+|$)`)
	keywords = regexp.MustCompile(`^\s*(?:` + keyword.String() + `)*$`)
)

// MaskDSN implements drivers.Masker.
func (driver) MaskDSN(dsn string) string {
	switch {
	case drivers.IsURL(dsn):
		return drivers.MaskURL(dsn)
	case !keywords.MatchString(dsn):
		return drivers.Masked
	}
	return keyword.ReplaceAllStringFunc(dsn, func(text string) string {
		part := keyword.FindStringSubmatch(text)
		if !strings.HasSuffix(strings.ToLower(strings.TrimSpace(part[1])), "password") {
			return text
		}
		return part[1] + part[2] + drivers.Masked + part[4]
	})
}

// parse reads a DSN. Its errors repeat nothing of it that may be part of a password.
func parse(dsn string) (*pgx.ConnConfig, error) {
	conf, err := pgx.ParseConfig(dsn)
	var bad *pgconn.ParseConfigError
	switch {
	case !errors.As(err, &bad):
		return conf, err
	case (driver{}).MaskDSN(dsn) == drivers.Masked:
		return nil, errors.New("cannot be read; expected a URL such as postgres://me:percent%2Dencoded@127.0.0.1:5432/test, or words such as host=127.0.0.1 user=me password='a b' dbname=test")
	}
	text := bad.Error() // cannot parse `DSN`: reason
	if end := strings.LastIndex(text, "`: "); end >= 0 {
		text = text[end+len("`: "):]
	}
	return nil, errors.New(text)
}

// setupTimeout bounds connecting, creating and dropping separately.
const setupTimeout = 15 * time.Second

func (drv driver) Open(ctx context.Context, cfg drivers.Config) (drivers.DB, error) {
	f := drv.is()
	conf, err := parse(cfg.DSN)
	if err != nil {
		return nil, &drivers.DSNError{Driver: f.info.Name, Err: err}
	}
	direct := conf.DialFunc
	if cfg.Dial != nil {
		conf.DialFunc = pgconn.DialFunc(cfg.Dial)
	}
	if conf.ConnectTimeout == 0 {
		conf.ConnectTimeout = setupTimeout
	}
	name := make([]byte, 6)
	if _, err := rand.Read(name); err != nil {
		return nil, errors.WithStack(err)
	}
	d := &db{flavour: f, conf: conf, schema: "isohound_" + hex.EncodeToString(name), level: pgx.TxIsoLevel(cfg.Isolation), dial: direct}
	// At read committed each statement has a snapshot of its own.
	d.snapshots = cfg.Positions && f.recovers && d.level != pgx.ReadCommitted
	d.asked, d.callTimeout = cfg.Positions && slices.Contains(f.info.Can, drivers.Positions), cmp.Or(cfg.CallTimeout, setupTimeout)
	if err := d.admin(ctx, d.inspect); err != nil {
		return nil, d.unusable(f.stranger(err))
	}
	return d, nil
}

var remedies = drivers.Remedies{
	Without:   "use sslmode=disable or sslmode=prefer",
	Unchecked: "name its authority with sslrootcert=FILE; sslmode=require without sslrootcert does not check the certificate",
}

// stranger explains an error of the first connection. A server that answers, but not in
// PostgreSQL's protocol, is of another kind.
func (f *flavour) stranger(err error) error {
	var pe *pgconn.PgError
	var ce *pgconn.ConnectError
	var op *net.OpError
	var name *net.DNSError
	switch {
	case errors.As(err, &pe) || !errors.As(err, &ce):
		return plain(err)
	case remedies.Explain(plain(err)) != nil: // the last attempt; sslmode=prefer makes one without TLS
		return remedies.Explain(plain(err))
	case errors.Is(err, context.DeadlineExceeded):
		return errors.Errorf("it did not answer as %s does within %v; is this a %s server?", f.info.Title, setupTimeout, f.info.Title)
	case errors.As(err, &op) && op.Op == "dial", errors.As(err, &name):
		return plain(err)
	}
	// The library's message has a formatting error here.
	text := strings.ReplaceAll(plain(err).Error(), ": %!w(<nil>)", "")
	return errors.Errorf("%s; is this a %s server?", text, f.info.Title)
}

// inspect asks the server what it is and whether it does what was requested.
func (d *db) inspect(ctx context.Context, c *pgx.Conn) error {
	if err := c.QueryRow(ctx, "SELECT version()").Scan(&d.version); err != nil {
		return err
	}
	switch is := identify(d.version); {
	case is == nil:
		return errors.Errorf("it calls itself %q, which is not %s", d.version, d.info.Title)
	case is.sign != d.sign:
		return errors.Errorf("this is %s; use --driver %s", is.info.Title, is.info.Name)
	}
	for _, end := range []string{" on ", " ("} {
		d.version, _, _ = strings.Cut(d.version, end)
	}
	if d.asked {
		d.tells(ctx, c)
	}
	if !d.recovers {
		return d.verify(ctx, c)
	}
	if err := c.QueryRow(ctx, "SELECT pg_is_in_recovery()").Scan(&d.standby); err != nil {
		return err
	}
	return d.deadlocks(ctx, c)
}

const setDeadlockTimeout = "SET deadlock_timeout = '10ms'"

// lockTimeout is how long a statement waits for a lock where deadlocks are found late.
const lockTimeout = 50 * time.Millisecond

// deadlocks finds out whether the user may set deadlock_timeout. If not, and if deadlocks are found
// late, sessions set lock_timeout, which every user may, unless the user or the server has set it.
func (d *db) deadlocks(ctx context.Context, c *pgx.Conn) error {
	_, err := c.Exec(ctx, setDeadlockTimeout)
	if err == nil || !isCode(err, insufficientPrivilege) {
		return err
	}
	var deadlock, lock, user string
	var late bool
	if err := c.QueryRow(ctx, "SELECT current_setting('deadlock_timeout'), current_setting('lock_timeout'), current_user::text, (SELECT setting::int > $1 FROM pg_settings WHERE name = 'deadlock_timeout')", lockTimeout.Milliseconds()).Scan(&deadlock, &lock, &user, &late); err != nil {
		return err
	}
	if !late {
		return nil
	}
	note := fmt.Sprintf("deadlock_timeout is %s, and user %s may not set it, so that a deadlock lasts that long", deadlock, user)
	if d.slow = lock == "0"; d.slow {
		note += fmt.Sprintf("; statements therefore wait at most %v for a lock (lock_timeout), after which their transaction aborts", lockTimeout)
	} else {
		note += "; lock_timeout is " + lock
	}
	d.notes = append(d.notes, note+fmt.Sprintf(`; to allow it: GRANT SET ON PARAMETER deadlock_timeout TO %s (PostgreSQL 15 or later)`, pgx.Identifier{user}.Sanitize()))
	return nil
}

// verify asks a server that may replace the requested isolation which one is in effect.
func (d *db) verify(ctx context.Context, c *pgx.Conn) error {
	t, err := c.BeginTx(ctx, pgx.TxOptions{IsoLevel: d.level})
	if err != nil {
		return err
	}
	defer t.Rollback(context.WithoutCancel(ctx))
	var level string
	if err := t.QueryRow(ctx, "SHOW transaction_isolation").Scan(&level); err != nil {
		return err
	}
	if level != string(d.level) {
		return errors.Errorf("isolation %q was requested, but its transactions are %s", d.level, level)
	}
	return nil
}

func (d *db) unusable(err error) error {
	return &drivers.UnreachableError{Driver: d.info.Name, Err: err}
}

type db struct {
	*flavour
	conf    *pgx.ConnConfig
	schema  string
	level   pgx.TxIsoLevel
	version string
	created bool
	standby bool            // read-only, unless it is promoted
	dial    pgconn.DialFunc // without faults
	commits commitLog
	notes   []string
	// snapshots: transactions ask for their snapshots.
	snapshots bool
	// asked: transactions tell their positions, if the server does. placed: they do; untold says why not.
	asked, placed bool
	untold        string
	callTimeout   time.Duration
	// slow says that the user may not set deadlock_timeout.
	slow bool
}

func (d *db) Server() string { return d.version }

// admin runs f on its own connection.
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

// Create makes the table of keys, and epoch, an unlogged table with one row. Crash recovery
// empties unlogged tables, so the presence of the row proves that the server has not crashed
// since.
func (d *db) Create(ctx context.Context, initial iter.Seq2[string, int64]) error {
	if d.standby {
		return d.unusable(errors.New("this is a hot standby, which only reads; name the primary as the first --dsn"))
	}
	err := d.admin(ctx, func(ctx context.Context, c *pgx.Conn) error {
		s := pgx.Identifier{d.schema}.Sanitize()
		d.created = true // from here on there may be something to drop
		if _, err := c.Exec(ctx, "CREATE SCHEMA "+s); err != nil {
			var pe *pgconn.PgError
			d.created = !errors.As(err, &pe) // the server refused, so nothing was created
			return err
		}
		stmts := []string{`CREATE TABLE ` + s + `.kv (k ` + d.keys + ` PRIMARY KEY, v bigint NOT NULL)`}
		if d.recovers {
			stmts = append(stmts, `CREATE UNLOGGED TABLE `+s+`.epoch (alive boolean)`, `INSERT INTO `+s+`.epoch VALUES (true)`)
		}
		for _, stmt := range stmts {
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
		return d.unusable(errors.Wrap(plain(err), "creating the schema "+d.schema))
	}
	return nil
}

func (d *db) Connect(ctx context.Context) (drivers.Session, error) {
	conf := d.conf.Copy()
	conf.RuntimeParams["search_path"] = d.schema
	// For statements that commit by themselves; Begin sets the isolation explicitly.
	conf.RuntimeParams["default_transaction_isolation"] = string(d.level)
	if conf.RuntimeParams["application_name"] == "" {
		conf.RuntimeParams["application_name"] = d.schema // Remnants counts them
	}
	c, err := pgx.ConnectConfig(ctx, conf)
	if err != nil {
		return nil, connectError(err)
	}
	if err := d.prepare(ctx, c); err != nil {
		c.Close(context.WithoutCancel(ctx))
		return nil, connectError(err)
	}
	return &session{c: c, db: d, opt: pgx.TxOptions{IsoLevel: d.level}}, nil
}

// plannerSettings are two settings of each session, unless the DSN has them.
//
// A small table would be scanned completely instead of through its index (enable_seqscan). Serializable then
// locks all of it, and most transactions abort. A sequential scan that is needed all the same has such a high cost
// then that PostgreSQL compiles its statement (jit, since version 11), which takes far longer than a scan of a small table.
const plannerSettings = "SELECT set_config(name, 'off', false) FROM pg_settings WHERE name IN ('enable_seqscan', 'jit') AND source <> 'client'"

// prepare sets up a session.
func (d *db) prepare(ctx context.Context, c *pgx.Conn) error {
	if !d.recovers {
		return nil
	}
	// A server that crashes may lose commits of sessions with asynchronous commit, which would
	// look like lost updates. Who asks for that in the DSN wants to see it.
	if d.conf.RuntimeParams["synchronous_commit"] == "" {
		if _, err := c.Exec(ctx, "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'"); err != nil {
			return err
		}
	}
	if _, err := c.Exec(ctx, plannerSettings); err != nil {
		return err
	}
	if d.slow {
		_, err := c.Exec(ctx, fmt.Sprintf("SET lock_timeout = %d", lockTimeout.Milliseconds()))
		return err
	}
	if _, err := c.Exec(ctx, setDeadlockTimeout); err != nil && !isCode(err, insufficientPrivilege) {
		return err
	}
	return nil
}

// Loses implements drivers.Loser.
func (d *db) Loses() string {
	if d.recovers && d.conf.RuntimeParams["synchronous_commit"] == "off" {
		return "synchronous_commit is off"
	}
	return ""
}

// Owns implements drivers.Owner.
func (d *db) Owns() string {
	if !d.created {
		return ""
	}
	return "schema " + d.schema + "; drop it with DROP SCHEMA " + d.schema + " CASCADE"
}

func (d *db) Close(ctx context.Context) error {
	d.closeLog(ctx)
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
	return errors.Wrapf(d.unusable(plain(err)), "schema %s is left behind, drop it with DROP SCHEMA %s CASCADE", d.schema, d.schema)
}

// Resolve uses txid_status, which exists since PostgreSQL 10. Flavours without it have no ids to
// ask for.
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
	// A standby that became the primary and did not get the transaction has not given its id yet.
	if isCode(err, undefinedFunction) || isCode(err, invalidParameterValue) {
		return drivers.Lost, nil
	}
	if err != nil {
		return drivers.Lost, connectError(err)
	}
	return out, nil
}
