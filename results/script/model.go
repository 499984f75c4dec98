package script

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/schema"
)

// What a statement that only reads sees. One that writes or locks sees what is committed (but see model.hides).
type sight int

const (
	snapshot  sight = iota // what was committed when the transaction took its snapshot
	committed              // what is committed
	written                // what is written
)

// sights says it in words.
var sights = [...]string{snapshot: "transactions read from snapshots", committed: "statements read what is committed", written: "statements read what is written, committed or not"}

// When a transaction takes its snapshot.
type moment int

const (
	atStatement moment = iota // its first statement
	atRead                    // its first statement that only reads
	atBegin
)

// model is how a database executes statements.
type model struct {
	sight sight
	// moment is when a snapshot is taken.
	moment moment
	// refuses: nothing is overwritten that was committed after the snapshot.
	refuses bool
	// keeps: nor is a row inserted that was deleted after the snapshot.
	keeps bool
	// hides: statements that update, delete or lock rows do not see those that are newer than the snapshot.
	hides bool
	// locks: who has written or locked a row keeps others from it until the end. Nobody waits in an order that is found.
	locks bool
	// ranges: statements with conditions that write wait for locks on other rows of the table, too. gaps: they keep others from
	// the table, and who looked in vain for a row to lock keeps others from inserting.
	ranges, gaps bool
	// queues: a statement may wait for a lock, and goes on when the other transaction has ended.
	queues bool
}

// version is what a row holds. A row that is not there has none.
type version struct {
	id     int // equal versions have the same
	groups [][]any
	texts  []string
}

// text is what a group holds, "" if the row is not there.
func (v *version) text(group int) string {
	if v == nil {
		return ""
	}
	return v.texts[group]
}

// spell is the values of a group as a text that is not empty.
func spell(values []any) string {
	text, n, isNumber := schema.Content(values)
	if isNumber {
		return strconv.FormatInt(n, 10)
	}
	return "'" + text
}

// versions makes versions.
type versions map[string]*version

func (vs versions) of(groups [][]any) *version {
	texts := make([]string, len(groups))
	for g, values := range groups {
		texts[g] = spell(values)
	}
	name := fmt.Sprintf("%q", texts)
	v := vs[name]
	if v == nil {
		v = &version{len(vs) + 1, groups, texts}
		vs[name] = v
	}
	return v
}

// change is what a transaction has written to a row.
type change struct {
	row int
	to  *version
}

// progress is how far a transaction is.
type progress struct {
	unit, way, pos int // of its next statement; the way is chosen with the first one
	own            []change
	locked         []int           // rows that it has locked without writing them
	ranged         []*schema.Table // tables of which it has locked ranges
	gaps           []*schema.Table // tables of which it has locked gaps
	snap           []*version      // its snapshot, or nil
	taken          int             // the clock then
	waiting        bool            // its next statement has begun, and waits
	began          []*version      // what was committed when the statement began that waits
	beganAt        int             // the clock then
}

// wrote returns what a transaction has written to a row.
func (t *progress) wrote(row int) (*version, bool) {
	for i := len(t.own) - 1; i >= 0; i-- {
		if t.own[i].row == row {
			return t.own[i].to, true
		}
	}
	return nil, false
}

// holds reports whether a transaction has a row for itself.
func (t *progress) holds(row int) bool {
	_, wrote := t.wrote(row)
	return wrote || slices.Contains(t.locked, row)
}

// state is what a database holds, and how far the transactions are. It is not changed, but copied.
type state struct {
	rows  []*version // what is committed
	since []int      // the clock when a row was committed
	born  []int      // the clock when it was last inserted
	clock int
	at    []progress
}

// execution executes one statement of a transaction.
type execution struct {
	*search
	*state
	t int
	s *statement
}

// me is the transaction.
func (e *execution) me() *progress { return &e.state.at[e.t] }

