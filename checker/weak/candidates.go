package weak

import (
	"cmp"
	"slices"

	"github.com/isohound/isohound/history"
)

// candidates lists the versions that open reads can have returned, in an order of the transactions.
type candidates struct {
	x    *index
	rank []float64 // by transaction: its place
	// byValue has the versions with one key and value, under the one that the table of values has, and byKey
	// those of one key. Both are in order, and filled when they are first needed.
	byValue map[int32][]int32
	byKey   map[history.Key][]int32
	guess   []int32 // by open read: the first choice
	late    bool
}

// newCandidates takes the places of transactions from o, which need not have all. A transaction that it does not
// have is next to the one before it in the history.
func (x *index) newCandidates(o *order) *candidates {
	c := &candidates{x: x, rank: make([]float64, len(x.counted)), byValue: map[int32][]int32{}, byKey: map[history.Key][]int32{}, guess: make([]int32, len(x.open))}
	fill(c.guess, none)
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
	slices.SortStableFunc(list, func(a, b int32) int { return cmp.Compare(c.place(a), c.place(b)) })
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

// first returns the version to try first, one whose writer has a place from must on. If c.late is set, that is the
// latest one before the reader, as in a serial execution. Otherwise it is the earliest one: what its writer wrote
// and saw demands the least of other reads. If there is none, first returns the latest of all. At RU a version that
// says nothing about the order comes first.
func (c *candidates) first(r *openRead, must float64) int32 {
	x := c.x
	list := c.versions(r)
	if x.c.ru {
		for _, v := range list {
			if !x.overwrote(r.txn, v) && (x.writer[v] != r.txn || x.h.Closed) {
				return v
			}
		}
	}
	from := c.split(list, must)
	if c.late {
		to := max(from, c.split(list, c.rank[r.txn]))
		for _, v := range slices.Backward(list[from:to]) {
			if c.fits(r, v) {
				return v
			}
		}
		from = to
	}
	for _, v := range list[from:] {
		if c.fits(r, v) {
			return v
		}
	}
	for _, v := range slices.Backward(list[:from]) {
		if c.fits(r, v) {
			return v
		}
	}
	return none
}

// split returns how many versions of list come before a place.
func (c *candidates) split(list []int32, place float64) int {
	n, _ := slices.BinarySearchFunc(list, place, func(v int32, place float64) int { return cmp.Compare(c.place(v), place) })
	return n
}

// all lists all versions that open read n can have returned, beginning with the first choice. Then come the nearest ones on
// both sides in turn or, if the first choice is an early one, those behind it and then those before it.
func (c *candidates) all(n int32) []int32 {
	r := &c.x.open[n]
	list := c.versions(r)
	from := slices.Index(list, c.guess[n])
	var out []int32
	add := func(v int32) {
		if c.fits(r, v) {
			out = append(out, v)
		}
	}
	add(list[from])
	if c.late {
		for lo, hi := from-1, from+1; lo >= 0 || hi < len(list); lo, hi = lo-1, hi+1 {
			if lo >= 0 {
				add(list[lo])
			}
			if hi < len(list) {
				add(list[hi])
			}
		}
		return out
	}
	for _, v := range list[from+1:] {
		add(v)
	}
	for _, v := range slices.Backward(list[:from]) {
		add(v)
	}
	return out
}
