// Package script writes the transactions of a history as SQL: as a specification for PostgreSQL's
// isolationtester, and as a list of statements for clients of other databases.
//
// Its files, in reading order:
//
//	script.go     Script: steps of sessions in an order, and their formats
//	order.go      an order in which the reads return what was recorded
//	statement.go  the statements of a transaction
//	place.go      the tables, and the places of items in them
package script

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/isohound/isohound/drivers/sqltable"
	"github.com/isohound/isohound/history"
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
	Spec:   true,
}

var mariadb = &Database{
	escape:  `\`,
	dialect: &sqltable.Dialect{Quote: "`", Int: "BIGINT", Text: func(int) string { return "VARBINARY(255)" }, Options: " ENGINE=InnoDB", Concat: func(a, b string) string { return "CONCAT(" + a + ", " + b + ")" }},
	begin: func(isolation string) []string {
		level, setting, _ := strings.Cut(isolation, ", ")
		var out []string
		if name, value, ok := strings.Cut(setting, "="); ok {
			out = append(out, "SET SESSION "+name+" = '"+value+"'")
		}
		return append(out, "SET TRANSACTION ISOLATION LEVEL "+strings.ToUpper(level), "START TRANSACTION")
	},
	upsert:   func(string) string { return " ON DUPLICATE KEY UPDATE " },
	snapshot: atRead,
	dirty:    true,
}

var tidb = func() *Database {
	db := *mariadb
	db.snapshot = atBegin
	return &db
}()

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

// For returns the database of a driver, by the driver's name, or nil if its transactions are not written as SQL.
func For(driver string) *Database {
	switch driver {
	case "postgres", "cockroach", "yugabyte":
		return postgres
	case "mariadb":
		return mariadb
	case "tidb":
		return tidb
	}
	return nil
}

// step is a statement of a session.
type step struct {
	session int64
	txn     int64
	name    string // unique
	statement
	at float64 // when, in nanoseconds since the start
}

// Script is the steps of a history.
type Script struct {
	db       *Database
	setup    []string
	teardown []string
	steps    []step
	order    string // how the order of the steps was found, in lines
	notes    []string
}

// New makes the script of a small history, such as a counterexample, at an isolation of the database.
func New(h *history.History, db *Database, isolation string) *Script {
	s := &Script{db: db}
	w := newWriter(h, db)
	txns := make([][]step, len(h.Txns))
	for i := range h.Txns {
		t := &h.Txns[i]
		list := append([]statement{{sql: strings.Join(db.begin(isolation), ";\n")}}, w.transaction(i)...) // one step, whatever it takes
		end := "COMMIT"
		if t.Status == history.Aborted {
			end = "ROLLBACK"
		}
		list = append(list, statement{sql: end})
		if t.Status == history.Unknown {
			s.notes = append(s.notes, fmt.Sprintf("The outcome of T%d was not learnt.", t.ID))
		}
		from, to := float64(i), float64(i)+0.9 // without times: one after the other
		if t.Begin != history.NoTime && t.End != history.NoTime {
			from, to = float64(t.Begin), float64(t.End)
		}
		for n, x := range list {
			at := from + (to-from)*float64(n)/float64(len(list)-1)
			txns[i] = append(txns[i], step{h.SessionName(t.Session), t.ID, fmt.Sprintf("t%d_%d", t.ID, n+1), x, at})
		}
	}
	var found *model
	if s.steps, found = arrange(h, txns, db.sight(isolation), db.snapshot); found != nil {
		s.order = fmt.Sprintf(fitting, sights[found.sight])
	} else {
		s.order, s.steps = guessed, slices.Concat(txns...)
		slices.SortStableFunc(s.steps, func(a, b step) int { return cmp.Compare(a.at, b.at) })
	}
	s.setup, s.teardown = w.tables()
	s.notes = append(s.notes, w.notes...)
	return s
}

// sessions lists the sessions in the order of their first steps.
func (s *Script) sessions() (list []int64) {
	for _, x := range s.steps {
		if !slices.Contains(list, x.session) {
			list = append(list, x.session)
		}
	}
	return list
}

// How the order of the steps was found.
const (
	fitting = `The moments of the statements were not recorded. In this order each read returns what was recorded, if
%s. The recorded order may be another one.`
	guessed = `The begins and ends of the transactions are in the order of the recording; the moments of the other
statements are a guess. No order was found in which each read would return what was recorded.`
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
				fmt.Fprintf(&b, "step %s { %s; }\n", x.name, x.sql)
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
			fmt.Fprintf(&b, "\n-- session %d, T%d\n", x.session, x.txn)
			last = x.txn
		}
		b.WriteString(x.sql + ";")
		if x.returned != "" {
			b.WriteString(" -- returned " + x.returned)
		}
		b.WriteByte('\n')
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
