package script

import (
	"fmt"
	"slices"
	"strings"

	"github.com/isohound/isohound/drivers/sqltable"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/schema"
)

// statement is a statement of a transaction.
type statement struct {
	sql string
	// ops are the operations that it stands for.
	ops []history.Op
	// returned says what it returned in the recorded run; "" if it returned nothing, or that is not known.
	returned string
}

// reads reports whether a statement only reads.
func (s statement) reads() bool { return strings.HasPrefix(s.sql, "SELECT") }

// writes reports whether a statement writes something.
func (s statement) writes() bool {
	return slices.ContainsFunc(s.ops, func(op history.Op) bool { return op.Kind == history.Write })
}

// transaction returns the statements of the transaction at index i, without its begin and end.
func (w *writer) transaction(i int) (out []statement) {
	ops := w.h.Ops(&w.h.Txns[i])
	there := map[string]bool{} // what is known of rows: whether they are there
	done := 0
	plain := func(to int) {
		for done < to {
			from := done
			var s statement
			s.sql, done = w.operation(ops, done, to, there)
			if s.ops = ops[from:done]; s.reads() {
				s.returned = w.value(ops[from])
			}
			out = append(out, s)
		}
	}
	predicates := w.h.Predicates(i)
	for n := range predicates {
		p := &predicates[n]
		if p.Ops[0] < done { // statements that overlap are not judged
			continue
		}
		plain(p.Ops[0])
		for _, sql := range w.scan(p, ops[p.Ops[0]:p.Ops[1]]) {
			out = append(out, statement{sql: sql})
		}
		if last := len(out) - 1; last >= 0 { // of several statements the last one stands for all
			out[last].ops, out[last].returned = ops[p.Ops[0]:p.Ops[1]], w.returned(p, ops[p.Ops[0]:p.Ops[1]])
		}
		done = p.Ops[1]
	}
	plain(len(ops))
	return out
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
	if p.Kind == history.ScanCount {
		if p.Partial {
			return fmt.Sprintf("%d, of all rows of the recorded run", p.Count)
		}
		return fmt.Sprint(p.Count)
	}
	if p.Kind != history.ScanRead {
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

// operation returns the statement of the operation at index n, and the index after the operations that belong to it.
func (w *writer) operation(ops []history.Op, n, to int, there map[string]bool) (string, int) {
	op, d := ops[n], w.db.dialect
	p := w.place(op.Key)
	known, found := there[p.Row], false
	_, found = there[p.Row]
	switch {
	case op.Kind == history.Read && op.Value != history.Absent && w.appends(p, ops, n, to):
		there[p.Row] = true
		before, after := w.content(p, op.Value)[0].(string), w.content(p, ops[n+1].Value)[0].(string)
		tail := strings.TrimPrefix(after, before)
		return w.spelled(d.Update(p.Table, p.Group, []schema.Expr{schema.Append(tail)}).Key(p.Table, p.Key).Done()), n + 2
	case op.Kind != history.Write:
		there[p.Row] = op.Kind == history.ReadNot || op.Value != history.Absent
		return w.spelled(d.Get(p.Table, p.Key, []int{p.Group})), n + 1
	case op.Value == history.Absent:
		there[p.Row] = false
		end := n + 1
		for end < to && ops[end].Kind == history.Write && ops[end].Value == history.Absent && w.place(ops[end].Key).Row == p.Row {
			end++
		}
		return w.spelled(d.Delete(p.Table, p.Key).Done()), end
	case found && known, !found && w.h.Initial(op.Key) != history.Absent:
		there[p.Row] = true
		return w.spelled(d.Update(p.Table, p.Group, schema.Sets(w.content(p, op.Value)...)).Key(p.Table, p.Key).Done()), n + 1
	}
	// The row is absent as far as is known: one insertion writes all groups of it.
	there[p.Row] = true
	row := schema.Row{Key: p.Key}
	for g := range p.Table.Groups {
		row.Groups = append(row.Groups, blank(&p.Table.Groups[g]))
	}
	end := n
	for end < to && ops[end].Kind == history.Write && ops[end].Value != history.Absent {
		q := w.place(ops[end].Key)
		if q.Row != p.Row || end > n && q.Group == p.Group {
			break
		}
		row.Groups[q.Group] = w.content(q, ops[end].Value)
		end++
	}
	b := d.Insert(p.Table, row)
	if !found { // another transaction may have inserted it
		w.upsert(b, p.Table, row)
	}
	return w.spelled(b.Done()), end
}

// upsert makes the insertion of a row overwrite one that is there.
func (w *writer) upsert(b *sqltable.Builder, t *schema.Table, row schema.Row) {
	var key []string
	for _, c := range t.Key {
		key = append(key, w.db.dialect.Quote+c.Name+w.db.dialect.Quote)
	}
	b.Add(w.db.upsert(strings.Join(key, ", ")))
	first := true
	for g := range t.Groups {
		for i, c := range t.Groups[g].Columns {
			if !first {
				b.Add(", ")
			}
			first = false
			b.Name(c.Name).Add(" = ").Value(row.Groups[g][i])
		}
	}
}

// appends reports whether operation n read a text and the next one appended to it.
func (w *writer) appends(p schema.Place, ops []history.Op, n, to int) bool {
	g := &p.Table.Groups[p.Group]
	if p.Table == w.kv || len(g.Columns) != 1 || g.Columns[0].Type != schema.Text || n+1 == to {
		return false
	}
	next := ops[n+1]
	if next.Kind != history.Write || next.Key != ops[n].Key || next.Value == history.Absent {
		return false
	}
	before, ok := w.content(p, ops[n].Value)[0].(string)
	after, isText := w.content(p, next.Value)[0].(string)
	return ok && isText && after != before && strings.HasPrefix(after, before)
}

// scan returns the statements of a predicate with its operations. An update whose rows got different values is one of
// each row.
func (w *writer) scan(p *history.Predicate, ops []history.Op) []string {
	d := w.db.dialect
	t, ok := w.schema().Table(p.Table)
	if !ok {
		w.note("A statement with conditions on keys is not written as SQL.")
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
	switch p.Kind {
	case history.ScanCount:
		return []string{w.spelled(d.Count(t, p.Where))}
	case history.ScanDelete:
		return []string{w.spelled(d.New().Add("DELETE FROM ").Name(t.Name).Where(p.Where).Done())}
	case history.ScanUpdate:
		var sets [][]any
		var each []string
		group := 0
		for _, op := range ops[min(p.Implied, len(ops)):] {
			if op.Kind != history.Write || op.Value == history.Absent {
				continue
			}
			at := w.place(op.Key)
			group = at.Group
			values := w.content(at, op.Value)
			if len(sets) == 0 || fmt.Sprint(sets[0]) != fmt.Sprint(values) {
				sets = append(sets, values)
			}
			each = append(each, w.spelled(d.Update(t, at.Group, schema.Sets(values...)).Key(t, at.Key).Where(nil).Done()))
		}
		switch len(sets) {
		case 0: // it changed nothing that is known
			return []string{w.spelled(d.Scan(t, p.Predicate, groups))}
		case 1:
			return []string{w.spelled(d.Update(t, group, schema.Sets(sets[0]...)).Where(p.Where).Done())}
		}
		w.note("An update whose rows got different values is written as a scan and an update of each row.")
		return append([]string{w.spelled(d.Scan(t, p.Predicate, groups))}, each...)
	}
	return []string{w.spelled(d.Scan(t, p.Predicate, groups))}
}
