package scans_test

import (
	"fmt"
	"slices"

	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/schema"
)

var tables = schema.Schema{
	{Name: "t", Key: schema.Ints("k"), Groups: []schema.Group{{Columns: schema.Ints("v")}}},
	{Name: "u", Key: schema.Texts("k"), Groups: []schema.Group{
		{Name: "a", Columns: []schema.Column{{Name: "x", Type: schema.Int, Null: true}, {Name: "y", Type: schema.Text}}},
		{Name: "b", Columns: schema.Ints("z")}}},
}

// statement is one statement of a transaction and what it returned.
type statement struct {
	kind  string // get, set, insert, delete, scan, update, count, remove
	table int
	key   any
	group int
	to    []any      // what set and update write
	row   schema.Row // what get and set read, what insert writes
	found bool       // of get
	where schema.Predicate
	rows  []schema.Row // what a scan returned; the keys that an update changed or a removal deleted
	count int
	// unread is a group that a scan does not read, from 1; 0 is none.
	unread int
}

// same reports whether two rows have the same content, as far as a scan reads it.
func (x *statement) same(a, b schema.Row) bool {
	for g := range a.Groups {
		if g+1 != x.unread && fmt.Sprint(a.Groups[g]) != fmt.Sprint(b.Groups[g]) {
			return false
		}
	}
	return true
}

// twice reports whether a statement has one row twice.
func (x *statement) twice() bool {
	for i := range x.rows {
		if slices.ContainsFunc(x.rows[:i], func(r schema.Row) bool { return r.Key[0] == x.rows[i].Key[0] }) {
			return true
		}
	}
	return false
}

// twice reports whether a statement of a transaction that did not abort has one row twice.
func (r *run) twice() bool {
	return slices.ContainsFunc(r.txns, func(x transaction) bool {
		return x.status != history.Aborted && slices.ContainsFunc(x.statements, func(s statement) bool { return s.twice() })
	})
}

type transaction struct {
	session    int64
	status     history.Status
	begin, end int64
	statements []statement
}

// state has the rows of each table by key.
type state [2]map[any]schema.Row

func (s state) clone() state {
	var out state
	for i := range s {
		out[i] = map[any]schema.Row{}
		for k, r := range s[i] {
			out[i][k] = schema.Row{Key: r.Key, Groups: slices.Clone(r.Groups)}
		}
	}
	return out
}

// apply applies what a statement wrote.
func (s state) apply(x *statement) {
	switch x.kind {
	case "set":
		if r, ok := s[x.table][x.key]; ok {
			r.Groups[x.group] = x.to
		}
	case "insert":
		s[x.table][x.key] = schema.Row{Key: x.row.Key, Groups: slices.Clone(x.row.Groups)}
	case "delete":
		delete(s[x.table], x.key)
	case "update":
		for _, r := range x.rows {
			if mine, ok := s[x.table][r.Key[0]]; ok {
				mine.Groups[x.group] = x.to
			}
		}
	case "remove":
		for _, r := range x.rows {
			delete(s[x.table], r.Key[0])
		}
	}
}

// selects returns the rows that fulfil the conditions, in order.
func (s state) selects(x *statement) []schema.Row {
	var rows []schema.Row
	for _, r := range s[x.table] {
		if x.where.Matches(tables[x.table], r) {
			rows = append(rows, schema.Row{Key: r.Key, Groups: slices.Clone(r.Groups)})
		}
	}
	p := x.where
	p.Limit = 0
	return p.Arrange(tables[x.table], rows)
}

// sees reports whether a statement may have returned what it did on these rows.
func (s state) sees(x *statement) bool {
	switch x.kind {
	case "get", "set":
		r, ok := s[x.table][x.key]
		return ok == x.found && (!ok || fmt.Sprint(r.Groups[x.group]) == fmt.Sprint(x.row.Groups[x.group]))
	case "insert", "delete": // recorded as writes alone
		return true
	case "count":
		return len(s.selects(x)) == x.count
	case "scan", "update", "remove":
		want := s.selects(x)
		if x.twice() {
			return false
		}
		if x.kind == "scan" && x.where.Limit > 0 && len(x.rows) > x.where.Limit {
			return false
		}
		for i := 1; i < len(x.rows) && x.kind == "scan"; i++ {
			if before(x, &x.rows[i], &x.rows[i-1]) {
				return false
			}
		}
		full := x.where.Limit > 0 && len(x.rows) >= x.where.Limit
		var last *schema.Row
		for i := range x.rows {
			r := &x.rows[i]
			at := slices.IndexFunc(want, func(w schema.Row) bool { return w.Key[0] == r.Key[0] })
			if at < 0 || x.kind == "scan" && !x.same(want[at], *r) {
				return false
			}
			if last == nil || before(x, last, r) {
				last = r
			}
		}
		for i := range want {
			w := &want[i]
			if !slices.ContainsFunc(x.rows, func(r schema.Row) bool { return w.Key[0] == r.Key[0] }) && (!full || before(x, w, last)) {
				return false
			}
		}
	}
	return true
}

// before reports whether a sorts strictly before b in the order of a scan.
func before(x *statement, a, b *schema.Row) bool {
	for _, name := range x.where.Order {
		down := name[0] == '-'
		if down {
			name = name[1:]
		}
		v, _ := tables[x.table].Value(*a, name)
		w, _ := tables[x.table].Value(*b, name)
		if c := schema.Compare(v, w); c != 0 {
			return (c < 0) != down
		}
	}
	return false
}

// run is a history in the terms of the oracle.
type run struct {
	initial state
	txns    []transaction
}
