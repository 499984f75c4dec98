package script

import (
	"fmt"
	"slices"
	"strings"

	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/schema"
)

// row is a row of a table.
type row struct {
	table *schema.Table
	key   []any
}

// rowOf returns the number of a row.
func (w *writer) rowOf(p schema.Place) int {
	n, ok := w.byRow[p.Row]
	if !ok {
		n = len(w.rows)
		w.byRow[p.Row], w.rows = n, append(w.rows, row{p.Table, p.Key})
	}
	return n
}

// full is what a transaction did in the whole history.
type full struct {
	ops        []fullOp
	predicates [][]fullOp // without what follows from the conditions
}

type fullOp struct {
	kind        history.OpKind
	key, value  string
	absent, one bool // one: it is of a statement on one row
}

// fill reads the whole transactions.
func (w *writer) fill(whole *history.History) {
	at := map[int64]int{}
	for i := range w.h.Txns {
		at[w.h.Txns[i].ID] = i
	}
	for j := range whole.Txns {
		i, ok := at[whole.Txns[j].ID]
		if !ok {
			continue
		}
		f := &w.whole[i]
		for _, op := range whole.Ops(&whole.Txns[j]) {
			f.ops = append(f.ops, fullOp{op.Kind, whole.KeyName(op.Key), whole.ValueText(op.Value), op.Value == history.Absent, true})
		}
		for _, p := range whole.Predicates(j) {
			for n := p.Ops[0]; n < p.Ops[1]; n++ {
				f.ops[n].one = false
			}
			f.predicates = append(f.predicates, f.ops[p.Ops[0]+p.Implied:p.Ops[1]])
		}
	}
}

// wrote returns what a transaction wrote to an item just after it had read a value of it, in statements on one row. A write
// of a read of the same statement looks like this.
func (f *full) wrote(key, value string) (text string, ok bool) {
	for n := 1; n < len(f.ops); n++ {
		r, w := &f.ops[n-1], &f.ops[n]
		if r.one && w.one && r.kind == history.Read && w.kind == history.Write && !w.absent && r.key == key && w.key == key && r.value == value {
			return w.value, true
		}
	}
	return "", false
}

// Beside says of reads of rows in part of a history that their transactions wrote these rows next, which the part does not
// have: the statement that read may be the one that wrote. whole has all operations of the transactions; it may be nil.
func Beside(part, whole *history.History) (out []string) {
	if whole == nil {
		return nil
	}
	w := newWriter(part, whole, nil)
	for i := range part.Txns {
		ops := part.Ops(&part.Txns[i])
		said := map[history.Key]bool{}
		for n, op := range ops {
			p, _ := part.PredicateOf(i, n)
			if op.Kind != history.Read || p != nil || said[op.Key] || w.place(op.Key).Table == w.kv ||
				slices.ContainsFunc(ops, func(o history.Op) bool { return o.Kind == history.Write && o.Key == op.Key }) {
				continue
			}
			name := part.KeyName(op.Key)
			if _, ok := w.whole[i].wrote(name, part.ValueText(op.Value)); ok {
				said[op.Key] = true
				read, such := "had read it", "an UPDATE or an INSERT that overwrites"
				if op.Value == history.Absent {
					read, such = "had found it absent", "an INSERT"
				}
				out = append(out, fmt.Sprintf("T%d wrote %s itself just after it %s, perhaps in the same statement, such as %s. The violation does not need this write.", part.Txns[i].ID, name, read, such))
			}
		}
	}
	return out
}

// sums returns what the statement with conditions n added to what was there, or nil.
func (f *full) sums(w *writer, n int) []schema.Expr {
	if n >= len(f.predicates) {
		return nil
	}
	ops := f.predicates[n]
	for j := 1; j < len(ops); j++ {
		if a, b := &ops[j-1], &ops[j]; a.kind == history.Read && b.kind == history.Write && a.key == b.key && !a.absent && !b.absent {
			p := w.named(a.key)
			return sum(w.parse(p, a.value), w.parse(p, b.value))
		}
	}
	return nil
}

// sets returns the constants to which the statement with conditions n set a group, or nil.
func (f *full) sets(w *writer, n int) []schema.Expr {
	if n >= len(f.predicates) {
		return nil
	}
	for _, op := range f.predicates[n] {
		if op.kind == history.Write && !op.absent {
			return schema.Sets(w.parse(w.named(op.key), op.value)...)
		}
	}
	return nil
}

