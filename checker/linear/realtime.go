package linear

import (
	"github.com/isohound/isohound/checker/radix"
	"math"

	"github.com/isohound/isohound/history"
)

// realTime holds a transaction back until every transaction that ended
// strictly before it began is in the order. Instead of an edge for each such
// pair there is one step along two sorted lists: what began by the end of the
// earliest one that is missing is let go. Sorting is by radix, so all of it is
// linear.
type realTime struct {
	h       *history.History
	byBegin []int32 // transactions with a begin
	byEnd   []int32 // committed transactions with an end
	free    int     // byBegin[:free] are let go
	first   int     // byEnd[:first] are in the order
	limit   int64   // what began until then is let go
	held    []bool  // by transaction: it waits for being let go
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

// holds reports whether i must wait, and remembers it; NoTime is the least of
// all times.
func (rt *realTime) holds(i int32) bool {
	rt.held[i] = rt.h.Txns[i].Begin > rt.limit
	return rt.held[i]
}

// ended is told of each commit that is placed, and makes what it lets go ready.
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
