package explain

import (
	"fmt"

	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// StaleRead is a read, in a later window of a run, of a value that no transaction of the window wrote and that was not there
// at the cut before it. In a run without cuts it would be a ThinAirRead. But an earlier window may have written the value, which this
// one does not know.
const StaleRead = "StaleRead"

// stale reports whether an anomaly is a StaleRead: of a value that nobody in the window wrote, or only a transaction that took effect
// before it, and counts as aborted.
func stale(h *history.History, a *verdict.Anomaly) bool {
	return h.Window != nil && (a.Kind == verdict.ThinAirRead || a.Kind == verdict.AbortedRead && settled(h, a.Txns[0]))
}

// settled reports whether the transaction at index i took effect in an earlier window, or perhaps did. Its outcome is unknown in the file.
func settled(h *history.History, i int32) bool {
	if h.Window == nil {
		return false
	}
	_, ok := h.Window.Settled[h.Txns[i].ID]
	return ok && h.Txns[i].Status == history.Aborted
}

// settled explains a StaleRead by transaction i of what writer wrote.
func (w words) settled(i, writer int32, op history.Op, got string) string {
	t := &w.h.Txns[writer]
	text := fmt.Sprintf("%s %s, which only %s wrote. The outcome of %s was not reported", w.introduce(i), got, w.introduce(writer), w.txn(writer))
	cut := w.pair(op.Key, w.h.Initial(op.Key))
	switch {
	case !w.h.Window.Settled[t.ID]:
		return text + fmt.Sprintf(". It may have taken effect in an earlier window; then this is an older state, since %s held at the cut before this one.", cut)
	case !finalValue(w.h, t, op.Key, op.Value):
		return text + fmt.Sprintf(", but it took effect in an earlier window, and %s held at the cut before this one. No other transaction may see this value: %s overwrote it itself.", cut, w.txn(writer))
	}
	return text + fmt.Sprintf(", but it took effect in an earlier window, and %s held at the cut before this one. So this is an older state.", cut)
}

// stale explains a StaleRead of transaction i. scan: it follows from the conditions of a statement. That the value is of an earlier window is certain for fences only.
func (w words) stale(i int32, op history.Op, got string, scan bool) string {
	now := w.h.Initial(op.Key)
	cut := w.pair(op.Key, now) + " held at the cut before this window"
	fence := w.h.IsFence(op.Key) && now >= history.MinInt
	switch {
	case fence && (op.Value == history.Absent || op.Value >= history.MinInt && op.Value < now):
		return fmt.Sprintf("%s %s. But %s, and what sessions write to a fence only grows. So this is an older state: what was committed before the cut is lost, or was not seen.", w.introduce(i), got, cut)
	case op.Value == history.Absent && scan:
		return fmt.Sprintf("%s %s. But %s, every value that anybody in this window wrote fulfils the conditions, and nobody in it deleted the row.", w.introduce(i), got, cut)
	case op.Value == history.Absent:
		return fmt.Sprintf("%s %s. But %s, and nobody in this window deleted it.", w.introduce(i), got, cut)
	}
	return fmt.Sprintf("%s %s. But %s, and nobody in this window wrote the other value. An earlier window may have written it; then this is an older state.", w.introduce(i), got, cut)
}