// before returns what statement n with conditions read of an item that it changed.
func (f *full) before(n int, key string) (text string, ok bool) {
	if n >= 0 && n < len(f.predicates) {
		for _, op := range f.predicates[n] {
			if op.kind == history.Read && op.key == key && !op.absent {
				return op.value, true
			}
		}
	}
	return "", false
}

// earliest returns what the first statement with conditions that changed an item had read of it.
func (w *writer) earliest(key string) (text string, ok bool) {
	for i := range w.whole {
		for n := range w.whole[i].predicates {
			if text, ok = w.whole[i].before(n, key); ok {
				return text, true
			}
		}
	}
	return "", false
}

// operation returns the unit of the operation at index n of the transaction at index i, and the index after the operations
// that belong to it.
func (w *writer) operation(i int, ops []history.Op, n, to int, there map[string]bool) (unit, int) {
	op := ops[n]
	p := w.place(op.Key)
	known, found := there[p.Row]
	if op.Kind != history.Write {
		there[p.Row] = op.Kind == history.ReadNot || op.Value != history.Absent
		return w.read(i, ops, n, to, there)
	}
	if op.Value == history.Absent {
		there[p.Row] = false
		end := n + 1
		for end < to && ops[end].Kind == history.Write && ops[end].Value == history.Absent && w.place(ops[end].Key).Row == p.Row {
			end++
		}
		return unit{{w.remove(ops[n:end])}}, end
	}
	there[p.Row] = true
	if found && known || !found && w.h.Initial(op.Key) != history.Absent {
		_, writes := w.cells(ops[n : n+1])
		return unit{{w.update(writes[0], schema.Sets(w.content(p, op.Value)...))}, {w.upsert(ops[n:n+1], nil)}}, n + 1
	}
	// The row is absent as far as is known: one insertion writes all groups of it.
	end := w.sameRow(ops, n, to)
	if found {
		return unit{{w.insert(ops[n:end], nil)}, {w.upsert(ops[n:end], nil)}}, end
	}
	return unit{{w.upsert(ops[n:end], nil)}}, end
}

// sameRow returns the index after the writes to different groups of a row that begin at n.
func (w *writer) sameRow(ops []history.Op, n, to int) int {
	p, seen := w.place(ops[n].Key), map[int]bool{}
	for ; n < to && ops[n].Kind == history.Write && ops[n].Value != history.Absent; n++ {
		q := w.place(ops[n].Key)
		if q.Row != p.Row || seen[q.Group] {
			break
		}
		seen[q.Group] = true
	}
	return n
}

// read returns the unit of a read, and of the write of the same statement: of the part, or else of the whole history.
func (w *writer) read(i int, ops []history.Op, n, to int, there map[string]bool) (unit, int) {
	op := ops[n]
	p := w.place(op.Key)
	selects, locks := way{w.get(op, false)}, way{w.get(op, true)}
	if op.Kind == history.ReadNot || p.Table == w.kv {
		return unit{selects}, n + 1
	}
	kept := n+1 < to && ops[n+1].Kind == history.Write && ops[n+1].Key == op.Key && ops[n+1].Value != history.Absent
	var after string
	paired := kept
	if kept {
		after = w.h.ValueText(ops[n+1].Value)
	} else {
		after, paired = w.whole[i].wrote(w.h.KeyName(op.Key), w.h.ValueText(op.Value))
	}
	if !paired {
		u := unit{selects}
		if op.Value == history.Absent { // of a statement that would have changed the row, perhaps
			u = append(u, locks)
		}
		return u, n + 1
	}
	var both *statement // the read and the write
	likely := false     // it is one statement, and not two
	values := w.parse(p, after)
	group := &p.Table.Groups[p.Group]
	text := len(group.Columns) == 1 && group.Columns[0].Type == schema.Text
	reads, writes := w.cells(ops[n : n+1])
	if kept {
		_, writes = w.cells(ops[n+1 : n+2])
	}
	if op.Value == history.Absent {
		if len(p.Table.Groups) == 1 {
			likely = text || w.h.Workload == "scan"
			both = w.insert(ops[n:n+1], [][]any{values})
			both.writes = writes
		}
	} else {
		before := w.content(p, op.Value)
		var exprs []schema.Expr
		if a, ok := before[0].(string); ok && text {
			if b, ok := values[0].(string); ok && a != b && strings.HasPrefix(b, a) {
				exprs, likely = []schema.Expr{schema.Append(strings.TrimPrefix(b, a))}, true
			}
		} else {
			exprs = sum(before, values)
		}
		if exprs != nil {
			both = w.update(cell{row: reads[0].row, group: p.Group}, exprs)
			if both.reads, both.writes = reads, writes; w.db.returning != nil && len(exprs) == 1 {
				both.sql = w.db.returning(w, p.Table, p.Group, exprs[0], p.Key)
				both.returned = after
			}
		}
	}
	apart := unit{selects, locks}
	next := n + 1
	if kept {
		u, end := w.operation(i, ops, n+1, to, there)
		next, apart = end, nil
		for _, first := range []way{selects, locks} {
			for _, second := range u {
				apart = append(apart, slices.Concat(first, second))
			}
		}
		if end > n+2 { // an insertion of several groups
			both = nil
		}
	}
	switch {
	case both == nil:
		return apart, next
	case likely:
		return append(unit{{both}}, apart...), next
	}
	return append(slices.Clone(apart[:1]), append(unit{{both}}, apart[1:]...)...), next
}

