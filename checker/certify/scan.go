package certify

import (
	"slices"
	"strings"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/schema"
)

// scan is a statement with a condition, and what it returned.
//
// It finds a row if the row fulfils the conditions on the key and if, in each group with conditions,
// the row exists and fulfils them. Without any such group, one group says whether the row exists. A
// full page in an order also needs the group of the order.
type scan struct {
	*tables
	*plan
	txn    *history.Txn
	p      *history.Predicate
	groups []int
	ops    []history.Op // what it returned or changed
	rows   int          // how many rows it returned or changed, of which one may be there twice
	starts []bool       // by operation: it is the first one of a row
	// again and changed are items that it returned, or changed, although it had done so before; -1 if there is none.
	again, changed history.Key

	order   []sorting
	orderBy int // the group of the order, or none
	// orderOnly is the group of the order if it is in groups for the order of a full page alone, or
	// none.
	orderOnly int
	// full: it returned as many rows as the limit allows. last are the values of the order's columns
	// in the last row, nil if they are not known.
	full bool
	last []any
}

// sorting is a column of an order: in a group, or in the key (group none).
type sorting struct {
	name      string
	group, at int
	down      bool
}

// scan prepares predicate n of the transaction at index i. The result, and the marks of the rows that it
// returned in table.found, are valid until the next call.
func (x *tables) scan(i, n int) (*scan, error) {
	p := &x.h.Predicates(i)[n]
	t := x.byName[p.Table]
	if t == nil {
		return nil, errors.New("the schema does not have its table")
	}
	s := x.asked(t, p)
	s.txn = &x.h.Txns[i]
	s.ops = x.h.Ops(s.txn)[p.Ops[0]+p.Implied : p.Ops[1]]
	t.scans++
	x.statement++
	if cap(x.starts) < len(s.ops) {
		x.starts = make([]bool, len(s.ops))
	}
	s.starts, s.again, s.changed = x.starts[:len(s.ops)], -1, -1
	first := 0 // operation of the row
	for n, op := range s.ops {
		at := x.places[op.Key]
		if at.group == 0 || x.groups[at.group-1].t != t {
			return nil, errors.Errorf("%s is no row of its table", x.h.KeyName(op.Key))
		}
		t.found[at.row] = t.scans
		was, again := &x.named[op.Key], &s.again
		mark := &was.read
		if op.Kind == history.Write {
			mark, again = &was.wrote, &s.changed
		}
		s.starts[n] = n == 0 || x.places[s.ops[n-1].Key].row != at.row
		if op.Kind == history.Read && was.wrote == x.statement { // its own write
			s.starts[n] = false
			continue
		}
		if *mark == x.statement {
			*again = op.Key
			s.starts[n] = s.starts[n] || slices.ContainsFunc(s.ops[first:n], func(o history.Op) bool {
				return o.Key == op.Key && (o.Kind == history.Write) == (op.Kind == history.Write)
			})
		}
		*mark = x.statement
		if s.starts[n] {
			first = n
			s.rows++
		}
	}
	s.full = p.Limit > 0 && s.rows >= p.Limit
	return s, s.sortings()
}

// asked returns a scan with its conditions.
func (x *tables) asked(t *table, p *history.Predicate) *scan {
	s := &x.now
	*s = scan{tables: x, plan: x.planOf(t, p), p: p, orderBy: int(none), orderOnly: int(none)}
	s.groups = s.restricted
	return s
}

// sortings finds the columns of the order, and completes the groups.
func (s *scan) sortings() error {
	for _, name := range s.p.Order {
		name, down := strings.CutPrefix(name, "-")
		g, at, _ := s.t.Column(name)
		s.order = append(s.order, sorting{name, g, at, down})
		if g >= 0 && s.orderBy >= 0 && s.orderBy != g && s.full {
			return errors.New("it has a limit and an order by several groups")
		} else if g >= 0 {
			s.orderBy = g
		}
	}
	switch paged := s.full && s.orderBy >= 0; {
	case paged && len(s.groups) == 0:
		s.groups = []int{s.orderBy}
	case paged && !slices.Contains(s.groups, s.orderBy):
		s.groups, s.orderOnly = append(slices.Clip(s.groups), s.orderBy), s.orderBy
	case len(s.groups) == 0:
		s.groups = s.standing[:]
	}
	return nil
}

func (s *scan) returned(row int32) bool { return s.t.found[row] == s.t.scans }

// fits reports whether the columns of group g fulfil the conditions on them.
func (s *scan) fits(g int, content []any) bool {
	if len(s.where[g]) == 0 {
		return true
	}
	if s.t.scratch == nil {
		s.t.scratch = make([][]any, len(s.t.groups))
	}
	s.t.scratch[g] = content
	return schema.Predicate{Where: s.where[g]}.Matches(s.t.Table, schema.Row{Groups: s.t.scratch})
}

