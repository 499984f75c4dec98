package polygraph

import (
	"cmp"
	"slices"
)

// contested are the keys on which reachability can imply edges. On all other keys there is nothing
// to infer: either at most one transaction wrote the key and all others read its value, or nobody
// read the key and its writers may overlap.
type contested struct {
	keys []int32
	// masks is, by index in keys, the classes of the chains that have writers, as bits.
	masks []uint64
	// One worker looks at one run of keys at a time: run r has the keys from index runs[r] up to
	// runs[r+1]. sizes has the number of accesses of each run.
	runs, sizes []int32
	// order has the runs in the order in which they are visited: the large ones first, the largest
	// first. So no worker is left with a large run when the others are done.
	order []int32
	large int
	// accesses is the number of accesses to all contested keys.
	accesses int
}

func newContested(m *model, g *graph) contested {
	keys := int32(m.h.KeyCount())
	c := contested{keys: make([]int32, 0, keys)}
	for k := range keys {
		if m.contested(k, g.apart) {
			c.keys = append(c.keys, k)
		}
	}
	c.cut(m)
	return c
}

// There are about fewestRuns runs, or more if they would have more than usualRun accesses each.
const (
	fewestRuns = 128
	usualRun   = 4096
)

// cut makes runs of about the same size. A key with many accesses makes its run larger.
func (c *contested) cut(m *model) {
	size := func(k int32) int { return int(m.keyFrom[k+1]-m.keyFrom[k]) + len(m.readsOn.of(k)) }
	for _, k := range c.keys {
		c.accesses += size(k)
	}
	enough := min(c.accesses/fewestRuns, usualRun)
	c.runs = append(c.runs, 0)
	n := 0
	for i, k := range c.keys {
		if n += size(k); n > enough || i+1 == len(c.keys) {
			c.order = append(c.order, int32(len(c.sizes)))
			c.runs, c.sizes = append(c.runs, int32(i+1)), append(c.sizes, int32(n))
			n = 0
		}
	}
	slices.SortStableFunc(c.order, func(a, b int32) int {
		return cmp.Compare(max(int(c.sizes[b]), 2*enough), max(int(c.sizes[a]), 2*enough))
	})
	// large counts the large runs that the sample includes: as many as have at most half of the
	// accesses.
	for left := c.accesses / 2; c.large < len(c.order); c.large++ {
		size := int(c.sizes[c.order[c.large]])
		if left -= size; size <= 2*enough || left < 0 {
			break
		}
	}
}

// sample splits the runs, in their order, into those that are visited first and the rest. The first
// ones predict the result for all: the large runs, and one in sample of the others.
func (c *contested) sample() (first, rest []int32) {
	first = slices.Clone(c.order[:c.large])
	for i, r := range c.order[c.large:] {
		if i%sample == 0 {
			first = append(first, r)
		} else {
			rest = append(rest, r)
		}
	}
	return first, rest
}

// sample: every sample-th of the other runs is visited first.
const sample = 16

// estimate extrapolates the number of links of all runs from those of the first runs.
func (c *contested) estimate(first []int32, links func(run int32) int) int {
	large, others, size, all := 0, 0, 0, 0
	for _, r := range first[:c.large] {
		large += links(r)
	}
	for _, r := range first[c.large:] {
		others += links(r)
		size += int(c.sizes[r])
	}
	for _, r := range c.order[c.large:] {
		all += int(c.sizes[r])
	}
	return large + others*all/max(size, 1)
}

func (m *model) contested(k int32, snapshot bool) bool {
	from, to := m.keyFrom[k], m.keyFrom[k+1]
	switch to - from {
	case 0:
		return false
	case 1:
		for _, r := range m.readsOn.of(k) {
			if rd := &m.reads[r]; !m.accepts(rd.class, m.class[from]) && rd.txn != m.writer[from] {
				return true
			}
		}
		// If its value is the initial one, its reads have two candidates.
		return m.initially(m.class[from])
	}
	return snapshot || len(m.readsOn.of(k)) > 0
}

// bits computes the masks for the current closure.
func (c *contested) bits(m *model, r *reach) {
	if c.masks == nil {
		c.masks = make([]uint64, len(c.keys))
	}
	for i, key := range c.keys {
		mask := uint64(0)
		for _, t := range m.writer[m.keyFrom[key]:m.keyFrom[key+1]] {
			mask |= r.classes[r.c.of[t]]
		}
		c.masks[i] = mask
	}
}

// of returns the mask of the key at index i.
func (c *contested) of(i int32) uint64 { return c.masks[i] }
