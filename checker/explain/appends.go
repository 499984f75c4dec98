package explain

import (
	"fmt"
	"slices"

	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// Lists with append are registers in a history (history.Header.Lists): an append is a write, behind a read of what stands
// before its element. Where the client did not make that read, the words are about the list that shows it.

// got says "read x = 5", or what an append followed and whose read shows it.
func (w words) got(r verdict.OpRef) string {
	op, t := w.ref(r), &w.h.Txns[r.Txn]
	if e, reader, ok := w.h.InferredRead(t, r.Op); ok {
		who := fmt.Sprintf("T%d", reader)
		if reader == t.ID {
			who = "it"
		}
		if op.Value == history.Absent {
			return fmt.Sprintf("appended %s to an empty %s (the list that %s read begins with %s)", w.value(e), w.key(op.Key), who, w.value(e))
		}
		return fmt.Sprintf("appended %s to %s (the list that %s read has %s directly behind %s)", w.value(e), w.pair(op.Key, op.Value), who, w.value(e), w.value(op.Value))
	}
	if e, ok := w.perhapsInferred(r); ok {
		return fmt.Sprintf("read %s or appended %s to that", w.pair(op.Key, op.Value), w.value(e))
	}
	return "read " + w.pair(op.Key, op.Value)
}

// perhapsInferred reports whether nobody knows if the client made a read that stands before the append of an element.
func (w words) perhapsInferred(r verdict.OpRef) (element history.Value, ok bool) {
	ops := w.h.Ops(&w.h.Txns[r.Txn])
	if !w.h.Lists || w.h.ListReads != nil || ops[r.Op].Kind != history.Read {
		return 0, false
	}
	for _, op := range ops[r.Op+1:] {
		if op.Key != ops[r.Op].Key {
			return 0, false
		}
		if op.Kind == history.Write {
			return op.Value, true
		}
	}
	return 0, false
}

// clients reports whether the client is known to have made an operation.
func (w words) clients(r verdict.OpRef) bool {
	_, _, inferred := w.h.InferredRead(&w.h.Txns[r.Txn], r.Op)
	_, perhaps := w.perhapsInferred(r)
	return !inferred && !perhaps
}

// Shown returns the transactions whose reads show what the appends of an anomaly followed, in the order of the history, each
// with these reads.
func Shown(h *history.History, a *verdict.Anomaly) []history.Part {
	if h.ListReads == nil {
		return nil
	}
	refs := Named(h, a)
	for _, e := range a.Cycle {
		if e.Kind == verdict.WW || e.Kind == verdict.RW { // it shows which version To overwrote
			refs[verdict.OpRef{Txn: e.To, Op: reading(h, e.To, e.Key, e.Value)}] = true
		}
	}
	wanted := map[int64][]history.Key{}
	for r := range refs {
		if r.Op < 0 {
			continue
		}
		t := &h.Txns[r.Txn]
		if _, reader, ok := h.InferredRead(t, r.Op); ok {
			wanted[reader] = append(wanted[reader], h.Ops(t)[r.Op].Key)
		}
	}
	var out []history.Part
	for i := 0; i < len(h.Txns) && len(out) < len(wanted); i++ {
		keys, ok := wanted[h.Txns[i].ID]
		if !ok {
			continue
		}
		p := history.Part{Txn: int32(i)}
		for n, op := range h.Ops(&h.Txns[i]) {
			if op.Kind == history.Read && slices.Contains(keys, op.Key) {
				p.Ops = append(p.Ops, n)
			}
		}
		out = append(out, p)
	}
	return out
}

// Inferred says of the reads of a transaction that its client did not make where they come from, by operation. It is for
// those that shown chooses.
func Inferred(h *history.History, i int32, shown func(op int) bool) (list []string) {
	w := words{h: h}
	for n := range h.Ops(&h.Txns[i]) {
		if _, _, ok := h.InferredRead(&h.Txns[i], n); ok && shown(n) {
			list = append(list, w.txn(i)+" "+w.got(verdict.OpRef{Txn: i, Op: n}))
		}
	}
	return list
}
