package scans_test

import (
	"slices"

	"github.com/isohound/isohound/checker/certify"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/history"
)

// small tries every execution of a small history with choices. It knows nothing of how others do that. Weak
// levels are left to the certifier; a history that is open there is no violation.
func small(h *history.History, lvl level.Level) bool {
	if lvl.Weak() || lvl == level.PSI {
		ok, decided := certify.Judge(h, lvl, 1<<40)
		return ok || !decided
	}
	must, may := 0, []int{}
	for i := range h.Txns {
		switch h.Txns[i].Status {
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
		x := executions{h, lvl, in, h.AllChoices()}
		state := make([]history.Value, h.KeyCount())
		for k := range state {
			state[k] = h.Initial(history.Key(k))
		}
		if x.next(state, 0, 0) {
			return true
		}
	}
	return false
}

type executions struct {
	h       *history.History
	lvl     level.Level
	in      int
	choices []history.ChoiceRef
}

func (x *executions) next(state []history.Value, started, committed int) bool {
	if committed == x.in {
		return true
	}
	for i := range x.h.Txns {
		bit := 1 << i
		switch {
		case x.in&bit == 0 || committed&bit != 0:
		case started&bit != 0:
			if x.lvl != level.PC && x.clash(i, started&^committed&^bit) {
				continue
			}
			after := slices.Clone(state)
			for _, op := range x.h.Ops(&x.h.Txns[i]) {
				if op.Kind == history.Write {
					after[op.Key] = op.Value
				}
			}
			if x.next(after, started, committed|bit) {
				return true
			}
		case (x.lvl.Snapshot() || started == committed) && x.ready(i, committed) && x.fits(i, state):
			if x.next(state, started|bit, committed) {
				return true
			}
		}
	}
	return false
}

func (x *executions) clash(i, running int) bool {
	for j := range x.h.Txns {
		if running>>j&1 == 0 {
			continue
		}
		for _, a := range x.h.Ops(&x.h.Txns[i]) {
			for _, b := range x.h.Ops(&x.h.Txns[j]) {
				if a.Kind == history.Write && b.Kind == history.Write && a.Key == b.Key {
					return true
				}
			}
		}
	}
	return false
}

func (x *executions) ready(i, committed int) bool {
	b := &x.h.Txns[i]
	for j := range x.h.Txns {
		a := &x.h.Txns[j]
		if j == i || x.in>>j&1 == 0 || committed>>j&1 == 1 || a.Status != history.Committed {
			continue
		}
		if x.lvl.SessionOrder() && a.Session == b.Session && j < i || x.lvl.RealTime() && a.End != history.NoTime && b.Begin != history.NoTime && a.End < b.Begin {
			return false
		}
	}
	return true
}

func (x *executions) fits(i int, state []history.Value) bool {
	view := slices.Clone(state)
	for _, p := range x.h.Predicates(i) { // it has each row once
		ops := x.h.Ops(&x.h.Txns[i])[p.Ops[0]+p.Implied : p.Ops[1]]
		for n, op := range ops {
			if slices.ContainsFunc(ops[:n], func(o history.Op) bool { return o.Key == op.Key && o.Kind == op.Kind }) {
				return false
			}
		}
	}
	for _, op := range x.h.Ops(&x.h.Txns[i]) {
		if op.Kind == history.Write {
			view[op.Key] = op.Value
		} else if (view[op.Key] == op.Value) != (op.Kind == history.Read) {
			return false
		}
	}
	for _, r := range x.choices {
		if r.Txn != i {
			continue
		}
		met := false
		for _, list := range x.h.Choice(r) {
			all := true
			for n := range list {
				op := x.h.Op(&list[n])
				all = all && int(op.Key) < len(state) && (state[op.Key] == op.Value) == (op.Kind == history.Read)
			}
			met = met || all
		}
		if !met {
			return false
		}
	}
	return true
}
