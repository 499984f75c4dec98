// Package mariadb drives MariaDB, and also MySQL as far as the two agree.
package mariadb

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"fmt"
	"io"
	"iter"
	"log"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/pkg/errors"

	"github.com/isohound/isohound/drivers"
)

func init() {
	for _, f := range flavours {
		drivers.Register(driver{f})
	}
}

// driver drives a flavour, MariaDB if none is given.
type driver struct{ *flavour }

func (d driver) is() *flavour {
	if d.flavour == nil {
		return plainMariaDB
	}
	return d.flavour
}

func (d driver) Info() drivers.Info { return d.is().info }

// setupTimeout bounds connecting, creating and dropping separately.
const setupTimeout = 15 * time.Second

func (drv driver) Open(ctx context.Context, cfg drivers.Config) (drivers.DB, error) {
	f := drv.is()
	conf, err := parseDSN(cfg.DSN)
	if err != nil {
		return nil, &drivers.DSNError{Driver: f.info.Name, Err: err}
	}
	conf.ClientFoundRows = true   // an update counts the rows found, not those changed
	conf.InterpolateParams = true // one round trip for a statement
	if conf.Params == nil {
		conf.Params = map[string]string{}
	}
	conf.Params["autocommit"] = "1" // a server without autocommit would roll back the set-up
	if _, given := conf.Params["sql_mode"]; !given && f.sign == "" {
		conf.Params["sql_mode"] = sqlMode
	}
	conf.DialFunc = cfg.Dial
	conf.Logger = log.New(io.Discard, "", 0)
	if conf.Timeout == 0 {
		conf.Timeout = setupTimeout
	}
	name := make([]byte, 6)
	if _, err := rand.Read(name); err != nil {
		return nil, errors.WithStack(err)
	}
	d := &db{flavour: f, schema: "isohound_" + hex.EncodeToString(name)}
	d.begin(cfg)
	asks := cfg.Positions && slices.Contains(f.info.Can, drivers.Positions)
	conf.MultiStatements = conf.MultiStatements || asks && f.sign == "" // for commitLogged
	connector, err := mysql.NewConnector(conf)
	if err != nil {
		return nil, &drivers.DSNError{Driver: f.info.Name, Err: err}
	}
	d.pool = sql.OpenDB(connector)
	d.pool.SetMaxIdleConns(0) // closing a session closes its connection
	if err := d.inspect(ctx, asks); err != nil {
		d.pool.Close()
		if explained := remedies.Explain(err); explained != nil {
			err = explained
		}
		return nil, d.unusable(err)
	}
	return d, nil
}

// sqlMode is the server's without EMPTY_STRING_IS_NULL, which makes texts of workloads, and what updates note down, nulls. As
// an empty text is a null here, too, another mode takes its place, with which the engine is the one that was asked for.
const sqlMode = "REPLACE(@@sql_mode, 'EMPTY_STRING_IS_NULL', 'NO_ENGINE_SUBSTITUTION')"

// parseDSN reads a URL, or a DSN of go-sql-driver.
func parseDSN(dsn string) (*mysql.Config, error) {
	scheme, _, ok := strings.Cut(dsn, "://")
	if !ok || !slices.Contains(tidb.info.Schemes, scheme) {
		return parseClient(dsn)
	}
	u, err := url.Parse(dsn)
	if err != nil {
		return nil, err
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, err
	}
	network, address := "tcp", u.Host
	switch {
	case u.Port() != "":
	case scheme == "tidb":
		address += ":4000"
	default:
		address += ":3306"
	}
	if s := query.Get("socket"); s != "" {
		network, address = "unix", s
	}
	// The other parameters are in the spelling of a DSN of go-sql-driver.
	params := slices.DeleteFunc(strings.Split(u.RawQuery, "&"), func(p string) bool { return strings.HasPrefix(p, "socket=") })
	conf, err := mysql.ParseDSN(fmt.Sprintf("%s(%s)%s?%s", network, address, cmp.Or(u.EscapedPath(), "/"), strings.Join(params, "&")))
	if err != nil {
		return nil, err
	}
	conf.User = u.User.Username()
	conf.Passwd, _ = u.User.Password()
	return conf, nil
}

// networks are those of a DSN of go-sql-driver; tcp is the default.
var networks = []string{"", "tcp", "tcp4", "tcp6", "unix"}

