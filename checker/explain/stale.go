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

// stale reports whether an anomaly is a StaleRead.
func stale(h *history.History, a *verdict.Anomaly) bool {
	return a.Kind == verdict.ThinAirRead && h.Window != nil
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
