package scans

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/history"
)

// EagerOps bounds the operations that Expand adds for rows that scans did not find. A scan may miss
// every row that is ever inserted. So in a large history these operations are added on demand.
const EagerOps = 1 << 12

// MostVersions bounds the versions of a row that a scan did not find, if more than one of them could
// explain that. What a refutation rests on is searched for each of them.
const MostVersions = 64

// Expand returns h with operations that say what its predicates did not find, and with History.Scans
// set. It returns h itself if h has no predicates. A predicate that cannot be judged adds no
// operations: the rows that it returned still count as reads of items. rest has the predicates for
// which operations are still to be added, or is nil; Rest.Settle adds them. eager is EagerOps. If ctx
// ends, the error is its cause.
func Expand(ctx context.Context, h *history.History, eager int) (x *history.History, rest *Rest, err error) {
	if !h.HasPredicates() {
		return h, nil, nil
	}
	e := &expansion{h: h, more: map[int][][]history.Op{}, limit: eager}
	switch {
	case len(h.Schema) == 0:
		e.reason = "the header has no schema"
	case !h.Closed:
		e.reason = "the recording was cut off, so transactions that are not in the history may have changed rows"
	case h.LeftOut != "":
		e.reason = "operations were left out, and they may have changed rows"
	default:
		e.index = newIndex(h)
	}
	for i := range h.Txns {
		if ctx.Err() != nil {
			return nil, nil, context.Cause(ctx)
		}
		if list := h.Predicates(i); len(list) > 0 && h.Txns[i].Status != history.Aborted {
			e.transaction(i, list)
		}
	}
	x = h.Extend(e.more, &e.done)
	e.more = nil
	e.tell()
	if len(e.later) > 0 {
		rest = &Rest{expansion: e, judged: e.done.Judged}
	}
	return x, rest, nil
}

// tell sets the reason why predicates are not judged.
func (e *expansion) tell() {
	e.done.Reason = ""
	if e.done.Judged < e.done.Scans {
		e.done.Reason = fmt.Sprintf("%d of %d scans are not judged: %s", e.done.Scans-e.done.Judged, e.done.Scans, e.reason)
	}
}

type expansion struct {
	h     *history.History
	index *index // nil: nothing can be judged
	more  map[int][][]history.Op
	done  history.Scans
	limit int // of operations for rows that were not found
	// later are the scans for which such operations are added on demand, because the limit was
	// reached. They are not judged yet.
	later []*scan
	// reason says why the first predicate that is not judged is not.
	reason string
}

// transaction adds the operations for the predicates of the transaction at index i.
func (e *expansion) transaction(i int, list []history.Predicate) {
	e.done.Scans += len(list)
	if e.index == nil {
		return
	}
	ops := e.h.Ops(&e.h.Txns[i])
	own := map[history.Key]history.Value{} // the transaction's latest writes before a predicate
	done := 0
	more := make([][]history.Op, len(list))
	added := false
	for n := range list {
		p := &list[n]
		if p.Ops[0] < done {
			e.refuse("the predicates of a transaction overlap")
			break
		}
		for _, op := range ops[done:p.Ops[0]] {
			if op.Kind == history.Write {
				own[op.Key] = op.Value
			}
		}
		s := &scan{expansion: e, txn: i, number: n, p: p, implied: ops[p.Ops[0] : p.Ops[0]+p.Implied], ops: ops[p.Ops[0]+p.Implied : p.Ops[1]], own: own}
		if err := s.expand(); err != nil {
			e.refuse(err.Error())
		} else {
			if s.later {
				e.later = append(e.later, s)
			} else {
				e.done.Judged++
			}
			more[n] = s.take()
			added = added || len(more[n]) > 0
		}
		for _, op := range s.ops {
			if op.Kind == history.Write {
				own[op.Key] = op.Value
			}
		}
		done = p.Ops[1]
	}
	if added {
		e.more[i] = more
	}
}

