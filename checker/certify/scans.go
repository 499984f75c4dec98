package certify

import (
	"github.com/pkg/errors"

	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/history"
)

// scans verifies that a proof covers every judged scan of a history.
type scans struct {
	*tables
	stop     *stop
	verified int // scans so far
}

// newScans returns nil if the proof has to cover no scan.
func newScans(stop *stop, h *history.History) (*scans, error) {
	if h.Scans == nil {
		return nil, nil
	}
	names, seen := map[string]bool{}, make([]bool, h.StatementCount())
	for i := range h.Txns {
		list := h.Predicates(i)
		for n := range list {
			if p := &list[n]; !seen[p.Number] && (p.Added+p.AddedChoices > 0 || isJudged(h, i, n)) {
				names[p.Table], seen[p.Number] = true, true
			}
		}
	}
	if len(names) == 0 {
		return nil, nil
	}
	x, err := newTables(stop, h, names)
	return &scans{tables: x, stop: stop}, err
}

func isJudged(h *history.History, i, n int) bool {
	return h.Txns[i].Status != history.Aborted && (len(h.Scans.Unjudged) == 0 || !h.Scans.Unjudged[history.ScanRef{Txn: i, Number: n}])
}

// complete checks that the proof covered as many scans as count as judged.
func (s *scans) complete() error {
	if s != nil && s.verified != s.h.Scans.Judged {
		return errors.Errorf("the proof covers %d scans, and %d count as judged", s.verified, s.h.Scans.Judged)
	}
	return nil
}

// keep makes the latest writes of rows permanent, or undoes them.
func (s *scans) keep(commit bool) {
	if s != nil {
		s.tables.keep(commit)
	}
}

// leftOut counts the scans of a transaction that is not in the witness. They claim nothing.
func (s *scans) leftOut(i int) {
	for n := range s.h.Predicates(i) {
		if isJudged(s.h, i, n) {
			s.verified++
		}
	}
}

// about adds to an error which scan it is about.
func (s *scans) about(i, n int, err error) error {
	p := &s.h.Predicates(i)[n]
	return errors.Wrapf(err, "transaction %d, %s of %s", s.h.Txns[i].ID, p.Kind, p.Asked())
}

// fits verifies predicate n of the transaction at index i in the current state, just before
// operation op of the transaction: the statement returned, changed or counted exactly the rows that
// fulfil its conditions, except that a full page ends. Of a partial scan only the operations say
// anything.
func (s *scans) fits(lvl level.Level, i, n, op int) error {
	if !isJudged(s.h, i, n) {
		return nil
	}
	s.verified++
	p := &s.h.Predicates(i)[n]
	if p.Partial {
		if twiceIn(s.h, lvl, i, p) {
			return s.about(i, n, errors.New("it has one row twice"))
		}
		return nil
	}
	if p.Ops[0] != op {
		return s.about(i, n, errors.New("it does not come in the order of the operations"))
	}
	scan, err := s.scan(i, n)
	if err == nil {
		err = scan.once(lvl)
	}
	if err == nil {
		err = scan.found()
	}
	if err == nil {
		err = scan.missed(s.stop)
	}
	if err != nil {
		return s.about(i, n, err)
	}
	return nil
}

// found verifies that the rows that the statement returned or changed exist, fulfil the conditions, and
// are at their places. It finds the end of a full page.
func (s *scan) found() error {
	for n, op := range s.ops {
		row := s.places[op.Key].row
		if !s.starts[n] {
			continue
		}
		ok := s.keyFits(row)
		for _, g := range s.groups {
			if g == s.orderOnly || !ok {
				continue
			}
			var err error
			if ok, err = s.holds(g, row); err != nil {
				return err
			}
		}
		if !ok {
			return errors.Errorf("it found %s, which is %s", s.name(s.t, row), s.text(row))
		}
	}
	misplaced, err := s.arrange()
	if err == nil && len(misplaced) > 0 {
		err = errors.Errorf("it returned %s at a wrong place", s.name(s.t, misplaced[0]))
	}
	return err
}

// text returns what a row has in the first group that matters.
func (s *scan) text(row int32) string {
	g := s.t.groups[s.groups[0]]
	if v := g.current[row]; v != none {
		return s.h.ValueText(g.versions[v].value)
	}
	return "absent"
}

// missed verifies that no other row should have been found, or that the count is right.
func (s *scan) missed(stop *stop) error {
	if s.full && len(s.order) == 0 {
		return nil
	}
	count, counts := 0, s.p.Kind == history.ScanCount
	err := s.each(stop, false, func(row int32) error {
		found, err := s.finds(row)
		switch {
		case err != nil:
			return err
		case found && counts:
			count++
		case found && !s.returned(row):
			return errors.Errorf("it did not find %s, which is %s", s.name(s.t, row), s.text(row))
		}
		return nil
	})
	if err == nil && counts && count != s.p.Count {
		err = errors.Errorf("it counted %d, and there are %d", s.p.Count, count)
	}
	return err
}
