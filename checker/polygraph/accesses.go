package polygraph

import "slices"

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

func newAccesses(m *model, g *graph) *accesses {
	keys := m.h.KeyCount()
	a := &accesses{m: m, g: g, seq: make([]int32, len(m.reads)+len(m.writer)), from: make([]int32, keys+1),
		readAt: make([]int32, len(m.reads)), writeAt: make([]int32, len(m.writer))}
	for k := range int32(keys) {
		a.from[k+1] = a.from[k] + m.keyFrom[k+1] - m.keyFrom[k] + int32(len(m.readsOn.of(k)))
	}
	return a
}

// list lists the accesses to key k as an order has them, for the first time.
func (a *accesses) list(k int32, pos []int32, scratch []datedAccess) []datedAccess {
	scratch = scratch[:0]
	for _, r := range a.m.readsOn.of(k) {
		scratch = append(scratch, datedAccess{a.when(r, pos), r})
	}
	for w := a.m.keyFrom[k]; w < a.m.keyFrom[k+1]; w++ {
		scratch = append(scratch, datedAccess{a.when(^w, pos), ^w})
	}
	slices.SortFunc(scratch, func(x, y datedAccess) int { return int(x.when) - int(y.when) })
	for i, x := range scratch {
		at := a.from[k] + int32(i)
		a.seq[at] = x.access
		a.put(x.access, at)
	}
	return scratch
}

// datedAccess is an access with its place in an order.
type datedAccess struct{ when, access int32 }

// when orders accesses: by their nodes' places, a transaction's read of a key
// before its write.
func (a *accesses) when(access int32, pos []int32) int32 {
	if access >= 0 {
		return pos[a.g.start(a.m.reads[access].txn)] << 1
	}
	return pos[a.g.commit(a.m.writer[^access])]<<1 | 1
}

func (a *accesses) of(k int32) []int32 { return a.seq[a.from[k]:a.from[k+1]] }

// sort brings the accesses of key k into their present order. They are nearly
// in it.
func (a *accesses) sort(k int32, pos []int32) []int32 {
	list := a.of(k)
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
