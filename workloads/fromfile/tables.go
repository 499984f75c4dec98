package fromfile

import (
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/isohound/isohound/history/schema"
)

// names of tables, columns and placeholders. Databases differ in what they do with upper case.
var names = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,39}$`)

var columnType = regexp.MustCompile(`^(int|text|stamp)(?:\((\d+)\))?( null)?$`)

// stampColumn is a column that isohound fills with a unique value at each write.
const stampType = "stamp"

// table is a table with its columns of type stamp.
type table struct {
	*schema.Table
	stamps map[string]bool
}

// name reports whether a name can be used in every database.
func (c *compiler) name(n *yaml.Node, what string) bool {
	if !names.MatchString(n.Value) {
		c.at(n, "%s is called %q; names are small letters, digits and _, at most 40", what, n.Value)
		return false
	}
	return true
}

// readTables compiles the tables.
func (c *compiler) readTables(n *yaml.Node) {
	for _, e := range c.pairs(n, "tables") {
		if !c.name(e.key, "a table") {
			continue
		}
		fields := c.fields(e.value, "table "+e.key.Value, "key", "columns", "groups", "indexes")
		t := &table{&schema.Table{Name: e.key.Value}, map[string]bool{}}
		before := len(c.list)
		t.Key = c.columns(t, fields["key"], "the key of table "+t.Name)
		switch {
		case len(t.stamps) > 0:
			c.at(fields["key"], "a column of the key is written by the statements, so it is not a stamp")
		case len(t.Key) == 0 && len(c.list) == before:
			c.at(e.key, "table %s needs a key: key: {id: int}", t.Name)
		}
		switch {
		case fields["columns"] != nil && fields["groups"] != nil:
			c.at(fields["groups"], "table %s has columns or groups, not both", t.Name)
		case fields["groups"] != nil:
			for _, g := range c.pairs(fields["groups"], "groups of table "+t.Name) {
				if c.name(g.key, "a group") {
					t.Groups = append(t.Groups, schema.Group{Name: g.key.Value, Columns: c.columns(t, g.value, "group "+g.key.Value)})
				}
			}
			if len(t.Groups) == 1 {
				t.Groups[0].Name = ""
			}
		default:
			t.Groups = []schema.Group{{Columns: c.columns(t, fields["columns"], "table "+t.Name)}}
		}
		for _, index := range c.items(fields["indexes"], "indexes of table "+t.Name) {
			x := schema.IndexOn()
			for _, column := range c.items(index, "an index") {
				if text := c.scalar(column, "a column of an index"); text != nil {
					x.Columns = append(x.Columns, text.s)
				}
			}
			t.Indexes = append(t.Indexes, x)
		}
		if len(c.list) > before {
			c.broken[t.Name] = true
			continue
		}
		if err := (schema.Schema{t.Table}).Check(); err != nil {
			c.at(e.key, "%v", err)
			c.broken[t.Name] = true
			continue
		}
		for _, g := range t.Groups {
			if len(g.Columns) == 0 {
				c.at(e.key, "table %s has a group without columns; a column of type stamp is enough", t.Name)
			}
		}
		c.tables[t.Name] = t
		c.schema = append(c.schema, t.Table)
	}
	if len(c.schema) == 0 && len(c.list) == 0 {
		c.at(c.root, "the file has no tables")
	}
}

func (c *compiler) columns(t *table, n *yaml.Node, what string) (out []schema.Column) {
	for _, e := range c.pairs(n, what) {
		if !c.name(e.key, "a column") {
			continue
		}
		typ := c.scalar(e.value, "the type of column "+e.key.Value)
		if typ == nil {
			continue
		}
		m := columnType.FindStringSubmatch(strings.ToLower(typ.s))
		if m == nil || m[1] != "text" && m[2] != "" || m[1] == stampType && m[3] != "" {
			c.at(e.value, "column %s has the type %q; there are int, text, text(LENGTH), each with null behind it if the column may be null, and stamp", e.key.Value, typ.s)
			continue
		}
		column := schema.Column{Name: e.key.Value, Type: schema.Int, Null: m[3] != ""}
		if m[1] == "text" {
			column.Type = schema.Text
			if m[2] != "" {
				column.Size, _ = strconv.Atoi(m[2])
				if column.Size < 1 || column.Size > 255 {
					c.at(e.value, "a text has from 1 to 255 bytes")
				}
			}
		}
		if m[1] == stampType {
			t.stamps[column.Name] = true
		}
		out = append(out, column)
	}
	return out
}

// table finds a table, or fails at its name.
func (c *compiler) table(where *phrase, n name) *table {
	if t := c.tables[n.text]; t != nil {
		return t
	}
	if !c.broken[n.text] {
		c.broken[n.text] = true // told once
		c.fail(where, n.at, "there is no table %s%s", n.text, suggestion(n.text, keys(c.tables)))
	}
	return nil
}

// column finds a column, or fails at its name.
func (c *compiler) column(where *phrase, t *table, n name) (group, at int, column schema.Column, ok bool) {
	group, at, ok = t.Column(n.text)
	switch {
	case !ok:
		var known []string
		for _, k := range t.Key {
			known = append(known, k.Name)
		}
		for _, g := range t.Groups {
			for _, k := range g.Columns {
				known = append(known, k.Name)
			}
		}
		c.fail(where, n.at, "table %s has no column %s%s", t.Name, n.text, suggestion(n.text, known))
	case group < 0:
		column = t.Key[at]
	default:
		column = t.Groups[group].Columns[at]
	}
	return group, at, column, ok
}

// size is the longest text that a column holds, in bytes.
func size(c schema.Column) int {
	if c.Size == 0 {
		return 255
	}
	return c.Size
}
