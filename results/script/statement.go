package script

import (
	"fmt"
	"slices"
	"strings"

	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/schema"
)

// action is what a statement does.
type action int

const (
	begin action = iota
	end
	get         // reads groups of a row
	scan        // reads the rows that fulfil conditions
	count       // counts them
	insert      // fails if the row is there
	upsert      // writes groups of a row, whether it is there or not
	update      // writes a group of a row
	remove      // deletes a row
	updateWhere // writes a group of the rows that fulfil conditions
	removeWhere // deletes them
)

// statement is a statement of a transaction.
type statement struct {
	action
	sql  string
	lock bool // a get or a scan that locks what it finds

	table *schema.Table
	row   int // in writer.rows, of statements on one row
	// group and exprs are what an update changes; content is what an insertion or an upsert writes, nil for groups that an upsert
	// leaves as they are.
	group   int
	exprs   []schema.Expr
	content [][]any
	where   schema.Predicate
	partial bool // rows may be left out that fulfil the conditions

	// reads and writes are the operations that it stands for.
	reads, writes []cell
	omitted       map[int]bool // rows that it also found, and whose operations are left out
	// returned says what it returned in the recorded run; "" if it returned nothing, or that is not known.
	returned string
	recorded string // the same, of a scan
	counted  int    // of a count
}

// cell is the content of a group of a row, as an operation read or wrote it.
type cell struct {
	row, group int
	text       string // "" for absence
	not        bool   // something else was read
	op         history.Op
}

// plain reports whether a statement only reads, and takes no lock.
func (s *statement) plain() bool {
	return !s.lock && (s.action == get || s.action == scan || s.action == count)
}

// keyed reports whether a statement is on one row.
func (s *statement) keyed() bool {
	return slices.Contains([]action{get, insert, upsert, update, remove}, s.action)
}

// way is the statements by which a transaction can have done some operations.
type way []*statement

// unit is some operations of a transaction with the ways by which it can have done them, the likeliest first.
type unit []way

// transaction returns the units of the transaction at index i, with its begin and end.
func (w *writer) transaction(i int, isolation string) (out []unit) {
	t := &w.h.Txns[i]
	ops := w.h.Ops(t)
	there := map[string]bool{} // what is known of rows: whether they are there
	done := 0
	plain := func(to int) {
		for done < to {
			var u unit
			u, done = w.operation(i, ops, done, to, there)
			out = append(out, u)
		}
	}
	first := &statement{action: begin, sql: strings.Join(w.db.begin(isolation), ";\n")} // one step, whatever it takes
	out = append(out, unit{{first}})
	if look := w.look(i); look != nil { // it may have taken the snapshot
		out[0] = append(out[0], way{first, look})
	}
	predicates := w.h.Predicates(i)
	for n := range predicates {
		p := &predicates[n]
		if p.Ops[0] < done { // statements that overlap are not judged
			continue
		}
		plain(p.Ops[0])
		if u := w.scan(i, n, p, ops[p.Ops[0]:p.Ops[1]]); u != nil {
			out = append(out, u)
		}
		done = p.Ops[1]
	}
	plain(len(ops))
	last := &statement{action: end, sql: "COMMIT"}
	if t.Status == history.Aborted {
		last.sql = "ROLLBACK"
	}
	return append(out, unit{{last}})
}

// cells are operations as cells.
func (w *writer) cells(ops []history.Op) (reads, writes []cell) {
	for _, op := range ops {
		p := w.place(op.Key)
		c := cell{row: w.rowOf(p), group: p.Group, not: op.Kind == history.ReadNot, op: op}
		if op.Value != history.Absent {
			c.text = spell(w.content(p, op.Value))
		}
		if op.Kind == history.Write {
			writes = append(writes, c)
		} else {
			reads = append(reads, c)
		}
	}
	return reads, writes
}

// value spells what a read found.
func (w *writer) value(op history.Op) string {
	switch text := w.h.ValueText(op.Value); {
	case op.Kind == history.ReadNot:
		return "something other than " + text
	case op.Value == history.Absent:
		return "no row"
	default:
		return text
	}
}

// returned spells what a statement with conditions returned; ops are its operations.
func (w *writer) returned(p *history.Predicate, ops []history.Op) string {
	switch {
	case p.Kind == history.ScanCount && p.Partial:
		return fmt.Sprintf("%d, of all rows of the recorded run", p.Count)
	case p.Kind == history.ScanCount:
		return fmt.Sprint(p.Count)
	case p.Kind != history.ScanRead:
		return ""
	}
	var rows []string
	for _, op := range ops[p.Implied:] {
		if op.Kind == history.Read && op.Value != history.Absent {
			rows = append(rows, fmt.Sprintf("%q = %s", w.h.KeyName(op.Key), w.value(op)))
		}
	}
	if len(p.Omitted) > 0 {
		rows = append(rows, "rows that are left out here")
	}
	if len(rows) == 0 {
		return "no row"
	}
	return strings.Join(rows, ", ")
}

