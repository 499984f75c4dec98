package polygraph

// accesses are, key by key, the reads and writes in the order in which the
// search's order has them. While the keys keep their order nothing about them
// needs to be looked at again.
type accesses struct {
	m *model
	g *graph
	// seq has the accesses by key: a read as its number, a write as its
	// complement. from is where a key's begin.
	seq, from       []int32
	readAt, writeAt []int32 // by read and by write: its place in seq
}

// newAccesses lists the accesses as an order of the nodes has them.
func newAccesses(m *model, g *graph, nodes []int32) *accesses {
	keys := m.h.KeyCount()
	a := &accesses{m: m, g: g, seq: make([]int32, len(m.reads)+len(m.writer)), from: make([]int32, keys+1),
		readAt: make([]int32, len(m.reads)), writeAt: make([]int32, len(m.writer))}
	for k := range int32(keys) {
		a.from[k+1] = a.from[k] + m.keyFrom[k+1] - m.keyFrom[k] + int32(len(m.readsOn.of(k)))
	}
	next := append([]int32(nil), a.from[:keys]...)
	limit := int32(len(m.txns)) << g.split
	for _, v := range nodes {
		if v >= limit {
			continue
		}
		t := g.txnOf(v)
		if v == g.start(t) {
			for r := m.readFrom[t]; r < m.readFrom[t+1]; r++ {
				k := m.reads[r].key
				a.seq[next[k]], a.readAt[r] = r, next[k]
				next[k]++
			}
		}
		if v == g.commit(t) {
			for _, w := range m.writesOf.of(t) {
				k := m.key[w]
				a.seq[next[k]], a.writeAt[w] = ^w, next[k]
				next[k]++
			}
		}
	}
	return a
}

// when orders accesses: by their nodes' places, a transaction's read of a key
// before its write.
func (a *accesses) when(access int32, pos []int32) int32 {
	if access >= 0 {
		return pos[a.g.start(a.m.reads[access].txn)] << 1
	}
	return pos[a.g.commit(a.m.writer[^access])]<<1 | 1
}

// sort brings the accesses of key k into their present order. They are nearly
// in it.
func (a *accesses) sort(k int32, pos []int32) []int32 {
	list := a.seq[a.from[k]:a.from[k+1]]
	base := a.from[k]
	before := int32(-1)
	for i, x := range list {
		now := a.when(x, pos)
		if now > before {
			before = now
			continue
		}
		j := i
		for ; j > 0 && a.when(list[j-1], pos) > now; j-- {
			list[j] = list[j-1]
			a.put(list[j], base+int32(j))
		}
		list[j] = x
		a.put(x, base+int32(j))
	}
	return list
}

func (a *accesses) put(access, at int32) {
	if access >= 0 {
		a.readAt[access] = at
	} else {
		a.writeAt[^access] = at
	}
}

// inPlace reports whether what stands at a place of the list of key k still
// does so by its neighbours.
func (a *accesses) inPlace(k, at int32, pos []int32) bool {
	now := a.when(a.seq[at], pos)
	return (at == a.from[k] || a.when(a.seq[at-1], pos) < now) && (at+1 == a.from[k+1] || now < a.when(a.seq[at+1], pos))
}

// apart reports whether write w overlaps with neither of the writes next to
// it that count.
func (a *accesses) apart(w int32, pos []int32, included []bool) bool {
	m, g := a.m, a.g
	k, at, t := m.key[w], a.writeAt[w], m.writer[w]
	for i := at - 1; i >= a.from[k]; i-- {
		if x := a.seq[i]; x < 0 && included[m.writer[^x]] {
			if pos[g.commit(m.writer[^x])] > pos[g.start(t)] {
				return false
			}
			break
		}
	}
	for i := at + 1; i < a.from[k+1]; i++ {
		if x := a.seq[i]; x < 0 && included[m.writer[^x]] {
			return pos[g.commit(t)] < pos[g.start(m.writer[^x])]
		}
	}
	return true
}