// execute returns the state after a statement of transaction t, or nil if the statement waits or fails, or does something
// other than what was recorded. In place of ending, it does not move t on.
func (x *search) execute(old *state, t int, s *statement) *state {
	n := &state{old.rows, old.since, old.born, old.clock, slices.Clone(old.at)}
	me := &n.at[t]
	if x.sight == snapshot && me.snap == nil && (s.action == begin) == (x.moment == atBegin) && s.action != end && (x.moment != atRead || s.plain()) {
		me.snap, me.taken = n.rows, n.clock
	}
	e := &execution{x, n, t, s}
	switch {
	case s.action == begin:
	case s.action == end:
		if !e.end() {
			return nil
		}
	case x.queues && e.queued():
		me.waiting, me.began, me.beganAt = true, n.rows, n.clock
	case !e.run():
		return nil
	}
	return n
}

// run does what a statement between begin and end does, and reports whether that is possible and was recorded.
func (e *execution) run() bool {
	switch e.s.action {
	case get, scan, count:
		return e.read()
	case insert, upsert, update, remove:
		return e.write()
	}
	return e.writeWhere()
}

// queued reports whether a statement waits for a transaction that holds a row, and may go on when that has ended.
func (e *execution) queued() bool {
	s := e.s
	if s.plain() {
		return false
	}
	busy := func(row int) bool { return e.others(func(t *progress) bool { return t.holds(row) }) }
	if s.keyed() {
		// PostgreSQL does not see what is not committed.
		return busy(s.row) && (e.ranges || s.action == insert || s.action == upsert || e.view(s.row) != nil)
	}
	return !e.ranges && slices.ContainsFunc(e.matching(), busy)
}

// resume goes on with the statements that wait, and reports whether each did what was recorded.
func (x *search) resume(n *state) bool {
	for t := range n.at {
		me := &n.at[t]
		if !me.waiting {
			continue
		}
		s := x.txns[t][me.unit][me.way][me.pos]
		e := &execution{x, n, t, s}
		busy := e.queued()
		for row := range n.rows {
			if !s.keyed() && e.others(func(o *progress) bool { return o.holds(row) }) && e.matches(row, me.began[row]) {
				busy = true
			}
		}
		if busy {
			continue
		}
		if e.ranges || s.action == insert || s.action == upsert {
			me.began = nil
		}
		if !e.run() {
			return false
		}
		me.waiting, me.began = false, nil
		x.advance(n, t)
	}
	return true
}

// matches reports whether a row fulfils the conditions, or is the one of the statement.
func (e *execution) matches(row int, v *version) bool {
	r := e.w.rows[row]
	switch {
	case v == nil:
		return false
	case e.s.keyed():
		return row == e.s.row
	}
	return r.table == e.s.table && e.s.where.Matches(r.table, schema.Row{Key: r.key, Groups: v.groups})
}

// end makes what a transaction has written visible, or drops it. Statements that waited for it go on; it reports whether
// each did what was recorded.
func (e *execution) end() bool {
	me := e.me()
	if !e.aborts(e.t) {
		e.rows, e.since, e.born = slices.Clone(e.rows), slices.Clone(e.since), slices.Clone(e.born)
		e.clock++
		for _, c := range me.own {
			if e.rows[c.row] == nil {
				e.born[c.row] = e.clock
			}
			e.rows[c.row], e.since[c.row] = c.to, e.clock
		}
	}
	me.own, me.locked, me.ranged, me.gaps = nil, nil, nil, nil
	return e.resume(e.state)
}

// view is the row that the statement sees.
func (e *execution) view(row int) *version {
	me := e.me()
	if v, ok := me.wrote(row); ok {
		return v
	}
	if e.s.plain() {
		switch e.sight {
		case snapshot:
			return me.snap[row]
		case written:
			for j := range e.state.at {
				if v, ok := e.state.at[j].wrote(row); ok && j != e.t {
					return v
				}
			}
		}
	} else if me.began != nil && (me.began[row] == nil || e.born[row] > me.beganAt) {
		return nil // the statement that waited does not see rows that were inserted since it began
	} else if me.began != nil && !e.matches(row, me.began[row]) {
		return me.began[row] // nor changes of rows that it did not wait for
	} else if e.hides && me.snap != nil && e.s.action != insert && e.s.action != upsert {
		return me.snap[row]
	}
	return e.rows[row]
}

