package weak

import (
	"github.com/isohound/isohound/history"
)

// chains divides the transactions that count into chains: the committed transactions of a session, and
// each transaction of unknown outcome alone, because no session order leaves it. On a chain every
// transaction comes before the later ones. So of the writers of a key on a chain that a reader must see,
// the latest one is enough: it comes after the others.
//
// An entry is a key and a chain on which it was written.
type chains struct {
	x    *index
	list [][]int32 // by chain: its transactions
	// chain and place are, by transaction, its chain and its place there, from 1.
	chain, place []int32

	entriesFrom []int32 // the entries of key k are entriesFrom[k] to entriesFrom[k+1]
	entry       []int32 // by version that is not an initial one; unused otherwise
	chainOf     []int32 // by entry
	// The places of the versions of entry e are places[placesFrom[e]:placesFrom[e+1]]. The first added[e]
	// of them were added; last[e] is the last one of these, or 0.
	placesFrom, places []int32
	added, last        []int32
}

func newChains(x *index) *chains {
	n, h := len(x.counted), x.h
	c := &chains{x: x, list: make([][]int32, h.SessionCount()), chain: make([]int32, n), place: make([]int32, n)}
	size := make([]int, h.SessionCount())
	for i, in := range x.counted {
		if in && h.Txns[i].Status == history.Committed {
			size[h.Txns[i].Session]++
		}
	}
	for s := range c.list {
		c.list[s] = make([]int32, 0, size[s])
	}
	for i, in := range x.counted {
		if !in {
			continue
		}
		s := h.Txns[i].Session
		if h.Txns[i].Status != history.Committed {
			s = int32(len(c.list))
			c.list = append(c.list, nil)
		}
		c.list[s] = append(c.list[s], int32(i))
		c.chain[i], c.place[i] = s, int32(len(c.list[s]))
	}
	c.makeEntries()
	return c
}

func (c *chains) makeEntries() {
	x := c.x
	keys := x.h.KeyCount()
	c.entriesFrom, c.entry = make([]int32, keys+1), make([]int32, len(x.writer))
	latest := make([]int32, keys) // by key: the chain, plus 1, on which it was last written
	for chain, txns := range c.list {
		now := int32(chain) + 1
		for _, t := range txns {
			for v := x.versionsFrom[t]; v < x.versionsFrom[t+1]; v++ {
				k := x.key[v]
				if latest[k] != now {
					latest[k] = now
					c.entriesFrom[k+1]++
				}
				c.entry[v] = c.entriesFrom[k+1] - 1 // among those of the key
			}
		}
	}
	for k := range keys {
		c.entriesFrom[k+1] += c.entriesFrom[k]
	}
	n := c.entriesFrom[keys]
	c.chainOf = make([]int32, n)
	c.added, c.last, c.placesFrom = make([]int32, n), make([]int32, n), make([]int32, n+1)
	total := int32(0)
	c.eachVersion(func(t, v int32) {
		c.entry[v] += c.entriesFrom[x.key[v]]
		c.chainOf[c.entry[v]] = c.chain[t]
		c.placesFrom[c.entry[v]+1]++
		total++
	})
	for e := range n {
		c.placesFrom[e+1] += c.placesFrom[e]
	}
	c.places = make([]int32, total)
	c.eachVersion(func(t, v int32) {
		e := c.entry[v]
		c.places[c.placesFrom[e]+c.added[e]] = c.place[t]
		c.added[e]++
		c.last[e] = c.place[t]
	})
}

// eachVersion calls f with each version of a transaction that counts, in the order of the history. On each
// chain that is the order of the chain.
func (c *chains) eachVersion(f func(t, v int32)) {
	for t, in := range c.x.counted {
		if !in {
			continue
		}
		for v := c.x.versionsFrom[t]; v < c.x.versionsFrom[t+1]; v++ {
			f(int32(t), v)
		}
	}
}

// empty removes all versions from the entries.
func (c *chains) empty() {
	clear(c.added)
	clear(c.last)
}

// add adds the versions of t, after those of the transactions before it on its chain.
func (c *chains) add(t int32) {
	for v := c.x.versionsFrom[t]; v < c.x.versionsFrom[t+1]; v++ {
		e := c.entry[v]
		c.added[e]++
		c.last[e] = c.place[t]
	}
}

// upTo returns the latest place of entry e that was added and is at most limit, or 0. It searches backwards
// in steps that double.
func (c *chains) upTo(e, limit int32) int32 {
	list := c.places[c.placesFrom[e]:][:c.added[e]]
	hi, step := len(list), 1 // list[hi:] is above limit
	for hi > 0 && list[max(hi-step, 0)] > limit {
		hi = max(hi-step, 0)
		step *= 2
	}
	lo := max(hi-step, 0)
	for lo < hi { // list[:lo] is not above limit
		mid := int(uint(lo+hi) / 2)
		if list[mid] <= limit {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == 0 {
		return 0
	}
	return list[lo-1]
}

// prefixes finds the edges from the transactions that come, in their session, before one that the reader
// read from.
func (x *index) prefixes(_ *order, s *sink) error {
	c := newChains(x)
	limit, mark := make([]int32, len(c.list)), make([]int32, len(c.list))
	for t := range x.counted {
		if err := x.stopped(t); err != nil {
			return err
		}
		if !x.counted[t] {
			continue
		}
		now := int32(t) + 1
		for _, r := range x.readsBy(int32(t)) {
			w := r.writer
			if w == none || x.before[w] == none {
				continue
			}
			before := x.before[w]
			on := c.chain[before]
			if mark[on] != now {
				mark[on], limit[on] = now, 0
			}
			limit[on] = max(limit[on], c.place[before])
		}
		for at := x.readsFrom[t]; at < x.readsFrom[t+1]; at++ {
			r := &x.reads[at]
			if !s.wants(at) {
				continue
			}
			for e := c.entriesFrom[r.key]; e < c.entriesFrom[r.key+1]; e++ {
				on := c.chainOf[e]
				if mark[on] != now {
					continue
				}
				if place := c.upTo(e, limit[on]); place > 0 {
					if w := c.list[on][place-1]; w != r.writer {
						s.force(w, r.writer, int32(t), at)
					}
				}
			}
		}
	}
	return nil
}
