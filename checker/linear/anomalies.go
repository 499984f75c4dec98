package linear

import (
	"slices"

	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// found adds an anomaly, or counts it when one of its kind was found before:
// one example of each kind, the earliest in the history, is what a reader can
// use.
func (x *index) found(a verdict.Anomaly) {
	if n, ok := x.byKind[a.Kind]; ok {
		x.anomalies[n].Count++
		return
	}
	a.Count = 1
	x.byKind[a.Kind] = len(x.anomalies)
	x.anomalies = append(x.anomalies, a)
}

// internal books a read ops[j] that differs from what its own transaction did
// to the key before, in ops[own] most recently.
func (x *index) internal(i int32, own, j int) {
	ops := x.h.Ops(&x.h.Txns[i])
	kind := verdict.NonRepeatableReads
	if prior := lastWrite(ops[:j], ops[j].Key); prior >= 0 {
		kind, own = verdict.NotMyOwnWrite, prior
		for k, op := range ops[:prior] {
			if op.Kind == history.Write && op.Key == ops[j].Key && op.Value == ops[j].Value {
				kind, own = verdict.NotMyLastWrite, k
			}
		}
	}
	x.found(verdict.Anomaly{Kind: kind, Txns: []int32{i}, Ops: []verdict.OpRef{{Txn: i, Op: own}, {Txn: i, Op: j}}})
}

func lastWrite(ops []history.Op, k history.Key) int {
	for j := len(ops) - 1; j >= 0; j-- {
		if ops[j].Key == k && ops[j].Kind == history.Write {
			return j
		}
	}
	return -1
}

// unexplained books a read whose value is no final write of a transaction that
// can have committed, other than its own, and not the initial value.
func (x *index) unexplained(i int32, j int) {
	ops := x.h.Ops(&x.h.Txns[i])
	read := ops[j]
	for k, op := range ops[j+1:] {
		if op.Kind == history.Write && op.Key == read.Key && op.Value == read.Value {
			x.found(verdict.Anomaly{Kind: verdict.FutureRead, Txns: []int32{i},
				Ops: []verdict.OpRef{{Txn: i, Op: j}, {Txn: i, Op: j + 1 + k}}})
			return
		}
	}
	w, ok := x.unseen.find(x.h, read)
	switch {
	case !ok && !x.h.Closed:
		if x.orphans == 0 {
			x.firstOrphan = i
		}
		x.orphans++
	case !ok:
		x.found(verdict.Anomaly{Kind: verdict.ThinAirRead, Txns: []int32{i}, Ops: []verdict.OpRef{{Txn: i, Op: j}}})
	case x.h.Txns[w.Txn].Status == history.Aborted:
		x.found(verdict.Anomaly{Kind: verdict.AbortedRead, Txns: []int32{w.Txn, i}, Ops: []verdict.OpRef{w, {Txn: i, Op: j}}})
	default:
		x.found(verdict.Anomaly{Kind: verdict.IntermediateRead, Txns: []int32{w.Txn, i}, Ops: []verdict.OpRef{w, {Txn: i, Op: j}}})
	}
}

// divergence books that first and second both overwrote version v of a key
// after reading it.
func (x *index) divergence(v, first, second int32, read history.Op) {
	txns := []int32{first, second}
	var context []verdict.Edge
	if w := x.writer[v]; w != none {
		txns = []int32{w, first, second}
		for _, to := range txns[1:] {
			context = append(context, verdict.Edge{Kind: verdict.WR, From: w, To: to, Key: read.Key, Value: read.Value})
		}
	}
	rw := verdict.Edge{Kind: verdict.RW, Key: read.Key, Value: read.Value}
	there, back := rw, rw
	there.From, there.To = first, second
	back.From, back.To = second, first
	x.found(verdict.Anomaly{Kind: verdict.Divergence, Txns: txns, Cycle: []verdict.Edge{there, back}, Context: context})
}

// support adds what shows that the transactions of unknown outcome in a
// committed.
func (x *index) support(a *verdict.Anomaly) {
	seen := map[int32]bool{}
	work := slices.Clone(a.Txns)
	for n := 0; n < len(work); n++ {
		if e, ok := x.pulled[work[n]]; ok && !seen[e.From] {
			seen[e.From] = true
			a.Support = append(a.Support, e)
			work = append(work, e.To)
		}
	}
}

// others finds the writes that are not versions: those of aborted transactions
// and those that their own transaction overwrote. It is built when a first
// read calls for it, which in a correct history none does.
type others struct {
	at map[keyValue]verdict.OpRef
}

type keyValue struct {
	key   history.Key
	value history.Value
}

func (o *others) find(h *history.History, read history.Op) (verdict.OpRef, bool) {
	if o.at == nil {
		o.at = map[keyValue]verdict.OpRef{}
		// Intermediate writes last: a value that both an aborted transaction
		// and an intermediate write have counts as intermediate, since that
		// transaction did commit.
		for _, aborted := range []bool{true, false} {
			for i := range h.Txns {
				t := &h.Txns[i]
				if (t.Status == history.Aborted) != aborted {
					continue
				}
				ops := h.Ops(t)
				for j, op := range ops {
					if op.Kind == history.Write && (aborted || writes(ops[j+1:], op.Key)) {
						o.at[keyValue{op.Key, op.Value}] = verdict.OpRef{Txn: int32(i), Op: j}
					}
				}
			}
		}
	}
	ref, ok := o.at[keyValue{read.Key, read.Value}]
	return ref, ok
}
