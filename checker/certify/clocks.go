package certify

import (
	"cmp"
	"slices"
	"sort"

	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/history"
)

// clocks has the causal past of transactions: by chain, how many transactions of the chain it has. A chain
// is a session without transactions of unknown outcome, except at its end. Each of the others is a chain of its own.
type clocks struct {
	*commitOrder
	chains   int32
	chain    []int32   // by transaction
	rank     []int32   // by transaction: its number in its chain, from 1
	previous []int32   // by transaction: the one before it in session order, or none
	past     [][]int32 // by transaction, without itself; nil if nobody needs it any more
	needed   []int32   // by transaction: how many still need it
	free     [][]int32
	// behind has, for keys where it was needed, the versions by chain and then by rank.
	behind map[history.Key][]int32
}

// causal verifies that each transaction sees its causal past. At parallel snapshot isolation that includes
// the transactions whose versions it overwrote.
func (c *commitOrder) causal() error {
	x := &clocks{commitOrder: c, past: make([][]int32, len(c.h.Txns)), needed: make([]int32, len(c.h.Txns)), behind: map[history.Key][]int32{}}
	x.findChains()
	seen := newByKey[int32](c.h.KeyCount()) // the source of the key
	for _, i := range c.order {
		past := x.pastOf(i)
		seen.reset()
		for _, r := range c.reads.of(i) {
			if other, ok := seen.of(r.key); ok && other == r.source {
				continue
			} else if ok {
				return c.twoSources(i, r.key)
			}
			seen.set(r.key, r.source)
			if err := x.sees(i, r, past); err != nil {
				return err
			}
		}
		x.past[i] = past
		x.release(i)
	}
	return nil
}

func (x *clocks) findChains() {
	n := len(x.h.Txns)
	x.chain, x.rank, x.previous = make([]int32, n), make([]int32, n), make([]int32, n)
	x.chains = int32(x.h.SessionCount())
	for s, txns := range x.h.BySession() {
		previous, length := int32(none), int32(0)
		txns = slices.DeleteFunc(txns, func(i int32) bool { return x.at[i] == none })
		for m, i := range txns {
			if x.previous[i] = previous; previous != none {
				x.needed[previous]++
			}
			x.needed[i] += 1 + int32(len(x.readers.of(i))) // 1 until it is placed
			if x.lvl == level.PSI {
				x.eachOverwritten(i, func(from int32) { x.needed[from]++ })
			}
			if x.h.Txns[i].Status != history.Committed && m < len(txns)-1 {
				x.chain[i], x.rank[i] = x.chains, 1
				x.chains++
				continue
			}
			length++
			x.chain[i], x.rank[i] = int32(s), length
			previous = i
		}
	}
}

// pastOf computes the causal past of the transaction at i from those before it in the order.
func (x *clocks) pastOf(i int32) []int32 {
	var past []int32
	if n := len(x.free); n > 0 {
		past, x.free = x.free[n-1], x.free[:n-1]
		clear(past)
	} else {
		past = make([]int32, x.chains)
	}
	add := func(from int32) {
		if chain := x.chain[from]; past[chain] < x.rank[from] {
			for n, v := range x.past[from] {
				past[n] = max(past[n], v)
			}
			past[chain] = x.rank[from]
		}
		x.release(from)
	}
	if p := x.previous[i]; p != none {
		add(p)
	}
	for _, r := range x.reads.of(i) {
		if r.source != none {
			add(r.source)
		}
	}
	if x.lvl == level.PSI {
		x.eachOverwritten(i, add)
	}
	return past
}

func (x *clocks) release(i int32) {
	if x.needed[i]--; x.needed[i] == 0 {
		x.free = append(x.free, x.past[i])
		x.past[i] = nil
	}
}

func (x *clocks) has(past []int32, i int32) bool { return past[x.chain[i]] >= x.rank[i] }

// sees verifies that no writer of a read's key in the past of the reader at i commits after the source.
func (x *clocks) sees(i int32, r sourced, past []int32) error {
	versions := x.versions.of(int32(r.key))
	position := func(p int32) int {
		return sort.Search(len(versions), func(n int) bool { return x.at[versions[n].writer] >= p })
	}
	from, to := position(x.position(r.source)+1), position(x.at[i])
	if err := x.stop.after(1 + min(to-from, int(x.chains))); err != nil {
		return err
	}
	if to-from <= int(x.chains) {
		for _, v := range versions[from:to] {
			if x.has(past, v.writer) {
				return x.late(i, r.key, v.writer)
			}
		}
		return nil
	}
	list := x.byChain(r.key)
	for len(list) > 0 {
		// The last writer of the first chain in the past, and then the next chain.
		chain := x.chain[list[0]]
		n := sort.Search(len(list), func(n int) bool {
			w := list[n]
			return x.chain[w] > chain || x.rank[w] > past[chain]
		})
		if n > 0 && x.at[list[n-1]] > x.position(r.source) {
			return x.late(i, r.key, list[n-1])
		}
		list = list[sort.Search(len(list), func(n int) bool { return x.chain[list[n]] > chain }):]
	}
	return nil
}

// byChain returns the writers of a key by chain and then by rank.
func (x *clocks) byChain(k history.Key) []int32 {
	list, ok := x.behind[k]
	if !ok {
		for _, v := range x.versions.of(int32(k)) {
			list = append(list, v.writer)
		}
		slices.SortFunc(list, func(a, b int32) int {
			return cmp.Or(cmp.Compare(x.chain[a], x.chain[b]), cmp.Compare(x.rank[a], x.rank[b]))
		})
		x.behind[k] = list
	}
	return list
}
