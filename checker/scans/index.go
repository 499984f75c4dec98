package scans

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/quote"
	"github.com/isohound/isohound/history/schema"
)

// index has all versions of the rows that a transaction may see: initial values, and what
// transactions that did not abort wrote. It has only tables with predicates.
type index struct {
	h      *history.History
	tables map[*schema.Table]*table
	groups int     // of all tables
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
	first  int // the number of its first group; groups of all tables are numbered
	rows   []row
	keys   []column   // the columns of the primary key, by row
	byKey  []int32    // the rows in the order of their keys
	groups []versions // by group
}

// row is a row of a table, whether or not it ever existed.
type row struct {
	name  string
	items []history.Key // by group; -1 if no transaction and no initial value names the item
}

// versions are the versions of one group of all rows of a table, by row and then by value.
type versions struct {
	list []version
	from []int32 // by row: its first version in list; one more at the end
	// mayBeAbsent is, by row: there is a moment at which the row may not exist.
	mayBeAbsent []bool
	columns     []column // of list; nil until they are needed
	// misfit is the first version whose value does not fit the columns, or nil.
	misfit *version
	// sorted has, by number of a column, the positions in list in the order of the column. It is
	// made when a condition needs it.
	sorted map[int]*order
}

// version is a value of an item, other than absence.
type version struct {
	row   int32
	value history.Value
}

// newIndex indexes the tables that have predicates.
func newIndex(h *history.History) *index {
	x := newRows(h)
	x.findVersions()
	return x
}

// newRows finds the rows of the tables that have predicates.
func newRows(h *history.History) *index {
	x := &index{h: h, tables: map[*schema.Table]*table{}, places: make([]place, h.KeyCount())}
	seen := make([]bool, h.StatementCount())
	for i := range h.Txns {
		list := h.Predicates(i)
		for n := range list {
			if seen[list[n].Number] {
				continue
			}
			seen[list[n].Number] = true
			if t, ok := h.Schema.Table(list[n].Table); ok && x.tables[t] == nil {
				x.tables[t] = &table{Table: t, first: x.groups, groups: make([]versions, len(t.Groups))}
				x.groups += len(t.Groups)
			}
		}
	}
	x.findRows()
	for _, t := range x.tables {
		t.sortRows()
	}
	return x
}

// findVersions finds the versions of the rows.
func (x *index) findVersions() {
	h := x.h
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
		t.sortVersions()
	}
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
	keys := map[*table][][]any{}
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
		r, known := int32(0), false
		if len(t.groups) > 1 { // else each item is a row of its own
			r, known = rows[p.Row]
		}
		if !known {
			r = int32(len(t.rows))
			if len(t.groups) > 1 {
				rows[p.Row] = r
			}
			items := make([]history.Key, len(t.groups))
			for g := range items {
				items[g] = -1
			}
			t.rows, keys[t] = append(t.rows, row{p.Row, items}), append(keys[t], p.Key)
		}
		t.rows[r].items[p.Group] = history.Key(k)
		x.places[k] = place{t, r, int32(p.Group)}
	}
	for _, t := range x.tables {
		for i := range t.Key {
			c := newColumn(&t.Key[i], len(t.rows))
			for r, key := range keys[t] {
				c.set(r, key[i])
			}
			t.keys = append(t.keys, c)
		}
		for g := range t.groups {
			t.groups[g].mayBeAbsent = make([]bool, len(t.rows))
		}
	}
	if x.h.DefaultInitial != history.Absent { // items that no key names exist, too
		for _, t := range x.tables {
			for r := range t.rows {
				for g := range t.groups {
					x.item(t, int32(r), g)
				}
			}
		}
	}
}

// add adds a version. It may add one twice.
func (x *index) add(k history.Key, v history.Value) {
	p := x.places[k]
	if vs := &p.t.groups[p.group]; v == history.Absent {
		vs.mayBeAbsent[p.row] = true
	} else {
		vs.list = append(vs.list, version{p.row, v})
	}
}

// item returns the key of a group of a row. If the history does not name it, the key is new, and it
// always has the default initial value.
func (x *index) item(t *table, r int32, g int) history.Key {
	items := t.rows[r].items
	if items[g] < 0 {
		items[g] = x.h.Key(t.Item(t.key(r), g))
		x.places = append(x.places, place{t, r, int32(g)})
		t.groups[g].mayBeAbsent[r] = x.h.DefaultInitial == history.Absent
	}
	return items[g]
}

// key returns the primary key of a row.
func (t *table) key(r int32) []any {
	out := make([]any, len(t.keys))
	for i := range t.keys {
		out[i] = t.keys[i].at(r)
	}
	return out
}

// sortRows sorts the rows by key.
func (t *table) sortRows() {
	t.byKey = make([]int32, len(t.rows))
	for r := range t.byKey {
		t.byKey[r] = int32(r)
	}
	slices.SortFunc(t.byKey, func(a, b int32) int {
		for i := range t.keys {
			if c := t.keys[i].compare(a, b); c != 0 {
				return c
			}
		}
		return cmp.Compare(a, b)
	})
}

// sortVersions sorts the versions by row, without repetitions.
func (t *table) sortVersions() {
	for g := range t.groups {
		vs := &t.groups[g]
		slices.SortFunc(vs.list, func(a, b version) int {
			if c := cmp.Compare(a.row, b.row); c != 0 {
				return c
			}
			return cmp.Compare(a.value, b.value)
		})
		vs.list = slices.Compact(vs.list)
		vs.from = make([]int32, len(t.rows)+1)
		for _, v := range vs.list {
			vs.from[v.row+1]++
		}
		for r := range t.rows {
			vs.from[r+1] += vs.from[r]
		}
		vs.sorted = map[int]*order{}
	}
}

// find returns the position of a version, or -1 if no transaction that counts wrote it.
func (vs *versions) find(r int32, v history.Value) int32 {
	n, ok := slices.BinarySearchFunc(vs.list[vs.from[r]:vs.from[r+1]], v, func(a version, v history.Value) int { return cmp.Compare(a.value, v) })
	if !ok {
		return -1
	}
	return vs.from[r] + int32(n)
}

// parse makes the columns of the versions of a group. It returns an error if a value does not fit
// them.
func (x *index) parse(t *table, g int) error {
	vs := &t.groups[g]
	if vs.columns == nil {
		for i := range t.Groups[g].Columns {
			vs.columns = append(vs.columns, newColumn(&t.Groups[g].Columns[i], len(vs.list)))
		}
		for i := range vs.list {
			content, ok := x.content(t, g, vs.list[i].value)
			if !ok {
				vs.misfit = &vs.list[i]
				break
			}
			for c := range content {
				vs.columns[c].set(i, content[c])
			}
		}
	}
	if v := vs.misfit; v != nil {
		return errors.Errorf("%s has the value %s, which does not fit the columns of %s", t.rows[v.row].name, x.h.ValueText(v.value), t.Title())
	}
	return nil
}

// content returns the values of a group's columns.
func (x *index) content(t *table, g int, v history.Value) ([]any, bool) {
	return contentOf(x.h, &t.Groups[g], v)
}

func contentOf(h *history.History, g *schema.Group, v history.Value) ([]any, bool) {
	if v >= history.MinInt {
		return g.ParseContent("", int64(v), true)
	}
	raw := h.ValueText(v)
	if n, err := strconv.ParseInt(raw, 10, 64); err == nil { // an integer below MinInt
		return g.ParseContent("", n, true)
	}
	text, err := quote.Unquote([]byte(raw))
	if err != nil {
		return nil, false
	}
	return g.ParseContent(text, 0, false)
}
