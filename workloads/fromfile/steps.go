package fromfile

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/isohound/isohound/history/schema"
)

// step is a compiled statement.
type step struct {
	verb    verb
	text    string // as it is written
	guards  []guard
	table   *table
	key     []expr // of the row, if the statement names one by its whole key
	where   []test // else
	order   []string
	limit   int
	groups  []int    // SELECT reads them
	group   int      // UPDATE and an upsert write it
	sets    []assign // by column of the group
	values  [][]expr // INSERT, by group
	upsert  bool
	result  int // number of the result, or -1
	pattern schema.Predicate
}

// byCondition reports whether the statement selects rows by a condition.
func (s *step) byCondition() bool {
	return s.key == nil && s.verb != rollsBack
}

// test is a condition of a statement.
type test struct {
	column, op string
	values     []expr
}

// guard is a condition of if.
type guard struct {
	left, right expr
	op          string
}

// assign is what a column is set to. A stamp has no value.
type assign struct {
	kind  schema.ExprKind
	value expr
	minus bool
	stamp bool
}

// readStep compiles an entry of statements.
func (c *compiler) readStep(t *transaction, n *yaml.Node) {
	do, guards, as := n, (*yaml.Node)(nil), (*yaml.Node)(nil)
	if n.Kind == yaml.MappingNode {
		fields := c.fields(n, "a statement", "do", "as", "if")
		if do, guards, as = fields["do"], fields["if"], fields["as"]; do == nil {
			c.at(n, "a statement with as or if has its text under do")
			return
		}
	}
	text := c.scalar(do, "a statement")
	if text == nil {
		return
	}
	var written statement
	if m := parse(text.s, false, func(p *parser) { written = p.statement() }); m != nil {
		c.fail(text, m.at, "%s", m.text)
		return
	}
	s := &step{verb: written.verb, text: strings.Join(strings.Fields(text.s), " "), result: -1, group: -1}
	if when := c.scalar(guards, "if"); when != nil {
		c.readGuards(t, s, when)
	}
	if s.verb != rollsBack {
		if s.table = c.table(text, written.table); s.table == nil {
			return
		}
		before := len(c.list)
		switch s.verb {
		case selects, counts:
			c.compileSelect(t, s, text, &written)
		case inserts:
			c.compileInsert(t, s, text, &written)
		case updates:
			c.compileSets(t, s, text, written.sets)
			c.compileWhere(t, s, text, written.where)
		case deletes:
			c.compileWhere(t, s, text, written.where)
		}
		if len(c.list) > before {
			return
		}
		c.checkPredicate(s, text, &written)
		c.noteRepeats(t, s)
	}
	if name := c.scalar(as, "as"); name != nil {
		switch {
		case s.verb != selects && s.verb != counts:
			c.at(as, "as names what a SELECT has read")
		case !c.name(as, "a result"):
		case slices.Contains(t.as, name.s), c.found(name.s) != nil:
			c.at(as, "%s has a generator or a result %s already", t.name, name.s)
		default:
			s.result = len(t.as)
			t.as, t.reads = append(t.as, name.s), append(t.reads, s)
		}
	}
	t.steps = append(t.steps, s)
}

func (c *compiler) readGuards(t *transaction, s *step, when *phrase) {
	var written []condition
	if m := parse(when.s, false, func(p *parser) { written = p.guards() }); m != nil {
		c.fail(when, m.at, "%s", m.text)
		return
	}
	for _, w := range written {
		g := guard{left: c.value(t, when, w.left), right: c.value(t, when, w.values[0]), op: w.op}
		if g.left.typ != g.right.typ && !g.left.broken && !g.right.broken {
			c.fail(when, w.left.at, "if compares a number with a text")
		}
		s.guards = append(s.guards, g)
	}
}

// compileWhere compiles conditions. If they name one row by its whole key, the statement is on that row.
func (c *compiler) compileWhere(t *transaction, s *step, text *phrase, where []condition) {
	key := make([]expr, len(s.table.Key))
	named := 0
	for _, w := range where {
		group, at, column, ok := c.column(text, s.table, w.column)
		if !ok {
			continue
		}
		x := test{column: column.Name, op: w.op}
		for _, v := range w.values {
			e := c.value(t, text, v)
			if e.typ != column.Type && !e.broken {
				c.fail(text, v.at, "column %s is %s, and the value is not", column.Name, typeName(column.Type))
			}
			x.values = append(x.values, e)
		}
		if w.op == "like-prefix" && column.Type != schema.Text {
			c.fail(text, w.column.at, "column %s is a number, and LIKE compares texts", column.Name)
		}
		if group < 0 && w.op == "=" && !key[at].set() {
			key[at] = x.values[0]
			named++
		}
		s.where = append(s.where, x)
	}
	if named == len(key) && len(where) == len(key) {
		s.key, s.where = key, nil
	}
}

