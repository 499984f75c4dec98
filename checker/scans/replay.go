package scans

import (
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// replay executes the transactions of a witness and evaluates scans on the rows that exist then.
type replay struct {
	x      *index
	groups map[groupOf]*groupState
	// log has what transactions changed, if it is kept.
	log  []change
	keep bool
	txn  int32 // that commits
}

type groupOf struct {
	t *table
	g int
}

// groupState has the version of each row in one group of a table.
type groupState struct {
	vs      *versions
	current []int32 // by row: its version, as a position in vs.list, or -1
	keyAt   []int32 // by row: its position in byKey
	present *tree   // of positions in byKey: the rows that exist
	columns map[int]*columnState
}

// columnState has the current versions in the order of a column.
type columnState struct {
	at      []int32 // by version: its position in the order
	present *tree   // of positions in the order
}

func newReplay(x *index, scans []*scan) *replay {
	r := &replay{x: x, groups: map[groupOf]*groupState{}}
	for _, s := range scans {
		for _, g := range s.groups {
			if of := (groupOf{s.t, g}); r.groups[of] == nil {
				r.groups[of] = newGroupState(s.t, g)
			}
		}
		state := r.groups[groupOf{s.t, s.drive}]
		if s.column < 0 || state.columns[s.column] != nil {
			continue
		}
		list := state.vs.order(s.column).list
		c := &columnState{make([]int32, len(list)), newTree(len(list))}
		for i, v := range list {
			c.at[v] = int32(i)
		}
		state.columns[s.column] = c
	}
	for k, p := range x.places {
		if p.t != nil {
			r.write(history.Key(k), x.h.Initial(history.Key(k)))
		}
	}
	return r
}

func newGroupState(t *table, g int) *groupState {
	state := &groupState{
		vs: &t.groups[g], current: make([]int32, len(t.rows)), keyAt: make([]int32, len(t.rows)),
		present: newTree(len(t.rows)), columns: map[int]*columnState{},
	}
	for i, row := range t.byKey {
		state.keyAt[row], state.current[row] = int32(i), -1
	}
	return state
}

// write gives an item a value.
func (r *replay) write(k history.Key, v history.Value) {
	p := r.x.places[k]
	state := r.groups[groupOf{p.t, int(p.group)}]
	if state == nil {
		return
	}
	if old := state.current[p.row]; old >= 0 {
		state.present.remove(state.keyAt[p.row])
		for _, c := range state.columns {
			c.present.remove(c.at[old])
		}
	}
	now := int32(-1)
	if v != history.Absent {
		now = state.vs.find(p.row, v)
	}
	if r.keep {
		r.log = append(r.log, change{r.txn, p.t, p.group, p.row, state.current[p.row], now})
	}
	if state.current[p.row] = now; now < 0 {
		return
	}
	state.present.insert(state.keyAt[p.row])
	for _, c := range state.columns {
		c.present.insert(c.at[now])
	}
}

// version returns the position of the version of a row in a group that a statement sees, or -1 if the
// row does not exist.
func (r *replay) version(s *scan, row int32, g int) int32 {
	if item := s.t.rows[row].items[g]; item >= 0 {
		if v, own := s.own[item]; own && v == history.Absent {
			return -1
		} else if own {
			return s.t.groups[g].find(row, v)
		}
	}
	return r.groups[groupOf{s.t, g}].current[row]
}

// finds reports whether a statement has to find a row, whose key fits.
func (r *replay) finds(s *scan, row int32) bool {
	for _, g := range s.groups {
		if i := r.version(s, row, g); i < 0 || !s.fits(g, i) || s.page.behind(s, row, g, i) {
			return false
		}
	}
	return true
}

// each calls f with each row that a statement has to find and did not find, unless the transaction wrote
// it before.
func (r *replay) each(s *scan, f func(row int32) error) error {
	state := r.groups[groupOf{s.t, s.drive}]
	set, row := state.present, func(i int32) int32 { return s.t.byKey[i] }
	if s.column >= 0 {
		list := state.vs.sorted[s.column].list
		set, row = state.columns[s.column].present, func(i int32) int32 { return state.vs.list[list[i]].row }
	}
	for i := set.next(s.from); i >= 0 && i < s.to; i = set.next(i + 1) {
		if at := row(i); !s.returned.has(at) && !s.written.has(at) && s.keyFits(at) && r.finds(s, at) {
			if err := f(at); err != nil {
				return err
			}
		}
	}
	return nil
}

// run executes a witness. before is called when a transaction takes its snapshot.
func (r *replay) run(h *history.History, w *verdict.Witness, before func(txn int32) error) error {
	commit := func(txn int32) {
		r.txn = txn
		for _, op := range h.Ops(&h.Txns[txn]) {
			if op.Kind == history.Write && int(op.Key) < len(r.x.places) && r.x.places[op.Key].t != nil {
				r.write(op.Key, op.Value)
			}
		}
	}
	if w.Points == nil {
		for _, txn := range w.Order {
			if err := before(txn); err != nil {
				return err
			}
			commit(txn)
		}
		return nil
	}
	for _, p := range w.Points {
		if p&1 == 1 {
			commit(p >> 1)
		} else if err := before(p >> 1); err != nil {
			return err
		}
	}
	return nil
}
