// Package schema describes tables, the conditions of statements, and the updates of rows.
// Drivers translate them for their databases; Go code that works on rows evaluates them here.
// The package imports nothing of the project.
//
// An item of a history is one group of columns of one row, (table, primary key, group).
// Statements read and write whole groups, so a transaction always reads and leaves complete
// values.
//
// The files are schema.go (tables, rows, items), plain.go (the table of a history of keys), format.go
// (how a history's header describes tables), condition.go (single conditions and their evaluation),
// predicate.go (which rows a statement selects) and update.go (what statements set columns to).
package schema

import (
	"strconv"
	"strings"

	"github.com/pkg/errors"
)

// Type is the type of a column. A value of type Int is an int64, one of type
// Text a string, and a null is nil.
type Type int

// The types of columns.
const (
	Int Type = iota + 1
	Text
)

// Column is a column of a table.
type Column struct {
	Name string `json:"name"`
	Type Type   `json:"type"`
	Size int    `json:"size,omitempty"` // of a Text: the maximum length in bytes; 0 means 255
	Null bool   `json:"null,omitempty"` // it may be null
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
	Name    string   `json:"name,omitempty"` // "" where the table has one group
	Columns []Column `json:"columns"`
}

// Table is a table with its primary key.
type Table struct {
	Name    string   `json:"name"`
	Key     []Column `json:"key"`
	Groups  []Group  `json:"groups"`
	Indexes []Index  `json:"indexes,omitempty"` // secondary indexes
}

// Index is a secondary index. In files an index of kind Btree is the list of its columns, another
// one {"columns": [...], "kind": "gin"}.
type Index struct {
	Columns []string `json:"columns"`
	Kind    string   `json:"kind"` // one of IndexKinds
}

// IndexKinds are the kinds of indexes. An index of kind Hash has one column. Databases without
// secondary indexes ignore those of kind Btree.
var IndexKinds = []string{Btree, Hash, Gin, Brin}

// The kinds of indexes, by PostgreSQL's names.
const (
	Btree = "btree"
	Hash  = "hash"
	Gin   = "gin"
	Brin  = "brin"
)

// IndexOn makes an index of kind Btree.
func IndexOn(columns ...string) Index { return Index{columns, Btree} }

// Schema is the tables of a workload, or of a recorded history.
type Schema []*Table

// Table finds a table by its name.
func (s Schema) Table(name string) (*Table, bool) {
	for _, t := range s {
		if t.Name == name {
			return t, true
		}
	}
	return nil, false
}

// Row is a complete row, or the key and the groups that were read of it.
type Row struct {
	Key []any
	// Groups has the values of each group in the order of Table.Groups; nil for a group that was
	// not read.
	Groups [][]any
}

// Column finds a column by its name. It returns the column's group, or -1 for the primary key,
// and its position there.
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

// find finds a column by its name.
func (t *Table) find(name string) (*Column, bool) {
	switch g, i, ok := t.Column(name); {
	case !ok:
		return nil, false
	case g < 0:
		return &t.Key[i], true
	default:
		return &t.Groups[g].Columns[i], true
	}
}

// Group returns the number of the group called name. It panics if there is none, which is a bug
// of the workload.
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

// Content is what a group holds, as the value of an item: a single integer stays an integer,
// everything else is a text, such as 7,'BARBAR',100.
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

// null is how a null is spelled in the content of a group.
const null = "NULL"

func appendTuple(b []byte, values []any) []byte {
	for i, v := range values {
		if i > 0 {
			b = append(b, ',')
		}
		switch v := v.(type) {
		case nil:
			b = append(b, null...)
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