// parseClient reads a DSN of go-sql-driver. That takes the last slash for the one before the name of the database. Where
// this one is missing, the last slash may be in the password, of which parts are then a network or a database.
func parseClient(dsn string) (*mysql.Config, error) {
	expected := errors.New("expected user:password@tcp(host:port)/database, where an @ in the name of the database is %40, or a URL such as mariadb://user:password@host/")
	slash := strings.LastIndex(dsn, "/")
	if slash < 0 {
		return nil, expected
	}
	before := dsn[:slash]
	at := strings.LastIndex(before, "@")
	network, _, _ := strings.Cut(before[at+1:], "(")
	database, _, _ := strings.Cut(dsn[slash+1:], "?")
	if !slices.Contains(networks, network) || strings.Contains(database, "@") || at < 0 && strings.Contains(dsn, "@") {
		return nil, expected
	}
	return mysql.ParseDSN(dsn)
}

// MaskDSN implements drivers.Masker.
func (driver) MaskDSN(dsn string) string {
	if drivers.IsURL(dsn) {
		return drivers.MaskURL(dsn)
	}
	conf, err := parseClient(dsn)
	if err != nil || strings.ContainsAny(conf.User, " '\"") { // words of another form, one of which may be a password
		return drivers.Masked
	}
	if conf.Passwd != "" {
		conf.Passwd = drivers.Masked
	}
	return conf.FormatDSN()
}

var remedies = drivers.Remedies{
	Without:   "leave tls out, or use tls=preferred",
	Unchecked: "an authority of the system must have signed it; tls=skip-verify does not check the certificate",
}

func (d *db) unusable(err error) error {
	return &drivers.UnreachableError{Driver: d.info.Name, Err: err}
}

type db struct {
	*flavour
	pool     *sql.DB
	schema   string
	version  string
	created  bool
	promises string
	notes    []string
	loses    string
	onOpen   []string // statements for each new session
	name     string   // of the isolation
	readOnly bool     // the server refuses writes
	// positions: transactions tell where the server has placed them.
	positions   bool
	gtids       string        // what tells the id of the last commit, or ""
	untold      string        // why not
	callTimeout time.Duration // of questions about that
}

// begin derives the statements that set up a session.
func (d *db) begin(cfg drivers.Config) {
	d.name, d.callTimeout = cfg.Isolation, cmp.Or(cfg.CallTimeout, setupTimeout)
	level, setting, _ := strings.Cut(cfg.Isolation, ", ")
	d.onOpen = []string{"SET SESSION TRANSACTION ISOLATION LEVEL " + strings.ToUpper(level)}
	if setting != "" && d.settings == nil {
		d.onOpen = append(d.onOpen, sessionSetting(setting))
	}
	if wait := int(cfg.CallTimeout.Seconds() / 2); cfg.CallTimeout > 0 {
		d.onOpen = append(d.onOpen, fmt.Sprintf("SET SESSION innodb_lock_wait_timeout = %d", max(wait, 1)))
	}
}

// inspect asks for the version, for what the isolation promises and, with asks, for whether the server tells where it
// places transactions.
func (d *db) inspect(ctx context.Context, asks bool) error {
	ctx, cancel := context.WithTimeout(ctx, setupTimeout)
	defer cancel()
	c, err := d.pool.Conn(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		return errors.Errorf("it did not greet as %s does within %v; is this a %s server?", d.info.Title, setupTimeout, d.info.Title)
	}
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.QueryRowContext(ctx, "SELECT VERSION()").Scan(&d.version); err != nil {
		return err
	}
	if is := identify(d.version); is.sign != d.sign {
		return errors.Errorf("this is %s; use --driver %s", is.title(d.version), is.info.Name)
	}
	if d.settings != nil {
		if err := d.settings(ctx, c, d); err != nil {
			return err
		}
	}
	for _, stmt := range d.onOpen {
		if _, err := c.ExecContext(ctx, stmt); err != nil {
			return errors.Wrap(err, stmt)
		}
	}
	if asks {
		if err := d.tells(ctx, c); err != nil {
			return err
		}
	}
	var flush int
	if err := c.QueryRowContext(ctx, "SELECT @@innodb_flush_log_at_trx_commit").Scan(&flush); err == nil && flush == 0 {
		d.loses = "innodb_flush_log_at_trx_commit is 0"
		d.notes = append(d.notes, d.loses+": if the server crashes during the run it may lose commits, which is no isolation bug but looks like one")
	}
	info, err := d.info.FindIsolation(d.name)
	if err != nil {
		return err
	}
	d.promises = info.Promises
	switch d.name {
	case serializable:
		if on, err := isOn(ctx, c, "wsrep_on"); err != nil || on {
			d.promises = currentWrites
			return err
		}
	case repeatableRead:
		d.promises = currentWrites
		switch value, has, err := sessionVariable(ctx, c, "innodb_snapshot_isolation"); {
		case err != nil:
			return err
		case !has:
			d.notes = append(d.notes, "this server has no innodb_snapshot_isolation: its repeatable read is no snapshot isolation, and promises ryw and mr; lost updates are documented behaviour")
		case value == "ON":
			d.promises = "si"
		default:
			d.notes = append(d.notes, fmt.Sprintf("innodb_snapshot_isolation is OFF on this server: its repeatable read promises ryw and mr, not si; for snapshot isolation use --isolation %q", repeatableReadOn))
		}
	}
	return nil
}

