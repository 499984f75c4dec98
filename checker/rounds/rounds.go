// Package rounds judges a run that was cut into windows, one window after another, in the memory of
// one window.
//
// At a cut no transaction is running. The history of a window ends with reads of everything that was
// written in it, and these reads come after all its transactions by known edges. They are the initial
// values of the next window, whose transactions come after them by known edges, too. So the run is
// valid at a level with session order exactly if each window is. (The rule by which Cobra removes
// transactions, section 5 of its paper, is another one, and not sound as printed.)
//
// Transactions of unknown outcome are an exception: they may take effect after the cut. So a window's
// history contains those of the windows before. A Run knows which of them had taken effect by then.
package rounds

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// Judges reports whether the windows of a run can be judged one by one at a level. Levels without session order do not
// order the transactions around a cut. For weak levels see Ends.
func Judges(l level.Level) bool {
	switch l {
	case level.SER, level.SI, level.SSER, level.StrongSI, level.LIN:
		return true
	}
	return l.Weak()
}

// Run is what has to be known of earlier windows. The zero value is that of the first window.
type Run struct {
	// used are the ids of transactions of unknown outcome that took effect in an earlier window.
	// perhaps are those of which that is possible, but not certain.
	used, perhaps map[int64]bool
	// seen are the ids of all transactions of unknown outcome so far. carried are those among the
	// transactions of this window that began in an earlier one and may take effect in it. uncertain
	// counts those that would be, if it were not possible that they took effect before.
	seen      map[int64]bool
	carried   map[int64]bool
	uncertain int
	// again counts the transactions of this window that are in the file of an earlier one, too.
	again Again
	// gap says that the window before the next one is not known.
	gap bool
	// own is what Own returned for this window.
	own *history.History
}

// Again counts transactions of unknown outcome that a window has once more: an earlier window has them, too. Aborted and
// Unknown are as Enter left them. Ops are their operations.
type Again struct {
	Aborted, Unknown, Ops int
}

// Again counts those of the window that was entered last.
func (r *Run) Again() Again { return r.again }

// Skip says that windows before the next one are missing, or were not judged. Any transaction of unknown
// outcome of the next window may be of one of these.
func (r *Run) Skip() { r.gap = true }

// saved is the form of a Run between two windows in a file.
type saved struct {
	Used    []int64 `json:"used"`
	Perhaps []int64 `json:"perhaps"`
	Seen    []int64 `json:"seen"`
}

// MarshalJSON implements json.Marshaler, for a Run between two windows.
func (r *Run) MarshalJSON() ([]byte, error) {
	list := func(ids map[int64]bool) []int64 { return slices.Sorted(maps.Keys(ids)) }
	return json.Marshal(saved{list(r.used), list(r.perhaps), list(r.seen)})
}

// UnmarshalJSON implements json.Unmarshaler.
func (r *Run) UnmarshalJSON(b []byte) error {
	var s saved
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	set := func(ids []int64) map[int64]bool {
		m := map[int64]bool{}
		for _, id := range ids {
			m[id] = true
		}
		return m
	}
	*r = Run{used: set(s.Used), perhaps: set(s.Perhaps), seen: set(s.Seen)}
	return nil
}

// Enter prepares the next window for being judged. A transaction of unknown outcome counts as aborted if
// it took effect in an earlier window, or perhaps did.
func (r *Run) Enter(h *history.History) {
	if r.used == nil {
		r.used, r.perhaps, r.seen = map[int64]bool{}, map[int64]bool{}, map[int64]bool{}
	}
	r.carried, r.uncertain, r.own, r.again = map[int64]bool{}, 0, nil, Again{}
	var unknown []int32
	settled := map[int64]bool{}
	for i := range h.Txns {
		t := &h.Txns[i]
		again := t.Status == history.Unknown && r.seen[t.ID]
		switch {
		case t.Status != history.Unknown:
		case r.used[t.ID]:
			t.Status, settled[t.ID] = history.Aborted, true
		case r.perhaps[t.ID]:
			t.Status, settled[t.ID] = history.Aborted, false
			r.uncertain++
		default:
			unknown = append(unknown, int32(i))
			if r.gap || r.seen[t.ID] {
				r.carried[t.ID] = true
			}
			r.seen[t.ID] = true
		}
		if again {
			r.again.add(h, t)
		}
	}
	r.gap = false
	if h.Window != nil && len(settled) > 0 {
		window := *h.Window
		window.Settled, h.Window = settled, &window
	}
	if len(unknown) > 0 {
		r.settle(h, unknown)
	}
}

