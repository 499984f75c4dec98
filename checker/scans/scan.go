package scans

import (
	"slices"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/history"
)

// scan is one statement with conditions.
type scan struct {
	*expansion
	txn, number int // of the transaction in the history, and of the predicate in it
	p           *history.Predicate
	implied     []history.Op // what the history already says
	ops         []history.Op // what the statement returned or changed
	// own are the latest writes of the transaction before the statement: of all items while the
	// transaction is expanded, then of the items of the table.
	own map[history.Key]history.Value

	t *table
	// groups are those with conditions. A full page adds the group of its order. If there is none,
	// it is one group that stands for the existence of the row.
	groups   []int
	keyTests []test
	tests    [][]test // by group
	returned rows
	begin    []bool // see begins; nil until needed
	// refuted: the statement contradicts itself, and its operations say so. What it did not find is no matter then.
	refuted bool
	page    page

	drive    int // the group whose versions are listed
	from, to int32
	// column is -1: from and to are positions in the order of the key. Else they are positions in
	// the order of that column of the group.
	column int

	// written are the rows of which the transaction wrote an item of groups before.
	written rows
	// absentees: operations for rows that were not found are added on demand. known are those of
	// these rows that need no more operations.
	absentees bool
	known     rows
	// either are rows whose absence has several explanations: in each of some groups, a condition
	// may be false. unread are rows that were changed without being read and that have too many
	// versions.
	either, unread rows
	count          *count              // of a statement that counted, if its rows are not certain
	excluded       map[history.Op]bool // single versions of rows with many, excluded on demand

	added []history.Op
	rows  int
}

// later reports whether a part of the scan is judged on demand.
func (s *scan) later() bool {
	return s.absentees || len(s.either) > 0 || len(s.unread) > 0 || s.count != nil
}

// keepOwn keeps what later steps need of the transaction's own writes.
func (s *scan) keepOwn() {
	if len(s.written) == 0 {
		s.own = nil
		return
	}
	own := map[history.Key]history.Value{}
	for k, v := range s.own {
		if at := s.index.places[k]; at.t == s.t && s.written.has(at.row) {
			own[k] = v
		}
	}
	s.own = own
}

// take returns the operations to add, and counts them.
func (s *scan) take() []history.Op {
	s.done.ClassReads += s.rows
	s.done.Instantiated += len(s.added)
	out := s.added
	s.rows, s.added = 0, nil
	return out
}

// expand finds the operations to add. An error says why the scan cannot be judged.
func (s *scan) expand() error {
	if s.p.Partial {
		return nil // its implied operations are all that is known
	}
	if err := s.prepare(); err != nil {
		return err
	}
	for _, op := range s.ops {
		at := s.index.places[op.Key]
		if at.t != s.t {
			return errors.Errorf("%s is no row of %s", s.h.KeyName(op.Key), s.t.Title())
		}
		s.returned.add(at.row)
	}
	if err := s.fullPage(); err != nil {
		return err
	}
	for _, g := range s.groups {
		if len(s.tests[g]) > 0 || s.page.group == g {
			if err := s.index.parse(s.t, g); err != nil {
				return err
			}
		}
	}
	if err := s.endPage(); err != nil {
		return err
	}
	if err := s.omitted(); err != nil {
		return err
	}
	s.found()
	s.faults()
	s.locate()
	s.ownRows()
	if s.p.Kind == history.ScanCount {
		s.counted()
	}
	switch {
	case s.refuted:
	case s.count != nil: // which rows were not counted is not known
	case s.limit <= 0:
		s.absentees = true
	default:
		s.missed()
	}
	return nil
}

// prepare finds the table, the conditions and their groups.
func (s *scan) prepare() error {
	t, ok := s.h.Schema.Table(s.p.Table)
	if !ok {
		return errors.Errorf("the schema has no table %s", s.p.Table)
	}
	s.t = s.index.tables[t]
	s.tests = make([][]test, len(t.Groups))
	for i := range s.p.Where {
		c := &s.p.Where[i]
		g, at, _ := t.Column(c.Column) // the predicate fits the table
		if g < 0 {
			s.keyTests = append(s.keyTests, newTest(c, at))
			continue
		}
		if s.tests[g] = append(s.tests[g], newTest(c, at)); len(s.tests[g]) == 1 {
			s.groups = append(s.groups, g)
		}
	}
	s.page.group = -1
	if len(s.groups) == 0 { // only the existence of a row matters
		g := 0
		for i := range t.Groups {
			if slices.Contains(s.p.Groups, t.Groups[i].Name) {
				g = i
				break
			}
		}
		s.groups = []int{g}
	}
	return nil
}

