package linear

import (
	"github.com/isohound/isohound/checker/radix"
	"math"

	"github.com/isohound/isohound/history"
)

// realTime delays a transaction until every transaction that ended strictly before it began has
// been placed. It needs no edges. It moves along two sorted lists and releases the transactions
// that began no later than the earliest end of a transaction that is not placed. Sorting is by
// radix, so all of this is linear.
type realTime struct {
	h       *history.History
	byBegin []int32 // transactions with a begin
	byEnd   []int32 // committed transactions with an end
	free    int     // byBegin[:free] are released
	first   int     // byEnd[:first] are placed
	limit   int64   // transactions that began up to this time are released
	held    []bool  // by transaction: whether it waits to be released
}

func newRealTime(x *index) *realTime {
	h := x.h
	rt := &realTime{h: h, held: make([]bool, len(h.Txns))}
	rt.byBegin, rt.byEnd = make([]int32, 0, len(h.Txns)), make([]int32, 0, len(h.Txns))
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
	rt.byBegin = radix.SortBy(rt.byBegin, func(i int32) int64 { return h.Txns[i].Begin })
	rt.byEnd = radix.SortBy(rt.byEnd, func(i int32) int64 { return h.Txns[i].End })
	rt.setLimit()
	return rt
}

// holds reports whether i must wait, and records it. NoTime is less than all times.
func (rt *realTime) holds(i int32) bool {
	rt.held[i] = rt.h.Txns[i].Begin > rt.limit
	return rt.held[i]
}

// ended is called for each commit that is placed. It makes the released transactions ready.
func (rt *realTime) ended(i int32, s *sorter) {
	if rt.first == len(rt.byEnd) || rt.byEnd[rt.first] != i {
		return
	}
	for rt.first < len(rt.byEnd) && s.done[rt.byEnd[rt.first]<<s.shift+s.shift] {
		rt.first++
	}
	rt.setLimit()
	for rt.free < len(rt.byBegin) && rt.h.Txns[rt.byBegin[rt.free]].Begin <= rt.limit {
		if j := rt.byBegin[rt.free]; rt.held[j] {
			rt.held[j] = false
			s.ready = append(s.ready, j<<s.shift)
		}
		rt.free++
	}
}

func (rt *realTime) setLimit() {
	rt.limit = math.MaxInt64
	if rt.first < len(rt.byEnd) {
		rt.limit = rt.h.Txns[rt.byEnd[rt.first]].End
	}
}
