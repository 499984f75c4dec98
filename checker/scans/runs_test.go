package scans_test

import (
	"math/rand/v2"
	"slices"

	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/schema"
)

func keyOf(table, n int) any {
	if table == 0 {
		return int64(n)
	}
	return string(rune('a'+n)) + "'"
}

func content(rng *rand.Rand, table, group int) []any {
	n := int64(rng.IntN(4))
	if table == 1 && group == 0 {
		var x any = n % 2
		if n == 3 {
			x = nil
		}
		return []any{x, []string{"", "p", "q,"}[rng.IntN(3)]}
	}
	return []any{n}
}

func newRow(rng *rand.Rand, table int, key any) schema.Row {
	r := schema.Row{Key: []any{key}}
	for g := range tables[table].Groups {
		r.Groups = append(r.Groups, content(rng, table, g))
	}
	return r
}

// newRun runs transactions one after another, some of them on an older state than the latest one,
// and changes some results.
func newRun(rng *rand.Rand, lvl level.Level) *run { return newRunOf(rng, lvl, 2+rng.IntN(3)) }

// newRunOf makes a run of n transactions.
func newRunOf(rng *rand.Rand, lvl level.Level, n int) *run {
	return newRunWith(rng, lvl, n, newStatement, 0)
}

// newRunWith makes a run of n transactions with the statements that next makes. If torn is not 0, one in torn
// statements sees another state than its transaction.
func newRunWith(rng *rand.Rand, lvl level.Level, n int, next func(rng *rand.Rand, one int, view state) statement, torn int) *run {
	r := &run{}
	for i := range r.initial {
		r.initial[i] = map[any]schema.Row{}
		for n := range 3 {
			if rng.IntN(2) == 0 {
				k := keyOf(i, n)
				r.initial[i][k] = newRow(rng, i, k)
			}
		}
	}
	states := []state{r.initial}
	one := rng.IntN(2) // most statements are on one table
	for i := range n {
		x := transaction{session: int64(rng.IntN(n)), status: history.Committed, begin: history.NoTime, end: history.NoTime}
		if rng.IntN(8) == 0 {
			x.status = []history.Status{history.Unknown, history.Aborted}[rng.IntN(2)]
		}
		if lvl.RealTime() && x.status == history.Committed {
			x.begin, x.end = int64(10*i+10-rng.IntN(12)), int64(10*i+10+rng.IntN(12))
		}
		latest := states[len(states)-1]
		view, after := states[max(0, len(states)-1-rng.IntN(3)/2*rng.IntN(3))].clone(), latest.clone()
		for range 1 + rng.IntN(3) {
			sees := view
			if torn > 0 && rng.IntN(torn) == 0 {
				sees = states[rng.IntN(len(states))].clone()
				for i := range x.statements {
					sees.apply(&x.statements[i])
				}
			}
			s := next(rng, one, sees)
			view.apply(&s)
			after.apply(&s)
			x.statements = append(x.statements, s)
		}
		r.txns = append(r.txns, x)
		if x.status == history.Committed || x.status == history.Unknown && rng.IntN(2) == 0 {
			states = append(states, after)
		}
	}
	if lvl.RealTime() {
		r.apart()
	}
	return r
}

// apart makes transactions of one session not overlap.
func (r *run) apart() {
	end := map[int64]int64{}
	for i := range r.txns {
		x := &r.txns[i]
		if x.begin == history.NoTime {
			continue
		}
		x.begin = max(x.begin, end[x.session])
		x.end = max(x.end, x.begin)
		end[x.session] = x.end
	}
}

func newStatement(rng *rand.Rand, one int, view state) statement {
	s := statement{table: one}
	if rng.IntN(5) == 0 {
		s.table = 1 - one
	}
	t := tables[s.table]
	s.key, s.group = keyOf(s.table, rng.IntN(3)), rng.IntN(len(t.Groups))
	old, exists := view[s.table][s.key]
	old.Groups = slices.Clone(old.Groups)
	switch kind := rng.IntN(10); {
	case kind == 0:
		s.kind, s.row, s.found = "get", old, exists
		if rng.IntN(10) == 0 && exists {
			s.row = newRow(rng, s.table, s.key)
		}
	case kind < 3 && exists:
		s.kind, s.row, s.found, s.to = "set", old, true, content(rng, s.table, s.group)
	case kind < 4 && exists:
		s.kind = "delete"
	case kind < 5:
		s.kind, s.row = "insert", newRow(rng, s.table, s.key)
	default:
		s.scan(rng, view, kind > 8)
	}
	return s
}

