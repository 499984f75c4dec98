package rounds

import (
	"slices"

	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/history"
)

// Proves reports whether the violation of part at a level is known to prove that the run is violated. part is a closed
// sub-history of h, the window that was entered last, such as a counterexample: for each of its reads it has all
// transactions of h that may have written what was read.
//
// The levels are those at which a transaction sees all that a transaction that it sees had seen, and all earlier ones of its session. No
// transaction of part may be doubtful, that is of unknown outcome and of an earlier window, and none that is may have
// written what part reads. Then take an execution of the run that its level allows, and leave out all transactions but those before the cut
// and those of part. No read of part loses its source: it is not a doubtful one; nor one after the next cut, which saw the reader. What stays
// is an execution that the level allows, since what was visible stays visible, and pairs of transactions that must not be concurrent only become
// fewer. Every transaction before the cut, if it is not doubtful, was seen by the one that read at the cut, by
// fences; and that one is seen by every transaction of part. So they act as one that wrote the initial values, and part would satisfy the level.
func (r *Run) Proves(h, part *history.History, lvl level.Level) bool {
	switch lvl {
	case level.SER, level.SI, level.SSER, level.StrongSI, level.PC, level.PSI, level.CC:
	default:
		return false
	}
	if !h.HasFences() {
		return false
	}
	type named struct{ key, value string }
	wrote := map[named]bool{}
	doubtful := map[int64]bool{}
	for i := range h.Txns {
		t := &h.Txns[i]
		if !r.earlier(t) {
			continue
		}
		doubtful[t.ID] = true
		for _, op := range h.Ops(t) {
			if op.Kind == history.Write {
				wrote[named{h.KeyName(op.Key), h.ValueText(op.Value)}] = true
			}
		}
	}
	if len(doubtful) == 0 {
		return true
	}
	for i := range part.Txns {
		t := &part.Txns[i]
		if doubtful[t.ID] || len(part.Predicates(i)) > 0 {
			return false
		}
		if slices.ContainsFunc(part.Ops(t), func(op history.Op) bool {
			return op.Kind == history.ReadNot || op.Kind == history.Read && wrote[named{part.KeyName(op.Key), part.ValueText(op.Value)}]
		}) {
			return false
		}
	}
	return true
}

// earlier reports whether a transaction of the window is of unknown outcome and of an earlier window.
func (r *Run) earlier(t *history.Txn) bool {
	return r.carried[t.ID] || t.Status == history.Aborted && (r.used[t.ID] || r.perhaps[t.ID])
}
