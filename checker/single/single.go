// Package single finds the anomalies that one read shows by itself, before any
// graph: thin-air, aborted, intermediate and future reads, and reads that do
// not fit their own transaction (MTC paper, Figure 5(a) to (g); the INT axiom
// of the VeriStrong paper, section 2). All levels here forbid all of them.
package single

import (
	"fmt"
	"slices"

	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// Collector gathers anomalies, one example of each kind.
type Collector struct {
	Anomalies []verdict.Anomaly
	// orphans are reads of values without a known writer in a history that was cut
	// off, doubts those of values that nobody else is known to have left, and their
	// own transaction wrote later.
	orphans, doubts reads

	h      *history.History
	byKind map[verdict.Kind]int // index of the first of a kind in Anomalies
	unseen others
}

// NewCollector returns an empty collector for h.
func NewCollector(h *history.History) *Collector {
	return &Collector{h: h, byKind: map[verdict.Kind]int{}}
}

// Has returns the anomaly of a kind, or nil.
func (c *Collector) Has(kind verdict.Kind) *verdict.Anomaly {
	if n, ok := c.byKind[kind]; ok {
		return &c.Anomalies[n]
	}
	return nil
}

// Found adds an anomaly, or counts it when one of its kind was found before:
// one example of each kind, the earliest in the history, is what a reader can
// use.
func (c *Collector) Found(a verdict.Anomaly) {
	if n, ok := c.byKind[a.Kind]; ok {
		c.Anomalies[n].Count++
		return
	}
	a.Count = 1
	c.byKind[a.Kind] = len(c.Anomalies)
	c.Anomalies = append(c.Anomalies, a)
}

// Internal books a read ops[j] that differs from what its own transaction did
// to the key before, in ops[own] most recently.
func (c *Collector) Internal(i int32, own, j int) {
	ops := c.h.Ops(&c.h.Txns[i])
	kind := verdict.NonRepeatableReads
	if prior := lastWrite(ops[:j], ops[j].Key); prior >= 0 {
		kind, own = verdict.NotMyOwnWrite, prior
		for k, op := range ops[:prior] {
			if ops[j].Kind == history.Read && op.Kind == history.Write && op.Key == ops[j].Key && op.Value == ops[j].Value {
				kind, own = verdict.NotMyLastWrite, k
			}
		}
	}
	c.Found(verdict.Anomaly{Kind: kind, Txns: []int32{i}, Ops: []verdict.OpRef{{Txn: i, Op: own}, {Txn: i, Op: j}}})
}

func lastWrite(ops []history.Op, k history.Key) int {
	for j := len(ops) - 1; j >= 0; j-- {
		if ops[j].Key == k && ops[j].Kind == history.Write {
			return j
		}
	}
	return -1
}

// Unexplained books a read whose value is no final write of a transaction that
// can have committed, other than its own, and not the initial value.
func (c *Collector) Unexplained(i int32, j int) {
	if c.Doubt(i, j) {
		return
	}
	ops := c.h.Ops(&c.h.Txns[i])
	read := ops[j]
	if k := writtenLater(ops, j); k >= 0 && c.h.Closed {
		c.Found(verdict.Anomaly{Kind: verdict.FutureRead, Txns: []int32{i}, Ops: []verdict.OpRef{{Txn: i, Op: j}, {Txn: i, Op: k}}})
		return
	}
	w, ok := c.unseen.find(c.h, read)
	if ok && !c.h.Closed && c.readBefore(w.Txn, read) {
		ok = false // so that somebody else wrote it first, who is missing
	}
	switch {
	case !ok && !c.h.Closed:
		c.Orphan(i)
	case !ok:
		c.Found(verdict.Anomaly{Kind: verdict.ThinAirRead, Txns: []int32{i}, Ops: []verdict.OpRef{{Txn: i, Op: j}}})
	case c.h.Txns[w.Txn].Status == history.Aborted:
		c.Found(verdict.Anomaly{Kind: verdict.AbortedRead, Txns: []int32{w.Txn, i}, Ops: []verdict.OpRef{w, {Txn: i, Op: j}}})
	default:
		c.Found(verdict.Anomaly{Kind: verdict.IntermediateRead, Txns: []int32{w.Txn, i}, Ops: []verdict.OpRef{w, {Txn: i, Op: j}}})
	}
}

// readBefore reports whether the transaction at i itself read what read did
// before it wrote the key.
func (c *Collector) readBefore(i int32, read history.Op) bool {
	for _, op := range c.h.Ops(&c.h.Txns[i]) {
		if op.Key == read.Key {
			return op.Kind == history.Read && op.Value == read.Value
		}
	}
	return false
}

// Doubt books a read as of Unexplained if its own transaction wrote the value
// later and the history was cut off: then somebody who is missing wrote it before,
// and who else read it need not have read it from that transaction. It reports
// whether that is so.
func (c *Collector) Doubt(i int32, j int) bool {
	if c.h.Closed || writtenLater(c.h.Ops(&c.h.Txns[i]), j) < 0 {
		return false
	}
	c.doubts.add(i)
	return true
}

// Doubtful returns why the history cannot be judged, if there was doubt and no
// anomaly stands all the same; those that do stand are what a committed transaction
// saw of itself and of nobody else.
func (c *Collector) Doubtful() (why string) {
	if c.doubts.count == 0 {
		return ""
	}
	c.Anomalies = slices.DeleteFunc(c.Anomalies, func(a verdict.Anomaly) bool {
		internal := a.Kind == verdict.NotMyOwnWrite || a.Kind == verdict.NotMyLastWrite || a.Kind == verdict.NonRepeatableReads
		return !internal || c.h.Txns[a.Txns[0]].Status != history.Committed
	})
	clear(c.byKind)
	for n := range c.Anomalies {
		c.byKind[c.Anomalies[n].Kind] = n
	}
	if len(c.Anomalies) > 0 {
		return ""
	}
	return c.doubts.describe(c.h, "nobody else is known to have left, and the reader itself wrote later") + "the writer is missing"
}

// Orphan books a read of a value without a known writer by the transaction at i,
// in a history that was cut off.
func (c *Collector) Orphan(i int32) { c.orphans.add(i) }

// Orphaned returns why a history that shows no anomaly is not satisfied for all
// that: reads of values without a known writer; "" where there are none.
func (c *Collector) Orphaned() (why string) {
	if c.orphans.count == 0 {
		return ""
	}
	return c.orphans.describe(c.h, "nobody is known to have written") + "the writer may be missing"
}

// reads are some reads of a kind, the first of them in the transaction at first.
type reads struct {
	count int
	first int32
}

func (r *reads) add(i int32) {
	if r.count == 0 {
		r.first = i
	}
	r.count++
}

func (r *reads) describe(h *history.History, what string) string {
	id := h.Txns[r.first].ID
	reads := fmt.Sprintf("%d reads, the first in transaction %d, returned values", r.count, id)
	if r.count == 1 {
		reads = fmt.Sprintf("a read in transaction %d returned a value", id)
	}
	return reads + " that " + what + ", and the history was cut off, so that "
}

// writtenLater returns the first operation that writes what ops[j] read, after it,
// or -1.
func writtenLater(ops []history.Op, j int) int {
	for k := j + 1; k < len(ops); k++ {
		if op := ops[k]; op.Kind == history.Write && op.Key == ops[j].Key && op.Value == ops[j].Value {
			return k
		}
	}
	return -1
}

// Writes reports whether an operation of ops writes k.
func Writes(ops []history.Op, k history.Key) bool {
	for _, op := range ops {
		if op.Kind == history.Write && op.Key == k {
			return true
		}
	}
	return false
}

// LastOn returns the index of the last operation on k in ops, or -1.
func LastOn(ops []history.Op, k history.Key) int {
	for j := len(ops) - 1; j >= 0; j-- {
		if ops[j].Key == k {
			return j
		}
	}
	return -1
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
					if op.Kind == history.Write && (aborted || Writes(ops[j+1:], op.Key)) {
						o.at[keyValue{op.Key, op.Value}] = verdict.OpRef{Txn: int32(i), Op: j}
					}
				}
			}
		}
	}
	ref, ok := o.at[keyValue{read.Key, read.Value}]
	return ref, ok
}
