package scans

import (
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// replay executes the transactions of a witness and evaluates scans on the rows that exist then.
type replay struct {
	*effects
	states []*groupState // by number of a group; nil if no scan looks at it
	// log has what transactions changed, if it is kept.
	log  []change
	keep bool
	txn  int32 // that commits
}

// effects are what transactions write into the groups of rows that scans look at.
type effects struct {
	x     *index
	scans [][]*scan // by transaction
	list  []effect
	from  []int32 // by transaction: its first effect in list; one more at the end
}

// effect gives a row a version of a group, -1 if the row is deleted.
type effect struct {
	group    int32 // its number
	row, now int32
}

// groupState has the version of each row in one group of a table.
type groupState struct {
	vs      *versions
	current []int32 // by row: its version, as a position in vs.list, or -1
	keyAt   []int32 // by row: its position in byKey
	present *tree   // of positions in byKey: the rows that exist
	columns []columnState
}

// columnState has the current versions in the order of a column.
type columnState struct {
	column  int
	at      []int32 // by version: its position in the order
	present *tree   // of positions in the order
}

// newEffects collects what the transactions write into groups that some scans look at.
func newEffects(x *index, scans []*scan) *effects {
	e := &effects{x: x, scans: make([][]*scan, len(x.h.Txns)), from: make([]int32, len(x.h.Txns)+1)}
	wanted := make([]bool, x.groups)
	for _, s := range scans {
		e.scans[s.txn] = append(e.scans[s.txn], s)
		for _, g := range s.groups {
			wanted[s.t.first+g] = true
		}
	}
	for i := range x.h.Txns {
		if t := &x.h.Txns[i]; t.Status != history.Aborted {
			for _, op := range x.h.Ops(t) {
				if op.Kind != history.Write {
					continue
				}
				if p := x.places[op.Key]; p.t != nil && wanted[p.t.first+int(p.group)] {
					e.list = append(e.list, effect{int32(p.t.first) + p.group, p.row, p.t.groups[p.group].version(p.row, op.Value)})
				}
			}
		}
		e.from[i+1] = int32(len(e.list))
	}
	return e
}

// version is find for a value that may be absence.
func (vs *versions) version(row int32, v history.Value) int32 {
	if v == history.Absent {
		return -1
	}
	return vs.find(row, v)
}

func newReplay(e *effects, scans []*scan) *replay {
	r := &replay{effects: e, states: make([]*groupState, e.x.groups)}
	for _, s := range scans {
		for _, g := range s.groups {
			if at := &r.states[s.t.first+g]; *at == nil {
				*at = newGroupState(s.t, g)
			}
		}
		state := r.states[s.t.first+s.drive]
		if s.column < 0 || state.column(s.column) != nil {
			continue
		}
		list := state.vs.order(s.column).list
		c := columnState{s.column, make([]int32, len(list)), newTree(len(list))}
		for i, v := range list {
			c.at[v] = int32(i)
		}
		state.columns = append(state.columns, c)
	}
	for k, p := range e.x.places {
		if p.t == nil {
			continue
		}
		if n := int32(p.t.first) + p.group; r.states[n] != nil {
			r.write(effect{n, p.row, p.t.groups[p.group].version(p.row, e.x.h.Initial(history.Key(k)))})
		}
	}
	return r
}

// column returns the state of a column, or nil.
func (g *groupState) column(c int) *columnState {
	for i := range g.columns {
		if g.columns[i].column == c {
			return &g.columns[i]
		}
	}
	return nil
}

func newGroupState(t *table, g int) *groupState {
	state := &groupState{
		vs: &t.groups[g], current: make([]int32, len(t.rows)), keyAt: make([]int32, len(t.rows)),
		present: newTree(len(t.rows)),
	}
	for i, row := range t.byKey {
		state.keyAt[row], state.current[row] = int32(i), -1
	}
	return state
}

// write gives a row a version.
func (r *replay) write(e effect) {
	state := r.states[e.group]
	old := state.current[e.row]
	if r.keep {
		r.log = append(r.log, change{r.txn, e.group, e.row, old, e.now})
	}
	state.current[e.row] = e.now
	if old >= 0 {
		for i := range state.columns {
			c := &state.columns[i]
			c.present.remove(c.at[old])
		}
		if e.now < 0 {
			state.present.remove(state.keyAt[e.row])
		}
	}
	if e.now >= 0 {
		for i := range state.columns {
			c := &state.columns[i]
			c.present.insert(c.at[e.now])
		}
		if old < 0 {
			state.present.insert(state.keyAt[e.row])
		}
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
	return r.states[s.t.first+g].current[row]
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
	state := r.states[s.t.first+s.drive]
	set, row := state.present, func(i int32) int32 { return s.t.byKey[i] }
	if s.column >= 0 {
		list := state.vs.sorted[s.column].list
		set, row = state.column(s.column).present, func(i int32) int32 { return state.vs.list[list[i]].row }
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
func (r *replay) run(w *verdict.Witness, before func(txn int32) error) error {
	commit := func(txn int32) {
		r.txn = txn
		for _, e := range r.list[r.from[txn]:r.from[txn+1]] {
			r.write(e)
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
