package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// demands say what weak levels demand of every transaction.
var demands = map[level.Level]string{
	level.CC:  "who sees a transaction sees all that happened before it, in sessions and by reads",
	level.RA:  "who reads from a transaction, or comes after it in its session, sees all its writes",
	level.RC:  "who has read from a transaction reads nothing older afterwards of what it wrote",
	level.RYW: "a transaction sees the earlier transactions of its session",
	level.MR:  "a transaction sees what earlier transactions of its session read from",
	level.MW:  "who reads from a transaction sees the earlier transactions of its session",
	level.WFR: "who reads from a transaction sees what it, or an earlier transaction of its session, read from",
	level.RU:  "transactions overwrite each other's writes in one order, for all keys together",
}

// demand says what lvl demands of the reader at the end of a path.
func demand(lvl level.Level, path []verdict.Edge) string {
	if lvl != level.Session || len(path) == 0 {
		return demands[lvl]
	}
	switch first, last := path[0].Kind, path[len(path)-1].Kind; {
	case len(path) == 1:
		return demands[level.RYW]
	case first == verdict.SO:
		return demands[level.MW]
	case last == verdict.SO:
		return demands[level.MR]
	}
	return demands[level.WFR]
}

// seen returns the shortest path of session order and reads in a's edges between two transactions.
func seen(a *verdict.Anomaly, from, to int32) []verdict.Edge {
	via := map[int32]verdict.Edge{}
	for work := []int32{from}; len(work) > 0; work = work[1:] {
		for _, e := range slices.Concat(a.Context, a.Cycle) {
			if _, known := via[e.To]; e.From != work[0] || known || e.To == from || e.Kind != verdict.SO && e.Kind != verdict.WR {
				continue
			}
			via[e.To] = e
			work = append(work, e.To)
		}
	}
	var path []verdict.Edge
	for at := to; at != from; at = path[0].From {
		e, known := via[at]
		if !known {
			return nil
		}
		path = slices.Insert(path, 0, e)
	}
	return path
}

// missed returns the read in a cycle of a weak level that missed a write, the transaction that wrote it,
// and why the reader had to see that. It returns false if there is not exactly one such read.
func missed(h *history.History, a *verdict.Anomaly) (read verdict.OpRef, writer int32, path []verdict.Edge, ok bool) {
	count := 0
	for n, e := range a.Cycle {
		ref, forced := a.Forced[n]
		switch {
		case e.Kind == verdict.WW && forced:
			read, writer = ref, e.From
		case e.Kind == verdict.RW:
			read, writer = verdict.OpRef{Txn: e.From, Op: readAt(h, e)}, e.To
		default:
			continue
		}
		count++
	}
	if count != 1 || read.Op < 0 {
		return read, writer, nil, false
	}
	path = seen(a, writer, read.Txn)
	return read, writer, path, len(path) > 0
}

// named returns the cycle by which an anomaly of a weak level is named. A single read that missed a write is
// an anti-dependency: who had to see the write comes after it, and before it.
func named(h *history.History, lvl level.Level, a *verdict.Anomaly) []verdict.Edge {
	if !lvl.Weak() {
		return a.Cycle
	}
	read, writer, path, ok := missed(h, a)
	if !ok {
		return a.Cycle
	}
	op := h.Ops(&h.Txns[read.Txn])[read.Op]
	return append(path, verdict.Edge{From: read.Txn, To: writer, Kind: verdict.RW, Key: op.Key, Value: op.Value})
}

// saw says why the transaction of a read had to see another one.
func (w words) saw(read verdict.OpRef, path []verdict.Edge) string {
	if len(path) == 1 {
		e := path[0]
		switch at := readAt(w.h, e); {
		case e.Kind == verdict.SO:
			return fmt.Sprintf("although %s came before it in session %d", w.txn(e.From), w.h.SessionName(w.h.Txns[e.From].Session))
		case at >= 0 && at < read.Op:
			return fmt.Sprintf("although it had read %s from %s before", w.pair(e.Key, e.Value), w.txn(e.From))
		default:
			return fmt.Sprintf("although it also read %s from %s", w.pair(e.Key, e.Value), w.txn(e.From))
		}
	}
	var steps []string
	for _, e := range path {
		if e.Kind == verdict.SO {
			steps = append(steps, fmt.Sprintf("%s came before %s in session %d", w.txn(e.From), w.txn(e.To), w.h.SessionName(w.h.Txns[e.From].Session)))
		} else {
			steps = append(steps, fmt.Sprintf("%s read %s from %s", w.txn(e.To), w.pair(e.Key, e.Value), w.txn(e.From)))
		}
	}
	return fmt.Sprintf("although it had to see %s: %s", w.txn(path[0].From), strings.Join(steps, ", "))
}

// staleRead says in one sentence which read missed which write, if there is one such read.
func (w words) staleRead(a *verdict.Anomaly) string {
	read, writer, _, ok := missed(w.h, a)
	if !ok {
		return ""
	}
	op := w.ref(read)
	from, wrote := "the initial value", ""
	for n, e := range a.Cycle {
		if ref, forced := a.Forced[n]; forced && ref == read {
			wrote = w.txn(e.To) + " wrote"
			from = "which " + wrote
		}
	}
	if text, ok := w.scan(read.Txn, read.Op); ok && op.Kind == history.ReadNot { // the value is one that it did not see
		initial := w.h.Initial(op.Key)
		switch {
		case wrote != "":
			from = "so it saw what " + wrote
		case initial == history.Absent:
			from = "so it saw that the row did not exist at first"
		default:
			from = "so it saw the initial value, " + w.value(initial)
		}
		return fmt.Sprintf("%s %s, %s, and missed that %s %s later.\n", w.introduce(read.Txn), text, from, w.introduce(writer), w.written(writer, op.Key))
	}
	return fmt.Sprintf("%s %s, %s, and missed that %s %s later.\n", w.introduce(read.Txn), w.did(read), from, w.introduce(writer), w.written(writer, op.Key))
}

// commitCycle explains a cycle of a weak level.
func (w words) commitCycle(lvl level.Level, a *verdict.Anomaly) string {
	var b strings.Builder
	b.WriteString(w.staleRead(a))
	w.edges(&b, a)
	verb := "allows"
	if lvl == level.Session {
		verb = "allow"
	}
	fmt.Fprintf(&b, "So each of them would have to come before itself. %s%s %s no such cycle", strings.ToUpper(lvl.Title()[:1]), lvl.Title()[1:], verb)
	if list := w.demanded(lvl, a); len(list) > 0 {
		fmt.Fprintf(&b, ": %s", strings.Join(list, ", and "))
	}
	b.WriteString(".")
	return b.String()
}

// demanded lists what the level demands that a cycle rests on.
func (w words) demanded(lvl level.Level, a *verdict.Anomaly) []string {
	_, _, path, one := missed(w.h, a)
	switch {
	case len(a.Forced) == 0 && len(path) == 0 && lvl != level.RU:
		return nil
	case one || lvl != level.Session:
		return []string{demand(lvl, path)}
	}
	var list []string
	for n, e := range a.Cycle {
		read, forced := a.Forced[n]
		if e.Kind == verdict.RW {
			read.Txn, forced = e.From, true
			e.From = e.To
		}
		if !forced {
			continue
		}
		if d := demand(lvl, seen(a, e.From, read.Txn)); d != "" && !slices.Contains(list, d) {
			list = append(list, d)
		}
	}
	return list
}
