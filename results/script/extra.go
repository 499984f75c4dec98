package script

import (
	"slices"

	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/schema"
)

// A part of a history lacks transactions that wrote rows which others update or delete. If nobody writes what these rows
// then held, rows of any content can stand for them: what is unread can be added to a violation, and it stays one.

// extraRow is a row that exists at first.
type extraRow struct {
	row    int
	groups [][]any
}

// extra is what is added to a history.
type extra struct {
	rows   []extraRow
	others []other
}

// other is a transaction of one statement.
type other struct {
	*statement
	whose need
}

// need is a row that a statement changes.
type need struct {
	extraRow
	txn, unit int        // of the statement
	s         *statement // it
	written   bool       // a transaction of the history inserts it, too
	again     bool       // it exists at first, or an earlier statement needs it
}

// initial returns what the rows hold at first, nil for those that are not there.
func (w *writer) initial(more []extraRow) []*version {
	out := make([]*version, len(w.rows))
	set := func(row int) *version {
		if out[row] == nil {
			out[row] = &version{groups: filled(w.rows[row].table, make([][]any, len(w.rows[row].table.Groups)))}
		}
		return out[row]
	}
	for k := range w.h.KeyCount() {
		if v := w.h.Initial(history.Key(k)); v != history.Absent {
			p := w.place(history.Key(k))
			row := w.rowOf(p)
			if row == len(out) {
				out = append(out, nil)
			}
			set(row).groups[p.Group] = w.content(p, v)
		}
	}
	for _, x := range more {
		if out[x.row] == nil {
			copy(set(x.row).groups, x.groups)
		}
	}
	return out
}

// needs lists the rows that statements change, with a content that these statements find, as far as they may be absent.
func (x *search) needs() (out []need) {
	w := x.w
	initial := w.initial(nil)
	inserted, removed := map[int]bool{}, map[int]int{}
	for _, units := range x.txns {
		for _, u := range units {
			for _, s := range u[0] {
				if s.action == insert || s.action == upsert {
					inserted[s.row] = true
				}
				for _, c := range s.writes {
					if c.text == "" {
						removed[c.row]++
					}
				}
			}
		}
	}
	known := func(r extraRow) bool { // somebody may read it
		for g, values := range r.groups {
			if x.mentioned[cell{row: r.row, group: g, text: spell(values)}] {
				return true
			}
		}
		return false
	}
	for i, units := range x.txns {
		predicate := -1
		for n, u := range units {
			for _, s := range u[0] {
				if s.action == scan || s.action == count || s.action == updateWhere || s.action == removeWhere {
					predicate++
				}
				if !slices.Contains([]action{update, remove, updateWhere, removeWhere}, s.action) {
					continue
				}
				cells := slices.Clone(s.writes)
				for _, c := range s.reads { // it may have waited for a row that another transaction changed
					if s.action == updateWhere && !c.not && c.text != "" && inserted[c.row] {
						cells = append(cells, c)
					}
				}
				for _, c := range cells {
					if initial[c.row] != nil && removed[c.row] == 0 {
						continue
					}
					n := need{extraRow: extraRow{c.row, w.matching(s, c.row)}, txn: i, unit: n, s: s, written: inserted[c.row]}
					n.again = initial[c.row] != nil || slices.ContainsFunc(out, func(n need) bool { return n.row == c.row })
					text, ok := w.whole[i].before(predicate, w.h.KeyName(c.op.Key))
					if !ok {
						text, ok = w.earliest(w.h.KeyName(c.op.Key))
					}
					if ok {
						groups := slices.Clone(n.groups)
						groups[c.group] = w.parse(w.place(c.op.Key), text)
						if s.keyed() || s.where.Matches(s.table, schema.Row{Key: w.rows[c.row].key, Groups: groups}) {
							n.groups = groups
						}
					}
					if known(n.extraRow) {
						n.groups = w.matching(s, c.row)
					}
					if known(n.extraRow) {
						continue
					}
					out = append(out, n)
				}
			}
		}
	}
	return out
}

// matching returns a content of a row that fulfils the conditions of a statement, if it has any, and is far from those of
// others.
func (w *writer) matching(s *statement, row int) [][]any {
	t := w.rows[row].table
	groups := filled(t, make([][]any, len(t.Groups)))
	for g := range groups {
		groups[g] = slices.Clone(groups[g])
		for i, c := range t.Groups[g].Columns {
			if c.Type == schema.Int && !c.Null {
				groups[g][i] = int64(-1_000_003 - row)
			}
		}
	}
	for _, c := range s.where.Where {
		g, i, ok := t.Column(c.Column)
		if !ok || g < 0 || c.Holds(groups[g][i]) {
			continue
		}
		for _, v := range candidates(c) {
			if s.where.Matches(t, schema.Row{Key: w.rows[row].key, Groups: with(groups, g, i, v)}) {
				groups = with(groups, g, i, v)
				break
			} else if c.Holds(v) { // other conditions come later
				groups = with(groups, g, i, v)
			}
		}
	}
	return groups
}

// with returns a content with another value of a column.
func with(groups [][]any, g, i int, v any) [][]any {
	groups = slices.Clone(groups)
	groups[g] = slices.Clone(groups[g])
	groups[g][i] = v
	return groups
}

// candidates are values that may fulfil a condition.
func candidates(c schema.Condition) (out []any) {
	for _, v := range c.Constants() {
		switch v := v.(type) {
		case int64:
			out = append(out, v, v+1, v-1)
		case string:
			out = append(out, v, v+"x", "")
		}
	}
	return append(out, nil, int64(0), "")
}

// variants are the extras to try, the smallest first.
func (w *writer) variants(needs []need) (out []extra) {
	var least, all []extraRow
	var others, again []other
	for _, n := range needs {
		s := &statement{action: upsert, table: w.rows[n.row].table, row: n.row, content: n.groups}
		s.sql = w.spelledPut(s)
		others = append(others, other{s, n})
		if n.again {
			again = append(again, other{s, n})
			continue
		}
		all = append(all, n.extraRow)
		if !n.written {
			least = append(least, n.extraRow)
		}
	}
	out = append(out, extra{rows: least})
	if len(all) > len(least) {
		out = append(out, extra{rows: all})
	}
	if len(again) > 0 {
		out = append(out, extra{rows: least, others: again})
	}
	if len(needs) > 0 {
		out = append(out, extra{others: others}, extra{rows: least, others: others})
	}
	return out
}

// helps reports whether a transaction that is not of the history may be of use now: the one that needs its row may begin,
// has not reached the statement, and would not find the row.
func (x *search) helps(s *state, o other) bool {
	n := o.whose
	if s.at[n.txn].unit > n.unit || slices.ContainsFunc(x.after[n.txn], func(j int) bool { return !x.ended(s, j) }) {
		return false
	}
	v := s.rows[n.row]
	return v == nil || !n.s.where.Matches(n.s.table, schema.Row{Key: x.w.rows[n.row].key, Groups: v.groups})
}
