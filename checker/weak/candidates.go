package weak

import (
	"slices"

	"github.com/isohound/isohound/history"
)

// candidates lists the versions that open reads can have returned, the most likely ones first: those near
// the reader in an order of the transactions.
type candidates struct {
	x    *index
	rank []float64 // by transaction: its place
	// byValue has the versions with one key and value, under the one that the table of values has, and byKey
	// those of one key. Both are in order, and filled when they are first needed.
	byValue map[int32][]int32
	byKey   map[history.Key][]int32
}

// newCandidates takes the places of transactions from o, which need not have all. A transaction that it does not
// have is next to the one before it in the history.
func (x *index) newCandidates(o *order) *candidates {
	c := &candidates{x: x, rank: make([]float64, len(x.counted)), byValue: map[int32][]int32{}, byKey: map[history.Key][]int32{}}
	last := float64(none)
	for t, place := range o.rank {
		if place >= 0 {
			last = float64(place)
			c.rank[t] = last
		} else {
			c.rank[t] = last + 0.5
		}
	}
	return c
}

// versions lists the versions among which those are that r can have returned, in order.
func (c *candidates) versions(r *openRead) []int32 {
	x := c.x
	if r.denied == nil {
		list, ok := c.byValue[r.version]
		if !ok {
			for v := r.version; v != none; v = x.also[v] {
				list = append(list, v)
			}
			c.sort(list)
			c.byValue[r.version] = list
		}
		return list
	}
	k := x.key[r.version]
	list, ok := c.byKey[k]
	if !ok {
		list = slices.Clone(x.versionsOf(k))
		c.sort(list)
		c.byKey[k] = list
	}
	return list
}

func (c *candidates) sort(list []int32) {
	slices.SortStableFunc(list, func(a, b int32) int {
		switch p, q := c.place(a), c.place(b); {
		case p < q:
			return -1
		case p > q:
			return 1
		}
		return 0
	})
}

// place is the place of the writer of v. The initial state comes before all transactions.
func (c *candidates) place(v int32) float64 {
	w := c.x.writer[v]
	if w == none {
		return -2
	}
	return c.rank[w]
}

// fits reports whether r can have returned v.
func (c *candidates) fits(r *openRead, v int32) bool {
	x := c.x
	return x.writer[v] != r.txn && (r.denied == nil || !slices.Contains(r.denied, x.value(v))) && x.possible(r.txn, v)
}

// first returns the most likely version: the latest one before the reader or, if there is none, the first one
// after it. At RU a version that says nothing about the order comes first.
func (c *candidates) first(r *openRead) int32 {
	x := c.x
	list := c.versions(r)
	if x.c.ru {
		for _, v := range list {
			if !x.overwrote(r.txn, v) && (x.writer[v] != r.txn || x.h.Closed) {
				return v
			}
		}
	}
	from := c.split(r, list)
	for n := from - 1; n >= 0; n-- {
		if c.fits(r, list[n]) {
			return list[n]
		}
	}
	for _, v := range list[from:] {
		if c.fits(r, v) {
			return v
		}
	}
	return none
}

// split returns how many versions of list come before the reader.
func (c *candidates) split(r *openRead, list []int32) int {
	mine := c.rank[r.txn]
	from, _ := slices.BinarySearchFunc(list, mine, func(v int32, mine float64) int {
		if c.place(v) < mine {
			return -1
		}
		return 1
	})
	return from
}

// all lists all versions that r can have returned, beginning with first. Of those before and after the reader
// it takes the nearest in turn.
func (c *candidates) all(r *openRead) []int32 {
	list := c.versions(r)
	first := c.first(r)
	out := []int32{first}
	add := func(n int) {
		if v := list[n]; v != first && c.fits(r, v) {
			out = append(out, v)
		}
	}
	for lo, hi := c.split(r, list)-1, c.split(r, list); lo >= 0 || hi < len(list); lo, hi = lo-1, hi+1 {
		if lo >= 0 {
			add(lo)
		}
		if hi < len(list) {
			add(hi)
		}
	}
	return out
}
