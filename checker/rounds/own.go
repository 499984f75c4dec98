package rounds

import (
	"github.com/isohound/isohound/history"
)

// Own returns what the window h, the last one that was entered, shows by itself: if that is violated at a weak level other
// than RU, the run is, too. It returns nil if h shows nothing, or is the first window; and the same history each time, for
// Doubt.
//
// It is h without the transactions of unknown outcome of earlier windows, and without reads that may have been of an
// earlier window, unless they returned the initial value. Because values are fresh (history.Header.Fresh), a read of what
// the window wrote read from a transaction of the window: not from one after the cut, which commits later.
//
// Take an order of the commits of the run that its level allows. All that came before the window commits before all of it
// (see Ends). Leave out the transactions that Own leaves out and those of other windows, and put one that wrote the initial values before
// the rest. That is an order of what Own returns. The levels only demand that a version is not overwritten by one that its
// reader had to see. Reads of the window's versions demand that of transactions of the window and of the initial values, which are
// before all. A read of an initial value had it from before the window, where
// none of the window's versions is; so none of them had to be seen.
func (r *Run) Own(h *history.History) *history.History {
	if r.own != nil || h.Window == nil || !h.Fresh || !hasFences(h) {
		return r.own
	}
	earlier := func(t *history.Txn) bool {
		return r.carried[t.ID] || t.Status == history.Aborted && (r.used[t.ID] || r.perhaps[t.ID])
	}
	wrote := map[cell]bool{} // false: a transaction of unknown outcome of an earlier window did
	for _, old := range []bool{false, true} {
		for i := range h.Txns {
			if earlier(&h.Txns[i]) != old {
				continue
			}
			for _, op := range h.Ops(&h.Txns[i]) {
				if op.Kind == history.Write {
					wrote[cell{op.Key, op.Value}] = !old
				}
			}
		}
	}
	parts := make([]history.Part, len(h.Txns))
	for i := range h.Txns {
		parts[i].Txn = int32(i)
		if earlier(&h.Txns[i]) {
			continue
		}
		for n, op := range h.Ops(&h.Txns[i]) {
			here, known := wrote[cell{op.Key, op.Value}]
			first := h.Initial(op.Key) == op.Value && (here || !known)
			if op.Kind == history.Write || op.Kind == history.Read && (first || here && op.Value != history.Absent) {
				parts[i].Ops = append(parts[i].Ops, n)
			}
		}
	}
	r.own = h.Sub(parts)
	return r.own
}

// late reports whether a transaction of unknown outcome of an earlier window took effect in this one.
func (r *Run) late() bool {
	for id := range r.carried {
		if r.used[id] || r.perhaps[id] {
			return true
		}
	}
	return false
}
