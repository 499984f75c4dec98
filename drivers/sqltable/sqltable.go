// Package sqltable spells operations on tables as SQL, for drivers of SQL databases. A Dialect
// holds the differences between databases.
package sqltable

import (
	"slices"
	"strconv"
	"strings"

	"github.com/isohound/isohound/history/schema"
)

// Dialect is what differs between databases.
type Dialect struct {
	Quote string // around names
	// Numbered: placeholders are $1, $2 and so on; else each is a question mark.
	Numbered bool
	Int      string // type of integers
	Text     func(size int) string
	Options  string // appended after the columns of a new table
	Glob     bool   // LIKE ignores case, and GLOB does not
	Starting bool   // STARTING WITH compares bytes, and LIKE does not
	Fetch    bool   // FETCH FIRST n ROWS ONLY in place of LIMIT n
	Concat   func(a, b string) string
}

// Statement is SQL with its arguments.
type Statement struct {
	SQL  string
	Args []any
}

// Builder collects the text and the arguments of a statement.
type Builder struct {
	d    *Dialect
	text strings.Builder
	args []any
}

// New returns an empty builder.
func (d *Dialect) New() *Builder { return &Builder{d: d} }

// Done returns the statement.
func (b *Builder) Done() Statement { return Statement{b.text.String(), b.args} }

// Add appends text as it is.
func (b *Builder) Add(text string) *Builder {
	b.text.WriteString(text)
	return b
}

// Name appends a name, quoted.
func (b *Builder) Name(name string) *Builder { return b.Add(b.d.Quote + name + b.d.Quote) }

// Value appends a placeholder for v.
func (b *Builder) Value(v any) *Builder {
	b.args = append(b.args, v)
	if b.d.Numbered {
		return b.Add("$" + strconv.Itoa(len(b.args)))
	}
	return b.Add("?")
}

// each calls f for each of n items, with commas between them.
func (b *Builder) each(n int, f func(i int)) *Builder {
	for i := range n {
		if i > 0 {
			b.Add(", ")
		}
		f(i)
	}
	return b
}

// Names appends names, with commas between them.
func (b *Builder) Names(names []string) *Builder {
	return b.each(len(names), func(i int) { b.Name(names[i]) })
}

// Columns lists the names of a table's columns: those of the primary key, if key is set, and of
// groups.
func Columns(t *schema.Table, key bool, groups []int) []string {
	var names []string
	if key {
		for _, c := range t.Key {
			names = append(names, c.Name)
		}
	}
	for _, g := range groups {
		for _, c := range t.Groups[g].Columns {
			names = append(names, c.Name)
		}
	}
	return names
}

// Types lists the columns whose names Columns gives.
func Types(t *schema.Table, key bool, groups []int) []schema.Column {
	var out []schema.Column
	if key {
		out = append(out, t.Key...)
	}
	for _, g := range groups {
		out = append(out, t.Groups[g].Columns...)
	}
	return out
}

// Flat returns a row's values in the order of its columns.
func Flat(row schema.Row) []any {
	out := slices.Clone(row.Key)
	for _, g := range row.Groups {
		out = append(out, g...)
	}
	return out
}

// Unflatten makes a row from values in the order of Columns.
func Unflatten(t *schema.Table, values []any, groups []int) schema.Row {
	row := schema.Row{Key: values[:len(t.Key):len(t.Key)], Groups: make([][]any, len(t.Groups))}
	at := len(t.Key)
	for _, g := range groups {
		n := len(t.Groups[g].Columns)
		row.Groups[g] = values[at : at+n : at+n]
		at += n
	}
	return row
}

// Create makes a table without its secondary indexes.
func (d *Dialect) Create(t *schema.Table) Statement {
	b := d.New().Add("CREATE TABLE ").Name(t.Name).Add(" (")
	for _, c := range Types(t, true, t.All()) {
		b.Name(c.Name).Add(" ")
		if c.Type == schema.Int {
			b.Add(d.Int)
		} else {
			b.Add(d.Text(max(c.Size, 0)))
		}
		if !c.Null {
			b.Add(" NOT NULL")
		}
		b.Add(", ")
	}
	return b.Add("PRIMARY KEY (").Names(Columns(t, true, nil)).Add("))" + d.Options).Done()
}

