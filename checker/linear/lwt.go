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
func lightweightTransaction(x *index, _ int32, ops []history.Op) string {
	switch {
	case len(ops) == 0:
		return ""
	case len(ops) > 2:
		return fmt.Sprintf("it has %d operations", len(ops))
	case len(ops) == 1 && ops[0].Kind == history.Write && ops[0].Value == history.Absent:
		return fmt.Sprintf("it inserts absence into %s", x.h.KeyName(ops[0].Key))
	case len(ops) == 1:
		return ""
	case ops[0].Kind != history.Read || ops[1].Kind != history.Write:
		return "its two operations are not a read and a write"
	case ops[0].Key != ops[1].Key:
		return fmt.Sprintf("it reads %s and writes %s", x.h.KeyName(ops[0].Key), x.h.KeyName(ops[1].Key))
	}
	return ""
}

// lightweight is VL-LWT (Algorithm 2). It handles each key alone, because linearizability is a
// local property. The versions of a key form one chain, from its initial value through the
// compare-and-sets. Version number p of the chain has slot p: first its writer, then its plain
// reads. Two kinds of operations that Algorithm 2 leaves out are placed, too: plain reads belong to
// the slot of their value, and a failed compare-and-set without a value may be in any slot but one.
func (c *check) lightweight() error {
	c.stages.Begin("index")
	x, err := buildIndex(c)
	if err != nil {
		return err
	}
	l := &lwt{x: x, h: x.h}
	l.singles()
	c.stages.Done("index")
	if c.res.Reason = x.Doubtful(); c.res.Reason != "" {
		return nil
	}
	if len(x.Anomalies) == 0 && x.Orphaned() == "" && l.undecided == "" {
		c.stages.Begin("chains")
		if err := l.run(); err != nil {
			return err
		}
		c.stages.Done("chains")
	}
	if len(x.Anomalies) == 0 && x.Orphaned() == "" && l.undecided != "" {
		c.res.Reason = l.undecided
		return nil
	}
	if c.decide(x, false) && c.opt.Proof {
		c.res.Witness = &verdict.Witness{Order: l.order()}
	}
	return nil
}

// singles handles the transactions of one operation. A lone write overwrites absence. A lone read
// belongs to the slot of its value. A failure without a value is placed later.
func (l *lwt) singles() {
	for i := range l.h.Txns {
		t := &l.h.Txns[i]
		if t.OpCount() != 1 || !l.x.counted[i] {
			continue
		}
		switch op := l.h.Ops(t)[0]; op.Kind {
		case history.Write:
			l.insertion(int32(i), op.Key)
		case history.ReadNot:
			l.failures = append(l.failures, int32(i))
		default:
			if v := l.x.opVersion[l.h.FirstOp(t)]; v != none {
				l.read(t, v)
			}
		}
	}
}

func (l *lwt) insertion(i int32, k history.Key) {
	x := l.x
	v := x.versions.Find(k, history.Absent)
	if v == none && !x.h.Closed { // a deletion may not have been recorded
		x.Orphan(i)
		return
	}
	if v == none {
		x.Found(verdict.Anomaly{Kind: verdict.DoubleInsert, Txns: []int32{i}, Ops: []verdict.OpRef{{Txn: i, Op: 0}}})
		return
	}
	if w := x.next[v]; w != none && !x.h.Closed {
		l.undecided = fmt.Sprintf("key %s was inserted twice, and the history was cut off, so that a deletion in between may be missing", x.h.KeyName(k))
		return
	} else if w != none {
		x.Found(verdict.Anomaly{Kind: verdict.DoubleInsert, Txns: []int32{w, i},
			Ops: []verdict.OpRef{{Txn: w, Op: x.h.Txns[w].OpCount() - 1}, {Txn: i, Op: 0}}})
		return
	}
	x.next[v] = i
}

// read extends the span of a version's plain reads.
func (l *lwt) read(t *history.Txn, v int32) {
	if l.reads == nil {
		l.reads = make([]span, len(l.x.writer))
		for v := range l.reads {
			l.reads[v] = span{history.NoTime, math.MaxInt64}
		}
	}
	s := &l.reads[v]
	s.lastBegin = max(s.lastBegin, t.Begin)
	s.firstEnd = min(s.firstEnd, ends(t))
}

// span has the last begin and the first end of the plain reads of a version.
type span struct{ lastBegin, firstEnd int64 }

