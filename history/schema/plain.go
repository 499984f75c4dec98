package schema

import "strconv"

// Plain returns the schema of a history whose keys have no table. Each key is a row with two
// integer columns: k, the key where it is a decimal number and else null, and v, its value.
func Plain() Schema {
	return Schema{{Key: []Column{{Name: "k", Type: Int, Null: true}}, Groups: []Group{{Columns: Ints("v")}}}}
}

// IsPlain reports whether t is the table of Plain. It is the only table without a name.
func (t *Table) IsPlain() bool {
	return t.Name == "" && len(t.Key) == 1 && t.Key[0].Null && len(t.Groups) == 1 && len(t.Groups[0].Columns) == 1
}

// plain is the place of a key in the table of Plain.
func (t *Table) plain(key string) Place {
	var k any
	if n, err := strconv.ParseInt(key, 10, 64); err == nil && strconv.FormatInt(n, 10) == key {
		k = n
	}
	return Place{Table: t, Key: []any{k}, Row: key}
}

// Title names the table in messages.
func (t *Table) Title() string {
	if t.IsPlain() {
		return "the table of keys"
	}
	return "table " + t.Name
}