// get reads the item of an operation. If lock is set, it also locks the row, and reads it as statements that write do.
func (w *writer) get(op history.Op, lock bool) *statement {
	p := w.place(op.Key)
	s := &statement{action: get, table: p.Table, row: w.rowOf(p), group: p.Group, lock: lock, returned: w.value(op)}
	s.sql = w.spelled(w.db.dialect.Get(p.Table, p.Key, []int{p.Group}))
	if lock {
		s.sql += " FOR UPDATE"
	}
	s.reads, _ = w.cells([]history.Op{op})
	return s
}

// remove deletes the row of operations.
func (w *writer) remove(ops []history.Op) *statement {
	p := w.place(ops[0].Key)
	s := &statement{action: remove, table: p.Table, row: w.rowOf(p), sql: w.spelled(w.db.dialect.Delete(p.Table, p.Key).Done())}
	_, s.writes = w.cells(ops)
	return s
}

// update changes the group of a cell.
func (w *writer) update(c cell, exprs []schema.Expr) *statement {
	r := w.rows[c.row]
	s := &statement{action: update, table: r.table, row: c.row, group: c.group, exprs: exprs, writes: []cell{c}}
	s.sql = w.spelled(w.db.dialect.Update(r.table, c.group, exprs).Key(r.table, r.key).Done())
	return s
}

// insert adds the row of operations, which they write, or which has the content.
func (w *writer) insert(ops []history.Op, content [][]any) *statement {
	return w.put(insert, ops, content)
}

// upsert is insert, but it overwrites a row that is there.
func (w *writer) upsert(ops []history.Op, content [][]any) *statement {
	return w.put(upsert, ops, content)
}

func (w *writer) put(a action, ops []history.Op, content [][]any) *statement {
	p := w.place(ops[0].Key)
	s := &statement{action: a, table: p.Table, row: w.rowOf(p), content: content}
	s.reads, s.writes = w.cells(ops)
	if content == nil {
		s.content = make([][]any, len(p.Table.Groups))
		for _, op := range ops {
			q := w.place(op.Key)
			s.content[q.Group] = w.content(q, op.Value)
		}
	}
	s.sql = w.spelledPut(s)
	return s
}

// spelledPut spells an insertion or an upsert.
func (w *writer) spelledPut(s *statement) string {
	d, t := w.db.dialect, s.table
	b := d.Insert(t, schema.Row{Key: w.rows[s.row].key, Groups: filled(t, s.content)})
	if s.action == upsert {
		var key []string
		for _, c := range t.Key {
			key = append(key, d.Quote+c.Name+d.Quote)
		}
		b.Add(w.db.upsert(strings.Join(key, ", ")))
		first := true
		for g := range t.Groups {
			for i, v := range s.content[g] {
				if !first {
					b.Add(", ")
				}
				first = false
				b.Name(t.Groups[g].Columns[i].Name).Add(" = ").Value(v)
			}
		}
	}
	return w.spelled(b.Done())
}

// filled has something in each group.
func filled(t *schema.Table, content [][]any) [][]any {
	content = slices.Clone(content)
	for g := range content {
		if content[g] == nil {
			content[g] = blank(&t.Groups[g])
		}
	}
	return content
}