func (c *compiler) compileSelect(t *transaction, s *step, text *phrase, w *statement) {
	if w.verb == selects && len(w.columns) == 0 {
		s.groups = s.table.All()
	}
	for _, n := range w.columns {
		if group, _, _, ok := c.column(text, s.table, n); ok && group >= 0 && !slices.Contains(s.groups, group) {
			s.groups = append(s.groups, group)
		}
	}
	c.compileWhere(t, s, text, w.where)
	for _, n := range w.order {
		plain := name{strings.TrimPrefix(n.text, "-"), n.at}
		if _, _, column, ok := c.column(text, s.table, plain); ok && column.Null {
			c.fail(text, n.at, "column %s may be null, and databases sort nulls in different ways", column.Name)
		}
		s.order = append(s.order, n.text)
	}
	s.limit = w.limit
	switch {
	case s.verb == counts && s.limit+len(s.order) > 0:
		c.fail(text, w.at, "COUNT(*) returns one number; leave ORDER BY and LIMIT out")
	case s.verb == counts && s.key != nil:
		// The count of one row is the row.
		for i, e := range s.key {
			s.where = append(s.where, test{s.table.Key[i].Name, "=", []expr{e}})
		}
		s.key = nil
	}
}

// checkPredicate completes the groups that a statement reads, and looks at what cannot be judged.
func (c *compiler) checkPredicate(s *step, text *phrase, w *statement) {
	p := schema.Predicate{Order: s.order, Limit: s.limit}
	for _, x := range s.where {
		p.Where = append(p.Where, schema.Condition{Column: x.column, Op: x.op})
	}
	if s.verb == selects {
		for _, g := range p.Columns(s.table.Table) {
			if !slices.Contains(s.groups, g) {
				s.groups = append(s.groups, g)
			}
		}
		if len(s.groups) == 0 {
			s.groups = []int{0}
		}
		slices.Sort(s.groups)
		if groups := (schema.Predicate{Order: s.order}).Columns(s.table.Table); s.limit > 0 && len(groups) > 1 {
			c.fail(text, w.order[0].at, "a statement with LIMIT that is ordered by columns of several groups cannot be judged; put the columns into one group")
		}
	}
	s.pattern = p
}

// compileSets compiles the assignments of UPDATE and of an upsert. All are of one group.
func (c *compiler) compileSets(t *transaction, s *step, text *phrase, sets []setting) {
	given := map[string]assign{}
	relative := 0
	for _, w := range sets {
		group, _, column, ok := c.column(text, s.table, w.column)
		switch {
		case !ok:
			return
		case group < 0:
			c.fail(text, w.column.at, "column %s is of the key, which does not change; delete the row and insert another one", column.Name)
			return
		case s.table.stamps[column.Name]:
			c.fail(text, w.column.at, "column %s is a stamp, which every write of its group sets by itself; leave it out", column.Name)
			return
		case s.group >= 0 && s.group != group:
			c.fail(text, w.column.at, "column %s is of group %s, and a statement writes one group; write an UPDATE for each group", column.Name, s.table.Groups[group].Name)
			return
		}
		s.group = group
		if _, twice := given[column.Name]; twice {
			c.fail(text, w.column.at, "column %s is set twice", column.Name)
			return
		}
		a := assign{value: c.fitting(t, text, w.value, column)}
		switch {
		case w.by != "" && column.Type != schema.Int:
			c.fail(text, w.column.at, "+ and - are for numbers, and column %s is a text", column.Name)
			return
		case w.by != "":
			a.kind, a.minus = schema.Plus, w.by == "-"
		}
		if w.by != "" {
			relative++
		}
		given[column.Name] = a
	}
	if relative > 0 && relative < len(given) {
		c.fail(text, sets[0].column.at, "an UPDATE sets either all columns to values or all by their old values, because the old value of a column that is overwritten would not be recorded; read the row before, or put the columns into two groups")
		return
	}
	for _, column := range s.table.Groups[s.group].Columns {
		a, ok := given[column.Name]
		switch {
		case ok:
		case s.table.stamps[column.Name]:
			a = assign{stamp: true}
			if relative > 0 {
				a.kind = schema.Plus
			}
		case relative > 0 && column.Type == schema.Int: // unchanged
			a = assign{kind: schema.Plus, value: expr{typ: schema.Int, terms: []part{{}}}}
		case relative > 0:
			a = assign{kind: schema.Suffix, value: expr{typ: schema.Text, konst: ""}}
		default:
			c.fail(text, sets[0].column.at, "UPDATE sets all columns of a group, because what it leaves is recorded; set %s, too (read the row before with as: r, and write %s = :r.%s), or put it into a group of its own", column.Name, column.Name, column.Name)
			return
		}
		s.sets = append(s.sets, a)
	}
}