type lwt struct {
	x *index
	h *history.History

	// chain[from[k]:from[k+1]] are the versions of key k in their order.
	from  []int32
	chain []int32
	slot  []int32 // by version: its place in the chain; nil until findSlots
	reads []span  // by version; nil when there are no plain reads
	// failures are the failed compare-and-sets without a value, by begin. place has their slots.
	failures []int32
	place    []int32 // by transaction, for failures only
	// appended is, by key, a compare-and-set of unknown outcome that is put after the chain, or none.
	appended []int32

	// uncounted is, by key and expected value, the first compare-and-set of unknown outcome that
	// does not count; nil until it is needed.
	uncounted map[expectation]int32

	undecided string
}

func (l *lwt) run() error {
	if l.chains(); len(l.x.Anomalies) > 0 {
		return nil
	}
	if l.realTime(); len(l.x.Anomalies) > 0 {
		return nil
	}
	l.placeFailures()
	return l.x.c.stopped()
}

// chains builds the chain of versions of each key.
func (l *lwt) chains() {
	x, keys := l.x, int32(l.h.KeyCount())
	l.from = make([]int32, keys+1)
	l.chain = make([]int32, 0, len(x.writer))
	for k := range keys {
		for v := k; v != none; v = l.written(x.next[v]) {
			l.chain = append(l.chain, v)
		}
		l.from[k+1] = int32(len(l.chain))
	}
	counted := int(keys)
	for _, w := range x.writer[keys:] {
		if x.counted[w] {
			counted++
		}
	}
	if len(l.chain) < counted {
		l.circle()
	}
}

// written returns the version that i wrote. It returns none if i is none.
func (l *lwt) written(i int32) int32 {
	if i == none {
		return none
	}
	t := &l.h.Txns[i]
	return l.x.opVersion[l.h.FirstOp(t)+t.OpCount()-1]
}

// circle reports a cycle among the versions that are in no chain. No version is overwritten twice,
// so following them ends in a cycle.
func (l *lwt) circle() {
	x := l.x
	l.findSlots()
	for v, w := range x.writer {
		if w == none || !x.counted[w] || l.slot[v] != none {
			continue
		}
		var cycle []verdict.Edge
		for at := int32(v); l.slot[at] == none; at = l.written(x.next[at]) {
			l.slot[at] = 0
			k, value := x.version(at)
			cycle = append(cycle, verdict.Edge{Kind: verdict.WR, From: x.writer[at], To: x.next[at], Key: k, Value: value})
		}
		x.cycle(cycle)
		return
	}
}

// findSlots sets slot from the chains.
func (l *lwt) findSlots() {
	l.slot = make([]int32, len(l.x.writer))
	fill(l.slot, none)
	for k := range l.h.KeyCount() {
		for p, v := range l.chain[l.from[k]:l.from[k+1]] {
			l.slot[v] = int32(p)
		}
	}
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
	x.Anomalies = append(x.Anomalies, a)
}

// realTime is step 2 of Algorithm 2. It goes backwards through each chain. No transaction may begin
// after a later one in the chain has ended.
func (l *lwt) realTime() {
	x := l.x
	for k := range l.h.KeyCount() {
		minEnd := int64(math.MaxInt64)
		chain := l.chain[l.from[k]:l.from[k+1]]
		for p := len(chain) - 1; p >= 0; p-- {
			v := chain[p]
			late := false
			if x.pure[v] > 0 {
				late = l.reads[v].lastBegin > minEnd
				minEnd = min(minEnd, l.reads[v].firstEnd)
			}
			if w := x.writer[v]; w != none {
				t := &l.h.Txns[w]
				late = late || t.Begin > minEnd // NoTime is the least of all times
				minEnd = min(minEnd, ends(t))
			}
			if late {
				x.collectReaders()
				l.late(chain)
				return
			}
		}
	}
}

// ends returns the latest time at which t may have ended: infinity if its outcome is unknown or its
// end was not recorded.
func ends(t *history.Txn) int64 {
	if t.Status == history.Committed && t.End != history.NoTime {
		return t.End
	}
	return math.MaxInt64
}

func (l *lwt) begins(i int32) int64 { return l.h.Txns[i].Begin }
func (l *lwt) ends(i int32) int64   { return ends(&l.h.Txns[i]) }

// item is a transaction in a chain: the writer of a slot, or a plain read of it.
type item struct {
	txn, slot int32
	read      bool
}

// steps returns the number of dependencies on the path from a to b.
func steps(a, b item) int32 {
	if b.read {
		return b.slot - a.slot + 1
	}
	return b.slot - a.slot
}

// late reports a shortest cycle of a chain that violates real time. It has one real-time edge.
func (l *lwt) late(chain []int32) {
	x := l.x
	// behind has later items of the chain, the nearest on top. An item is left out if a nearer one
	// ended before it. So the ends grow towards the top, and binary search finds the nearest item
	// that ended before a given time.
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
	x.Anomalies[len(x.Anomalies)-1].Shortest = true
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