// fits reports whether what a row holds is what was recorded.
func fits(c cell, v *version) bool { return (v.text(c.group) == c.text) != c.not }

func (e *execution) found(cells []cell, view func(row int) *version) bool {
	return !slices.ContainsFunc(cells, func(c cell) bool { return !fits(c, view(c.row)) })
}

// newer reports whether a row was committed after the snapshot, so that the database refuses to write it.
func (e *execution) newer(row int) bool {
	me := e.me()
	_, own := me.wrote(row)
	return e.refuses && me.snap != nil && !own && e.since[row] > me.taken
}

// others reports whether another transaction that has not ended fulfils f.
func (e *execution) others(f func(*progress) bool) bool {
	for j := range e.state.at {
		if j != e.t && f(&e.state.at[j]) {
			return true
		}
	}
	return false
}

// waits reports whether the statement waits for a lock on a row.
func (e *execution) waits(row int) bool {
	return e.locks && e.others(func(t *progress) bool { return t.holds(row) || slices.Contains(t.ranged, e.s.table) })
}

// read executes a statement that only reads.
func (e *execution) read() bool {
	s, me := e.s, e.me()
	if s.lock && s.action == scan {
		return e.lockWhere()
	}
	if s.lock {
		if e.waits(s.row) || e.newer(s.row) && (!e.hides || me.snap[s.row] != nil) {
			return false
		}
		if e.gaps && e.view(s.row) == nil {
			me.gaps = append(slices.Clip(me.gaps), s.table)
		}
		me.locked = append(slices.Clip(me.locked), s.row)
	}
	if !e.found(s.reads, e.view) {
		return false
	}
	if s.action == get {
		return true
	}
	rows := e.matching()
	if s.action == count {
		s.returned = fmt.Sprint(len(rows)) // of the last execution, which is the one in the order
		if s.partial && len(rows) < s.counted {
			s.returned += fmt.Sprintf("; %d in the recorded run, with rows that are left out here", s.counted)
			return true
		}
		return len(rows) == s.counted
	}
	more := slices.ContainsFunc(rows, func(row int) bool { return !e.known(row) })
	if !s.partial || len(s.reads) > 0 {
		return !more
	}
	// Of this scan nothing is kept. In the recorded run others may have changed a row before that it finds here.
	if s.returned = s.recorded; more {
		s.returned = ""
	}
	return true
}

// known reports whether the statement found a row in the recorded run.
func (e *execution) known(row int) bool {
	return e.s.omitted[row] || slices.ContainsFunc(e.s.writes, func(c cell) bool { return c.row == row }) ||
		slices.ContainsFunc(e.s.reads, func(c cell) bool { return c.row == row && !c.not && c.text != "" })
}

// matching lists the rows that fulfil the conditions, up to the limit.
func (e *execution) matching() (out []int) {
	s := e.s
	var found []schema.Row
	at := map[string]int{}
	for i, r := range e.w.rows {
		if r.table != s.table {
			continue
		}
		if v := e.view(i); v != nil {
			x := schema.Row{Key: r.key, Groups: v.groups}
			if s.where.Matches(r.table, x) {
				found = append(found, x)
				at[fmt.Sprint(r.key)] = i
			}
		}
	}
	for _, x := range s.where.Arrange(s.table, found) {
		out = append(out, at[fmt.Sprint(x.Key)])
	}
	return out
}

