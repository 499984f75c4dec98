package scans

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/quote"
	"github.com/isohound/isohound/history/schema"
)

// index has all versions of the rows that a transaction may see: initial values, and what
// transactions that did not abort wrote. It has only tables with predicates.
type index struct {
	h      *history.History
	tables map[*schema.Table]*table
	places []place // by history.Key
}

// place is the row and the group of an item. t is nil if the key is no item of these tables.
type place struct {
	t     *table
	row   int32
	group int32
}

type table struct {
	*schema.Table
	rows   []row
	byKey  []int32    // the rows in the order of their keys
	groups []versions // by group
}

// row is a row of a table, whether or not it ever existed.
type row struct {
	name  string
	key   []any
	items []history.Key // by group; -1 if no transaction and no initial value names the item
}

// versions are the versions of one group of all rows of a table, by row.
type versions struct {
	list []version
	from []int32 // by row: its first version in list; one more at the end
	// mayBeAbsent is, by row: there is a moment at which the row may not exist.
	mayBeAbsent []bool
	// sorted has, by name of a column, the positions in list in the order of the column. It is
	// made when a condition needs it.
	sorted map[string][]int32
}

// version is a value of an item, other than absence.
type version struct {
	row     int32
	value   history.Value
	columns []any // nil until they are needed
}

// newIndex indexes the tables that have predicates.
func newIndex(h *history.History) *index {
	x := &index{h: h, tables: map[*schema.Table]*table{}, places: make([]place, h.KeyCount())}
	for i := range h.Txns {
		for _, p := range h.Predicates(i) {
			if t, ok := h.Schema.Table(p.Table); ok && x.tables[t] == nil {
				x.tables[t] = &table{Table: t, groups: make([]versions, len(t.Groups))}
			}
		}
	}
	x.findRows()
	for k := range x.places {
		if x.places[k].t != nil {
			x.add(history.Key(k), h.Initial(history.Key(k)))
		}
	}
	for i := range h.Txns {
		if t := &h.Txns[i]; t.Status != history.Aborted {
			for _, op := range h.Ops(t) {
				if op.Kind == history.Write && x.places[op.Key].t != nil {
					x.add(op.Key, op.Value)
				}
			}
		}
	}
	for _, t := range x.tables {
		t.sort()
	}
	return x
}

// findRows finds the rows of the items.
func (x *index) findRows() {
	named := map[string]bool{}
	for t := range x.tables {
		named[t.Name] = true
		if t.IsPlain() {
			named = nil // every key is a row
			break
		}
	}
	rows := map[string]int32{} // by table and key
	for k := range x.places {
		name := x.h.KeyName(history.Key(k))
		if end := strings.IndexByte(name, '('); named != nil && !named[name[:max(end, 0)]] {
			continue
		}
		p, ok := x.h.Schema.ParseItem(name)
		if !ok {
			continue
		}
		t := x.tables[p.Table]
		r, known := rows[p.Row]
		if !known {
			r = int32(len(t.rows))
			rows[p.Row] = r
			items := make([]history.Key, len(t.groups))
			for g := range items {
				items[g] = -1
			}
			t.rows = append(t.rows, row{p.Row, p.Key, items})
		}
		t.rows[r].items[p.Group] = history.Key(k)
		x.places[k] = place{t, r, int32(p.Group)}
	}
	for _, t := range x.tables {
		for g := range t.groups {
			t.groups[g].mayBeAbsent = make([]bool, len(t.rows))
		}
	}
}

// add adds a version. It may add one twice.
func (x *index) add(k history.Key, v history.Value) {
	p := x.places[k]
	if vs := &p.t.groups[p.group]; v == history.Absent {
		vs.mayBeAbsent[p.row] = true
	} else {
		vs.list = append(vs.list, version{row: p.row, value: v})
	}
}

// item returns the key of a group of a row. If the history does not name it, the row never
// existed with this group, and the key is new.
func (x *index) item(t *table, r int32, g int) history.Key {
	items := t.rows[r].items
	if items[g] < 0 {
		items[g] = x.h.Key(t.Item(t.rows[r].key, g))
		x.places = append(x.places, place{t, r, int32(g)})
		t.groups[g].mayBeAbsent[r] = true
	}
	return items[g]
}

// sort sorts the rows by key, and the versions by row, without repetitions.
func (t *table) sort() {
	t.byKey = make([]int32, len(t.rows))
	for r := range t.byKey {
		t.byKey[r] = int32(r)
	}
	slices.SortFunc(t.byKey, func(a, b int32) int { return compareKeys(t.rows[a].key, t.rows[b].key) })
	for g := range t.groups {
		vs := &t.groups[g]
		slices.SortFunc(vs.list, func(a, b version) int {
			if a.row != b.row {
				return int(a.row - b.row)
			}
			return compareValues(a.value, b.value)
		})
		vs.list = slices.CompactFunc(vs.list, func(a, b version) bool { return a.row == b.row && a.value == b.value })
		vs.from = make([]int32, len(t.rows)+1)
		for _, v := range vs.list {
			vs.from[v.row+1]++
		}
		for r := range t.rows {
			vs.from[r+1] += vs.from[r]
		}
		vs.sorted = map[string][]int32{}
	}
}

func compareValues(a, b history.Value) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// compareKeys compares a key with another one, or with its first columns.
func compareKeys(key, first []any) int {
	for i := range first {
		if c := schema.Compare(key[i], first[i]); c != 0 {
			return c
		}
	}
	return 0
}

func (vs *versions) of(r int32) []version { return vs.list[vs.from[r]:vs.from[r+1]] }

// columns returns the columns of a version of group g. It returns an error if its value does not
// fit them.
func (x *index) columns(t *table, g int, v *version) ([]any, error) {
	if v.columns == nil {
		c, ok := x.content(t, g, v.value)
		if !ok {
			return nil, fmt.Errorf("%s has the value %s, which does not fit the columns of table %s", t.rows[v.row].name, x.h.ValueText(v.value), t.Name)
		}
		v.columns = c
	}
	return v.columns, nil
}

// content returns the values of a group's columns.
func (x *index) content(t *table, g int, v history.Value) ([]any, bool) {
	if v >= history.MinInt {
		return t.Groups[g].ParseContent("", int64(v), true)
	}
	raw := x.h.ValueText(v)
	if n, err := strconv.ParseInt(raw, 10, 64); err == nil { // an integer below MinInt
		return t.Groups[g].ParseContent("", n, true)
	}
	text, err := quote.Unquote([]byte(raw))
	if err != nil {
		return nil, false
	}
	return t.Groups[g].ParseContent(text, 0, false)
}

// value returns a column of a version of group g.
func (x *index) value(t *table, g int, v *version, column string) (any, error) {
	in, at, _ := t.Column(column)
	if in < 0 {
		return t.rows[v.row].key[at], nil
	}
	c, err := x.columns(t, g, v)
	if err != nil {
		return nil, err
	}
	return c[at], nil
}

// fulfils reports whether a version of group g fulfils the conditions, which must be on columns of
// g and of the key.
func (x *index) fulfils(t *table, g int, p *schema.Predicate, v *version) (bool, error) {
	r := schema.Row{Key: t.rows[v.row].key, Groups: make([][]any, len(t.groups))}
	for _, c := range p.Where {
		if in, _, _ := t.Column(c.Column); in >= 0 {
			columns, err := x.columns(t, g, v)
			if err != nil {
				return false, err
			}
			r.Groups[g] = columns
			break
		}
	}
	return p.Matches(t.Table, r), nil
}
