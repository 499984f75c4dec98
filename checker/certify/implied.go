package certify

import (
	"github.com/pkg/errors"

	"github.com/isohound/isohound/history"
)

// implied verifies every operation that was added to the history for a scan: it follows from what the
// statement returned, and from the versions that exist.
func implied(stop *stop, h *history.History) error {
	s, err := newScans(stop, h)
	if s == nil || err != nil {
		return err
	}
	for i := range h.Txns {
		list := h.Predicates(i)
		for n := range list {
			if isJudged(h, i, n) {
				s.verified++
			}
			if list[n].Added == 0 && list[n].AddedChoices == 0 {
				continue
			}
			scan, err := s.scan(i, n)
			if err == nil && list[n].Added > 0 {
				err = scan.follow(stop, h.Ops(&h.Txns[i])[list[n].Ops[0]:][:list[n].Added])
			}
			choices := list[n].Choices
			for _, c := range choices[len(choices)-list[n].AddedChoices:] {
				if err == nil {
					err = scan.exhausts(stop, c)
				}
			}
			if err != nil {
				return s.about(i, n, err)
			}
		}
	}
	return s.complete()
}

// implications say which versions of rows contradict what a statement returned.
type implications struct {
	*scan
	stop      *stop
	misplaced map[int32]bool // rows that it returned at a wrong place
	// least and most are how many rows a statement that counts can have counted.
	least, most int
}

// follow verifies operations that were added for the scan.
func (s *scan) follow(stop *stop, ops []history.Op) error {
	x := &implications{scan: s, stop: stop, misplaced: map[int32]bool{}}
	rows, err := s.arrange()
	if err != nil {
		return err
	}
	for _, row := range rows {
		x.misplaced[row] = s.p.Kind == history.ScanRead
	}
	if s.p.Kind == history.ScanCount {
		err = s.each(stop, true, func(row int32) error {
			sure, possible, err := x.found(row, none, 0)
			if sure {
				x.least++
			}
			if possible {
				x.most++
			}
			return err
		})
	}
	for _, op := range ops {
		if err == nil {
			err = x.follows(op)
		}
	}
	return err
}

// follows verifies an operation. That a version was not seen follows if it contradicts the result. That
// a version was seen follows if all others do.
func (x *implications) follows(op history.Op) error {
	it := x.item(op.Key)
	if it.g == nil || it.g.t != x.t {
		return errors.Errorf("%s is no row of its table", x.h.KeyName(op.Key))
	}
	refuted := func(v history.Value) error {
		if err := x.stop.after(1); err != nil {
			return err
		}
		ok, err := x.contradicts(it, v)
		if err == nil && !ok {
			err = errors.Errorf("%s may have been %s", x.h.KeyName(op.Key), x.h.ValueText(v))
		}
		return err
	}
	switch op.Kind {
	case history.ReadNot:
		return refuted(op.Value)
	case history.Read:
		return it.g.versionsOf(it.row, func(v history.Value) error {
			if v == op.Value {
				return nil
			}
			return refuted(v)
		})
	}
	return errors.New("it implies no write")
}

// contradicts reports whether the statement cannot have returned what it did if it saw a value of an
// item. It cannot see another version than the transaction's own latest one.
func (x *implications) contradicts(it item, v history.Value) (bool, error) {
	g := int32(it.g.number)
	if own, wrote := x.own(int(g), it.row); wrote && own != v {
		return true, nil
	}
	if x.p.Kind != history.ScanCount && x.returned(it.row) {
		if x.misplaced[it.row] || !x.keyFits(it.row) {
			return true, nil
		}
		fits, _, err := x.visible(int(g), it.row, v)
		return !fits && x.matters(int(g)) && int(g) != x.orderOnly, err
	}
	if x.p.Count < x.least || x.p.Count > x.most {
		return true, nil
	}
	sure, possible, err := x.found(it.row, g, v)
	if err != nil || x.p.Kind != history.ScanCount {
		return sure, err
	}
	least, most := x.least, x.most
	usually, atAll, err := x.found(it.row, none, 0)
	least += oneIf(sure) - oneIf(usually)
	most += oneIf(possible) - oneIf(atAll)
	return x.p.Count < least || x.p.Count > most, err
}

func oneIf(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (x *implications) matters(g int) bool {
	for _, other := range x.groups {
		if other == g {
			return true
		}
	}
	return false
}

// found reports whether the statement had to find a row, and whether it may have found it, if it saw
// value v of group g. Of the other groups (of all of them if g is none) it saw what the transaction
// wrote before, or else any version.
func (x *implications) found(row, g int32, v history.Value) (sure, possible bool, err error) {
	sure = x.keyFits(row)
	possible = sure
	for _, other := range x.groups {
		if !possible {
			return false, false, nil
		}
		all, some := true, false
		see := func(v history.Value) error {
			fits, behind, err := x.visible(other, row, v)
			all, some = all && fits && !behind, some || fits && !behind
			return err
		}
		if int32(other) == g {
			err = see(v)
		} else if own, wrote := x.own(other, row); wrote {
			err = see(own)
		} else {
			err = x.t.groups[other].versionsOf(row, see)
		}
		if err != nil {
			return false, false, err
		}
		sure, possible = sure && all, possible && some
	}
	return sure, possible, nil
}

// visible reports whether a value of a group of a row fulfils the conditions on the group, and whether
// the end of a full page explains that it was not returned.
func (x *implications) visible(g int, row int32, v history.Value) (fits, behind bool, err error) {
	if v == history.Absent {
		return false, false, nil
	}
	var content []any
	if x.needs(g) {
		if content, err = x.parse(x.t.groups[g], v); err != nil {
			return false, false, err
		}
	}
	return x.fits(g, content), x.beyond(row, g, content), nil
}

// versionsOf calls f with each value that a group of a row may have.
func (g *group) versionsOf(row int32, f func(history.Value) error) error {
	for v := g.latest[row]; v != none; v = g.versions[v].before {
		if err := f(g.versions[v].value); err != nil {
			return err
		}
	}
	if g.deleted[row] {
		return f(history.Absent)
	}
	return nil
}
