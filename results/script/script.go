// Package script writes the transactions of a history as SQL: as a specification for PostgreSQL's
// isolationtester, and as a list of statements for clients of other databases.
//
// Its files, in reading order:
//
//	script.go     Script: steps of sessions in an order, and their formats
//	order.go      an order in which the reads return what was recorded
//	model.go      how a database executes a statement
//	statement.go  the statements of a transaction
//	row.go        statements on one row
//	extra.go      rows and transactions that stand for what is left out
//	place.go      the tables, and the places of items in them
package script

import (
	"fmt"
	"slices"
	"strings"

	"github.com/isohound/isohound/drivers/sqltable"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/schema"
)

// Database is what the SQL of a database needs.
type Database struct {
	dialect *sqltable.Dialect
	// begin are the statements that begin a transaction.
	begin func(isolation string) []string
	// upsert is what comes before the assignments of an insertion that overwrites a row with the same key.
	upsert func(key string) string
	// escape is a character that must be doubled in a text, besides the quote.
	escape string
	// returning makes an update of one column, of a row, return what it left. It is nil if the database has no such way.
	returning func(w *writer, t *schema.Table, group int, e schema.Expr, key []any) string
	// ranges: statements with conditions wait for locks on rows that they only pass, and keep others from inserting.
	ranges bool
	// snapshot says when a transaction takes its snapshot, and dirty that read uncommitted needs no commit.
	snapshot moment
	dirty    bool
	// Spec says that the database has isolationtester.
	Spec bool
}

var postgres = &Database{
	dialect: &sqltable.Dialect{Quote: `"`, Int: "bigint", Text: func(int) string { return "text" }, Concat: func(a, b string) string { return a + " || " + b }},
	begin: func(isolation string) []string {
		return []string{"BEGIN ISOLATION LEVEL " + strings.ToUpper(isolation)}
	},
	upsert: func(key string) string { return " ON CONFLICT (" + key + ") DO UPDATE SET " },
	returning: func(w *writer, t *schema.Table, group int, e schema.Expr, key []any) string {
		b := w.db.dialect.Update(t, group, []schema.Expr{e}).Key(t, key).Add(" RETURNING ")
		return w.spelled(b.Names(sqltable.Columns(t, false, []int{group})).Done())
	},
	Spec: true,
}

var mariadb = &Database{
	escape:  `\`,
	dialect: &sqltable.Dialect{Quote: "`", Int: "BIGINT", Text: varbinary, Options: " ENGINE=InnoDB", Concat: func(a, b string) string { return "CONCAT(" + a + ", " + b + ")" }},
	begin: func(isolation string) []string {
		level, setting, _ := strings.Cut(isolation, ", ")
		var out []string
		if name, value, ok := strings.Cut(setting, "="); ok {
			out = append(out, "SET SESSION "+name+" = '"+value+"'")
		}
		return append(out, "SET TRANSACTION ISOLATION LEVEL "+strings.ToUpper(level), "START TRANSACTION")
	},
	upsert: func(string) string { return " ON DUPLICATE KEY UPDATE " },
	// A variable of the session has what the update left; to read it accesses no table.
	returning: func(w *writer, t *schema.Table, group int, e schema.Expr, key []any) string {
		column := t.Groups[group].Columns[0].Name
		b := w.db.dialect.New().Add("UPDATE ").Name(t.Name).Add(" SET ").Name(column).Add(" = (@left := ").Expr(column, e, "").Add(")")
		return w.spelled(b.Key(t, key).Done()) + ";\nSELECT @left"
	},
	ranges:   true,
	snapshot: atRead,
	dirty:    true,
}

var tidb = func() *Database {
	db := *mariadb
	db.snapshot, db.returning = atBegin, nil
	return &db
}()

// tidbOptimistic is TiDB before 3.0. It has no variable for the mode, and retries transactions unless told not to.
var tidbOptimistic = func() *Database {
	db := *tidb
	db.begin = func(isolation string) []string {
		level, _, _ := strings.Cut(isolation, ", ")
		return tidb.begin(level + ", tidb_disable_txn_auto_retry=" + onOff[!strings.HasSuffix(isolation, "tidb_disable_txn_auto_retry=OFF")])
	}
	return &db
}()

var onOff = map[bool]string{true: "ON", false: "OFF"}

// varbinary is the type of texts, as the driver has it.
func varbinary(size int) string {
	if size == 0 {
		size = 255
	}
	return fmt.Sprintf("VARBINARY(%d)", size)
}

// sight is what reads see at an isolation.
func (db *Database) sight(isolation string) sight {
	switch level, _, _ := strings.Cut(isolation, ", "); {
	case level == "read uncommitted" && db.dirty:
		return written
	case level == "read uncommitted" || level == "read committed":
		return committed
	}
	return snapshot
}

// For returns the database of a driver, by the driver's name and what the server calls itself, or nil if its transactions
// are not written as SQL.
func For(driver, server string) *Database {
	switch driver {
	case "postgres", "cockroach", "yugabyte":
		return postgres
	case "mariadb":
		return mariadb
	case "tidb":
		if strings.Contains(server, "5.7.10-TiDB-") { // later versions claim to be another MySQL
			return tidbOptimistic
		}
		return tidb
	}
	return nil
}

// step is a statement of a session.
type step struct {
	session int64
	txn     int64  // 0: it stands for a transaction that is left out
	name    string // unique
	*statement
	waits bool // for a lock
}

