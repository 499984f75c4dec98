package linear

import (
	"fmt"
	"math"
	"slices"

	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// lightweightTransaction says why ops is not a lightweight transaction
// (section IV-E), or returns "". Those are, on one key: a read, or a failed
// compare-and-set that returned what it found (r); a failed one that returned
// nothing (n); a successful one (r w); an insertion that found nothing (w, or
// r w with an absent value read).
func lightweightTransaction(sym *history.Symbols, ops []history.Op) string {
	switch {
	case len(ops) == 0:
		return ""
	case len(ops) > 2:
		return fmt.Sprintf("it has %d operations", len(ops))
	case len(ops) == 1:
		return ""
	case ops[0].Kind != history.Read || ops[1].Kind != history.Write:
		return "its two operations are not a read and a write"
	case ops[0].Key != ops[1].Key:
		return fmt.Sprintf("it reads %s and writes %s", sym.KeyName(ops[0].Key), sym.KeyName(ops[1].Key))
	}
	return ""
}

// lightweight is VL-LWT (Algorithm 2), key by key, since linearizability is a
// local property. The versions of a key form one chain, from its initial value
// through the compare-and-sets; version number p of the chain is slot p, whose
// writer comes first and whose plain reads come behind it. What Algorithm 2
// leaves out is placed too: plain reads belong to the slot of their value,
// and a failed compare-and-set without a value may stand in any slot but one.
func (c *check) lightweight() error {
	c.begin("index")
	x, err := buildIndex(c)
	if err != nil {
		return err
	}
	x.insertions()
	x.collectReaders()
	c.done("index")
	if len(x.anomalies) == 0 {
		c.begin("chains")
		l := &lwt{x: x, h: x.h}
		if err := l.run(); err != nil {
			return err
		}
		c.done("chains")
		if l.undecided != "" && len(x.anomalies) == 0 {
			c.res.Reason = l.undecided
			return nil
		}
		if c.decide(x) && c.opt.Witness {
			c.res.Witness = &verdict.Witness{Order: l.order()}
		}
		return nil
	}
	c.decide(x)
	return nil
}

// insertions treats a lone write as an overwriting of absence.
func (x *index) insertions() {
	for i := range x.h.Txns {
		if !x.counted[i] {
			continue
		}
		ops := x.h.Ops(&x.h.Txns[i])
		if len(ops) != 1 || ops[0].Kind != history.Write {
			continue
		}
		v := x.versions.find(ops[0].Key, history.Absent)
		if v == none {
			x.found(verdict.Anomaly{Kind: verdict.DoubleInsert, Txns: []int32{int32(i)}, Ops: []verdict.OpRef{{Txn: int32(i), Op: 0}}})
			continue
		}
		if w := x.next[v]; w != none {
			x.found(verdict.Anomaly{Kind: verdict.DoubleInsert, Txns: []int32{w, int32(i)},
				Ops: []verdict.OpRef{{Txn: w, Op: len(x.h.Ops(&x.h.Txns[w])) - 1}, {Txn: int32(i), Op: 0}}})
			continue
		}
		x.next[v] = int32(i)
	}
}

type lwt struct {
	x *index
	h *history.History

	// chain[from[k]:from[k+1]] are the versions of key k in their order.
	from  []int32
	chain []int32
	slot  []int32 // by version: its place in the chain
	// failures are the failed compare-and-sets without a value, by begin, and
	// place their slots.
	failures []int32
	place    []int32 // by transaction, for failures only
	// appended is, by key, an unknown compare-and-set put behind the chain, or
	// none.
	appended []int32

	undecided string
}

func (l *lwt) run() error {
	l.chains()
	if len(l.x.anomalies) > 0 {
		return nil
	}
	if l.realTime(); len(l.x.anomalies) > 0 {
		return nil
	}
	l.placeFailures()
	return l.x.c.stopped()
}

// chains lines up the versions of each key. What is left over then lies on
// cycles: each reads what another of them wrote.
func (l *lwt) chains() {
	x, keys := l.x, l.h.KeyCount()
	l.slot = make([]int32, len(x.writer))
	for v := range l.slot {
		l.slot[v] = none
	}
	written := x.writtenVersions()
	l.from = make([]int32, 0, keys+1)
	for k := range int32(keys) {
		l.from = append(l.from, int32(len(l.chain)))
		for v, p := k, int32(0); v != none; p++ {
			l.slot[v] = p
			l.chain = append(l.chain, v)
			w := x.next[v]
			if w == none {
				break
			}
			v = written[w]
		}
	}
	l.from = append(l.from, int32(len(l.chain)))
	for v, w := range x.writer {
		if w == none || !x.counted[w] || l.slot[v] != none {
			continue
		}
		var cycle []verdict.Edge
		for at := int32(v); l.slot[at] == none; {
			l.slot[at] = 0
			ops := l.h.Ops(&l.h.Txns[x.writer[at]])
			op := ops[len(ops)-1]
			cycle = append(cycle, verdict.Edge{Kind: verdict.WR, From: x.writer[at], To: x.next[at], Key: op.Key, Value: op.Value})
			at = written[x.next[at]]
		}
		x.cycle(cycle)
		return
	}
}

// writtenVersions returns, by transaction, the version that it wrote.
func (x *index) writtenVersions() []int32 {
	written := make([]int32, len(x.h.Txns))
	for i := range written {
		written[i] = none
	}
	for v, w := range x.writer {
		if w != none {
			written[w] = int32(v)
		}
	}
	return written
}

// cycle adds a cycle as an anomaly, from its earliest transaction.
func (x *index) cycle(edges []verdict.Edge) {
	a := verdict.Anomaly{Kind: verdict.Cycle, Count: 1}
	first := 0
	for n := range edges {
		if edges[n].From < edges[first].From {
			first = n
		}
	}
	a.Cycle = append(slices.Clone(edges[first:]), edges[:first]...)
	for _, e := range a.Cycle {
		a.Txns = append(a.Txns, e.From)
	}
	x.anomalies = append(x.anomalies, a)
}

// begins and ends are the interval of a transaction, wide open where a time is
// not known. An unknown transaction ends at infinity.
func (l *lwt) begins(i int32) int64 { return l.h.Txns[i].Begin } // NoTime is the least int64

func (l *lwt) ends(i int32) int64 {
	if t := &l.h.Txns[i]; t.Status == history.Committed && t.End != history.NoTime {
		return t.End
	}
	return math.MaxInt64
}

// realTime is step 2 of Algorithm 2: from the back of each chain, nothing may
// begin after something behind it has ended.
func (l *lwt) realTime() {
	x := l.x
	for k := range l.h.KeyCount() {
		minEnd := int64(math.MaxInt64)
		chain := l.chain[l.from[k]:l.from[k+1]]
		for p := len(chain) - 1; p >= 0; p-- {
			v := chain[p]
			behind := minEnd
			for _, r := range x.readersOf(v) {
				if r == x.next[v] {
					continue
				}
				if l.begins(r) > behind {
					l.late(chain)
					return
				}
				minEnd = min(minEnd, l.ends(r))
			}
			if w := x.writer[v]; w != none {
				if l.begins(w) > minEnd {
					l.late(chain)
					return
				}
				minEnd = min(minEnd, l.ends(w))
			}
		}
	}
}

// item is a transaction in a chain: the writer of a slot, or a plain read of it.
type item struct {
	txn, slot int32
	read      bool
}

// steps returns the number of dependencies that lead from a to b.
func steps(a, b item) int32 {
	if b.read {
		return b.slot - a.slot + 1
	}
	return b.slot - a.slot
}

// late reports a cycle of a chain on which real time is broken: a shortest,
// which has one edge of real time.
func (l *lwt) late(chain []int32) {
	x := l.x
	// behind holds what comes later in the chain, the nearest on top, without
	// those that something nearer ended before: its ends grow towards the top,
	// so that bisection finds the nearest that ended before a given time.
	var behind []item
	var best [2]item
	shortest := int32(math.MaxInt32)
	query := func(a item) {
		at, _ := slices.BinarySearchFunc(behind, l.begins(a.txn), func(b item, begin int64) int {
			if l.ends(b.txn) < begin {
				return -1
			}
			return 1
		})
		if at > 0 && steps(a, behind[at-1]) < shortest {
			best = [2]item{a, behind[at-1]}
			shortest = steps(a, behind[at-1])
		}
	}
	push := func(a item) {
		for n := len(behind); n > 0 && l.ends(behind[n-1].txn) >= l.ends(a.txn); n-- {
			behind = behind[:n-1]
		}
		behind = append(behind, a)
	}
	for p := int32(len(chain)) - 1; p >= 0; p-- {
		v := chain[p]
		var reads []item
		for _, r := range x.readersOf(v) {
			if r != x.next[v] {
				reads = append(reads, item{r, p, true})
			}
		}
		// Reads of one slot are not ordered among themselves.
		for _, r := range reads {
			query(r)
		}
		for _, r := range reads {
			push(r)
		}
		if w := x.writer[v]; w != none {
			query(item{w, p, false})
			push(item{w, p, false})
		}
	}
	a, b := best[0], best[1]
	var edges []verdict.Edge
	at := a.txn
	for p := a.slot; p < b.slot; p++ {
		v, kind := chain[p], verdict.WR
		if at == a.txn && a.read {
			kind = verdict.RW
		}
		e := verdict.Edge{Kind: kind, From: at, To: x.next[v]}
		e.Key, e.Value = x.version(v)
		edges = append(edges, e)
		at = x.next[v]
	}
	if b.read {
		e := verdict.Edge{Kind: verdict.WR, From: at, To: b.txn}
		e.Key, e.Value = x.version(chain[b.slot])
		edges = append(edges, e)
	}
	edges = append(edges, verdict.Edge{Kind: verdict.RT, From: b.txn, To: a.txn})
	x.cycle(edges)
	x.anomalies[len(x.anomalies)-1].Shortest = true
}

// version returns the key and value of v.
func (x *index) version(v int32) (history.Key, history.Value) {
	w := x.writer[v]
	if w == none {
		return history.Key(v), x.h.Initial(history.Key(v))
	}
	t := &x.h.Txns[w]
	for j, op := range x.h.Ops(t) {
		if op.Kind == history.Write && x.opVersion[x.h.FirstOp(t)+j] == v {
			return op.Key, op.Value
		}
	}
	return 0, 0
}