func (c *compiler) compileInsert(t *transaction, s *step, text *phrase, w *statement) {
	values, ok := c.insertValues(text, s.table, w, func(v value, column schema.Column) expr { return c.fitting(t, text, v, column) })
	if !ok {
		return
	}
	s.key, s.values = values[:len(s.table.Key)], nil
	at := len(s.table.Key)
	for _, g := range s.table.Groups {
		s.values = append(s.values, values[at:at+len(g.Columns)])
		at += len(g.Columns)
	}
	if !w.upsert {
		return
	}
	s.upsert = true
	if len(s.table.Groups) > 1 {
		c.fail(text, w.at, "ON CONFLICT DO UPDATE is for tables with one group; %s has %d", s.table.Name, len(s.table.Groups))
	}
	for i, n := range w.target {
		if len(w.target) != len(s.table.Key) || n.text != s.table.Key[i].Name {
			c.fail(text, n.at, "conflicts are on the whole key: ON CONFLICT DO UPDATE SET …")
			return
		}
	}
	c.compileSets(t, s, text, w.sets)
}

// insertValues returns what an INSERT writes, by column of the table. A stamp has no value.
func (c *compiler) insertValues(text *phrase, t *table, w *statement, compile func(value, schema.Column) expr) ([]expr, bool) {
	if len(w.columns) != len(w.values) {
		c.fail(text, w.at, "INSERT names %d columns and has %d values", len(w.columns), len(w.values))
		return nil, false
	}
	before := len(c.list)
	given := map[string]expr{}
	for i, n := range w.columns {
		_, _, column, ok := c.column(text, t, n)
		switch {
		case !ok:
			continue
		case t.stamps[column.Name]:
			c.fail(text, n.at, "column %s is a stamp, which every write of its group sets by itself; leave it out", column.Name)
			continue
		}
		if _, twice := given[column.Name]; twice {
			c.fail(text, n.at, "column %s stands twice", column.Name)
		}
		given[column.Name] = compile(w.values[i], column)
	}
	var out []expr
	add := func(columns []schema.Column) {
		for _, column := range columns {
			e, ok := given[column.Name]
			switch {
			case ok:
			case t.stamps[column.Name]:
				e = expr{typ: schema.Int, stamp: true}
			case column.Null:
				e = expr{null: true}
			case len(c.list) == before:
				c.fail(text, w.at, "INSERT leaves out column %s, which may not be null", column.Name)
			}
			out = append(out, e)
		}
	}
	add(t.Key)
	for _, g := range t.Groups {
		add(g.Columns)
	}
	return out, len(c.list) == before
}

// noteRepeats notes writes that can leave a value that another transaction has written, which makes
// checks slower, and verdicts weaker.
func (c *compiler) noteRepeats(t *transaction, s *step) {
	if s.verb == inserts && !s.upsert && slices.ContainsFunc(s.key, func(e expr) bool { return c.unique(t, e) }) {
		return
	}
	groups := []int{s.group}
	if s.verb == inserts && !s.upsert {
		groups = s.table.All()
	} else if s.verb != updates && !s.upsert {
		return
	}
	for _, g := range groups {
		unique := slices.ContainsFunc(s.sets, func(a assign) bool { return a.stamp || a.kind == schema.Constant && c.unique(t, a.value) })
		if s.verb == inserts && !s.upsert {
			unique = slices.ContainsFunc(s.values[g], func(e expr) bool { return e.stamp || c.unique(t, e) })
		}
		if !unique {
			c.notes = append(c.notes, fmt.Sprintf("%s can write a value of %s that another transaction has written, too: %s. Then a read does not tell its writer, and checks take longer; a column of type stamp makes values unique",
				t.name, strings.TrimSuffix(s.table.Name+"."+s.table.Groups[g].Name, "."), s.text))
		}
	}
}

func (c *compiler) unique(t *transaction, e expr) bool {
	return len(e.terms) == 1 && e.terms[0].source == ofDraw && !e.terms[0].minus && t.draws[e.terms[0].index].unique()
}

func typeName(t schema.Type) string {
	if t == schema.Text {
		return "a text"
	}
	return "a number"
}
