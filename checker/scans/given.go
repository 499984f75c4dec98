package scans

import (
	"slices"

	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// A history may have choices already: a counterexample has those on which it rests. They are judged like those
// that scans leave.

// givenOps returns the operations of an alternative of a choice of the history.
func (s *scan) givenOps(choice, alternative int) []history.Op {
	list := s.p.Choices[choice-1][alternative]
	out := make([]history.Op, len(list))
	for i := range list {
		out[i] = s.h.Op(&list[i])
	}
	return out
}

// unmet returns the choices of the history of which no alternative holds in an execution.
func (r *Rest) unmet(w *verdict.Witness) (out [][][]literal) {
	if len(r.given) == 0 || w == nil {
		return nil
	}
	state := map[history.Key]history.Value{}
	at := map[int][]*scan{}
	for _, s := range r.given {
		at[s.txn] = append(at[s.txn], s)
		for n, c := range s.p.Choices {
			for alternative := range c {
				for _, op := range s.givenOps(n+1, alternative) {
					state[op.Key] = r.h.Initial(op.Key)
				}
			}
		}
	}
	for _, p := range w.At(level.SI).Points {
		if p&1 == 0 {
			for _, s := range at[int(p>>1)] {
				out = append(out, s.unmet(state)...)
			}
			continue
		}
		for _, op := range r.h.Ops(&r.h.Txns[p>>1]) {
			if _, tracked := state[op.Key]; tracked && op.Kind == history.Write {
				state[op.Key] = op.Value
			}
		}
	}
	return out
}

func (s *scan) unmet(state map[history.Key]history.Value) (out [][][]literal) {
	for n, c := range s.p.Choices {
		var all [][]literal
		met := false
		for alternative := range c {
			all = append(all, []literal{{s: s, row: -1, given: n + 1, group: alternative}})
			met = met || !slices.ContainsFunc(s.givenOps(n+1, alternative), func(op history.Op) bool {
				return (state[op.Key] == op.Value) != (op.Kind == history.Read)
			})
		}
		if !met {
			out = append(out, all)
		}
	}
	return out
}
