package polygraph

// contested are the keys about which reachability may say something: some
// transaction read one value that another one overwrote, or, at snapshot
// isolation, several wrote it.
type contested struct {
	keys []int32
	// chains are, by place in keys, the chains with writers, as bits.
	chains []uint64
}

func newContested(m *model, g *graph) contested {
	keys := int32(m.h.KeyCount())
	c := contested{keys: make([]int32, 0, keys)}
	for k := range keys {
		if m.contested(k, g.split == 1) {
			c.keys = append(c.keys, k)
		}
	}
	return c
}

func (m *model) contested(k int32, snapshot bool) bool {
	from, to := m.keyFrom[k], m.keyFrom[k+1]
	switch to - from {
	case 0:
		return false
	case 1:
		for _, r := range m.readsOn.of(k) {
			if rd := &m.reads[r]; rd.class != m.class[from] && rd.txn != m.writer[from] {
				return true
			}
		}
		// Its value may be the initial one, too, which leaves its reads open.
		return m.initially(m.class[from])
	}
	return snapshot || len(m.readsOn.of(k)) > 0
}

// bits finds the chains of the writers, for the closure there is.
func (c *contested) bits(m *model, k *reach) {
	if k.far() {
		c.chains = nil
		return
	}
	if c.chains == nil {
		c.chains = make([]uint64, len(c.keys))
	}
	for i, key := range c.keys {
		mask := uint64(0)
		for _, t := range m.writer[m.keyFrom[key]:m.keyFrom[key+1]] {
			mask |= k.chainBits(k.column(k.c.of[t]))
		}
		c.chains[i] = mask
	}
}

// of returns the chains of the writers of the key at a place.
func (c *contested) of(i int32) uint64 {
	if c.chains == nil {
		return everything
	}
	return c.chains[i]
}