// scan makes s a scan or an update with conditions.
func (s *statement) scan(rng *rand.Rand, view state, update bool) {
	t := tables[s.table]
	group := rng.IntN(len(t.Groups)) // of the conditions
	columns := append(slices.Clone(t.Groups[group].Columns), t.Key...)
	if len(t.Groups) > 1 && rng.IntN(4) > 0 {
		columns = append(columns, t.Groups[1-group].Columns...)
	}
	for range rng.IntN(3) {
		c := columns[rng.IntN(len(columns))]
		s.where.Where = append(s.where.Where, condition(rng, s.table, &c))
	}
	switch s.kind = "scan"; {
	case update && rng.IntN(3) == 0:
		s.kind = "remove"
	case update:
		s.kind, s.to = "update", content(rng, s.table, s.group)
	case rng.IntN(3) == 0:
		s.kind = "count"
		if s.count = len(view.selects(s)); rng.IntN(8) == 0 {
			s.count = max(0, s.count-1+rng.IntN(3))
		}
		return
	case rng.IntN(3) == 0:
		if rng.IntN(4) > 0 {
			s.where.Limit = 1 + rng.IntN(2)
		}
		if c := columns[rng.IntN(len(columns))]; rng.IntN(4) > 0 && !c.Null {
			s.where.Order = []string{[]string{"", "-"}[rng.IntN(2)] + c.Name}
		}
	}
	if len(t.Groups) > 1 && s.kind == "scan" && rng.IntN(3) == 0 {
		s.unread = 1 + rng.IntN(len(t.Groups))
		ordered := schema.Predicate{Order: s.where.Order}.Columns(t)
		if slices.Contains(ordered, s.unread-1) {
			s.unread = 0
		}
	}
	s.rows = view.selects(s)
	if n := len(s.rows); n > 1 && rng.IntN(20) == 0 {
		s.rows[0], s.rows[n-1] = s.rows[n-1], s.rows[0]
	}
	switch rng.IntN(14) {
	case 0:
		if n := len(s.rows); n > 0 {
			i := rng.IntN(n)
			s.rows = slices.Delete(s.rows, i, i+1)
		}
	case 1:
		k := keyOf(s.table, rng.IntN(3))
		if !slices.ContainsFunc(s.rows, func(r schema.Row) bool { return r.Key[0] == k }) {
			s.rows = append(s.rows, newRow(rng, s.table, k))
		}
	case 2:
		if n := len(s.rows); n > 0 && rng.IntN(2) == 0 {
			s.repeat(rng)
		}
	}
	if s.where.Limit > 0 && len(s.rows) > s.where.Limit && rng.IntN(20) > 0 {
		s.rows = s.rows[:s.where.Limit]
	}
}

// repeat makes a statement have one of its rows twice, with the same content or with another one.
func (s *statement) repeat(rng *rand.Rand) {
	row := s.rows[rng.IntN(len(s.rows))]
	if rng.IntN(3) == 0 {
		row = newRow(rng, s.table, row.Key[0])
	}
	s.rows = slices.Insert(s.rows, rng.IntN(len(s.rows)+1), row)
}

// condition makes a condition on a column.
func condition(rng *rand.Rand, table int, c *schema.Column) schema.Condition {
	value := func() any {
		switch {
		case c.Name == "k":
			return keyOf(table, rng.IntN(3))
		case c.Type == schema.Text:
			return []string{"", "p", "q,"}[rng.IntN(3)]
		}
		return int64(rng.IntN(4))
	}
	out := schema.Condition{Column: c.Name, Op: schema.Comparisons[rng.IntN(len(schema.Comparisons))]}
	switch out.Op {
	case "in":
		list := []any{}
		for range rng.IntN(3) {
			list = append(list, value())
		}
		out.Value = list
	case "between":
		out.Value = []any{value(), value()}
	case "is-null", "is-not-null":
	case "like-prefix":
		if c.Type == schema.Int {
			return schema.IsNotNull(c.Name)
		}
		out.Value = []any{"", "p", "q", "a"}[rng.IntN(4)]
	default:
		out.Value = value()
	}
	return out
}
