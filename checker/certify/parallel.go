package certify

import (
	"math/bits"
	"sort"

	"github.com/isohound/isohound/history"
)

// parallel tries all orders of the writers of each key at parallel snapshot isolation (Cerone, Bernardi and
// Gotsman, CONCUR 2015). past has, by transaction, those that happened before it so far. Of two writers of a
// key one must have happened before the other. A writer of a key that happened before a reader of another
// version happened before the writer of that version.
func (c *commits) parallel(past [MaxJudged]uint64) bool {
	c.budget -= 1 + len(c.demands)
	if c.err == nil {
		c.err = c.stop.after(1 + len(c.demands))
	}
	if c.budget <= 0 || c.err != nil || !c.followed(&past) {
		return false
	}
	for _, writers := range c.writers {
		for rest := writers & c.in; rest != 0; rest &= rest - 1 {
			a := bits.TrailingZeros64(rest)
			for others := rest &^ (1 << a) &^ past[a]; others != 0; others &= others - 1 {
				b := bits.TrailingZeros64(others)
				if past[b]>>a&1 == 1 {
					continue
				}
				first, second := past, past
				first[b] |= 1 << a
				second[a] |= 1 << b
				return c.parallel(first) || c.parallel(second)
			}
		}
	}
	return true
}

// followed adds to past what follows from it. It returns false if that is impossible.
func (c *commits) followed(past *[MaxJudged]uint64) bool {
	for changed := true; changed; {
		changed = false
		for range bits.Len(uint(len(c.so))) {
			for i := range c.so {
				for rest := past[i]; rest != 0; rest &= rest - 1 {
					past[i] |= past[bits.TrailingZeros64(rest)]
				}
			}
		}
		for i := range c.so {
			if past[i]>>i&1 == 1 {
				return false
			}
		}
		for m := range c.demands {
			d := &c.demands[m]
			seen := past[d.txn] & c.in & c.writers[d.key]
			if d.source == initially {
				if seen != 0 {
					return false
				}
				continue
			}
			if more := seen &^ (1 << d.source) &^ past[d.source]; more != 0 {
				past[d.source] |= more
				changed = true
			}
		}
	}
	return true
}

// overwritten returns the transaction whose version of k the one at i overwrote in the order, or none.
func (x *clocks) overwritten(i int32, k history.Key) int32 {
	versions := x.versions.of(int32(k))
	n := sort.Search(len(versions), func(n int) bool { return x.at[versions[n].writer] >= x.at[i] })
	if n == 0 {
		return none
	}
	return versions[n-1].writer
}

// eachOverwritten calls f with the transactions that the one at i must see at parallel snapshot isolation
// because it overwrote their versions.
func (x *clocks) eachOverwritten(i int32, f func(from int32)) {
	for _, k := range x.writes.of(i) {
		if from := x.overwritten(i, k); from != none {
			f(from)
		}
	}
}