// limitError says that a scan would need too many operations.
type limitError struct{ text string }

func (e *limitError) Error() string { return e.text }

func (e *expansion) refuse(reason string) {
	if e.reason == "" {
		e.reason = reason
	}
}

// scan is one statement with a condition.
type scan struct {
	*expansion
	txn, number int // of the transaction in the history, and of the predicate in it
	p           *history.Predicate
	implied     []history.Op // what the history already says
	ops         []history.Op // what the statement returned or changed
	own         map[history.Key]history.Value

	t        *table
	group    int            // of the columns in conditions and order
	returned map[int32]bool // rows that the statement returned or changed
	page     page
	// from and to are the range of rows by key that may fulfil the conditions or, if column is set,
	// of versions in the order of that column.
	from, to int32
	column   string
	// written are the rows that the transaction wrote before. later: the operations for other rows
	// that were not found are added on demand; known are those rows that have them.
	written map[int32]bool
	later   bool
	known   map[int32]bool
	refused bool // it cannot be judged, which was found later

	added []history.Op
	rows  int
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
	if err := s.prepare(); err != nil {
		return err
	}
	s.returned = map[int32]bool{}
	for _, op := range s.ops {
		at := s.index.places[op.Key]
		if at.t != s.t {
			return errors.Errorf("%s is no row of table %s", s.h.KeyName(op.Key), s.p.Table)
		}
		s.returned[at.row] = true
	}
	if err := s.fullPage(); err != nil {
		return err
	}
	if err := s.omitted(); err != nil {
		return err
	}
	if err := s.found(); err != nil {
		return err
	}
	if err := s.locate(); err != nil {
		return err
	}
	if err := s.ownMissed(); err != nil {
		return err
	}
	if s.later = s.limit <= 0; s.later {
		s.own = nil
		return nil
	}
	return s.missed()
}

// prepare finds the table and the group of columns.
func (s *scan) prepare() error {
	if s.p.Kind == history.ScanCount {
		return errors.New("counts are not judged")
	}
	t, ok := s.h.Schema.Table(s.p.Table)
	if !ok {
		return errors.Errorf("the schema has no table %s", s.p.Table)
	}
	s.t = s.index.tables[t]
	switch groups := s.p.Predicate.Columns(t); {
	case len(groups) > 1:
		return errors.Errorf("a scan of table %s has conditions on, or is ordered by, columns of several groups", t.Name)
	case len(groups) == 1:
		s.group = groups[0]
	default: // only the existence of a row matters
		for g := range t.Groups {
			if slices.Contains(s.p.Groups, t.Groups[g].Name) {
				s.group = g
				break
			}
		}
	}
	return nil
}

