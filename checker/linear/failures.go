package linear

import (
	"fmt"
	"github.com/isohound/isohound/checker/radix"
	"math"
	"slices"

	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// placeFailures finds a slot for every failed compare-and-set that returned no value. Any slot is
// allowed but that of the expected value. It must not be before the slot of a transaction that
// ended before the failure began, nor after that of a transaction that began after the failure
// ended. Each failure, in the order of their begins, takes the first slot that is allowed. This
// leaves the most room for the transactions after it. So if one of them ends up too late, no
// placement exists.
func (l *lwt) placeFailures() {
	h := l.h
	if len(l.failures) == 0 {
		return
	}
	l.findSlots()
	l.place = make([]int32, len(h.Txns))
	l.appended = make([]int32, h.KeyCount())
	fill(l.appended, none)
	var ends []int32
	for i := range h.Txns {
		if l.x.counted[i] && h.Txns[i].OpCount() > 0 {
			ends = append(ends, int32(i))
		}
	}
	l.failures = radix.SortBy(l.failures, l.begins)
	ends = radix.SortBy(ends, l.ends)

	latest := make([]int32, h.KeyCount()) // by key: the last slot of the transactions that have ended
	next := 0
	for _, i := range l.failures {
		for ; next < len(ends) && l.ends(ends[next]) < l.begins(i); next++ {
			k, p := l.keyAndSlot(ends[next])
			latest[k] = max(latest[k], p)
		}
		op := h.Ops(&h.Txns[i])[0]
		l.place[i] = latest[op.Key]
		if l.excludes(op, l.place[i]) {
			l.place[i]++
		}
	}
	l.tooFar(latest)
}

// expectation is what a compare-and-set expects of a key.
type expectation struct {
	key   history.Key
	value history.Value
}

// keyAndSlot returns the key and slot of a counted transaction.
func (l *lwt) keyAndSlot(i int32) (history.Key, int32) {
	t := &l.h.Txns[i]
	ops := l.h.Ops(t)
	op := ops[len(ops)-1]
	if op.Kind == history.ReadNot {
		return op.Key, l.place[i]
	}
	return op.Key, l.slot[l.x.opVersion[l.h.FirstOp(t)+len(ops)-1]]
}

// excludes reports whether the key has, in slot p, the value that op rules out.
func (l *lwt) excludes(op history.Op, p int32) bool {
	v := l.x.versions.Find(op.Key, op.Value)
	if v == none {
		return false
	}
	if w := l.x.writer[v]; w != none && !l.x.counted[w] {
		return w == l.appended[op.Key] && p == l.length(op.Key)
	}
	return l.slot[v] == p
}

func (l *lwt) length(k history.Key) int32 { return l.from[k+1] - l.from[k] }

// tooFar compares the slots of the failures with the slots of transactions that began after they
// ended.
func (l *lwt) tooFar(earliest []int32) {
	h := l.h
	for k := range earliest {
		earliest[k] = math.MaxInt32
	}
	var begins []int32
	for i := range h.Txns {
		if t := &h.Txns[i]; l.x.counted[i] && t.OpCount() > 0 && h.Ops(t)[0].Kind != history.ReadNot {
			begins = append(begins, int32(i))
		}
	}
	begins = radix.SortBy(begins, l.begins)
	byEnd := radix.SortBy(slices.Clone(l.failures), l.ends)
	var failed []int32
	next := len(begins) - 1
	for n := len(byEnd) - 1; n >= 0; n-- {
		i := byEnd[n]
		for ; next >= 0 && l.begins(begins[next]) > l.ends(i); next-- {
			k, _ := l.keyAndSlot(begins[next])
			earliest[k] = min(earliest[k], l.lastSlotBefore(begins[next]))
		}
		op := h.Ops(&h.Txns[i])[0]
		if l.place[i] > earliest[op.Key] || l.place[i] >= l.length(op.Key) && !l.appendUnknown(i, op) {
			failed = append(failed, i)
		}
	}
	if len(failed) > 0 && !h.Closed {
		l.undecided = fmt.Sprintf("the failed compare-and-set of transaction %d has no place in the order; the history was cut off, so the write that made it fail may be missing", h.Txns[failed[0]].ID)
		return
	}
	// A failure may be too late only because of an earlier failure, so the earliest is reported.
	for _, i := range radix.SortBy(failed, l.begins) {
		l.impossible(i)
	}
}

// appendUnknown handles a failure that needs a version after the chain. It finds a compare-and-set
// of unknown outcome that may have written one. It reports whether there is one or whether that is
// undecided.
func (l *lwt) appendUnknown(i int32, op history.Op) bool {
	k := op.Key
	last := l.chain[l.from[k+1]-1]
	_, value := l.x.version(last)
	if l.uncounted == nil {
		l.uncounted = map[expectation]int32{}
		for j := range l.h.Txns {
			t := &l.h.Txns[j]
			if t.Status != history.Unknown || l.x.counted[j] {
				continue
			}
			if k2, expected, ok := expects(l.h.Ops(t)); ok {
				c := expectation{k2, expected}
				if old, dup := l.uncounted[c]; !dup || t.Begin < l.h.Txns[old].Begin {
					l.uncounted[c] = int32(j)
				}
			}
		}
	}
	if j, ok := l.uncounted[expectation{k, value}]; ok {
		l.appended[k] = j
	}
	u := l.appended[k]
	if u == none || l.begins(u) > l.ends(i) {
		return false
	}
	if l.place[i] > l.length(k) || l.excludes(op, l.place[i]) {
		l.undecided = fmt.Sprintf("whether the compare-and-set of transaction %d could fail depends on several transactions of unknown outcome", l.h.Txns[i].ID)
	}
	return true
}

// expects returns the key and the value that a successful compare-and-set or
// insertion found.
func expects(ops []history.Op) (history.Key, history.Value, bool) {
	switch {
	case len(ops) == 1 && ops[0].Kind == history.Write:
		return ops[0].Key, history.Absent, true
	case len(ops) == 2:
		return ops[0].Key, ops[0].Value, true
	}
	return 0, 0, false
}

// impossible reports a failure that has no slot, with the transactions that exclude all slots: the
// one with the latest slot that ended before it began, the one with the earliest slot that began
// after it ended, and the writer of the value that it rules out. For each failure among these, it
// adds the first and the third of these, too.
func (l *lwt) impossible(i int32) {
	if first := l.x.Has(verdict.ImpossibleFailure); first != nil {
		first.Count++
		return
	}
	a := verdict.Anomaly{Kind: verdict.ImpossibleFailure, Ops: []verdict.OpRef{{Txn: i, Op: 0}}, Txns: []int32{i}}
	for n := 0; n < len(a.Txns); n++ {
		j := a.Txns[n]
		op := l.h.Ops(&l.h.Txns[j])[0]
		if op.Kind != history.ReadNot {
			continue
		}
		near := []int32{l.before(j)}
		if j == i {
			near = append(near, l.after(j))
		}
		if v := l.x.versions.Find(op.Key, op.Value); v != none && l.x.writer[v] != none && l.x.counted[l.x.writer[v]] {
			near = append(near, l.x.writer[v])
		}
		for _, t := range near {
			if t != none && !slices.Contains(a.Txns, t) {
				a.Txns = append(a.Txns, t)
			}
		}
	}
	slices.Sort(a.Txns)
	l.x.Found(a)
}

// before returns the transaction of the last slot among those on i's key that
// ended before i began, or none.
func (l *lwt) before(i int32) int32 {
	return l.nearest(i, func(j int32) (bool, int32) {
		_, p := l.keyAndSlot(j)
		return l.ends(j) < l.begins(i), p
	})
}

// after returns the transaction that leaves i the least room among those that began after i ended,
// or none. Other failures leave room, because they can have a later slot.
func (l *lwt) after(i int32) int32 {
	return l.nearest(i, func(j int32) (bool, int32) {
		if l.h.Ops(&l.h.Txns[j])[0].Kind == history.ReadNot {
			return false, 0
		}
		return l.begins(j) > l.ends(i), -l.lastSlotBefore(j)
	})
}

// lastSlotBefore returns the last slot of a transaction that must come before j.
func (l *lwt) lastSlotBefore(j int32) int32 {
	_, p := l.keyAndSlot(j)
	if t := &l.h.Txns[j]; l.h.Ops(t)[t.OpCount()-1].Kind == history.Write {
		return p - 1
	}
	return p
}

func (l *lwt) nearest(i int32, rank func(j int32) (bool, int32)) int32 {
	k := l.h.Ops(&l.h.Txns[i])[0].Key
	best, bestRank := none, int32(math.MinInt32)
	for j := range l.h.Txns {
		t := &l.h.Txns[j]
		if !l.x.counted[j] || int32(j) == i || t.OpCount() == 0 || l.h.Ops(t)[0].Key != k {
			continue
		}
		if ok, r := rank(int32(j)); ok && r > bestRank {
			best, bestRank = int32(j), r
		}
	}
	return best
}

// order returns the witness: for each key and slot the writer, then the plain reads and failures of
// the slot by their begins.
func (l *lwt) order() []int32 {
	x := l.x
	x.collectReaders()
	var at [][]int32 // by index in chain
	if len(l.failures) > 0 {
		at = make([][]int32, len(l.chain))
	}
	behind := make(map[history.Key][]int32)
	for _, i := range l.failures {
		k, p := l.keyAndSlot(i)
		if p == l.length(k) {
			behind[k] = append(behind[k], i)
			continue
		}
		at[l.from[k]+p] = append(at[l.from[k]+p], i)
	}
	var order, group []int32
	for k := range l.h.KeyCount() {
		for n := l.from[k]; n < l.from[k+1]; n++ {
			v := l.chain[n]
			if w := x.writer[v]; w != none {
				order = append(order, w)
			}
			group = group[:0]
			if at != nil {
				group = append(group, at[n]...)
			}
			for _, r := range x.readersOf(v) {
				if r != x.next[v] {
					group = append(group, r)
				}
			}
			order = append(order, radix.SortBy(group, l.begins)...)
		}
		if len(behind[history.Key(k)]) > 0 {
			order = append(order, l.appended[k])
			order = append(order, radix.SortBy(behind[history.Key(k)], l.begins)...)
		}
	}
	for i := range l.h.Txns {
		if x.counted[i] && l.h.Txns[i].OpCount() == 0 {
			order = append(order, int32(i))
		}
	}
	return order
}
