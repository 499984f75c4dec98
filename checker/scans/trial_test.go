package scans_test

import (
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/history"
)

// allowed tries every execution of every set of transactions that may have committed.
func (r *run) allowed(lvl level.Level) bool {
	var may []int
	must := 0
	for i := range r.txns {
		switch r.txns[i].status {
		case history.Committed:
			must |= 1 << i
		case history.Unknown:
			may = append(may, i)
		}
	}
	for set := range 1 << len(may) {
		in := must
		for n, i := range may {
			if set>>n&1 == 1 {
				in |= 1 << i
			}
		}
		x := trial{run: r, lvl: lvl, in: in, views: make([]state, len(r.txns))}
		if x.next(r.initial, 0, 0) {
			return true
		}
	}
	return false
}

// trial tries the orders of the starts and commits of a set of transactions.
type trial struct {
	*run
	lvl   level.Level
	in    int
	views []state // at the start of each transaction
}

// next tries every event after those of the transactions that started and committed.
func (x *trial) next(s state, started, committed int) bool {
	if committed == x.in {
		return true
	}
	for i := range x.txns {
		switch bit := 1 << i; {
		case x.in&bit == 0 || committed&bit != 0:
		case started&bit != 0:
			if x.lvl != level.PC && x.conflicts(i, started&^committed) {
				continue
			}
			after := s.clone()
			for n := range x.txns[i].statements {
				after.apply(&x.txns[i].statements[n])
			}
			if x.next(after, started, committed|bit) {
				return true
			}
		case x.mayStart(i, committed) && (x.lvl.Snapshot() || started == committed):
			if !x.runs(i, s) {
				continue
			}
			if x.next(s, started|bit, committed) {
				return true
			}
		}
	}
	return false
}

// mayStart reports whether session order and real time allow i to start.
func (x *trial) mayStart(i, committed int) bool {
	for j := range x.txns {
		if x.in>>j&1 == 0 || j == i || committed>>j&1 == 1 {
			continue
		}
		a, b := &x.txns[j], &x.txns[i]
		if x.lvl.SessionOrder() && a.session == b.session && j < i && a.status != history.Unknown {
			return false
		}
		if x.lvl.RealTime() && a.end != history.NoTime && b.begin != history.NoTime && a.end < b.begin {
			return false
		}
	}
	return true
}

// runs reports whether i may have seen what it returned if it started on this state.
func (x *trial) runs(i int, s state) bool {
	view := s.clone()
	for n := range x.txns[i].statements {
		st := &x.txns[i].statements[n]
		if !view.sees(st) {
			return false
		}
		view.apply(st)
	}
	return true
}

// deletes reports whether a statement deletes rows. Where updates may be lost, a row that one transaction
// deleted may be written by another one, which the trial does not model.
func (r *run) deletes() bool {
	for i := range r.txns {
		for n := range r.txns[i].statements {
			if kind := r.txns[i].statements[n].kind; kind == "delete" || kind == "remove" {
				return true
			}
		}
	}
	return false
}

// conflicts reports whether a transaction that is running has written an item that i writes, or
// will: one of the two must not commit.
func (x *trial) conflicts(i, running int) bool {
	mine := x.writes(i)
	for j := range x.txns {
		if j != i && running>>j&1 == 1 {
			for item := range x.writes(j) {
				if mine[item] {
					return true
				}
			}
		}
	}
	return false
}

func (x *trial) writes(i int) map[string]bool {
	out := map[string]bool{}
	for n := range x.txns[i].statements {
		s := &x.txns[i].statements[n]
		t := tables[s.table]
		switch s.kind {
		case "set":
			out[t.Item([]any{s.key}, s.group)] = true
		case "insert", "delete":
			for g := range t.Groups {
				out[t.Item([]any{s.key}, g)] = true
			}
		case "update":
			for _, r := range s.rows {
				out[t.Item(r.Key, s.group)] = true
			}
		case "remove":
			for _, r := range s.rows {
				for g := range t.Groups {
					out[t.Item(r.Key, g)] = true
				}
			}
		}
	}
	return out
}
