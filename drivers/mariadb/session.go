package mariadb

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"slices"
	"strings"

	"github.com/go-sql-driver/mysql"
	"github.com/pkg/errors"

	"github.com/isohound/isohound/drivers"
)

// session is one connection. BEGIN and COMMIT are sent as statements, because the transactions
// of database/sql roll back by themselves when a context ends.
type session struct {
	tx tx
	db *db
	// told is what the server has told of the last commit (position.go, gtid.go). With unsure it may have told something else since.
	told   string
	unsure bool
}

func (s *session) Begin(ctx context.Context) (drivers.Tx, error) {
	if _, err := s.tx.c.ExecContext(ctx, "START TRANSACTION"); err != nil {
		return nil, statementError(err)
	}
	x := s.tx
	if s.db.positions {
		x.place = &inquiry{s: s}
	}
	return x, nil
}

func (s *session) Close() {
	// The pool keeps no idle connections, so this disconnects.
	_ = s.tx.c.Close()
}

type tx struct {
	c         *sql.Conn
	readOnly  bool     // the endpoint is a replica
	rereads   bool     // flavour.rereads
	returning bool     // the server has DELETE ... RETURNING
	place     *inquiry // nil if nobody asks where the server places it
}

// failed classifies an error of a statement. A replica refuses writes; this must not end a run
// that has a primary.
func (x tx) failed(err error) error {
	e := statementError(err)
	if x.readOnly && isNumber(err, readOnly) {
		e.(*drivers.Error).Class = drivers.Refused
	}
	return e
}

func isNumber(err error, number uint16) bool {
	var me *mysql.MySQLError
	return errors.As(err, &me) && me.Number == number
}

func (x tx) Read(ctx context.Context, key string) (value int64, found bool, err error) {
	err = x.c.QueryRowContext(ctx, "SELECT v FROM kv WHERE k = ?", key).Scan(&value)
	if err == sql.ErrNoRows {
		return 0, false, nil
	}
	return value, err == nil, x.failed(err)
}

// ReadMany implements drivers.ManyReader.
func (x tx) ReadMany(ctx context.Context, keys []string) ([]drivers.Found, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	args := make([]any, len(keys))
	for i, key := range keys {
		args[i] = key
	}
	rows, err := x.c.QueryContext(ctx, "SELECT k, v FROM kv WHERE k IN (?"+strings.Repeat(", ?", len(keys)-1)+")", args...)
	if err != nil {
		return nil, x.failed(err)
	}
	defer rows.Close()
	found := make(map[string]int64, len(keys))
	for rows.Next() {
		var key string
		var value int64
		if err := rows.Scan(&key, &value); err != nil {
			return nil, x.failed(err)
		}
		found[key] = value
	}
	if err := rows.Err(); err != nil {
		return nil, x.failed(err)
	}
	return drivers.InOrder(keys, found), nil
}

func (x tx) Insert(ctx context.Context, key string, value int64) error {
	x.writing()
	_, err := x.c.ExecContext(ctx, "INSERT INTO kv (k, v) VALUES (?, ?)", key, value)
	x.wrote(err == nil)
	return x.failed(err)
}

func (x tx) Update(ctx context.Context, key string, value int64) (bool, error) {
	return x.write(ctx, "UPDATE kv SET v = ? WHERE k = ?", value, key)
}

func (x tx) Delete(ctx context.Context, key string) (bool, error) {
	return x.write(ctx, "DELETE FROM kv WHERE k = ?", key)
}

func (x tx) write(ctx context.Context, query string, args ...any) (bool, error) {
	x.writing()
	res, err := x.c.ExecContext(ctx, query, args...)
	if err != nil {
		return false, x.failed(err)
	}
	n, err := res.RowsAffected()
	x.wrote(n > 0)
	return n > 0, x.failed(err)
}

func (x tx) Commit(ctx context.Context) error {
	if x.place != nil && x.place.s.db.gtids != "" && x.place.current {
		return x.commitLogged(ctx)
	}
	x.noteStart(ctx)
	_, err := x.c.ExecContext(ctx, "COMMIT")
	return commitError(err)
}

func (x tx) Rollback(ctx context.Context) error {
	_, err := x.c.ExecContext(ctx, "ROLLBACK")
	return x.failed(err)
}

// Error numbers that need a name here (MariaDB Error Codes).
const (
	accessDeniedForDatabase = 1044
	accessDenied            = 1045
	noDatabase              = 1046
	unknownDatabase         = 1049
	duplicateKey            = 1062
	syntaxError             = 1064
	tableAccessDenied       = 1142
	unknownTable            = 1146
	unknownVariable         = 1193
	unknownFunction         = 1305
	lockWaitTimeout         = 1205
	deadlock                = 1213
	readOnly                = 1290
	diskFull                = 1021
	tableFull               = 1114
	recordChanged           = 1020
	// TiDB's (TiDB manual, error codes).
	cannotRetry      = 8002
	staleWrite       = 8005
	commitFailed     = 8022
	schemaExpired    = 8027
	schemaHasChanged = 8028
	noNumber         = 1105
	writeConflict    = 9007
)

