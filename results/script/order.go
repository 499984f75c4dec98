package script

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/history"
)

// models are the models of a database at an isolation: first the one of the isolation, by which an order shows the
// violation. The recording may come from a database that does not do what it says, and so the others follow, with what
// they do that the isolation should not.
func (db *Database) models(isolation, promises string) []model {
	level, setting, _ := strings.Cut(isolation, ", ")
	m := model{sight: db.sight(isolation), moment: db.snapshot, locks: true, ranges: db.ranges}
	if m.sight == snapshot {
		m.gaps = db.ranges
		m.hides = !db.ranges
		m.refuses = refuses(setting, promises)
		m.keeps = m.refuses && db.ranges // PostgreSQL inserts such a row
	}
	out := []model{m}
	if !m.refuses {
		m.queues = true
		out = append(out, m)
	}
	add := func(s sight, refuses, locks bool) {
		if o := (model{sight: s, moment: db.snapshot, refuses: refuses, keeps: refuses && db.ranges, locks: locks}); o != out[0] {
			out = append(out, o)
		}
	}
	switch m.sight {
	case snapshot:
		add(snapshot, true, true)
		add(snapshot, false, true)
		add(snapshot, false, false)
	case written:
		add(written, false, true)
	}
	if level != "read uncommitted" || m.sight == committed {
		add(committed, false, true)
	}
	add(committed, false, false)
	if m.sight != written {
		add(written, false, true)
	}
	return out
}

// refuses reports whether an isolation with snapshots refuses to overwrite what was committed after a transaction's snapshot.
// It does where it promises snapshot isolation. What it promises is not always known.
func refuses(setting, promises string) bool {
	if levels, err := level.ParseList(promises); err == nil && promises != "" {
		return slices.ContainsFunc(levels, func(l level.Level) bool { return l.Implies(level.SI) })
	}
	return !strings.HasSuffix(setting, "=OFF")
}

// doubt says why an order by a model is no order at the isolation, whose own model is first.
func (m model) doubt(own model, isolation string) string {
	level, _, _ := strings.Cut(isolation, ", ")
	only := func(f string, args ...any) string {
		return "in this order each read returns what was recorded only if\n" + fmt.Sprintf(f, args...) + ", which does not fit " + level
	}
	switch {
	case m.sight != own.sight:
		return only("%s", sights[m.sight])
	case own.refuses && !m.refuses:
		return only("a transaction may write or lock what was committed after its snapshot")
	case own.locks && !m.locks:
		return "in this order each read returns what was recorded only if\nwriters of a row do not wait for each other"
	case own.ranges && !m.ranges:
		return "in this order statements with conditions may wait for locks\non rows that they pass, and each read returns what was recorded only if they do not"
	case level == "serializable":
		return "serializable should refuse one of these transactions, or\nhave it wait"
	}
	return ""
}

// maxTries bounds the search for an order by each model: how often a statement is tried.
const maxTries = 20_000

// search looks for an order of the statements of transactions in which each does what was recorded.
type search struct {
	model
	w    *writer
	made versions
	// txns are the units of each transaction: the first is its begin, the last its end. Those after the transactions of the
	// history stand for others that are left out; they have one unit.
	txns [][]unit
	// after are the transactions that must have ended when one begins.
	after [][]int
	// others are those after the transactions of the history.
	others []other
	// mentioned are the contents that the history has; what is added must not have them. judged are the rows of which it has
	// reads of absence, or that something was not read: nothing must be added to them that was not done.
	mentioned map[cell]bool
	judged    map[int]bool

	order []placed
	seen  map[string]bool
	tried int
}

// placed is a statement in the order.
type placed struct {
	txn   int
	s     *statement
	waits bool
}

// plan is the order that was found.
type plan struct {
	steps []step
	extra []extraRow
	sight string
	// doubt says why the order does not show the violation, or is "".
	doubt string
}

// plan looks for an order. Where there is a choice, the earlier statement comes first.
func (w *writer) plan(isolation, promises string) plan {
	x := &search{w: w, made: versions{}, mentioned: map[cell]bool{}, judged: map[int]bool{}, txns: make([][]unit, len(w.h.Txns)), after: make([][]int, len(w.h.Txns))}
	for i := range w.h.Txns {
		x.txns[i] = w.transaction(i, isolation)
		t := &w.h.Txns[i]
		for j := range w.h.Txns {
			o := &w.h.Txns[j]
			known := o.Status != history.Unknown && o.End != history.NoTime && t.Begin != history.NoTime
			if j < i && o.Session == t.Session || known && o.End < t.Begin && !w.h.NoCommonClock {
				x.after[i] = append(x.after[i], j)
			}
		}
	}
	for i := range w.h.Txns {
		reads, writes := w.cells(w.h.Ops(&w.h.Txns[i]))
		for _, c := range slices.Concat(reads, writes) {
			x.mentioned[cell{row: c.row, group: c.group, text: c.text}] = true
		}
		for _, c := range reads {
			x.judged[c.row] = x.judged[c.row] || c.not || c.text == ""
		}
	}
	models := w.db.models(isolation, promises)
	needs := x.needs()
	variants := w.variants(needs)
	for _, m := range models {
		x.model = m
		for v, extra := range variants {
			if v > 1 && m.doubt(models[0], isolation) != "" { // less is enough
				break
			}
			if x.look(extra) {
				p := plan{steps: x.steps(), extra: extra.rows, sight: sights[m.sight], doubt: m.doubt(models[0], isolation)}
				if w.lossy {
					p.doubt = "not all of it is written as SQL"
				}
				return p
			}
		}
	}
	x.order = nil
	for i, units := range x.txns[:len(w.h.Txns)] {
		for _, u := range units {
			for _, s := range u[0] {
				x.order = append(x.order, placed{i, s, false})
			}
		}
	}
	steps := x.steps()
	moments := x.moments()
	slices.SortStableFunc(steps, func(a, b step) int { return cmp.Compare(moments[a.statement], moments[b.statement]) })
	return plan{steps: steps, doubt: guessed}
}