// needs reports whether the columns of group g matter.
func (s *scan) needs(g int) bool { return len(s.where[g]) > 0 || g == s.orderBy }

// seen returns the version of a row in group g that the statement sees, and its columns if they matter.
func (s *scan) seen(g int, row int32) (v int32, content []any, err error) {
	if v = s.t.groups[g].current[row]; v != none && s.needs(g) {
		content, err = s.parse(s.t.groups[g], s.t.groups[g].versions[v].value)
	}
	return v, content, err
}

// finds reports whether the statement has to find a row in the current state.
func (s *scan) finds(row int32) (bool, error) {
	if !s.keyFits(row) {
		return false, nil
	}
	for _, g := range s.groups {
		if !s.full {
			if ok, err := s.holds(g, row); !ok || err != nil {
				return false, err
			}
			continue
		}
		v, content, err := s.seen(g, row)
		if err != nil || v == none || !s.fits(g, content) || s.beyond(row, g, content) {
			return false, err
		}
	}
	return true, nil
}

// place compares a row with the values of the order in another row. content are the columns of the
// order's group.
func (s *scan) place(row int32, content, other []any) int {
	for i, o := range s.order {
		if c := schema.Compare(s.sortValue(row, content, o), other[i]); c != 0 {
			if o.down {
				return -c
			}
			return c
		}
	}
	return 0
}

func (s *scan) sortValue(row int32, content []any, o sorting) any {
	if o.group < 0 {
		return s.t.keys[o.at].at(row)
	}
	return content[o.at]
}

// beyond reports whether the limit explains that a row was not returned that has these columns in
// group g. The order is judged in its own group.
func (s *scan) beyond(row int32, g int, content []any) bool {
	switch {
	case !s.full || len(s.order) == 0:
		return s.full
	case s.orderBy >= 0 && s.orderBy != g:
		return false
	}
	return s.place(row, content, s.last) >= 0
}

// arrange goes through the rows that a read returned, in its order. It finds the end of a full page. It
// returns the rows that are at a wrong place: behind the limit, or before a row that must come before
// them.
func (s *scan) arrange() (misplaced []int32, err error) {
	if s.p.Limit == 0 && len(s.order) == 0 {
		return nil, nil
	}
	rows, before := 0, []any(nil)
	for n, op := range s.ops {
		row := s.item(op.Key).row
		if !s.starts[n] {
			continue
		}
		rows++
		wrong := s.p.Limit > 0 && rows > s.p.Limit
		c, err := s.sortedBy(n)
		if err != nil {
			return nil, err
		}
		if len(s.order) > 0 && (s.orderBy < 0 || c != nil) {
			wrong = wrong || before != nil && s.place(row, c, before) < 0
			before = make([]any, len(s.order))
			for i, o := range s.order {
				before[i] = s.sortValue(row, c, o)
			}
			if s.last == nil || s.place(row, c, s.last) > 0 {
				s.last = before
			}
		}
		if wrong {
			misplaced = append(misplaced, row)
		}
	}
	if s.full && len(s.order) > 0 && s.last == nil {
		return nil, errors.New("the end of its full page is not known")
	}
	return misplaced, nil
}

// once verifies that no row is there twice. A level that allows non-repeatable reads allows that a statement returns a row twice.
func (s *scan) once(lvl level.Level) error {
	switch {
	case s.changed >= 0:
		return errors.Errorf("it changed %s twice", s.h.KeyName(s.changed))
	case s.again >= 0 && !rereads(lvl):
		return errors.Errorf("it returned %s twice", s.h.KeyName(s.again))
	}
	return nil
}

// sortedBy returns the columns of the order's group that the statement saw of the row of operation n, if
// it read them, or if the transaction wrote them before.
func (s *scan) sortedBy(n int) ([]any, error) {
	if s.orderBy < 0 {
		return nil, nil
	}
	g, row := s.t.groups[s.orderBy], s.item(s.ops[n].Key).row
	read := slices.IndexFunc(s.ops[n:], func(op history.Op) bool { it := s.item(op.Key); return it.g == g && it.row == row })
	var v history.Value
	if read >= 0 && s.ops[n+read].Kind == history.Read {
		v = s.ops[n+read].Value
	} else if own, wrote := s.own(s.orderBy, row); wrote {
		v = own
	} else {
		return nil, nil
	}
	if v == history.Absent {
		return nil, nil
	}
	return s.parse(g, v)
}

// own returns the latest value that the transaction wrote before.
func (s *scan) own(g int, row int32) (v history.Value, wrote bool) {
	for _, op := range s.h.Ops(s.txn)[:s.p.Ops[0]] {
		if it := s.item(op.Key); op.Kind == history.Write && it.g == s.t.groups[g] && it.row == row {
			v, wrote = op.Value, true
		}
	}
	return v, wrote
}
