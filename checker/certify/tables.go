package certify

import (
	"slices"
	"strconv"
	"strings"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/quote"
	"github.com/isohound/isohound/history/schema"
)

// tables are the rows that a history names, of the tables that have scans, with their versions and,
// while a witness is executed, their current state.
type tables struct {
	h      *history.History
	byName map[string]*table
	groups []*group
	places []place32 // by key
	// written are the versions, or none, that the writes of rows make, in the order of the history. first is,
	// by transaction, its first one; one more at the end. next is the one of the next call of writeRow.
	written []int32
	first   []int32
	next    int32
	undo    []change
	plans   []plan // by number of a statement, for the first ones; without a table if it has not been made
	once    plan   // memory for the plan of another statement
	now     scan   // memory for the latest scan
	starts  []bool // memory for its operations
	// named has, by key, the latest statements that read and wrote the item, of those numbered by statement.
	named     []struct{ read, wrote int32 }
	statement int32
}

// place32 is an item as numbers, which garbage collection does not visit: the group is an index of
// groups plus 1, or 0.
type place32 struct{ group, row int32 }

// item returns which item a key is.
func (x *tables) item(k history.Key) item {
	p := x.places[k]
	if p.group == 0 {
		return item{}
	}
	return item{x.groups[p.group-1], p.row}
}

// item is a group of a row. g is nil if a key is no item of these tables.
type item struct {
	g   *group
	row int32
}

type table struct {
	*schema.Table
	keys   []*column     // the columns of the primary key, by row
	named  []history.Key // by row: one of its items
	groups []*group
	// found is, by row, the latest scan that found the row, by the number scans.
	found []int32
	scans int32
	// looked is, by row, the latest search for candidates that met the row, by the number looks.
	looked  []int32
	looks   int32
	scratch [][]any // by group
}

// group is a group of columns of a table. A version is a value, other than absence, that another
// transaction may see: an initial value, or one that a transaction wrote that did not abort.
type group struct {
	t        *table
	number   int   // in the table
	index    int32 // in tables.groups
	versions []version
	latest   []int32 // by row: the version added last, or none
	deleted  []bool  // by row: there may be a moment at which the row does not exist
	current  []int32 // by row: the version in the state, or none
	orders   map[string]*order
	made     []*order // those of orders that are not nil
}

type version struct {
	row    int32
	before int32 // the version of the row added before this one, or none
	value  history.Value
}

// change is a version that a write replaced.
type change struct {
	item
	old int32
}

// newTables finds the rows of tables with these names, and their versions. The state is the initial
// one.
func newTables(stop *stop, h *history.History, names map[string]bool) (*tables, error) {
	x := &tables{h: h, byName: map[string]*table{}, places: make([]place32, h.KeyCount()), named: make([]struct{ read, wrote int32 }, h.KeyCount()), first: make([]int32, 0, len(h.Txns)+1), plans: make([]plan, min(h.StatementCount(), mostPlans))}
	for _, t := range h.Schema {
		if names[t.Name] {
			x.add(t)
		}
	}
	if err := x.findRows(stop); err != nil {
		return nil, err
	}
	counts, all := make([]int, len(x.groups)), 0
	err := x.writes(stop, func(p place32, _ history.Value) { counts[p.group-1], all = counts[p.group-1]+1, all+1 })
	if err != nil {
		return nil, err
	}
	for n, g := range x.groups {
		g.versions = slices.Grow(g.versions, counts[n])
	}
	x.written, x.first = make([]int32, 0, all), x.first[:0]
	return x, x.writes(stop, func(p place32, v history.Value) { x.written = append(x.written, x.groups[p.group-1].add(p.row, v)) })
}

// writes calls f with the writes of rows of transactions that did not abort, and notes in first where each
// transaction begins.
func (x *tables) writes(stop *stop, f func(place32, history.Value)) error {
	n := int32(0)
	for i := range x.h.Txns {
		t := &x.h.Txns[i]
		x.first = append(x.first, n)
		if t.Status == history.Aborted {
			continue
		}
		if err := stop.after(1 + t.OpCount()); err != nil {
			return err
		}
		for _, op := range x.h.Ops(t) {
			if p := x.places[op.Key]; op.Kind == history.Write && p.group != 0 {
				f(p, op.Value)
				n++
			}
		}
	}
	x.first = append(x.first, n)
	return nil
}

func (x *tables) add(t *schema.Table) {
	mine := &table{Table: t}
	for n := range t.Groups {
		mine.groups = append(mine.groups, &group{t: mine, number: n, index: int32(len(x.groups)), orders: map[string]*order{}})
		x.groups = append(x.groups, mine.groups[n])
	}
	for i := range t.Key {
		mine.keys = append(mine.keys, newColumn(&t.Key[i], 0))
	}
	x.byName[t.Name] = mine
}