// Index makes the secondary index with number i.
func (d *Dialect) Index(t *schema.Table, i int) Statement {
	b := d.New().Add("CREATE INDEX ").Name(t.Name + "_" + strconv.Itoa(i)).Add(" ON ").Name(t.Name)
	if kind := t.Indexes[i].Kind; kind != schema.Btree {
		b.Add(" USING " + kind)
	}
	return b.Add(" (").Names(t.Indexes[i].Columns).Add(")").Done()
}

// Insert adds rows.
func (d *Dialect) Insert(t *schema.Table, rows ...schema.Row) *Builder {
	b := d.New().Add("INSERT INTO ").Name(t.Name).Add(" (").Names(Columns(t, true, t.All())).Add(") VALUES ")
	return b.each(len(rows), func(i int) {
		values := Flat(rows[i])
		b.Add("(").each(len(values), func(j int) { b.Value(values[j]) }).Add(")")
	})
}

// Get reads groups of a row; without groups it reads whether the row exists.
func (d *Dialect) Get(t *schema.Table, key []any, groups []int) Statement {
	b := d.New().Add("SELECT ")
	if len(groups) == 0 {
		b.Add("1")
	}
	return b.Names(Columns(t, false, groups)).Add(" FROM ").Name(t.Name).Key(t, key).Done()
}

// Key appends the condition that selects the row with a primary key.
func (b *Builder) Key(t *schema.Table, key []any) *Builder {
	var where []schema.Condition
	for i, c := range t.Key {
		where = append(where, schema.Is(c.Name, key[i]))
	}
	return b.Where(where)
}

// Where appends conditions.
func (b *Builder) Where(where []schema.Condition) *Builder {
	for i, c := range where {
		if i == 0 {
			b.Add(" WHERE ")
		} else {
			b.Add(" AND ")
		}
		b.condition(c)
	}
	return b
}

// condition appends a condition. Columns and constants are compared by their bytes, because the
// types of a Dialect have no other order.
func (b *Builder) condition(c schema.Condition) {
	list := c.Constants()
	switch c.Op {
	case "in":
		if len(list) == 0 { // SQL has no empty list
			b.Add("1 = 0")
			return
		}
		b.Name(c.Column).Add(" IN (").each(len(list), func(i int) { b.Value(list[i]) }).Add(")")
	case "between":
		b.Name(c.Column).Add(" BETWEEN ").Value(list[0]).Add(" AND ").Value(list[1])
	case "like-prefix":
		switch {
		case b.d.Starting:
			b.Name(c.Column).Add(" STARTING WITH ").Value(c.Value)
		case b.d.Glob:
			b.Name(c.Column).Add(" GLOB ").Value(globEscapes.Replace(c.Value.(string)) + "*")
		default:
			b.Name(c.Column).Add(" LIKE ").Value(likeEscapes.Replace(c.Value.(string)) + "%").Add(" ESCAPE '!'")
		}
	case "is-null":
		b.Name(c.Column).Add(" IS NULL")
	case "is-not-null":
		b.Name(c.Column).Add(" IS NOT NULL")
	default:
		b.Name(c.Column).Add(" " + c.Op + " ").Value(c.Value)
	}
}

// The characters that LIKE and GLOB do not take as they are. The escape character of LIKE is
// spelled out, because the one of MariaDB depends on its sql_mode.
var (
	likeEscapes = strings.NewReplacer("!", "!!", "%", "!%", "_", "!_")
	globEscapes = strings.NewReplacer("*", "[*]", "?", "[?]", "[", "[[]")
)

// Update appends UPDATE t SET, without its condition.
func (d *Dialect) Update(t *schema.Table, group int, exprs []schema.Expr) *Builder {
	b := d.New().Add("UPDATE ").Name(t.Name).Add(" SET ")
	return b.Assign(t, group, exprs, "")
}

// Assign appends assignments to the columns of a group. prefix is put before the name of a
// column that is read.
func (b *Builder) Assign(t *schema.Table, group int, exprs []schema.Expr, prefix string) *Builder {
	columns := t.Groups[group].Columns
	return b.each(len(columns), func(i int) {
		b.Name(columns[i].Name).Add(" = ").Expr(columns[i].Name, exprs[i], prefix)
	})
}

