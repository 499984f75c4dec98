// Package single finds the anomalies of single reads, without any graph: thin-air, aborted,
// intermediate and future reads, and reads that contradict their own transaction (MTC paper, Figure
// 5(a) to (g); the INT axiom of the VeriStrong paper, section 2). Causal consistency and the stronger
// levels forbid all of them.
package single

import (
	"fmt"
	"slices"

	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// Collector collects anomalies, one example of each kind.
type Collector struct {
	Anomalies []verdict.Anomaly
	// orphans are reads of values without a known writer in a history that was cut off, or at read
	// uncommitted in a history of tables. doubts are reads, in a history that was cut off, of values that no other transaction is known to have finally
	// written, and that the reader wrote later itself.
	orphans, doubts reads

	h      *history.History
	byKind map[verdict.Kind]int // index of the first of a kind in Anomalies
	unseen others
	latest *indexed // of the large transaction that was asked about last, or nil
	// allowed are the kinds that Found leaves out.
	allowed []verdict.Kind
	rereads bool // a transaction may read two versions of a key
}

// NewCollector returns an empty collector for h.
func NewCollector(h *history.History) *Collector {
	return &Collector{h: h, byKind: map[verdict.Kind]int{}}
}

// For returns an empty collector of the anomalies that lvl forbids. Below read atomic a transaction may
// read two versions of a key. Read uncommitted also allows reads of what never committed.
func For(h *history.History, lvl level.Level) *Collector {
	c := NewCollector(h)
	if !lvl.Repeatable() {
		c.rereads = true
		c.allowed = []verdict.Kind{verdict.NonRepeatableReads}
	}
	if lvl == level.RU {
		c.allowed = append(c.allowed, verdict.AbortedRead, verdict.IntermediateRead, verdict.FutureRead)
	}
	return c
}

// Has returns the anomaly of a kind, or nil.
func (c *Collector) Has(kind verdict.Kind) *verdict.Anomaly {
	if n, ok := c.byKind[kind]; ok {
		return &c.Anomalies[n]
	}
	return nil
}

// Found adds an anomaly. If one of its kind was found before, it only counts it. So there is one
// example of each kind, the earliest in the history. It leaves out what the level allows.
func (c *Collector) Found(a verdict.Anomaly) {
	if !slices.Contains(c.allowed, a.Kind) {
		c.add(a)
	}
}

func (c *Collector) add(a verdict.Anomaly) {
	if n, ok := c.byKind[a.Kind]; ok {
		c.Anomalies[n].Count++
		return
	}
	a.Count = 1
	c.byKind[a.Kind] = len(c.Anomalies)
	c.Anomalies = append(c.Anomalies, a)
}

// Internal adds the anomaly that read ops[j] contradicts what its own transaction did to the key
// before, most recently in ops[own].
func (c *Collector) Internal(i int32, own, j int) {
	if c.h.HasTwice() && c.twice(i, own, j) {
		return // see Twice
	}
	ops := c.h.Ops(&c.h.Txns[i])
	kind := verdict.NonRepeatableReads
	if prior := c.lastWrite(i, j, ops[j].Key); prior >= 0 {
		kind, own = verdict.NotMyOwnWrite, prior
		if k := c.lastOfValue(i, prior, ops[j]); k >= 0 && ops[j].Kind == history.Read {
			kind, own = verdict.NotMyLastWrite, k
		}
	} else if ops[j].Kind == history.Read {
		c.Doubt(i, j)
	}
	c.Found(verdict.Anomaly{Kind: kind, Txns: []int32{i}, Ops: []verdict.OpRef{{Txn: i, Op: own}, {Txn: i, Op: j}}})
}

// Statement adds the anomaly that reads ops[first] and ops[second] of one statement contradict each other: it returned a
// row that does not fulfil its conditions, say. No level allows that.
func (c *Collector) Statement(i int32, first, second int) {
	c.add(verdict.Anomaly{Kind: verdict.NonRepeatableReads, Txns: []int32{i}, Ops: []verdict.OpRef{{Txn: i, Op: first}, {Txn: i, Op: second}}})
}

// Twice adds the anomaly that a statement of transaction i changed one row twice or, where reads are repeatable, returned it
// twice. It reports whether there is one.
func (c *Collector) Twice(i int32) bool {
	first, second, found := c.h.Twice(int(i), !c.rereads)
	if found {
		c.add(verdict.Anomaly{Kind: verdict.DuplicateRow, Txns: []int32{i}, Ops: []verdict.OpRef{{Txn: i, Op: first}, {Txn: i, Op: second}}})
	}
	return found
}

// twice reports whether operations on a key that contradict each other are those of one statement that has the row twice.
func (c *Collector) twice(i int32, a, b int) bool {
	p, follows := c.h.PredicateOf(int(i), a)
	q, too := c.h.PredicateOf(int(i), b)
	if p == nil || p != q || follows || too {
		return false
	}
	_, _, found := c.h.Twice(int(i), !c.rereads)
	return found
}

// LastWrite returns the index of the last write to k in ops, or -1.
func LastWrite(ops []history.Op, k history.Key) int {
	for j := len(ops) - 1; j >= 0; j-- {
		if ops[j].Key == k && ops[j].Kind == history.Write {
			return j
		}
	}
	return -1
}

// Unexplained adds the anomaly of a read whose value is not the initial value, and not the final
// write of another transaction that can have committed.
func (c *Collector) Unexplained(i int32, j int) {
	if c.Doubt(i, j) {
		return
	}
	ops := c.h.Ops(&c.h.Txns[i])
	read := ops[j]
	if k := c.writtenLater(i, j); k >= 0 && c.h.Closed {
		c.Found(verdict.Anomaly{Kind: verdict.FutureRead, Txns: []int32{i}, Ops: []verdict.OpRef{{Txn: i, Op: j}, {Txn: i, Op: k}}})
		return
	}
	w, ok := c.unseen.find(c.h, read)
	if ok && !c.h.Closed && c.readBefore(w.Txn, read) {
		ok = false // a missing transaction wrote it before w did
	}
	switch {
	case !ok && (!c.h.Closed || c.unrecorded()):
		c.Orphan(i)
	case !ok:
		c.Found(verdict.Anomaly{Kind: verdict.ThinAirRead, Txns: []int32{i}, Ops: []verdict.OpRef{{Txn: i, Op: j}}})
	case c.h.Txns[w.Txn].Status == history.Aborted:
		c.Found(verdict.Anomaly{Kind: verdict.AbortedRead, Txns: []int32{w.Txn, i}, Ops: []verdict.OpRef{w, {Txn: i, Op: j}}})
	default:
		c.Found(verdict.Anomaly{Kind: verdict.IntermediateRead, Txns: []int32{w.Txn, i}, Ops: []verdict.OpRef{w, {Txn: i, Op: j}}})
	}
}

// unrecorded reports whether a value without a writer may have been read from a statement that failed: which rows of a
// table it changed before that, the database did not tell. Only a level that allows aborted reads asks.
func (c *Collector) unrecorded() bool {
	return len(c.h.Schema) > 0 && slices.Contains(c.allowed, verdict.AbortedRead)
}

// readBefore reports whether the transaction at i read the same value before it wrote the key.
func (c *Collector) readBefore(i int32, read history.Op) bool {
	for _, op := range c.h.Ops(&c.h.Txns[i]) {
		switch {
		case op.Key != read.Key:
		case op.Kind == history.Read && op.Value == read.Value:
			return true
		case op.Kind == history.Write:
			return false
		}
	}
	return false
}

// Doubt adds a read as for Unexplained to the doubts, and reports whether it did. It does so if the
// history was cut off and the reader wrote the value later itself. Then a missing transaction wrote
// the value first, and other readers need not have read it from this one.
func (c *Collector) Doubt(i int32, j int) bool {
	if c.h.Closed || c.writtenLater(i, j) < 0 {
		return false
	}
	c.doubts.add(i)
	return true
}

// Doubtful returns why the history cannot be judged, or "" if there is no doubt or if an anomaly
// holds nevertheless. Such an anomaly is a committed transaction that contradicts itself. All other
// anomalies are removed.
func (c *Collector) Doubtful() (why string) {
	if c.doubts.count == 0 {
		return ""
	}
	c.Anomalies = slices.DeleteFunc(c.Anomalies, func(a verdict.Anomaly) bool {
		internal := a.Kind == verdict.DuplicateRow || a.Kind == verdict.NotMyOwnWrite || a.Kind == verdict.NotMyLastWrite || a.Kind == verdict.NonRepeatableReads
		return !internal || c.h.Txns[a.Txns[0]].Status != history.Committed
	})
	clear(c.byKind)
	for n := range c.Anomalies {
		c.byKind[c.Anomalies[n].Kind] = n
	}
	if len(c.Anomalies) > 0 {
		return ""
	}
	return c.doubts.describe(c.h, "no other known transaction finally wrote and that the reader wrote later") + cutOff + "the writer is missing"
}

// Orphan adds a read of a value without a known writer, by the transaction at i, in a history that
// may lack the writer.
func (c *Collector) Orphan(i int32) { c.orphans.add(i) }

// Orphaned returns why a history without anomalies is not satisfied, or "": it has reads of values
// without a known writer.
func (c *Collector) Orphaned() (why string) {
	if c.orphans.count == 0 {
		return ""
	}
	if c.h.Closed {
		return c.orphans.describe(c.h, "no known transaction wrote") + "a statement may have written it before it failed, which no record shows"
	}
	return c.orphans.describe(c.h, "no known transaction wrote") + cutOff + "the writer may be missing"
}

const cutOff = "the history was cut off, so "

// reads counts some reads. first is the transaction of the first one.
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
	return reads + " that " + what + "; "
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

// others finds the writes that are not versions: those of aborted transactions, and those that
// their own transaction overwrote. It is built when a read first needs it. In a correct history no
// read does.
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
		// Intermediate writes come last: if both an aborted transaction and an intermediate write
		// have a value, the read is an intermediate read, because that transaction may have
		// committed.
		for _, aborted := range []bool{true, false} {
			for i := range h.Txns {
				t := &h.Txns[i]
				if (t.Status == history.Aborted) != aborted {
					continue
				}
				ops := h.Ops(t)
				overwritten := func(j int) bool { return Writes(ops[j+1:], ops[j].Key) }
				if len(ops) >= large {
					last := map[history.Key]int{}
					for j, op := range ops {
						if op.Kind == history.Write {
							last[op.Key] = j
						}
					}
					overwritten = func(j int) bool { return last[ops[j].Key] > j }
				}
				for j, op := range ops {
					if op.Kind == history.Write && (aborted || overwritten(j)) {
						o.at[keyValue{op.Key, op.Value}] = verdict.OpRef{Txn: int32(i), Op: j}
					}
				}
			}
		}
	}
	ref, ok := o.at[keyValue{read.Key, read.Value}]
	return ref, ok
}
