package rounds

import (
	"context"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/checker/certify"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/checker/weak"
	"github.com/isohound/isohound/history"
)

// At a weak level all transactions before a cut still commit before all transactions after it, because reads and
// session order lead from each to each. But what happened before the cut does not bind every transaction after it. So
// two things differ.
//
// Windows that are satisfied prove that the run is, if the order of the commits of each ends with what the cut read: the
// last version of each key has the value that is the next window's initial one. Then the orders, one after the
// other, are an order of the run. A read of an initial value has it from the last version of an earlier window, which no
// version of an earlier window follows; and a version of its own window that it had to see would have come before the
// initial value there.
//
// A window that is violated proves that the run is if it is the first one, and at CC, where a transaction must see all that
// the cut read, if no transaction of unknown outcome of an earlier window takes effect in it: that may have committed
// before the cut, which did not see it. At other levels, a transaction may read a version of an earlier window that
// its window does not know; Own has what a window knows. At RU nothing says that what was read was written before.

// Ends returns why a window that is satisfied at a weak level, with the witness w, does not show that the run is; "" if it
// does. h is the window.
func Ends(ctx context.Context, h *history.History, lvl level.Level, w *verdict.Witness) (string, error) {
	if h.Ended != history.CutReason { // no window follows
		return "", nil
	}
	const unproved = "no order of the commits was found that ends with what was read at the cut"
	last, ok := readAtCut(h)
	switch {
	case !ok:
		return "what was read at the cut is not known", nil
	case w == nil:
		return unproved, nil
	case endsWith(h, w, last):
		return "", nil
	}
	w, err := weak.WithLast(ctx, h, lvl, w, last)
	if w == nil || err != nil {
		return unproved, err
	}
	if err := certify.Witness(ctx, h, lvl, w); err != nil {
		return "", errors.Wrap(err, "an order of the commits that ends with what was read at the cut")
	}
	if !endsWith(h, w, last) {
		return unproved, nil
	}
	return "", nil
}

// lastCommitted returns the last committed transaction before n in the file, or -1.
func lastCommitted(h *history.History, n int) int {
	for n--; n >= 0 && h.Txns[n].Status != history.Committed; n-- {
	}
	return n
}

// fenced reports whether all operations of a transaction are on fences, and there are some.
func fenced(h *history.History, n int) bool {
	if n < 0 {
		return false
	}
	for _, op := range h.Ops(&h.Txns[n]) {
		if !h.IsFence(op.Key) {
			return false
		}
	}
	return len(h.Ops(&h.Txns[n])) > 0
}

// readAtCut returns what was read at the cut with which a window ends. One session read all fences, then the keys, and then
// wrote its fence.
func readAtCut(h *history.History) (last map[history.Key]history.Value, ok bool) {
	last = map[history.Key]history.Value{}
	n := lastCommitted(h, len(h.Txns))
	if !fenced(h, n) {
		return nil, false
	}
	note := func(op history.Op) {
		if _, later := last[op.Key]; !later {
			last[op.Key] = op.Value
		}
	}
	session := h.Txns[n].Session
	between := false // the fences that were read before the keys come next
	for ; n >= 0 && h.Txns[n].Session == session; n = lastCommitted(h, n) {
		ops := h.Ops(&h.Txns[n])
		if fenced(h, n) {
			for i := range ops {
				note(ops[len(ops)-1-i])
			}
			if between {
				break
			}
			continue
		}
		between = true
		for _, op := range ops {
			if op.Kind != history.Read {
				return nil, false
			}
			note(op)
		}
	}
	return last, n >= 0 && h.Txns[n].Session == session
}

// endsWith reports whether the last version of each key has the value that last names, if transactions commit as w says. A
// key that last does not name must have no version.
func endsWith(h *history.History, w *verdict.Witness, last map[history.Key]history.Value) bool {
	now, written := make([]history.Value, h.KeyCount()), make([]bool, h.KeyCount())
	for _, t := range w.Order {
		for _, op := range h.Ops(&h.Txns[t]) {
			if op.Kind == history.Write {
				now[op.Key], written[op.Key] = op.Value, true
			}
		}
	}
	for k := range now {
		if want, named := last[history.Key(k)]; written[k] && (!named || want != now[k]) {
			return false
		}
	}
	return true
}