// causes are the texts under which aborts are counted.
var causes = map[uint16]string{
	lockWaitTimeout:    "1205 lock wait timeout",
	deadlock:           "1213 deadlock",
	duplicateKey:       "1062 duplicate key",
	recordChanged:      "1020 record has changed since last read",
	readOnly:           "1290 the endpoint only reads",
	cannotRetry:        "8002 write conflict, not tried again",
	staleWrite:         "8005 write conflict",
	commitFailed:       "8022 commit failed and was rolled back",
	schemaExpired:      "8027 the schema is out of date",
	schemaHasChanged:   "8028 the schema has changed",
	writeConflict:      "9007 write conflict",
	diskFull:           "1021 disk full",
	tableFull:          "1114 table full",
	1053:               "1053 server shut down",
	tooManyConnections: "1040 too many connections",
	tooManyOfUser:      "1203 too many connections of the user",
	limitOfUser:        "1226 the user has used up a limit",
}

func cause(me *mysql.MySQLError) string {
	if text, ok := causes[me.Number]; ok {
		return text
	}
	return me.Error()
}

// statementError classifies an error of any call but a commit. The transaction certainly did not
// commit: no commit was sent, and the server rolls back the transaction of an ended connection.
func statementError(err error) error {
	if err == nil {
		return nil
	}
	var me *mysql.MySQLError
	if strings.HasPrefix(err.Error(), "sql: Scan error") { // which has no type
		return &drivers.Error{Class: drivers.Fatal, Cause: "a value is of an unexpected kind", Err: err}
	}
	if !errors.As(err, &me) {
		return &drivers.Error{Class: drivers.Aborted, Cause: lost(err), Broken: true, Err: err}
	}
	e := &drivers.Error{Class: drivers.Aborted, Cause: cause(me), Err: err}
	switch me.Number {
	case accessDeniedForDatabase, accessDenied, noDatabase, unknownDatabase, syntaxError, tableAccessDenied, unknownTable, readOnly:
		e.Class = drivers.Fatal
	case diskFull, tableFull:
		e.NoSpace = true
	}
	return e
}

// commitError classifies an error of a commit. The transaction certainly aborted only if the
// server explicitly says so.
func commitError(err error) error {
	if err == nil {
		return nil
	}
	var me *mysql.MySQLError
	if !errors.As(err, &me) {
		return &drivers.Error{Class: drivers.OutcomeUnknown, Cause: lost(err), Broken: true, Err: err}
	}
	e := &drivers.Error{Class: drivers.OutcomeUnknown, Cause: cause(me), Broken: true, Err: err}
	switch me.Number {
	case deadlock, // also a failed certification of Galera
		duplicateKey, // which TiDB's optimistic transactions check at the commit
		cannotRetry, staleWrite, commitFailed, schemaExpired, schemaHasChanged, writeConflict:
		e.Class, e.Broken = drivers.Aborted, false
	case noNumber:
		if strings.HasPrefix(me.Message, tryAgain) {
			e.Class, e.Broken, e.Cause = drivers.Aborted, false, "1105 try again later"
		}
	}
	return e
}

// tryAgain begins messages of old versions of TiDB, whose conflicts have no number of their own. TiDB
// adds it only to errors after which it may itself execute the transaction once more, because it has
// certainly not committed; if it does not know that, it closes the connection (store/tikv/2pc.go,
// kv.IsRetryableError). Errors with a number that say the same, such as 9005, are not counted on.
const tryAgain = "[try again later]"

// connectError classifies an error of connecting, before anything was sent.
func connectError(err error) error {
	e := statementError(err).(*drivers.Error)
	e.Broken = true
	var me *mysql.MySQLError
	e.Full = errors.As(err, &me) && slices.Contains([]uint16{tooManyConnections, tooManyOfUser, limitOfUser}, me.Number)
	return e
}

// The server, or the user, has as many connections as are allowed. limitOfUser is one of the account, such as
// MAX_USER_CONNECTIONS.
const (
	tooManyConnections = 1040
	tooManyOfUser      = 1203
	limitOfUser        = 1226
)

// lost names a lost connection, or a call that took too long.
func lost(err error) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return "call timed out"
	}
	if errors.Is(err, mysql.ErrInvalidConn) || errors.Is(err, sqldriver.ErrBadConn) {
		return "connection lost"
	}
	return "connection error"
}