// comment is what a step did in the recorded run.
func (x *step) comment() string {
	switch {
	case x.waits && x.returned != "":
		return " -- waits; then returned " + x.returned
	case x.waits:
		return " -- waits"
	case x.returned != "":
		return " -- returned " + x.returned
	}
	return ""
}

// Script is the steps of a history.
type Script struct {
	db       *Database
	setup    []string
	teardown []string
	steps    []step
	// shows: in the order of the steps each read returns what was recorded, at a database that does what its isolation says.
	shows bool
	order string // how the order of the steps was found, in lines
	notes []string
}

// New makes the script of a small history, such as a counterexample, at an isolation of the database. promises are the levels
// that it promises, separated by commas, or "" if that is not known. whole has the same transactions with all that they did; it
// may be nil.
func New(h, whole *history.History, db *Database, isolation, promises string) *Script {
	w := newWriter(h, whole, db)
	s := &Script{db: db}
	for i := range h.Txns {
		if h.Txns[i].Status == history.Unknown {
			s.notes = append(s.notes, fmt.Sprintf("The outcome of T%d was not learnt.", h.Txns[i].ID))
		}
	}
	p := w.plan(isolation, promises)
	s.steps, s.shows, s.order = p.steps, p.doubt == "", fmt.Sprintf(fitting, p.sight)
	if p.doubt != "" {
		s.order = fmt.Sprintf(doubtful, p.doubt)
	}
	s.setup, s.teardown = w.tables(p.extra)
	s.notes = append(s.notes, w.notes...)
	if len(p.extra) > 0 || slices.ContainsFunc(p.steps, func(x step) bool { return x.txn == 0 }) {
		s.notes = append(s.notes, standIn)
	}
	if slices.ContainsFunc(p.steps, func(x step) bool { return x.lock }) {
		s.notes = append(s.notes, locking)
	}
	return s
}

// Shows reports whether each read returns what was recorded if the steps are executed in their order.
func (s *Script) Shows() bool { return s.shows }

// sessions lists the sessions in the order of their first steps.
func (s *Script) sessions() (list []int64) {
	for _, x := range s.steps {
		if !slices.Contains(list, x.session) {
			list = append(list, x.session)
		}
	}
	return list
}

// How the order of the steps was found, and what else the head says.
const (
	fitting = `The moments of the statements were not recorded. In this order each read returns what was recorded, if
%s. The recorded order may be another one.`
	doubtful = `It does not show the violation by itself: %s.
The moments of the statements were not recorded, and the recorded order may be another one.`
	standIn = "Some rows are here because transactions that are left out wrote them."
	locking = "SELECT ... FOR UPDATE stands for a statement that also writes, or would have written if it had found a row."
)

// Spec writes the script as a specification for PostgreSQL's isolationtester, with one permutation: the order of the steps.
// It is "" if the format cannot hold a statement, which must not have braces.
func (s *Script) Spec(title string) string {
	statements := slices.Clone(s.setup)
	for _, x := range s.steps {
		statements = append(statements, x.sql)
	}
	if slices.ContainsFunc(statements, func(sql string) bool { return strings.ContainsAny(sql, "{}") }) {
		return ""
	}
	var b strings.Builder
	s.head(&b, "#", title, "Without the last line isolationtester tries every order.")
	fmt.Fprintf(&b, "\nsetup\n{\n%s}\n\nteardown\n{\n%s}\n", block(s.setup), block(s.teardown))
	for _, session := range s.sessions() {
		fmt.Fprintf(&b, "\nsession s%d\n", session)
		for _, x := range s.steps {
			if x.session == session {
				fmt.Fprintf(&b, "step %s { %s; }%s\n", x.name, x.sql, strings.Replace(x.comment(), " --", " #", 1))
			}
		}
	}
	b.WriteString("\npermutation")
	for _, x := range s.steps {
		b.WriteString(" " + x.name)
	}
	return b.String() + "\n"
}

// SQL writes the script as statements with the number of the client that is to execute each of them.
func (s *Script) SQL(title string) string {
	var b strings.Builder
	s.head(&b, "--", title, "Give each session a client of its own, and execute the statements in this order. A statement may wait for a\nlock; go on with the other sessions then.")
	b.WriteString("\n-- once, in any client\n")
	for _, sql := range s.setup {
		b.WriteString(sql + ";\n")
	}
	last := int64(-1)
	for _, x := range s.steps {
		if x.txn != last {
			if last = x.txn; last == 0 {
				fmt.Fprintf(&b, "\n-- session %d, for a transaction that is left out\n", x.session)
			} else {
				fmt.Fprintf(&b, "\n-- session %d, T%d\n", x.session, x.txn)
			}
		}
		b.WriteString(x.sql + ";")
		b.WriteString(x.comment() + "\n")
	}
	b.WriteString("\n-- afterwards\n")
	for _, sql := range s.teardown {
		b.WriteString(sql + ";\n")
	}
	return b.String()
}

// head writes what stands before the script, as comments.
func (s *Script) head(b *strings.Builder, comment, title, use string) {
	for _, text := range slices.Concat([]string{title}, s.notes, []string{use, s.order}) {
		for line := range strings.SplitSeq(text, "\n") {
			fmt.Fprintf(b, "%s %s\n", comment, line)
		}
	}
}

func block(statements []string) string {
	var b strings.Builder
	for _, sql := range statements {
		fmt.Fprintf(&b, "  %s;\n", sql)
	}
	return b.String()
}