// guessed is the doubt of an order that no model fits.
const guessed = "no order was found in which each read would return what was recorded.\nBegins and ends are in the order of the recording, and the statements between are spread evenly"

// moments are when each statement is thought to have been executed: spread evenly from begin to end.
func (x *search) moments() map[*statement]float64 {
	out := map[*statement]float64{}
	for i := range x.w.h.Txns {
		for u := range x.txns[i] {
			for _, way := range x.txns[i][u] {
				for pos, s := range way {
					out[s] = x.due(i, u) + float64(pos)*1e-3
				}
			}
		}
	}
	return out
}

// due is when unit u of transaction i is thought to have been executed.
func (x *search) due(i, u int) float64 {
	t := &x.w.h.Txns[i]
	from, to := float64(i), float64(i)+0.9 // without times of one clock: one after the other
	if t.Begin != history.NoTime && t.End != history.NoTime && !x.w.h.NoCommonClock {
		from, to = float64(t.Begin), float64(t.End)
	}
	return from + (to-from)*float64(u)/float64(len(x.txns[i])-1)
}

// steps are the order as steps with names.
func (x *search) steps() (out []step) {
	count := map[int]int{}
	last := int64(0)
	for i := range x.w.h.Txns {
		last = max(last, x.w.h.SessionName(x.w.h.Txns[i].Session))
	}
	for _, p := range x.order {
		count[p.txn]++
		s := step{session: last + 1, name: fmt.Sprintf("other_%d", p.txn-len(x.w.h.Txns)+1), statement: p.s, waits: p.waits}
		if p.txn < len(x.w.h.Txns) {
			t := &x.w.h.Txns[p.txn]
			s.session, s.txn, s.name = x.w.h.SessionName(t.Session), t.ID, fmt.Sprintf("t%d_%d", t.ID, count[p.txn])
		}
		out = append(out, s)
	}
	return out
}

// look looks for an order by the model, from a state with extra rows and with extra transactions.
func (x *search) look(e extra) bool {
	x.txns, x.after = x.txns[:len(x.w.h.Txns)], x.after[:len(x.w.h.Txns)]
	for _, o := range e.others {
		x.txns, x.after = append(x.txns, []unit{{{o.statement}}}), append(x.after, nil)
	}
	x.others = e.others
	x.order, x.seen, x.tried = nil, map[string]bool{}, 0
	s := &state{rows: make([]*version, len(x.w.rows)), since: make([]int, len(x.w.rows)), born: make([]int, len(x.w.rows)), at: make([]progress, len(x.txns))}
	for i, c := range x.w.initial(e.rows) {
		if c != nil {
			s.rows[i] = x.made.of(c.groups)
		}
	}
	return x.hopeful(s) && x.find(s)
}

// helper reports whether a transaction stands for one that is left out.
func (x *search) helper(t int) bool { return t >= len(x.w.h.Txns) }

// ended reports whether a transaction has ended.
func (x *search) ended(s *state, t int) bool { return s.at[t].unit == len(x.txns[t]) }

// find appends the statements that are left to the order, and reports whether it could.
func (x *search) find(s *state) bool {
	var open []int
	left := false
	for i := range x.txns {
		if !x.ended(s, i) && !s.at[i].waiting && (!x.helper(i) || x.helps(s, x.others[i-len(x.w.h.Txns)])) {
			open = append(open, i)
			left = left || !x.helper(i)
		}
	}
	if !left {
		return !slices.ContainsFunc(s.at, func(t progress) bool { return t.waiting })
	}
	key := x.key(s)
	if x.seen[key] {
		return false
	}
	x.seen[key] = true
	at := func(i int) float64 {
		if x.helper(i) {
			return 1e300
		}
		return x.due(i, s.at[i].unit)
	}
	slices.SortStableFunc(open, func(a, b int) int { return cmp.Compare(at(a), at(b)) })
	for _, i := range open {
		t := &s.at[i]
		ways := x.txns[i][t.unit]
		from, to := 0, len(ways)
		if t.pos > 0 { // the way is chosen
			from, to = t.way, t.way+1
		}
		for n := from; n < to; n++ {
			if x.tried++; x.tried > maxTries {
				return false
			}
			next := x.step(s, i, n, ways[n])
			if next == nil {
				continue
			}
			// What can still be read changes with ends, and with snapshots.
			if (next.clock > s.clock || x.ended(next, i) || t.snap == nil && next.at[i].snap != nil) && !x.hopeful(next) {
				continue
			}
			x.order = append(x.order, placed{i, ways[n][t.pos], next.at[i].waiting})
			if x.find(next) {
				return true
			}
			x.order = x.order[:len(x.order)-1]
		}
	}
	return false
}