// omitted counts the rows that a counterexample leaves out as returned.
func (s *scan) omitted() error {
	for _, name := range s.p.Omitted {
		at, ok := s.h.Schema.ParseItem(name)
		if !ok || at.Table != s.t.Table {
			return errors.Errorf("%s is no row of %s", name, s.t.Title())
		}
		for r := range s.t.rows { // only counterexamples, which are small, omit rows
			if s.t.rows[r].name == at.Row {
				s.returned.add(int32(r))
			}
		}
	}
	return nil
}

// add adds an operation, unless the history has it already.
func (s *scan) add(kind history.OpKind, k history.Key, v history.Value) {
	if op := (history.Op{Kind: kind, Key: k, Value: v}); !slices.Contains(s.implied, op) {
		s.added = append(s.added, op)
	}
}

// found judges the rows that the statement returned or changed: each must have existed and
// fulfilled the conditions.
func (s *scan) found() {
	var seen rows
	again := s.h.HasTwice() // a row that it returned twice must do so each time
	for n, op := range s.ops {
		r := s.index.places[op.Key].row
		if seen.has(r) && (!again || !s.begins(n)) {
			continue
		}
		seen.add(r)
		for _, g := range s.groups {
			if g == s.page.group && s.page.added {
				continue // it has no conditions
			}
			item := s.index.item(s.t, r, g)
			value, known := s.saw(item, s.ops[n:])
			switch {
			case !known && s.keyFits(r):
				s.mustMatch(r, g)
			case !known:
				s.impossible(item)
			case !s.fulfilled(r, g, value):
				s.add(history.ReadNot, item, value)
			}
		}
	}
}

// impossible says that no execution has the statement's result: it contradicts itself on an item.
func (s *scan) impossible(item history.Key) {
	v := s.shown(item)
	s.add(history.Read, item, v)
	s.add(history.ReadNot, item, v)
	s.rows++
}

// shown returns a value of an item that contradicts nothing else in the transaction, if it can: what the transaction wrote or
// read last before the statement, or else what it read first, or the initial value.
func (s *scan) shown(item history.Key) history.Value {
	ops := s.h.Ops(&s.h.Txns[s.txn])
	for n := s.p.Ops[0] - 1; n >= 0; n-- {
		if ops[n].Key == item && ops[n].Kind != history.ReadNot {
			return ops[n].Value
		}
	}
	for _, op := range ops[s.p.Ops[0]:] {
		if op.Key == item && op.Kind == history.Write {
			break
		}
		if op.Key == item && op.Kind == history.Read {
			return op.Value
		}
	}
	return s.h.Initial(item)
}

// mustMatch says that the transaction saw a version of a row that fulfils the conditions on group g.
func (s *scan) mustMatch(r int32, g int) {
	no, yes := s.split(r, g, true)
	if len(yes)+len(no) > MostVersions && len(yes) > 1 {
		s.unread.add(r)
		return
	}
	s.class(s.index.item(s.t, r, g), yes, no)
}

// saw returns the version of an item that the statement saw, if the statement read it or the
// transaction wrote it before.
func (s *scan) saw(item history.Key, ops []history.Op) (v history.Value, known bool) {
	for _, op := range ops {
		if op.Key == item && op.Kind == history.Read {
			return op.Value, true
		}
		if op.Key == item && op.Kind == history.Write {
			break
		}
	}
	v, known = s.own[item]
	return v, known
}

// fulfilled reports whether a version of a row that the statement saw fulfils the conditions on the
// key and on group g.
func (s *scan) fulfilled(r int32, g int, value history.Value) bool {
	if value == history.Absent || !s.keyFits(r) {
		return false
	}
	if i := s.t.groups[g].find(r, value); i >= 0 {
		return s.fits(g, i)
	}
	content, ok := s.index.content(s.t, g, value)
	for i := range s.tests[g] {
		if c := &s.tests[g][i]; !ok || !c.Holds(content[c.column]) {
			return false
		}
	}
	return true
}

// keyFits reports whether the conditions on the key hold for a row.
func (s *scan) keyFits(r int32) bool {
	for i := range s.keyTests {
		if c := &s.keyTests[i]; !c.of(&s.t.keys[c.column], r) {
			return false
		}
	}
	return true
}

