package scans

import "slices"

// A count that does not agree with an execution is probably right a few moments earlier or later. So the
// first choices are what the statement would have seen there: of all rows that differ, whether it counted
// them.

// change is a write that a replay made: the versions of a row before and after it, -1 if it does not
// exist.
type change struct {
	txn      int32
	group    int32 // its number
	row      int32
	old, now int32
}

// miscount is a count that does not agree with an execution, and what it saw there.
type miscount struct {
	s      *scan
	at     int       // the number of changes before it
	seen   [][]int32 // by row of count.free: the versions in the scan's groups
	clause [][]literal
}

// seen returns the versions of the rows that a statement may have counted.
func (r *replay) seen(s *scan) [][]int32 {
	out := make([][]int32, len(s.count.free))
	for n, row := range s.count.free {
		out[n] = make([]int32, len(s.groups))
		for i, g := range s.groups {
			out[n][i] = r.version(s, row, g)
		}
	}
	return out
}

// mostChanges bounds how many changes are looked at in each direction, and mostMoments how many moments
// with the right count are chosen there.
const (
	mostChanges = 1 << 12
	mostMoments = 2
)

// nearby returns the choices that the nearest moments with the right count give, the nearest first.
func (m *miscount) nearby(log []change) [][]literal {
	type found struct {
		distance int
		set      []literal
	}
	var all []found
	for _, back := range []bool{true, false} {
		w := newWalk(m)
		moments := 0
		for n := range mostChanges {
			i := m.at + n
			if back {
				i = m.at - 1 - n
			}
			if i < 0 || i >= len(log) || moments == mostMoments {
				break
			}
			if w.apply(&log[i], back) && w.count == m.s.count.need {
				moments++
				all = append(all, found{n, w.differing()})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b found) int { return a.distance - b.distance })
	var out [][]literal
	for _, f := range all {
		out = append(out, f.set)
	}
	return out
}

// walk is the state of the rows while changes are made or undone.
type walk struct {
	*miscount
	now   [][]int32
	count int
}

func newWalk(m *miscount) *walk {
	w := &walk{miscount: m, now: make([][]int32, len(m.seen))}
	for n := range m.seen {
		w.now[n] = slices.Clone(m.seen[n])
		if m.s.counts(m.s.count.free[n], w.now[n]) {
			w.count++
		}
	}
	return w
}

// apply makes or undoes a change, and reports whether it concerns the count.
func (w *walk) apply(c *change, undo bool) bool {
	s := w.s
	i := slices.Index(s.groups, int(c.group)-s.t.first)
	if i < 0 || int(c.txn) == s.txn {
		return false
	}
	n, ok := slices.BinarySearch(s.count.free, c.row)
	if !ok {
		return false
	}
	if _, own := s.own[s.t.rows[c.row].items[s.groups[i]]]; own {
		return false
	}
	before := s.counts(c.row, w.now[n])
	if w.now[n][i] = c.now; undo {
		w.now[n][i] = c.old
	}
	after := s.counts(c.row, w.now[n])
	switch {
	case before == after:
		return false
	case after:
		w.count++
	default:
		w.count--
	}
	return true
}

// differing returns what a statement at this moment counts and did not count in the execution, and the
// other way round.
func (w *walk) differing() []literal {
	var out []literal
	for n, row := range w.s.count.free {
		was, is := w.s.counts(row, w.seen[n]), w.s.counts(row, w.now[n])
		if was == is {
			continue
		}
		if is {
			out = append(out, literal{s: w.s, row: row, found: true})
			continue
		}
		for i, g := range w.s.groups { // the first group that explains it
			if v := w.now[n][i]; v < 0 || !w.s.fits(g, v) {
				out = append(out, literal{s: w.s, row: row, group: g})
				break
			}
		}
	}
	return out
}

// counts reports whether a statement counts a row with these versions in its groups.
func (s *scan) counts(row int32, versions []int32) bool {
	for i, g := range s.groups {
		if versions[i] < 0 || !s.fits(g, versions[i]) {
			return false
		}
	}
	return true
}
