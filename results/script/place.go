package script

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/isohound/isohound/drivers/sqltable"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/schema"
)

// writer writes the statements of a history.
type writer struct {
	h  *history.History
	db *Database
	// whole are the operations of each transaction in the whole history, as they are in h: of the names and values there.
	whole []full
	kv    *schema.Table // of keys that are no items of a table
	// used are the tables of the items, in the order of their first use.
	used  []*schema.Table
	notes []string
	noted map[string]bool
	// lossy: something cannot be written as SQL.
	lossy bool
	rows  []row
	byRow map[string]int
}

func newWriter(h, whole *history.History, db *Database) *writer {
	w := &writer{h: h, db: db, noted: map[string]bool{}, byRow: map[string]int{}}
	kind := schema.Int
	for i := range h.Txns {
		for _, op := range h.Ops(&h.Txns[i]) {
			if _, ok := w.schema().ParseItem(h.KeyName(op.Key)); !ok && op.Value != history.Absent {
				if _, isInt := number(h.ValueText(op.Value)); !isInt {
					kind = schema.Text
				}
			}
		}
	}
	w.kv = &schema.Table{Name: "kv", Key: schema.Texts("k"), Groups: []schema.Group{{Columns: []schema.Column{{Name: "v", Type: kind}}}}}
	w.whole = make([]full, len(h.Txns))
	if whole != nil {
		w.fill(whole)
	}
	return w
}

// schema returns the tables of the history, without the one of plain keys.
func (w *writer) schema() schema.Schema {
	if len(w.h.Schema) == 1 && w.h.Schema[0].IsPlain() {
		return nil
	}
	return w.h.Schema
}

// place is the place of a key.
func (w *writer) place(k history.Key) schema.Place { return w.named(w.h.KeyName(k)) }

func (w *writer) named(name string) schema.Place {
	p, ok := w.schema().ParseItem(name)
	if !ok {
		p = schema.Place{Table: w.kv, Key: []any{name}, Row: "kv(" + name + ")"}
	}
	w.use(p.Table)
	return p
}

func (w *writer) use(t *schema.Table) {
	if !slices.Contains(w.used, t) {
		w.used = append(w.used, t)
	}
}

// content returns the values of a group's columns, from the value of an item.
func (w *writer) content(p schema.Place, v history.Value) []any { return w.parse(p, w.h.ValueText(v)) }

// parse is content, of the value's text.
func (w *writer) parse(p schema.Place, text string) []any {
	n, isInt := number(text)
	var s string
	if !isInt && json.Unmarshal([]byte(text), &s) != nil {
		s = text
	}
	g := &p.Table.Groups[p.Group]
	if p.Table == w.kv && g.Columns[0].Type == schema.Text {
		if isInt {
			s = text
		}
		return []any{s}
	}
	values, ok := g.ParseContent(s, n, isInt)
	if !ok {
		w.note(fmt.Sprintf("The value %s of %s is not written as SQL.", text, p.Table.Item(p.Key, p.Group)))
		w.lossy = true
		values = blank(g)
	}
	return values
}

func (w *writer) note(text string) {
	if !w.noted[text] {
		w.noted[text] = true
		w.notes = append(w.notes, text)
	}
}

// blank is what a group holds of which nothing is known.
func blank(g *schema.Group) []any {
	var out []any
	for _, c := range g.Columns {
		switch {
		case c.Null:
			out = append(out, nil)
		case c.Type == schema.Int:
			out = append(out, int64(0))
		default:
			out = append(out, "")
		}
	}
	return out
}

// number reads an integer.
func number(text string) (n int64, ok bool) {
	err := json.Unmarshal([]byte(text), &n)
	return n, err == nil
}

// tables returns the statements that make the tables with their initial rows and extra ones, and those that drop the tables.
func (w *writer) tables(extra []extraRow) (setup, teardown []string) {
	for _, t := range w.used {
		setup = append(setup, w.db.dialect.Create(t).SQL)
		for i := range t.Indexes {
			setup = append(setup, w.db.dialect.Index(t, i).SQL)
		}
		teardown = append(teardown, "DROP TABLE "+w.db.dialect.Quote+t.Name+w.db.dialect.Quote)
	}
	for i, c := range w.initial(extra) {
		if c != nil {
			r := w.rows[i]
			setup = append(setup, w.spelled(w.db.dialect.Insert(r.table, schema.Row{Key: r.key, Groups: c.groups}).Done()))
		}
	}
	return setup, teardown
}

// spelled returns a statement with its arguments in it. Its names have no question mark.
func (w *writer) spelled(s sqltable.Statement) string {
	var b strings.Builder
	args := s.Args
	for _, r := range s.SQL {
		if r != '?' || len(args) == 0 {
			b.WriteRune(r)
			continue
		}
		b.WriteString(w.literal(args[0]))
		args = args[1:]
	}
	return b.String()
}

func (w *writer) literal(v any) string {
	switch v := v.(type) {
	case nil:
		return "NULL"
	case string:
		if w.db.escape != "" {
			v = strings.ReplaceAll(v, w.db.escape, w.db.escape+w.db.escape)
		}
		return "'" + strings.ReplaceAll(v, "'", "''") + "'"
	}
	return fmt.Sprint(v)
}