// fits reports whether version i of group g fulfils the conditions on g.
func (s *scan) fits(g int, i int32) bool {
	for n := range s.tests[g] {
		if c := &s.tests[g][n]; !c.of(&s.t.groups[g].columns[c.column], i) {
			return false
		}
	}
	return true
}

// split divides the versions of a row in group g, by values: no has those with which the row is not
// found, whatever the other groups have; yes has the others. The key must fit. A limit explains nothing of a row that
// was returned.
func (s *scan) split(r int32, g int, returned bool) (no, yes []history.Value) {
	vs := &s.t.groups[g]
	for i := vs.from[r]; i < vs.from[r+1]; i++ {
		if s.fits(g, i) && (returned || !s.page.behind(s, r, g, i)) {
			yes = append(yes, vs.list[i].value)
		} else {
			no = append(no, vs.list[i].value)
		}
	}
	if vs.mayBeAbsent[r] {
		no = append(no, history.Absent)
	}
	return no, yes
}

// ownRows judges the rows that the transaction wrote before and that the statement did not return or
// change.
func (s *scan) ownRows() {
	for item := range s.own {
		at := s.index.places[item]
		if at.t == s.t && slices.Contains(s.groups, int(at.group)) {
			s.written.add(at.row)
		}
	}
	if s.p.Kind == history.ScanCount {
		return // counted looks at all rows
	}
	for _, r := range s.written {
		if !s.returned.has(r) && s.keyFits(r) {
			s.missedRow(r)
		}
	}
}

// missed judges the other rows that the statement did not return or change.
func (s *scan) missed() {
	for _, r := range s.candidates() {
		if !s.returned.has(r) && !s.written.has(r) {
			before := len(s.added)
			s.missedRow(r)
			s.limit -= len(s.added) - before
		}
	}
}

// alternative explains why a row was not found: the version of one group was one of no, and not one
// of yes.
type alternative struct {
	group   int
	no, yes []history.Value
}

// alternatives returns the explanations why a row was not found. If none is needed, because the row
// can never be found, needed is false. shown are the items that the transaction wrote before and
// that fulfil the conditions.
func (s *scan) alternatives(r int32) (list []alternative, shown []history.Op, needed bool) {
	for _, g := range s.groups {
		item := s.index.item(s.t, r, g)
		if v, own := s.own[item]; own {
			i := s.t.groups[g].find(r, v)
			if v == history.Absent || i < 0 || !s.fits(g, i) || s.page.behind(s, r, g, i) {
				return nil, nil, false
			}
			shown = append(shown, history.Op{Key: item, Value: v})
			continue
		}
		no, yes := s.split(r, g, false)
		if len(yes) == 0 {
			return nil, nil, false
		}
		if len(no) > 0 {
			list = append(list, alternative{g, no, yes})
		}
	}
	return list, shown, true
}

// missedRow judges a row that was not found. The key must fit.
func (s *scan) missedRow(r int32) {
	list, shown, needed := s.alternatives(r)
	switch {
	case !needed:
	case len(list) > 1:
		s.either.add(r)
	case len(list) == 1:
		s.missedBy(r, &list[0])
	case len(shown) > 0:
		s.add(history.ReadNot, shown[0].Key, shown[0].Value)
		s.rows++
	default: // every version of every group fulfils the conditions
		s.class(s.index.item(s.t, r, s.groups[0]), []history.Value{history.Absent}, nil)
	}
}

// missedBy says that a row was not found for one reason.
func (s *scan) missedBy(r int32, a *alternative) {
	if len(a.no) > 1 && len(a.yes)+len(a.no) > MostVersions {
		if s.written.has(r) {
			s.either.add(r)
		} else {
			s.absentees = true
		}
		return
	}
	s.class(s.index.item(s.t, r, a.group), a.no, a.yes)
	s.known.add(r)
}

// class says that the transaction saw one of the versions in of an item, and none of out, which are all
// others.
func (s *scan) class(item history.Key, in, out []history.Value) {
	switch {
	case len(out) == 0 && !slices.Equal(in, []history.Value{history.Absent}):
		return
	case len(in) == 1:
		s.add(history.Read, item, in[0])
	default:
		for _, v := range out {
			s.add(history.ReadNot, item, v)
		}
	}
	s.rows++
}
