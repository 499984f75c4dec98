package polygraph

import "slices"

// accesses lists, for each key, its reads and writes in the search's order. As long as the list of
// a key stays sorted, nothing about the key needs to be verified again.
type accesses struct {
	m *model
	g *graph
	// seq has the accesses by key: a read as its number, a write as the complement of its number.
	// from[k] is where those of key k begin.
	seq, from []int32
	// nodes has, by index in seq, the node of an access: twice its number, plus 1 for a write.
	nodes           []int32
	readAt, writeAt []int32 // by read and by write: its index in seq
}

func newAccesses(m *model, g *graph) *accesses {
	keys := m.h.KeyCount()
	n := len(m.reads) + len(m.writer)
	a := &accesses{m: m, g: g, seq: make([]int32, n), nodes: make([]int32, n), from: make([]int32, keys+1),
		readAt: make([]int32, len(m.reads)), writeAt: make([]int32, len(m.writer))}
	for k := range int32(keys) {
		a.from[k+1] = a.from[k] + m.keyFrom[k+1] - m.keyFrom[k] + int32(len(m.readsOn.of(k)))
	}
	return a
}

// list makes the first sorted list of the accesses to key k.
func (a *accesses) list(k int32, pos []int32, scratch []datedAccess) []datedAccess {
	scratch = scratch[:0]
	for _, r := range a.m.readsOn.of(k) {
		scratch = append(scratch, a.dated(r, pos))
	}
	for w := a.m.keyFrom[k]; w < a.m.keyFrom[k+1]; w++ {
		scratch = append(scratch, a.dated(^w, pos))
	}
	slices.SortFunc(scratch, func(x, y datedAccess) int { return int(x.when) - int(y.when) })
	for i, x := range scratch {
		a.put(x.access, x.node, a.from[k]+int32(i))
	}
	return scratch
}

// datedAccess is an access with its node and its position in an order.
type datedAccess struct{ when, access, node int32 }

func (a *accesses) dated(access int32, pos []int32) datedAccess {
	node := int32(0)
	if access >= 0 {
		node = a.g.start(a.m.reads[access].txn) << 1
	} else {
		node = a.g.commit(a.m.writer[^access])<<1 | 1
	}
	return datedAccess{when(node, pos), access, node}
}

// when is the sort key of an access: the position of its node. A transaction's read of a key comes
// before its write.
func when(node int32, pos []int32) int32 { return pos[node>>1]<<1 | node&1 }

func (a *accesses) of(k int32) []int32 { return a.seq[a.from[k]:a.from[k+1]] }

// sort sorts the accesses of key k again, by insertion sort, because they are nearly sorted.
func (a *accesses) sort(k int32, pos []int32) []int32 {
	base := a.from[k]
	nodes, list := a.nodes[base:a.from[k+1]], a.of(k)
	before := int32(-1)
	for i, node := range nodes {
		now := when(node, pos)
		if now > before {
			before = now
			continue
		}
		x := list[i]
		j := i
		for ; j > 0 && when(nodes[j-1], pos) > now; j-- {
			a.put(list[j-1], nodes[j-1], base+int32(j))
		}
		a.put(x, node, base+int32(j))
	}
	return list
}

// put sets an access at an index.
func (a *accesses) put(access, node, at int32) {
	a.seq[at], a.nodes[at] = access, node
	if access >= 0 {
		a.readAt[access] = at
	} else {
		a.writeAt[^access] = at
	}
}

// inPlace reports whether the access at an index of the list of key k is still between its
// neighbours. It compares only with those in the directions in which the node has moved.
func (a *accesses) inPlace(k, at int32, pos []int32, how moves) bool {
	now := when(a.nodes[at], pos)
	return (how&earlier == 0 || at == a.from[k] || when(a.nodes[at-1], pos) < now) &&
		(how&later == 0 || at+1 == a.from[k+1] || now < when(a.nodes[at+1], pos))
}

// afterWriter reports whether the transaction of write w starts after the commit of the writer
// before it in the list. Only writers that count are considered.
func (a *accesses) afterWriter(w int32, pos []int32, included []bool) bool {
	m := a.m
	from, t := a.from[m.key[w]], m.writer[w]
	for i := a.writeAt[w] - 1; i >= from; i-- {
		if x := a.seq[i]; x < 0 && included[m.writer[^x]] {
			return pos[a.nodes[i]>>1] < pos[a.g.start(t)]
		}
	}
	return true
}

// beforeWriter reports whether the transaction of write w commits before the start of the writer
// after it in the list. Only writers that count are considered.
func (a *accesses) beforeWriter(w int32, pos []int32, included []bool) bool {
	m := a.m
	at, end := a.writeAt[w], a.from[m.key[w]+1]
	for i := at + 1; i < end; i++ {
		if x := a.seq[i]; x < 0 && included[m.writer[^x]] {
			return pos[a.nodes[at]>>1] < pos[a.g.start(m.writer[^x])]
		}
	}
	return true
}
