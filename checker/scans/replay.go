package scans

import (
	"sort"

	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// replay executes the transactions of a witness and evaluates scans on the rows that exist then.
type replay struct {
	x      *index
	groups map[groupOf]*groupState
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
	columns map[string]*columnState
}

// columnState has the current versions in the order of a column.
type columnState struct {
	at      []int32 // by version: its position in the order
	present *tree   // of positions in the order
}

func newReplay(x *index, scans []*scan) (*replay, error) {
	r := &replay{x, map[groupOf]*groupState{}}
	for _, s := range scans {
		of := groupOf{s.t, s.group}
		state := r.groups[of]
		if state == nil {
			state = newGroupState(s.t, s.group)
			r.groups[of] = state
		}
		if s.column != "" && state.columns[s.column] == nil {
			list, err := x.order(s.t, s.group, s.column)
			if err != nil {
				return nil, err
			}
			c := &columnState{make([]int32, len(list)), newTree(len(list))}
			for i, v := range list {
				c.at[v] = int32(i)
			}
			state.columns[s.column] = c
		}
	}
	for k, p := range x.places {
		if p.t != nil {
			r.write(history.Key(k), x.h.Initial(history.Key(k)))
		}
	}
	return r, nil
}

func newGroupState(t *table, g int) *groupState {
	state := &groupState{
		vs: &t.groups[g], current: make([]int32, len(t.rows)), keyAt: make([]int32, len(t.rows)),
		present: newTree(len(t.rows)), columns: map[string]*columnState{},
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
	state.current[p.row] = -1
	if v == history.Absent {
		return
	}
	of := state.vs.of(p.row)
	now := state.vs.from[p.row] + int32(sort.Search(len(of), func(i int) bool { return of[i].value >= v }))
	state.current[p.row] = now
	state.present.insert(state.keyAt[p.row])
	for _, c := range state.columns {
		c.present.insert(c.at[now])
	}
}

// missed calls f with each version that fulfils the conditions of a scan and that exists now.
func (r *replay) missed(s *scan, f func(*version) error) error {
	state := r.groups[groupOf{s.t, s.group}]
	set := state.present
	version := func(i int32) int32 { return state.current[s.t.byKey[i]] }
	if s.column != "" {
		list, err := r.x.order(s.t, s.group, s.column)
		if err != nil {
			return err
		}
		set = state.columns[s.column].present
		version = func(i int32) int32 { return list[i] }
	}
	for i := set.next(s.from); i >= 0 && i < s.to; i = set.next(i + 1) {
		v := &state.vs.list[version(i)]
		ok, err := r.x.fulfils(s.t, s.group, &s.p.Predicate, v)
		if err != nil {
			return err
		}
		if ok {
			if err := f(v); err != nil {
				return err
			}
		}
	}
	return nil
}

// run executes a witness. before is called when a transaction takes its snapshot.
func (r *replay) run(h *history.History, w *verdict.Witness, before func(txn int32) error) error {
	commit := func(txn int32) {
		for _, op := range h.Ops(&h.Txns[txn]) {
			if op.Kind == history.Write && r.x.places[op.Key].t != nil {
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
