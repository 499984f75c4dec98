package certify

import (
	"slices"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// statement is a scan of a transaction in an order of commits. What it saw of an item is known if an
// operation says it: one of the same statement or, where reads are repeatable, of the same transaction.
// Of other items it may have seen any version. Then every version must fit. At level ru, where it may have
// seen any value that anybody wrote, it is enough that one fits.
type statement struct {
	*scan
	lvl   level.Level
	saw   map[item]history.Value
	sure  int // rows that it found, whichever versions it saw
	maybe int // rows that it may have found
}

// ErrScans says that a witness does not show what a scan saw.
var ErrScans = errors.New("the order of commits does not say which versions of rows it saw")

// statements verifies all judged scans.
func (c *commitOrder) statements() error {
	for _, i := range c.order {
		list := c.h.Predicates(int(i))
		for n := range list {
			if !isJudged(c.h, int(i), n) {
				continue
			}
			c.scans.verified++
			if list[n].Partial {
				if twiceIn(c.h, c.lvl, int(i), &list[n]) {
					return c.scans.about(int(i), n, errors.New("it has one row twice"))
				}
				continue
			}
			if err := c.statement(i, n); err != nil {
				return c.scans.about(int(i), n, err)
			}
		}
	}
	return nil
}

func (c *commitOrder) statement(i int32, n int) error {
	s, err := c.scans.scan(int(i), n)
	if err != nil {
		return err
	}
	if err := s.once(c.lvl); err != nil {
		return err
	}
	misplaced, err := s.arrange()
	if err != nil {
		return err
	}
	if len(misplaced) > 0 {
		return errors.Errorf("it returned %s at a wrong place", s.name(s.t, misplaced[0]))
	}
	x := &statement{scan: s, lvl: c.lvl, saw: map[item]history.Value{}}
	c.seenBy(x, i, n)
	for n, op := range s.ops {
		row := s.item(op.Key).row
		own := func(o history.Op) bool { return o.Key == op.Key && o.Kind == history.Write }
		if at := s.item(op.Key); op.Kind == history.Read && !slices.ContainsFunc(s.ops[:n], own) { // of a row that it returned twice, one after the other
			x.saw[at] = op.Value
		}
		if sure, maybe, err := x.finding(row, true); err != nil {
			return err
		} else if !maybe {
			return errors.Errorf("it found %s, which does not fulfil the conditions", s.name(s.t, row))
		} else if !sure && c.lvl != level.RU {
			return ErrScans
		}
	}
	if s.full && len(s.order) == 0 && s.p.Kind != history.ScanCount {
		return nil
	}
	err = s.each(c.stop, true, func(row int32) error {
		sure, maybe, err := x.finding(row, false)
		switch {
		case err != nil:
			return err
		case s.p.Kind == history.ScanCount:
			if sure {
				x.sure++
			}
			if maybe {
				x.maybe++
			}
		case s.returned(row):
		case sure:
			return errors.Errorf("it did not find %s, which fulfils the conditions", s.name(s.t, row))
		case maybe && c.lvl != level.RU:
			return ErrScans
		}
		return nil
	})
	switch {
	case err != nil || s.p.Kind != history.ScanCount:
		return err
	case s.p.Count < x.sure || s.p.Count > x.maybe:
		return errors.Errorf("it counted %d, and there are %d to %d", s.p.Count, x.sure, x.maybe)
	case x.sure < x.maybe && c.lvl != level.RU:
		return ErrScans
	}
	return nil
}

// finding reports whether the statement found a row, whichever versions it saw, and whether it may have
// found it.
func (x *statement) finding(row int32, returned bool) (sure, maybe bool, err error) {
	sure = x.keyFits(row)
	maybe = sure
	for _, g := range x.groups {
		if returned && g == x.orderOnly {
			continue
		}
		all, some := true, false
		see := func(v history.Value) error {
			var content []any
			fits := v != history.Absent
			if fits && x.needs(g) {
				var err error
				if content, err = x.parse(x.t.groups[g], v); err != nil {
					return err
				}
			}
			fits = fits && x.fits(g, content) && (returned || !x.beyond(row, g, content))
			all, some = all && fits, some || fits
			return nil
		}
		if v, known := x.saw[item{x.t.groups[g], row}]; known {
			err = see(v)
		} else if x.lvl == level.RU {
			all, some = false, true
		} else {
			err = x.t.groups[g].versionsOf(row, see)
		}
		if err != nil {
			return false, false, err
		}
		sure, maybe = sure && all, maybe && some
	}
	return sure, maybe, nil
}

// seenBy finds what the statement saw.
func (c *commitOrder) seenBy(x *statement, i int32, n int) {
	ops := c.h.Ops(&c.h.Txns[i])
	own := map[history.Key]bool{}
	for m, op := range ops {
		before := m < x.p.Ops[0]
		inside := !before && m < x.p.Ops[1]
		switch {
		case op.Kind == history.Write:
			own[op.Key] = true
			if before { // it sees its own writes
				x.saw[c.scans.item(op.Key)] = op.Value
			}
			continue
		case own[op.Key] || !inside && !atomicReads(c.lvl):
			continue
		case op.Kind == history.Read:
			x.saw[c.scans.item(op.Key)] = op.Value
			continue
		}
		if v, ok := c.denied[verdict.OpRef{Txn: i, Op: m}]; ok {
			x.saw[c.scans.item(op.Key)] = v
		}
	}
}