func (a *Again) add(h *history.History, t *history.Txn) {
	a.Ops += len(h.Ops(t))
	if t.Status == history.Aborted {
		a.Aborted++
	} else {
		a.Unknown++
	}
}

// Check judges a history at the level in question.
type Check func(h *history.History) (verdict.Verdict, error)

// Doubt returns why a violation of the window h, the last one that was entered, does not prove that the
// run is violated; "" if it does. h may also be what Own returned. That a window is satisfied is never in doubt.
//
// A transaction of unknown outcome may have taken effect before, and counts as aborted. And at the levels
// of snapshot isolation, one that was carried over may have taken its snapshot in an earlier window. What
// it read then need not be there any more. So without its reads the window must be violated, too. At CC what was
// read at the cut need not have seen it, although it committed before. For other weak levels see Ends and Own. Levels without
// session order do not order the transactions around a cut (see Judges).
func (r *Run) Doubt(h *history.History, lvl level.Level, check Check) (string, error) {
	switch {
	case !Judges(lvl):
		return fmt.Sprintf("at %s a transaction may read a value of an earlier window, which this one does not know", lvl), nil
	case lvl == level.RU:
		return "at ru a transaction may read what another window wrote, which this one does not know", nil
	case r.own != nil && h == r.own:
		return "", nil
	case lvl.Weak() && h.Window != nil && (lvl != level.CC || !h.HasFences()):
		return fmt.Sprintf("at %s a transaction may read a value of an earlier window, which this one does not know", lvl), nil
	case r.uncertain > 0:
		return "a transaction of unknown outcome took effect in this window or in an earlier one", nil
	case lvl == level.CC && r.late():
		return "a transaction of unknown outcome of an earlier window, which may have committed before what was read at the cut, took effect in this one", nil
	}
	if len(r.carried) == 0 || !lvl.Snapshot() {
		return "", nil
	}
	parts := make([]history.Part, len(h.Txns))
	for i := range h.Txns {
		parts[i].Txn = int32(i)
		for n, op := range h.Ops(&h.Txns[i]) {
			if op.Kind == history.Write || !r.carried[h.Txns[i].ID] {
				parts[i].Ops = append(parts[i].Ops, n)
			}
		}
	}
	v, err := check(h.Sub(parts))
	if err != nil || v == verdict.Violated {
		return "", err
	}
	return "a transaction of unknown outcome, whose snapshot is of an earlier window, took effect in this one", nil
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

// cell is a version: a value of a key.
type cell struct {
	key   history.Key
	value history.Value
}

// settle finds the transactions of unknown outcome that took effect in the window: those from which a
// transaction that counts read.
func (r *Run) settle(h *history.History, unknown []int32) {
	writers := map[cell][]int32{} // of the versions that transactions of unknown outcome wrote
	open := map[int32]bool{}
	for _, i := range unknown {
		open[i] = true
		for _, op := range h.Ops(&h.Txns[i]) {
			if c := (cell{op.Key, op.Value}); op.Kind == history.Write && (len(writers[c]) == 0 || writers[c][len(writers[c])-1] != i) {
				writers[c] = append(writers[c], i)
			}
		}
	}
	classes := false // of values, by which a read may rest on a version that it does not name
	for i := range h.Txns {
		classes = classes || len(h.Predicates(i)) > 0
		for _, op := range h.Ops(&h.Txns[i]) {
			c := cell{op.Key, op.Value}
			switch {
			case op.Kind == history.ReadNot:
				classes = true
			case op.Kind == history.Write && !open[int32(i)] && h.Txns[i].Status == history.Committed && len(writers[c]) > 0:
				writers[c] = append(writers[c], int32(i))
			}
		}
	}
	if classes {
		for _, i := range unknown {
			r.perhaps[h.Txns[i].ID] = true
		}
	}
	var work []int32 // transactions that count, and whose reads have not been looked at
	for i := range h.Txns {
		if h.Txns[i].Status == history.Committed {
			work = append(work, int32(i))
		}
	}
	for len(work) > 0 {
		reader := work[len(work)-1]
		work = work[:len(work)-1]
		for _, op := range h.Ops(&h.Txns[reader]) {
			from := writers[cell{op.Key, op.Value}]
			if op.Kind != history.Read || len(from) == 0 {
				continue
			}
			for _, w := range from {
				id := h.Txns[w].ID
				switch {
				case !open[w] || w == reader || r.used[id]:
				case len(from) == 1 && h.Initial(op.Key) != op.Value:
					r.used[id] = true
					delete(r.perhaps, id)
					work = append(work, w)
				case !r.perhaps[id]:
					r.perhaps[id] = true
					work = append(work, w)
				}
			}
		}
	}
}
