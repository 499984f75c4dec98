package schema

import (
	"strconv"
	"strings"
)

// Place is what the name of an item says: which group of which row.
type Place struct {
	Table *Table
	Key   []any
	Group int
	// Row is the part of the name that identifies the row: table and key.
	Row string
}

// ParseItem is the inverse of Table.Item. It returns false for names that are not the item of a
// group of a table of s with a key of the right types.
func (s Schema) ParseItem(name string) (Place, bool) {
	if len(s) == 1 && s[0].IsPlain() {
		return s[0].plain(name), true
	}
	open := strings.IndexByte(name, '(')
	if open < 0 {
		return Place{}, false
	}
	t, ok := s.Table(name[:open])
	if !ok {
		return Place{}, false
	}
	key, rest, ok := parseTuple(name[open+1:], t.Key)
	if !ok || rest == "" || rest[0] != ')' {
		return Place{}, false
	}
	rest = rest[1:]
	row := name[:len(name)-len(rest)]
	if rest != "" {
		if rest[0] != '.' || rest == "." {
			return Place{}, false
		}
		rest = rest[1:]
	}
	for g := range t.Groups {
		if t.Groups[g].Name == rest {
			return Place{t, key, g, row}, true
		}
	}
	return Place{}, false
}

// RowOf returns the part of an item's name that identifies its row: table and key.
func (s Schema) RowOf(item string) string {
	if len(s) == 1 && s[0].IsPlain() {
		return item
	}
	return item[:strings.LastIndexByte(item, ')')+1]
}

// ParseContent is the inverse of Content: it returns the values of a group's columns. It returns
// false if text or number is not the content of such columns.
func (g *Group) ParseContent(text string, number int64, isNumber bool) ([]any, bool) {
	switch {
	case isNumber:
		return []any{number}, len(g.Columns) == 1 && g.Columns[0].Type == Int
	case len(g.Columns) == 1 && g.Columns[0].Type == Text:
		return []any{text}, true
	case len(g.Columns) == 1:
		return []any{nil}, g.Columns[0].Null && text == null
	}
	values, rest, ok := parseTuple(text, g.Columns)
	return values, ok && rest == ""
}

// parseTuple reads what appendTuple wrote, and returns the rest of b.
func parseTuple(b string, columns []Column) (values []any, rest string, ok bool) {
	values = make([]any, len(columns))
	for i := range columns {
		if i > 0 {
			if b == "" || b[0] != ',' {
				return nil, "", false
			}
			b = b[1:]
		}
		rest, isNull := strings.CutPrefix(b, null)
		switch {
		case isNull && columns[i].Null:
			values[i], b, ok = nil, rest, true
		case columns[i].Type == Int:
			values[i], b, ok = cutInt(b)
		default:
			values[i], b, ok = cutText(b)
		}
		if !ok {
			return nil, "", false
		}
	}
	return values, b, true
}

// cutInt reads an integer as strconv.FormatInt writes it.
func cutInt(b string) (n int64, rest string, ok bool) {
	end := 0
	for end < len(b) && (b[end] >= '0' && b[end] <= '9' || b[end] == '-' && end == 0) {
		end++
	}
	n, err := strconv.ParseInt(b[:end], 10, 64)
	if err != nil || end > 1 && (b[0] == '0' || b[0] == '-' && b[1] == '0') {
		return 0, "", false
	}
	return n, b[end:], true
}

// cutText reads a text in single quotes, in which each quote is doubled.
func cutText(b string) (text, rest string, ok bool) {
	if b == "" || b[0] != '\'' {
		return "", "", false
	}
	for i := 1; i < len(b); i++ {
		if b[i] != '\'' {
			continue
		}
		if i+1 < len(b) && b[i+1] == '\'' {
			i++
			continue
		}
		return strings.ReplaceAll(b[1:i], "''", "'"), b[i+1:], true
	}
	return "", "", false
}