// put sets a row, and reports whether it now holds what was recorded.
func (e *execution) put(row int, v *version) bool {
	me := e.me()
	me.own = append(slices.Clip(me.own), change{row, v})
	return !slices.ContainsFunc(e.s.writes, func(c cell) bool { return c.row == row && v.text(c.group) != c.text })
}

// write executes a statement that writes a row.
func (e *execution) write() bool {
	s := e.s
	before := e.view(s.row)
	switch {
	case e.waits(s.row) || !e.found(s.reads, e.view):
		return false
	case before == nil && (s.action == update || s.action == remove) || before != nil && s.action == insert:
		return false
	case e.newer(s.row) && (before != nil || e.keeps):
		return false
	case before == nil && e.locks && e.others(func(t *progress) bool { return slices.Contains(t.gaps, s.table) }):
		return false
	case s.action == remove:
		return e.put(s.row, nil)
	case s.action == update:
		return e.put(s.row, e.changed(before))
	}
	groups := filled(s.table, s.content)
	for g := range groups {
		if before != nil && s.content[g] == nil {
			groups[g] = before.groups[g]
		}
	}
	return e.put(s.row, e.made.of(groups))
}

// changed is what an update makes of a row.
func (e *execution) changed(v *version) *version {
	groups := slices.Clone(v.groups)
	groups[e.s.group] = schema.After(groups[e.s.group], e.s.exprs)
	return e.made.of(groups)
}

// lockWhere executes a statement that locks the rows that fulfil conditions.
func (e *execution) lockWhere() bool {
	if !e.found(e.s.reads, e.view) || !e.free() {
		return false
	}
	me := e.me()
	for _, row := range e.matching() {
		if e.newer(row) || e.waits(row) || !e.known(row) {
			return false
		}
		me.locked = append(slices.Clip(me.locked), row)
	}
	return true
}

// free reports whether nothing keeps a statement that writes or locks rows which fulfil conditions from them. It locks the
// range of the rows.
func (e *execution) free() bool {
	s, me := e.s, e.me()
	if e.locks && e.ranges && e.others(func(t *progress) bool {
		return slices.Contains(t.ranged, s.table) || slices.Contains(t.gaps, s.table) || slices.ContainsFunc(t.own, func(c change) bool { return e.w.rows[c.row].table == s.table }) ||
			slices.ContainsFunc(t.locked, func(row int) bool { return e.w.rows[row].table == s.table })
	}) {
		return false
	}
	if e.gaps {
		me.ranged = append(slices.Clip(me.ranged), s.table)
	}
	if me.snap != nil && e.refuses { // rows that fulfilled the conditions in the snapshot, and were changed since
		for row, v := range me.snap {
			r := e.w.rows[row]
			if v != nil && r.table == s.table && e.newer(row) && s.where.Matches(r.table, schema.Row{Key: r.key, Groups: v.groups}) {
				return false
			}
		}
	}
	return true
}

// writeWhere executes a statement that writes the rows that fulfil conditions.
func (e *execution) writeWhere() bool {
	s := e.s
	if !e.found(s.reads, e.view) || !e.free() {
		return false
	}
	rows := e.matching()
	for _, row := range rows {
		if e.newer(row) || e.waits(row) {
			return false
		}
		var after *version
		if s.action == updateWhere {
			after = e.changed(e.view(row))
		}
		// In the recorded run others may have changed a row before that this statement finds here. That is no matter if
		// nobody can read what it does to the row.
		if !e.known(row) && (!s.partial || e.judged[row] || after != nil && e.mentioned[cell{row: row, group: s.group, text: after.text(s.group)}]) {
			return false
		}
		if !e.put(row, after) {
			return false
		}
	}
	// Writes need their row.
	return !slices.ContainsFunc(s.writes, func(c cell) bool { return !slices.Contains(rows, c.row) })
}

// aborts reports whether a transaction rolls back.
func (x *search) aborts(t int) bool {
	return t < len(x.w.h.Txns) && x.w.h.Txns[t].Status == history.Aborted
}