// step executes the next statement of a transaction.
func (x *search) step(s *state, i, n int, w way) *state {
	t := &s.at[i]
	if t.unit == 0 && slices.ContainsFunc(x.after[i], func(j int) bool { return !x.ended(s, j) }) {
		return nil
	}
	next := x.execute(s, i, w[t.pos])
	if next == nil {
		return nil
	}
	me := &next.at[i]
	if me.way = n; me.waiting {
		if x.helper(i) {
			return nil
		}
		return next
	}
	x.advance(next, i)
	if x.helper(i) && !(&execution{x, next, i, w[0]}).end() {
		return nil
	}
	return next
}

// advance moves a transaction on to its next statement.
func (x *search) advance(s *state, i int) {
	me := &s.at[i]
	if me.pos++; me.pos == len(x.txns[i][me.unit][me.way]) {
		me.unit, me.way, me.pos = me.unit+1, 0, 0
	}
}

// key is equal for states from which the same is possible.
func (x *search) key(s *state) string {
	var b []byte
	versions := func(list []*version) {
		for _, v := range list {
			id := 0
			if v != nil {
				id = v.id
			}
			b = binary.AppendUvarint(b, uint64(id))
		}
	}
	for i := range s.at {
		t := &s.at[i]
		b = binary.AppendUvarint(binary.AppendUvarint(binary.AppendUvarint(b, uint64(t.unit)), uint64(t.way)), uint64(t.pos))
		if x.ended(s, i) {
			continue
		}
		for _, c := range t.own {
			b = binary.AppendUvarint(b, uint64(c.row))
			versions([]*version{c.to})
		}
		if t.waiting {
			b = append(b, 'w')
			versions(t.began)
		}
		if t.snap == nil {
			continue
		}
		versions(t.snap)
		for _, since := range s.since {
			newer := byte(0)
			if since > t.taken {
				newer = 1
			}
			b = append(b, newer)
		}
	}
	versions(s.rows)
	return string(b)
}

// hopeful reports whether each read that is left may still find its value.
func (x *search) hopeful(s *state) bool {
	type content struct {
		row, group int
		text       string
	}
	coming, writes := map[content]bool{}, map[[2]int]bool{}
	for i := range x.txns {
		if x.ended(s, i) {
			continue
		}
		lasting := !x.aborts(i) || x.sight == written
		for u := s.at[i].unit; u < len(x.txns[i]); u++ {
			for _, way := range x.txns[i][u] {
				for _, st := range way {
					for _, c := range st.writes {
						writes[[2]int{i, c.row}] = true
						coming[content{c.row, c.group, c.text}] = lasting || coming[content{c.row, c.group, c.text}]
					}
					if st.action == insert || st.action == upsert {
						writes[[2]int{i, st.row}] = true
						for g, values := range filled(st.table, st.content) {
							coming[content{st.row, g, spell(values)}] = lasting || coming[content{st.row, g, spell(values)}]
						}
					}
					if st.action == update && len(st.writes) == 0 || st.action == updateWhere && len(st.omitted) > 0 || st.action == removeWhere {
						return true // it is not known what it writes
					}
				}
			}
		}
		for _, c := range s.at[i].own {
			writes[[2]int{i, c.row}] = true
			if c.to == nil {
				for g := range x.w.rows[c.row].table.Groups {
					coming[content{c.row, g, ""}] = true
				}
				continue
			}
			for g, text := range c.to.texts {
				coming[content{c.row, g, text}] = lasting || coming[content{c.row, g, text}]
			}
		}
	}
	possible := func(i int, st *statement) bool {
		t := &s.at[i]
		for _, c := range st.reads {
			if c.not || writes[[2]int{i, c.row}] {
				continue
			}
			if st.plain() && x.sight == snapshot && t.snap != nil {
				if !fits(c, t.snap[c.row]) {
					return false
				}
			} else if !fits(c, s.rows[c.row]) && !coming[content{c.row, c.group, c.text}] {
				return false
			}
		}
		return true
	}
	for i := range x.w.h.Txns {
		if x.ended(s, i) {
			continue
		}
		for u := s.at[i].unit; u < len(x.txns[i]); u++ {
			if !slices.ContainsFunc(x.txns[i][u], func(w way) bool {
				return !slices.ContainsFunc(w, func(st *statement) bool { return !possible(i, st) })
			}) {
				return false
			}
		}
	}
	return true
}
