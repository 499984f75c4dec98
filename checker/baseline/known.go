package baseline

import (
	"cmp"
	"slices"

	"github.com/isohound/isohound/history"
)

// knownGraph lists the edges that every graph has: start before commit, session order and real
// time. No such edge leaves a transaction of unknown outcome, except to its own commit.
func (f *formula) knownGraph() {
	last := make([]int32, f.h.SessionCount()) // the latest committed transaction, plus 1
	for t := range int32(len(f.txns)) {
		if f.split == 1 {
			f.known = append(f.known, edge{f.start(t), f.commit(t), 0})
		}
		if !f.lvl.SessionOrder() {
			continue
		}
		s := f.h.Txns[f.txns[t]].Session
		if last[s] > 0 {
			f.known = append(f.known, edge{f.commit(last[s] - 1), f.start(t), 0})
		}
		if !f.optional[t] {
			last[s] = t + 1
		}
	}
	if f.lvl.RealTime() {
		f.realTime()
	}
}

// realTime adds a chain of time points, one for each end of a transaction, in their order. Each end
// leads to its point. The latest point strictly before a begin leads to that transaction.
func (f *formula) realTime() {
	txn := func(t int32) *history.Txn { return &f.h.Txns[f.txns[t]] }
	var ends, begins []int32
	for t := range int32(len(f.txns)) {
		if txn(t).Begin != history.NoTime {
			begins = append(begins, t)
		}
		if !f.optional[t] && txn(t).End != history.NoTime {
			ends = append(ends, t)
		}
	}
	slices.SortFunc(ends, func(a, b int32) int { return cmp.Compare(txn(a).End, txn(b).End) })
	first := f.nodes
	f.nodes += int32(len(ends))
	for p, t := range ends {
		f.known = append(f.known, edge{f.commit(t), first + int32(p), 0})
		if p > 0 {
			f.known = append(f.known, edge{first + int32(p) - 1, first + int32(p), 0})
		}
	}
	for _, t := range begins {
		p, _ := slices.BinarySearchFunc(ends, txn(t).Begin, func(e int32, at int64) int { return cmp.Compare(txn(e).End, at) })
		if p > 0 {
			f.known = append(f.known, edge{first + int32(p) - 1, f.start(t), 0})
		}
	}
}
