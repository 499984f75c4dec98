package linear

import (
	"math"

	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// order is a topological order of the dependency graph, complete if and only
// if the graph is acyclic.
//
// A transaction T has the nodes T<<shift, its start, and that plus shift, its
// commit: one node (shift 0) for serializability, two (shift 1) for snapshot
// isolation. SO, WR, WW and RT lead from a commit to a start, RW from a start
// to a commit, and a start to its own commit. With two nodes the cycles are
// exactly those of (SO ∪ WR ∪ WW ∪ RT) ; RW? (Definition 6), so one routine
// serves every level.
type order struct {
	shift int32
	nodes []int32 // in order; shorter than total when the graph has a cycle
	total int
	done  []bool // by node: it is in nodes
}

func (x *index) topological(c *check) (*order, error) {
	h, shift := x.h, int32(0)
	if c.lvl.Snapshot() {
		shift = 1
	}
	o := &order{shift: shift, done: make([]bool, len(h.Txns)<<shift)}
	before := x.indegrees(shift)
	for _, in := range x.counted {
		if in {
			o.total++
		}
	}
	o.total <<= shift
	o.nodes = make([]int32, 0, o.total)

	var rt *realTime
	if c.lvl.RealTime() {
		rt = newRealTime(x)
		rt.hold(before, shift)
	}
	push := func(node int32) {
		if before[node]--; before[node] == 0 {
			o.nodes = append(o.nodes, node)
		}
	}
	for i, in := range x.counted {
		if in && before[int32(i)<<shift] == 0 {
			o.nodes = append(o.nodes, int32(i)<<shift)
		}
	}
	if rt != nil {
		rt.release(shift, push)
	}
	for n := 0; n < len(o.nodes); n++ {
		if n%pollEvery == 0 {
			if err := c.stopped(); err != nil {
				return nil, err
			}
		}
		node := o.nodes[n]
		o.done[node] = true
		i := node >> shift
		t := &h.Txns[i]
		at := h.FirstOp(t)
		ops := h.Ops(t)
		if isStart := node == i<<shift; isStart {
			for j, op := range ops {
				if v := x.opVersion[at+j]; v != none && op.Kind == history.Read {
					if w := x.next[v]; w != none && w != i {
						push(w<<shift + shift)
					}
				}
			}
			if shift == 1 {
				push(node + 1)
			}
		}
		if isCommit := node == i<<shift+shift; isCommit {
			for j, op := range ops {
				if v := x.opVersion[at+j]; v != none && op.Kind == history.Write {
					for _, r := range x.readersOf(v) {
						push(r << shift)
					}
				}
			}
			x.eachSuccessor(i, func(s int32) { push(s << shift) })
			if rt != nil && rt.ended(i) {
				rt.release(shift, push)
			}
		}
	}
	return o, nil
}

func (x *index) readersOf(v int32) []int32 {
	return x.readers[x.readersFrom[v]:x.readersFrom[v+1]]
}

// indegrees counts the edges into each node, real time left out.
func (x *index) indegrees(shift int32) []int32 {
	h := x.h
	in := make([]int32, len(h.Txns)<<shift)
	for i := range h.Txns {
		if !x.counted[i] {
			continue
		}
		i := int32(i)
		start, commit := i<<shift, i<<shift+shift
		if shift == 1 {
			in[commit]++
		}
		t := &h.Txns[i]
		at := h.FirstOp(t)
		for j, op := range h.Ops(t) {
			v := x.opVersion[at+j]
			if v == none || op.Kind != history.Read {
				continue
			}
			if x.writer[v] != none {
				in[start]++ // WR
			}
			if x.next[v] == i {
				in[commit] += x.readersFrom[v+1] - x.readersFrom[v] - 1 // RW, but not from itself
			}
		}
		x.eachSuccessor(i, func(s int32) { in[s<<shift]++ })
	}
	return in
}

// witness turns a complete order into the proof of a satisfied verdict.
func (o *order) witness() *verdict.Witness {
	if o.shift == 0 {
		return &verdict.Witness{Order: o.nodes}
	}
	return &verdict.Witness{Points: o.nodes}
}

// realTime keeps a transaction from the order until every transaction that
// ended strictly before it began is in it. Instead of an edge for each such
// pair there is one step along two sorted lists: the transactions that have
// begun by the end of the earliest one still missing may be released. Sorting
// is by radix, so all of it is linear.
type realTime struct {
	h       *history.History
	byBegin []int32 // transactions with a begin, released from the front
	byEnd   []int32 // committed transactions with an end
	in      []bool  // committed in the order
	free    int     // byBegin[:free] are released
	first   int     // byEnd[:first] are in the order
}

func newRealTime(x *index) *realTime {
	h := x.h
	rt := &realTime{h: h, in: make([]bool, len(h.Txns))}
	for i := range h.Txns {
		if !x.counted[i] {
			continue
		}
		t := &h.Txns[i]
		if t.Begin != history.NoTime {
			rt.byBegin = append(rt.byBegin, int32(i))
		}
		if t.Status == history.Committed && t.End != history.NoTime {
			rt.byEnd = append(rt.byEnd, int32(i))
		}
	}
	rt.byBegin = sortBy(rt.byBegin, func(i int32) int64 { return h.Txns[i].Begin })
	rt.byEnd = sortBy(rt.byEnd, func(i int32) int64 { return h.Txns[i].End })
	return rt
}

// hold adds, for each transaction with a begin, one edge that release takes.
func (rt *realTime) hold(before []int32, shift int32) {
	for _, i := range rt.byBegin {
		before[i<<shift]++
	}
}

// ended notes that i has committed in the order and reports whether that moved
// the earliest missing end.
func (rt *realTime) ended(i int32) bool {
	rt.in[i] = true
	return rt.first < len(rt.byEnd) && rt.byEnd[rt.first] == i
}

// release lets go of every transaction that no missing one precedes.
func (rt *realTime) release(shift int32, push func(node int32)) {
	for rt.first < len(rt.byEnd) && rt.in[rt.byEnd[rt.first]] {
		rt.first++
	}
	limit := int64(math.MaxInt64)
	if rt.first < len(rt.byEnd) {
		limit = rt.h.Txns[rt.byEnd[rt.first]].End
	}
	for rt.free < len(rt.byBegin) && rt.h.Txns[rt.byBegin[rt.free]].Begin <= limit {
		push(rt.byBegin[rt.free] << shift)
		rt.free++
	}
}