// isOn reports whether the session has a system variable and it is on.
func isOn(ctx context.Context, c *sql.Conn, name string) (bool, error) {
	value, has, err := sessionVariable(ctx, c, name)
	return has && value == "ON", err
}

// Notes implements drivers.Noter.
func (d *db) Notes() []string { return d.notes }

// Loses implements drivers.Loser.
func (d *db) Loses() string { return d.loses }

// Owns implements drivers.Owner.
func (d *db) Owns() string {
	if !d.created {
		return ""
	}
	return "database " + d.schema + "; drop it with DROP DATABASE " + d.schema
}

// Promises implements drivers.Claimer.
func (d *db) Promises() string { return d.promises }

func (d *db) Server() string {
	return d.title(d.version) + " " + d.version
}

func (d *db) Create(ctx context.Context, initial iter.Seq2[string, int64]) error {
	if err := d.create(ctx, initial); err != nil {
		return d.unusable(errors.Wrap(err, "creating the database "+d.schema))
	}
	return nil
}

// freeEngine is the remedy if a server makes no tables of InnoDB.
const freeEngine = "take enforce_storage_engine out of its configuration, or SET GLOBAL enforce_storage_engine = NULL"

// perInsert bounds the length of the statements that load the initial keys.
const perInsert = 1000

func (d *db) create(ctx context.Context, initial iter.Seq2[string, int64]) error {
	ctx, cancel := context.WithTimeout(ctx, setupTimeout)
	defer cancel()
	c, err := d.pool.Conn(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	d.created = true // from here on there may be something to drop
	if _, err := c.ExecContext(ctx, "CREATE DATABASE "+d.schema); err != nil {
		var me *mysql.MySQLError
		d.created = !errors.As(err, &me) // the server refused, so nothing was created
		return err
	}
	// Keys are binary, so that no collation treats two keys as equal.
	_, err = c.ExecContext(ctx, "CREATE TABLE "+d.schema+".kv (k VARBINARY(255) PRIMARY KEY, v BIGINT NOT NULL) ENGINE=InnoDB")
	if isNumber(err, readOnly) && strings.Contains(err.Error(), "NO_ENGINE_SUBSTITUTION") { // the number has several meanings
		return errors.WithMessage(err, "the server refuses a table of engine InnoDB; "+freeEngine)
	}
	if err != nil {
		return err
	}
	var engine string
	if err := c.QueryRowContext(ctx, "SELECT engine FROM information_schema.tables WHERE table_schema = ?", d.schema).Scan(&engine); err != nil {
		return err
	}
	if !strings.EqualFold(engine, "InnoDB") {
		return errors.Errorf("the server made a table of engine %s where InnoDB was asked for, and %s has no transactions; %s", engine, engine, freeEngine)
	}
	var args []any
	flush := func() error {
		if len(args) == 0 {
			return nil
		}
		_, err := c.ExecContext(ctx, "INSERT INTO "+d.schema+".kv VALUES (?,?)"+strings.Repeat(",(?,?)", len(args)/2-1), args...)
		args = args[:0]
		return err
	}
	for k, v := range initial {
		if args = append(args, k, v); len(args) == 2*perInsert {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}

func (d *db) Connect(ctx context.Context) (drivers.Session, error) {
	c, err := d.pool.Conn(ctx)
	if err != nil {
		return nil, connectError(err)
	}
	for _, stmt := range append([]string{"USE " + d.schema}, d.onOpen...) {
		if _, err := c.ExecContext(ctx, stmt); err != nil {
			c.Close()
			return nil, connectError(err)
		}
	}
	return &session{db: d, tx: tx{c: c, readOnly: d.readOnly, rereads: d.rereads, returning: d.title(d.version) == plainMariaDB.info.Title && !d.rereads}}, nil
}

func (d *db) Close(ctx context.Context) error {
	defer d.pool.Close()
	if !d.created {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, setupTimeout)
	defer cancel()
	_, err := d.pool.ExecContext(ctx, "DROP DATABASE IF EXISTS "+d.schema)
	if err == nil {
		return nil
	}
	return errors.Wrapf(d.unusable(err), "database %s is left behind, drop it with DROP DATABASE %s", d.schema, d.schema)
}
