package rounds

import "github.com/isohound/isohound/history"

// Own returns what the window h, the last one that was entered, shows by itself: if that is violated at a weak level other
// than RU, the run is, too. It returns nil if h shows nothing, or is the first window; and the same history each time, for
// Doubt.
//
// It is h without the transactions of unknown outcome of earlier windows, and without reads that may have been of an
// earlier window, unless they returned the initial value. Because values are fresh (history.Header.Fresh), a read of a
// value that the window wrote read from a transaction of the window: not from one after the cut, which commits later.
//
// Take an order of the commits of the run that its level allows. All that came before the window commits before all of it
// (see Ends). Leave out the transactions of other windows and those that Own leaves out. Put one that wrote the initial
// values before the rest. The level allows this order of what Own returns, since all that a level demands is that no version
// that a reader had to see overwrites the one that it read. If it read a version of the window, that holds as before, and
// the initial values come before all. If it read an initial value, it had that from before the window, and every version of
// the window overwrites it; so it had to see none of them.
func (r *Run) Own(h *history.History) *history.History {
	if r.own != nil || h.Window == nil || !h.Fresh || !h.HasFences() {
		return r.own
	}
	wrote := map[cell]bool{} // false: a transaction of unknown outcome of an earlier window did
	for _, old := range []bool{false, true} {
		for i := range h.Txns {
			if r.earlier(&h.Txns[i]) != old {
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
		if r.earlier(&h.Txns[i]) {
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