// findRows finds the rows and their initial versions.
func (x *tables) findRows(stop *stop) error {
	var rows map[string]int32 // of tables with several groups
	for k := range x.places {
		if err := stop.after(1); err != nil {
			return err
		}
		name := x.h.KeyName(history.Key(k))
		if x.byName[name[:max(strings.IndexByte(name, '('), 0)]] == nil && x.byName[""] == nil {
			continue // of no table; in a history of plain keys the table has no name
		}
		p, ok := x.h.Schema.ParseItem(name)
		if !ok {
			continue
		}
		t := x.byName[p.Table.Name]
		if t == nil {
			continue
		}
		row, known := rows[p.Row]
		if !known {
			row = t.addRow(history.Key(k), p.Key)
			if rows == nil && len(t.groups) > 1 {
				rows = make(map[string]int32, (len(x.places)-k)/len(t.groups))
			}
			if len(t.groups) > 1 {
				rows[p.Row] = row
			}
		}
		x.places[k] = place32{t.groups[p.Group].index + 1, row}
		t.groups[p.Group].begin(row, x.h.Initial(history.Key(k)))
	}
	// A group of a row that no key names keeps the default.
	for _, t := range x.byName {
		for _, g := range t.groups {
			for row := range g.current {
				if g.current[row] == none && !g.deleted[row] {
					g.begin(int32(row), x.h.DefaultInitial)
				}
			}
		}
	}
	return nil
}

// addRow adds a row without versions.
func (t *table) addRow(k history.Key, key []any) int32 {
	row := int32(t.rows())
	for i, v := range key {
		t.keys[i].add(v)
	}
	t.named, t.found, t.looked = append(t.named, k), append(t.found, 0), append(t.looked, 0)
	for _, g := range t.groups {
		g.latest, g.deleted, g.current = append(g.latest, none), append(g.deleted, false), append(g.current, none)
	}
	return row
}

func (t *table) rows() int { return len(t.named) }

// name returns the name of a row.
func (x *tables) name(t *table, row int32) string { return x.h.Schema.RowOf(x.h.KeyName(t.named[row])) }

// begin gives a row its initial value.
func (g *group) begin(row int32, v history.Value) { g.current[row] = g.add(row, v) }

// add adds a version. It returns none for absence.
func (g *group) add(row int32, v history.Value) int32 {
	if v == history.Absent {
		g.deleted[row] = true
		return none
	}
	n := int32(len(g.versions))
	g.versions = append(g.versions, version{row, g.latest[row], v})
	g.latest[row] = n
	return n
}

// begin says that calls of writeRow follow for the first writes of the transaction at index i, in their order.
func (x *tables) begin(i int32) { x.next = x.first[i] }

// writeRow puts what the next write of the transaction writes into the state, if k is an item of a row.
func (x *tables) writeRow(k history.Key) {
	if p := x.places[k]; p.group != 0 {
		x.write(item{x.groups[p.group-1], p.row}, x.written[x.next])
		x.next++
	}
}

// write puts a version, or none, into the state.
func (x *tables) write(it item, v int32) {
	x.undo = append(x.undo, change{it, it.g.current[it.row]})
	it.g.put(it.row, v)
}

func (g *group) put(row, v int32) {
	g.current[row] = v
	for _, o := range g.made {
		o.move(row, v)
	}
}

// keep makes the latest writes permanent, and undoes them otherwise.
func (x *tables) keep(keep bool) {
	for n := len(x.undo) - 1; n >= 0 && !keep; n-- {
		x.undo[n].g.put(x.undo[n].row, x.undo[n].old)
	}
	x.undo = x.undo[:0]
}

// parse returns the values of the columns that a value of an item stands for.
func (x *tables) parse(g *group, v history.Value) ([]any, error) {
	columns := &g.t.Groups[g.number]
	raw, number := "", int64(v)
	isNumber := v >= history.MinInt
	if !isNumber {
		raw = x.h.ValueText(v)
		if n, err := strconv.ParseInt(raw, 10, 64); err == nil {
			number, isNumber = n, true
		} else if raw, err = quote.Unquote([]byte(raw)); err != nil {
			return nil, errors.Errorf("%s is no value of table %s", x.h.ValueText(v), g.t.Name)
		}
	}
	if isNumber {
		raw = ""
	}
	c, ok := columns.ParseContent(raw, number, isNumber)
	if !ok {
		return nil, errors.Errorf("%s is no value of table %s", x.h.ValueText(v), g.t.Name)
	}
	return c, nil
}
