// Package snapshots works with the snapshots that a database tells as sets of transactions (history.Visible), as
// PostgreSQL does. Compare says where a transaction read something else than what its snapshot has. Guess puts the
// commits and the snapshots into an order, which package replay tries.
//
// Nothing here is trusted and nothing is a verdict: the database may be wrong about its snapshots although the history
// satisfies a level, and right about them although it does not.
package snapshots

import (
	"cmp"
	"slices"
	"sort"

	"github.com/isohound/isohound/checker/radix"
	"github.com/isohound/isohound/history"
)

// order has the commits and the snapshots of a history in one order, as positions. If the sets contain one another, as
// those of one database must, then the commits up to the position of a snapshot are exactly those that it has.
type order struct {
	h *history.History
	// commit is, by transaction, the position of its commit, at least 1. It is 0 for one that did not commit, wrote
	// nothing, or has no number of the database.
	commit []int64
	// start is, by transaction, the position of its snapshot. It counts only where one is told.
	start []int64
	// placed are the transactions with a commit, in their order.
	placed []int32
}

// newOrder goes through the snapshots from the smallest to the largest. It puts before each the commits that it has and
// that no smaller one has. Those that no snapshot has come last. That takes a step for each transaction and for each
// one that is in progress in a snapshot.
func newOrder(h *history.History) *order {
	o := &order{h: h, commit: make([]int64, len(h.Txns)), start: make([]int64, len(h.Txns))}
	var writers, readers []int32
	for i := range h.Txns {
		t := &h.Txns[i]
		if h.Claim(i).Visible != nil {
			readers = append(readers, int32(i))
		}
		if t.Status == history.Committed && h.DBTxn(i) > 0 && writes(h.Ops(t)) {
			writers = append(writers, int32(i))
		}
	}
	writers = radix.SortBy(writers, func(i int32) int64 { return h.DBTxn(int(i)) })
	writers = o.unique(writers)
	below := func(number int64) int { // how many writers have lower numbers
		return sort.Search(len(writers), func(n int) bool { return o.number(writers[n]) >= number })
	}
	size := make([]int64, len(h.Txns))
	for _, i := range readers {
		v := h.Claim(int(i)).Visible
		n := below(v.Max)
		for _, open := range v.Open {
			if at := below(open); at < len(writers) && o.number(writers[at]) == open {
				n--
			}
		}
		size[i] = int64(n)
	}
	readers = radix.SortBy(readers, func(i int32) int64 { return size[i] })
	var waiting, now []int32 // writers that some snapshot before did not have, and those that this one has
	next := 0
	for _, i := range readers {
		v := h.Claim(int(i)).Visible
		now = now[:0]
		waiting = slices.DeleteFunc(waiting, func(w int32) bool {
			has := v.Has(o.number(w))
			if has {
				now = append(now, w)
			}
			return has
		})
		for ; next < len(writers) && o.number(writers[next]) < v.Max; next++ {
			if w := writers[next]; v.Has(o.number(w)) {
				now = append(now, w)
			} else {
				waiting = append(waiting, w)
			}
		}
		o.place(now)
		o.start[i] = int64(len(o.placed))
	}
	o.place(append(waiting, writers[next:]...))
	return o
}

func (o *order) number(i int32) int64 { return o.h.DBTxn(int(i)) }

// unique leaves out the writers that share a number: a server that crashed may give numbers out again.
func (o *order) unique(writers []int32) []int32 {
	var out []int32
	for n, i := range writers {
		same := func(m int) bool { return m >= 0 && m < len(writers) && o.number(writers[m]) == o.number(i) }
		if !same(n-1) && !same(n+1) {
			out = append(out, i)
		}
	}
	return out
}

// place gives the next positions to some commits, between which no snapshot was taken: in the order that a log claims, else in the
// order of their ends. Without a common clock that is a guess of little worth: Compare and replay ask for more before they say anything.
func (o *order) place(now []int32) {
	key := func(i int32) int64 { return o.h.Claim(int(i)).Commit }
	if slices.ContainsFunc(now, func(i int32) bool { return key(i) == 0 }) {
		key = func(i int32) int64 { return o.h.Txns[i].End }
	}
	slices.SortStableFunc(now, func(a, b int32) int { return cmp.Compare(key(a), key(b)) })
	for _, i := range now {
		o.placed = append(o.placed, i)
		o.commit[i] = int64(len(o.placed))
	}
}

func writes(ops []history.Op) bool {
	return slices.ContainsFunc(ops, func(op history.Op) bool { return op.Kind == history.Write })
}

// Guess returns claims of positions that follow from the snapshots of h, one for each transaction: an execution at
// snapshot isolation if the database is right about them.
func Guess(h *history.History) []history.Claim {
	o := newOrder(h)
	out := make([]history.Claim, len(h.Txns))
	for i := range h.Txns {
		c := h.Claim(i)
		out[i].Commit, out[i].Visible = o.commit[i], c.Visible
		if c.Visible != nil {
			out[i].Snapshot, out[i].Snapped = o.start[i], true
		}
	}
	return out
}