// Expr appends the new value of a column.
func (b *Builder) Expr(column string, e schema.Expr, prefix string) *Builder {
	if e.Kind == schema.Constant {
		return b.Value(e.Value)
	}
	own := prefix + b.d.Quote + column + b.d.Quote
	b.args = append(b.args, e.Value)
	value := "?"
	if b.d.Numbered {
		value = "$" + strconv.Itoa(len(b.args))
	}
	if e.Kind == schema.Plus {
		return b.Add(own + " + " + value)
	}
	return b.Add(b.d.Concat(own, value))
}

// Count counts the rows that fulfil conditions.
func (d *Dialect) Count(t *schema.Table, where []schema.Condition) Statement {
	return d.New().Add("SELECT COUNT(*) FROM ").Name(t.Name).Where(where).Done()
}

// DeleteWhere removes the rows that fulfil conditions. returning ends where the names of the primary key's
// columns go.
func (d *Dialect) DeleteWhere(t *schema.Table, where []schema.Condition, returning string) Statement {
	return d.New().Add("DELETE FROM ").Name(t.Name).Where(where).Add(returning).Names(Columns(t, true, nil)).Done()
}

// Delete removes a row.
func (d *Dialect) Delete(t *schema.Table, key []any) *Builder {
	return d.New().Add("DELETE FROM ").Name(t.Name).Key(t, key)
}

// Scan reads the primary key and groups of the rows that a predicate selects. The database only
// sorts if the predicate has an order or a limit.
func (d *Dialect) Scan(t *schema.Table, p schema.Predicate, groups []int) Statement {
	b := d.New().Add("SELECT ").Names(Columns(t, true, groups)).Add(" FROM ").Name(t.Name).Where(p.Where)
	if len(p.Order) > 0 || p.Limit > 0 {
		order := slices.Clone(p.Order)
		for _, c := range t.Key {
			if !slices.ContainsFunc(order, func(o string) bool { return strings.TrimPrefix(o, "-") == c.Name }) {
				order = append(order, c.Name)
			}
		}
		b.Add(" ORDER BY ").each(len(order), func(i int) {
			name, down := strings.CutPrefix(order[i], "-")
			if b.Name(name); down {
				b.Add(" DESC")
			}
		})
	}
	switch {
	case p.Limit > 0 && d.Fetch:
		b.Add(" FETCH FIRST " + strconv.Itoa(p.Limit) + " ROWS ONLY")
	case p.Limit > 0:
		b.Add(" LIMIT " + strconv.Itoa(p.Limit))
	}
	return b.Done()
}

// Keys returns the primary keys of rows.
func Keys(rows []schema.Row) [][]any {
	keys := make([][]any, len(rows))
	for i := range rows {
		keys[i] = rows[i].Key
	}
	return keys
}

// Sorted sorts rows that the database left unsorted, by their primary keys.
func Sorted(t *schema.Table, p schema.Predicate, rows []schema.Row) []schema.Row {
	if len(p.Order) == 0 && p.Limit == 0 {
		return p.Arrange(t, rows)
	}
	return rows
}

// Targets are variables to scan columns into.
type Targets struct {
	columns []schema.Column
	ints    []int64
	texts   []string
	Into    []any
}

// NewTargets makes variables for columns, followed by more.
func NewTargets(columns []schema.Column, more ...any) *Targets {
	x := &Targets{columns: columns, ints: make([]int64, len(columns)), texts: make([]string, len(columns))}
	for i, c := range columns {
		switch {
		case c.Null && c.Type == schema.Int:
			x.Into = append(x.Into, new(*int64))
		case c.Null:
			x.Into = append(x.Into, new(*string))
		case c.Type == schema.Int:
			x.Into = append(x.Into, &x.ints[i])
		default:
			x.Into = append(x.Into, &x.texts[i])
		}
	}
	x.Into = append(x.Into, more...)
	return x
}

// Values returns the scanned values.
func (x *Targets) Values() []any {
	out := make([]any, len(x.columns))
	for i := range x.columns {
		switch v := x.Into[i].(type) {
		case *int64:
			out[i] = *v
		case *string:
			out[i] = *v
		case **int64:
			if *v != nil {
				out[i] = **v
			}
		case **string:
			if *v != nil {
				out[i] = **v
			}
		}
	}
	return out
}
