package checker

import (
	"fmt"

	"github.com/isohound/isohound/history"
)

// Thresholds below which a run tested almost nothing. Real runs are far above them.
const (
	// MinCommitted transactions must have committed.
	MinCommitted = 50
	// MinOverlap is the percentage of the committed transactions that must
	// overlap in time with one of another session.
	MinOverlap = 2
	// MinShared is the percentage of the committed transactions that must
	// touch a key which a transaction of another session wrote.
	MinShared = 2
)

// Vacuous returns why h, the history of a run, tested almost nothing, or "". It is for runs only: a
// history from elsewhere may be small. The final read of a run does not count.
func Vacuous(h *history.History) string {
	committed := 0
	txns := h.Txns[:h.Fences()]
	for i := range txns {
		if h.Txns[i].Status == history.Committed {
			committed++
		}
	}
	if committed < MinCommitted {
		return fmt.Sprintf("only %s committed, fewer than %d", history.Many(committed, "transaction", "transactions"), MinCommitted)
	}
	if n := overlapping(txns); n*100 < committed*MinOverlap && !h.NoCommonClock { // without one nobody knows what overlapped
		return fmt.Sprintf("only %d of %d committed transactions overlapped with one of another session, less than %d%%", n, committed, MinOverlap)
	}
	if n := sharing(h, txns); n*100 < committed*MinShared {
		return fmt.Sprintf("only %d of %d committed transactions touched a key that another session wrote, less than %d%%", n, committed, MinShared)
	}
	return ""
}

// overlapping counts the committed transactions that were concurrent with one of another session.
// Histories are recorded in the order of ends. So a transaction overlaps exactly with those after
// it that began before it ended, and with those before it that ended after it began.
func overlapping(txns []history.Txn) int {
	n := 0
	concurrent := make([]bool, len(txns))
	for i := range txns {
		t := &txns[i]
		if t.Status != history.Committed {
			continue
		}
		// The last few transactions before t are enough: with k sessions, a transaction that
		// overlaps with t ended shortly before t or ends shortly after it.
		for j := i - 1; j >= 0 && j >= i-window; j-- {
			o := &txns[j]
			if o.Session != t.Session && o.Status == history.Committed && o.End >= t.Begin && t.End >= o.Begin {
				concurrent[i], concurrent[j] = true, true
			}
		}
	}
	for _, c := range concurrent {
		if c {
			n++
		}
	}
	return n
}

// window is how many transactions before each one overlapping looks at.
const window = 16

// sharing counts the committed transactions that touch a key which another
// session wrote.
func sharing(h *history.History, txns []history.Txn) int {
	const nobody, several = -1, -2
	writer := make([]int32, h.KeyCount()) // the only session that wrote a key
	for k := range writer {
		writer[k] = nobody
	}
	for i := range txns {
		t := &txns[i]
		if t.Status != history.Committed {
			continue
		}
		for _, op := range h.Ops(t) {
			if op.Kind == history.Write {
				switch writer[op.Key] {
				case nobody:
					writer[op.Key] = t.Session
				case t.Session:
				default:
					writer[op.Key] = several
				}
			}
		}
	}
	n := 0
	for i := range txns {
		t := &txns[i]
		if t.Status != history.Committed {
			continue
		}
		for _, op := range h.Ops(t) {
			if w := writer[op.Key]; w == several || w != nobody && w != t.Session {
				n++
				break
			}
		}
	}
	return n
}
