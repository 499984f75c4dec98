// Package schema describes the tables of a workload and what transactions ask
// of them, in words that every kind of database understands. It imports nothing
// of the project.
//
// An item of a history is one group of columns of one row, (table, primary key,
// group). Statements read and write whole groups, so that what a transaction saw
// and what it left behind is always a complete value.
package schema

import (
	"strconv"
	"strings"

	"github.com/pkg/errors"
)

// Type is the type of a column. A value of type Int is an int64, one of type
// Text a string. There are no nulls.
type Type int

// The types of columns.
const (
	Int Type = iota
	Text
)

// Column is a column of a table.
type Column struct {
	Name string
	Type Type
	Size int // of a Text: the most bytes that it holds, 0 is 255
}

// Ints and Texts make columns of one type.
func Ints(names ...string) []Column  { return columns(Int, names) }
func Texts(names ...string) []Column { return columns(Text, names) }

func columns(t Type, names []string) []Column {
	var out []Column
	for _, n := range names {
		out = append(out, Column{Name: n, Type: t})
	}
	return out
}

// Group is columns that are always read and written together.
type Group struct {
	Name    string // "" where the table has one group
	Columns []Column
}

// Table is a table with its primary key.
type Table struct {
	Name    string
	Key     []Column
	Groups  []Group
	Indexes [][]string // secondary indexes, by names of columns
}

// Schema is the tables of a workload.
type Schema []*Table

// Row is a row, or of what was read of one the key and some groups.
type Row struct {
	Key []any
	// Groups has the values of each group in the order of Table.Groups; nil
	// for one that was not read.
	Groups [][]any
}

// Column finds a column by its name: the group that it belongs to, or -1 for the
// primary key, and its place there.
func (t *Table) Column(name string) (group, at int, ok bool) {
	for i, c := range t.Key {
		if c.Name == name {
			return -1, i, true
		}
	}
	for g := range t.Groups {
		for i, c := range t.Groups[g].Columns {
			if c.Name == name {
				return g, i, true
			}
		}
	}
	return 0, 0, false
}

// Group returns the number of the group called name; it panics if there is
// none, which is a mistake of the workload.
func (t *Table) Group(name string) int {
	for g := range t.Groups {
		if t.Groups[g].Name == name {
			return g
		}
	}
	panic("table " + t.Name + " has no group " + name)
}

// Value returns the value of a column in a row.
func (t *Table) Value(r Row, name string) (any, bool) {
	g, i, ok := t.Column(name)
	switch {
	case !ok:
		return nil, false
	case g < 0:
		return r.Key[i], true
	case r.Groups[g] == nil:
		return nil, false
	}
	return r.Groups[g][i], true
}

// All lists the numbers of all groups.
func (t *Table) All() []int {
	all := make([]int, len(t.Groups))
	for g := range all {
		all[g] = g
	}
	return all
}

// Item is the name of an item, the key of a history: stock(1,17).level, or
// users(5) where the table has one group.
func (t *Table) Item(key []any, group int) string {
	b := make([]byte, 0, len(t.Name)+24)
	b = append(b, t.Name...)
	b = append(b, '(')
	b = appendTuple(b, key)
	b = append(b, ')')
	if name := t.Groups[group].Name; name != "" {
		b = append(b, '.')
		b = append(b, name...)
	}
	return string(b)
}

// Content is what a group holds, as the value of an item: a single integer
// stands for itself, everything else is a text, 7,'BARBAR',100.
func Content(values []any) (text string, number int64, isNumber bool) {
	if len(values) == 1 {
		switch v := values[0].(type) {
		case int64:
			return "", v, true
		case string:
			return v, 0, false
		}
	}
	return string(appendTuple(nil, values)), 0, false
}

func appendTuple(b []byte, values []any) []byte {
	for i, v := range values {
		if i > 0 {
			b = append(b, ',')
		}
		switch v := v.(type) {
		case int64:
			b = strconv.AppendInt(b, v, 10)
		case string:
			b = append(b, '\'')
			b = append(b, strings.ReplaceAll(v, "'", "''")...)
			b = append(b, '\'')
		default:
			panic(errors.Errorf("a value of type %T is neither int64 nor string", v))
		}
	}
	return b
}

// Expr is what an update sets a column to: a constant, or something that
// depends on what the column held.
type Expr struct {
	Kind  ExprKind
	Value any // the constant, the summand (int64), or what is appended (string)
}

// ExprKind is the kind of an Expr.
type ExprKind int

// The kinds of expressions.
const (
	Constant ExprKind = iota
	Plus              // column + Value
	Suffix            // column || Value
)

// Set, Add and Append make expressions.
func Set(v any) Expr          { return Expr{Constant, v} }
func Add(n int64) Expr        { return Expr{Plus, n} }
func Append(tail string) Expr { return Expr{Suffix, tail} }

// Sets makes constants of values.
func Sets(values ...any) []Expr {
	out := make([]Expr, len(values))
	for i, v := range values {
		out[i] = Set(v)
	}
	return out
}

// Depends reports whether an update depends on what the group held. Then every
// column of it must: from the new values follows what each was before, and a
// constant would leave a column unknown.
func Depends(exprs []Expr) (bool, error) {
	n := 0
	for _, e := range exprs {
		if e.Kind != Constant {
			n++
		}
	}
	if n > 0 && n < len(exprs) {
		return false, errors.New("an update of a group sets either constants only or no constant")
	}
	return n > 0, nil
}

// Before computes what a group held from what a dependent update left.
func Before(after []any, exprs []Expr) ([]any, error) {
	out := make([]any, len(after))
	for i, e := range exprs {
		switch e.Kind {
		case Plus:
			out[i] = after[i].(int64) - e.Value.(int64)
		case Suffix:
			head, ok := strings.CutSuffix(after[i].(string), e.Value.(string))
			if !ok {
				return nil, errors.Errorf("the database says that appending %q gave %q", e.Value, after[i])
			}
			out[i] = head
		default:
			return nil, errors.New("a constant does not tell what was before")
		}
	}
	return out, nil
}

// After computes what a group holds after an update.
func After(before []any, exprs []Expr) []any {
	out := make([]any, len(exprs))
	for i, e := range exprs {
		switch e.Kind {
		case Constant:
			out[i] = e.Value
		case Plus:
			out[i] = before[i].(int64) + e.Value.(int64)
		case Suffix:
			out[i] = before[i].(string) + e.Value.(string)
		}
	}
	return out
}