// scan returns the unit of predicate n of the transaction at index i, with its operations. An update whose rows got values
// that one statement cannot give them is one of each row.
func (w *writer) scan(i, n int, p *history.Predicate, ops []history.Op) unit {
	d := w.db.dialect
	t, ok := w.schema().Table(p.Table)
	if !ok {
		w.note("A statement with conditions on keys is not written as SQL.")
		w.lossy = true
		return nil
	}
	w.use(t)
	var groups []int
	for g := range t.Groups {
		if slices.Contains(p.Groups, t.Groups[g].Name) {
			groups = append(groups, g)
		}
	}
	if len(groups) == 0 { // it is not known which
		groups = t.All()
	}
	s := &statement{action: scan, table: t, where: p.Predicate, partial: p.Partial, omitted: map[int]bool{}}
	s.reads, s.writes = w.cells(ops)
	for _, name := range p.Omitted {
		if q, ok := w.schema().ParseItem(name); ok {
			s.omitted[w.rowOf(q)] = true
		}
	}
	s.sql, s.returned = w.spelled(d.Scan(t, p.Predicate, groups)), w.returned(p, ops)
	s.recorded = s.returned
	switch p.Kind {
	case history.ScanCount:
		s.action, s.counted, s.sql = count, p.Count, w.spelled(d.Count(t, p.Where))
	case history.ScanDelete:
		s.action, s.sql = removeWhere, w.spelled(d.New().Add("DELETE FROM ").Name(t.Name).Where(p.Where).Done())
	case history.ScanUpdate:
		s.group = groups[0]
		if s.exprs = w.exprs(i, n, s, p, ops); s.exprs != nil {
			both := *s
			both.action, both.sql, both.returned = updateWhere, w.spelled(d.Update(t, s.group, s.exprs).Where(p.Where).Done()), ""
			if len(s.writes) > 0 {
				return unit{{&both}}
			}
			return unit{{&both}, {locked(s)}, {s}}
		}
		if len(s.writes) == 0 { // it changed nothing that is known
			return unit{{locked(s)}, {s}}
		}
		w.note("An update whose rows got different values is written as a scan and an update of each row.")
		each := way{s}
		for _, c := range s.writes {
			each = append(each, w.update(c, schema.Sets(w.content(w.place(c.op.Key), c.op.Value)...)))
		}
		s.writes = nil
		return unit{each}
	}
	return unit{{s}}
}

// locked is a scan that also locks the rows.
func locked(s *statement) *statement {
	l := *s
	l.lock, l.sql = true, s.sql+" FOR UPDATE"
	return &l
}

// look returns a read of a row that the transaction had read before what is kept of it, or nil. What it returned is left
// out.
func (w *writer) look(i int) *statement {
	ops := w.whole[i].ops
	if len(ops) <= len(w.h.Ops(&w.h.Txns[i])) {
		return nil
	}
	for _, op := range ops {
		if op.kind != history.Read {
			continue
		}
		p, ok := w.schema().ParseItem(op.key)
		if !ok {
			continue
		}
		w.use(p.Table)
		return &statement{action: get, table: p.Table, row: w.rowOf(p), group: p.Group, sql: w.spelled(w.db.dialect.Get(p.Table, p.Key, []int{p.Group}))}
	}
	return nil
}

// exprs returns what an update of rows that fulfil conditions set a group to: constants, or sums with what was there. It
// returns nil if it was neither.
func (w *writer) exprs(i, n int, s *statement, p *history.Predicate, ops []history.Op) []schema.Expr {
	var sums []schema.Expr
	kept := ops[p.Implied:]
	for j := range kept {
		if j > 0 && kept[j].Kind == history.Write && kept[j-1].Kind == history.Read && kept[j-1].Key == kept[j].Key {
			q := w.place(kept[j].Key)
			sums = sum(w.content(q, kept[j-1].Value), w.content(q, kept[j].Value))
		}
	}
	if sums == nil {
		sums = w.whole[i].sums(w, n)
	}
	same := true
	for _, c := range s.writes {
		same = same && c.text == s.writes[0].text && c.group == s.group
	}
	switch {
	case sums != nil:
		return sums
	case len(s.writes) == 0:
		return w.whole[i].sets(w, n)
	case same && s.writes[0].text != "":
		return schema.Sets(w.content(w.place(s.writes[0].op.Key), s.writes[0].op.Value)...)
	}
	return nil
}

// sum returns what was added to integers, or nil if that cannot be.
func sum(before, after []any) (out []schema.Expr) {
	for i := range after {
		a, isA := before[i].(int64)
		b, isB := after[i].(int64)
		if !isA || !isB {
			return nil
		}
		out = append(out, schema.Add(b-a))
	}
	return out
}