// omitted counts the rows that a counterexample leaves out as returned.
func (s *scan) omitted() error {
	for _, name := range s.p.Omitted {
		at, ok := s.h.Schema.ParseItem(name)
		if !ok || at.Table != s.t.Table {
			return errors.Errorf("%s is no row of table %s", name, s.p.Table)
		}
		for r := range s.t.rows { // only counterexamples, which are small, omit rows
			if s.t.rows[r].name == at.Row {
				s.returned[int32(r)] = true
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
func (s *scan) found() error {
	seen := map[int32]bool{}
	vs := &s.t.groups[s.group]
	for n, op := range s.ops {
		r := s.index.places[op.Key].row
		if seen[r] {
			continue
		}
		seen[r] = true
		item := s.index.item(s.t, r, s.group)
		if value, known := s.seen(item, s.ops[n:]); known {
			ok, err := s.fulfilled(r, value)
			if err != nil {
				return err
			}
			if !ok {
				s.add(history.ReadNot, item, value)
			}
			continue
		}
		var yes, no []history.Value
		for i := range vs.of(r) {
			v := &vs.of(r)[i]
			ok, err := s.index.fulfils(s.t, s.group, &s.p.Predicate, v)
			if err != nil {
				return err
			}
			if ok {
				yes = append(yes, v.value)
			} else {
				no = append(no, v.value)
			}
		}
		if vs.mayBeAbsent[r] {
			no = append(no, history.Absent)
		}
		if err := s.class(item, yes, no); err != nil {
			return err
		}
	}
	return nil
}

// seen returns the version of an item that the statement saw, if the statement read it or the
// transaction wrote it before.
func (s *scan) seen(item history.Key, ops []history.Op) (v history.Value, known bool) {
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

// fulfilled reports whether a version of a row that the statement saw fulfils the conditions.
func (s *scan) fulfilled(r int32, value history.Value) (bool, error) {
	if value == history.Absent {
		return false, nil
	}
	return s.index.fulfils(s.t, s.group, &s.p.Predicate, &version{row: r, value: value})
}

// ownMissed judges the rows that the transaction wrote before and that the statement did not return or
// change.
func (s *scan) ownMissed() error {
	s.written = map[int32]bool{}
	for _, item := range slices.Sorted(maps.Keys(s.own)) {
		at := s.index.places[item]
		if at.t != s.t || int(at.group) != s.group {
			continue
		}
		s.written[at.row] = true
		value := s.own[item]
		if s.returned[at.row] || value == history.Absent {
			continue
		}
		v := &version{row: at.row, value: value}
		hit, err := s.fulfilled(at.row, value)
		if err == nil && hit {
			var behind bool
			behind, err = s.page.behind(s.index, s.t, s.group, v)
			hit = !behind
		}
		if err != nil {
			return err
		}
		if hit {
			s.add(history.ReadNot, item, value)
			s.rows++
		}
	}
	return nil
}

// missed judges the other rows that the statement did not return or change.
func (s *scan) missed() error {
	hits, err := s.matching()
	if err != nil {
		return err
	}
	vs := &s.t.groups[s.group]
	for len(hits) > 0 {
		r := vs.list[hits[0]].row
		n := 1
		for n < len(hits) && vs.list[hits[n]].row == r {
			n++
		}
		if !s.returned[r] && !s.written[r] {
			before := len(s.added)
			if err := s.missedRow(r, hits[:n]); err != nil {
				return err
			}
			s.limit -= len(s.added) - before
		}
		hits = hits[n:]
	}
	return nil
}

// missedRow judges a row that was not returned. hits are the positions, ascending, of its versions
// that fulfil the conditions.
func (s *scan) missedRow(r int32, hits []int32) error {
	vs := &s.t.groups[s.group]
	var yes, no []history.Value
	for i := vs.from[r]; i < vs.from[r+1]; i++ {
		v := &vs.list[i]
		hit := len(hits) > 0 && hits[0] == i
		if hit {
			hits = hits[1:]
			behind, err := s.page.behind(s.index, s.t, s.group, v)
			if err != nil {
				return err
			}
			hit = !behind
		}
		if hit {
			no = append(no, v.value)
		} else {
			yes = append(yes, v.value)
		}
	}
	if vs.mayBeAbsent[r] || len(yes) == 0 {
		yes = append(yes, history.Absent)
	}
	return s.class(s.index.item(s.t, r, s.group), yes, no)
}

// class says that the transaction saw one of the versions yes of an item, and none of the versions
// no, which are all others. It is an error if these are too many.
func (s *scan) class(item history.Key, yes, no []history.Value) error {
	switch {
	case len(no) == 0:
		return nil
	case len(yes) == 1:
		s.add(history.Read, item, yes[0])
	case len(yes)+len(no) > MostVersions:
		return &limitError{fmt.Sprintf("%s has %d versions, and scans that did not find a row are judged if it has up to %d", s.h.KeyName(item), len(yes)+len(no), MostVersions)}
	default:
		for _, v := range no {
			s.add(history.ReadNot, item, v)
		}
	}
	s.rows++
	return nil
}
