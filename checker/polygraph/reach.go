package polygraph

import (
	"context"
	"math/bits"
	"runtime"
	"sync"
)

// reach answers reachability in the known graph in one look, by one of two
// relations, whichever is smaller:
//
//   - clocks: for every node and chain the last position of that chain from
//     which the node can be reached. A chain is a path, so that is exact
//     (DESIGN, "sessions are chains");
//   - a matrix of bits: for every node the nodes from which it can be reached.
//     Each transaction is then a chain of its own.
type reach struct {
	g    *graph
	c    *chains
	rank []int32 // by node: its place in the order of the latest update
	// news has, by node, the chains whose entries changed when its row was last
	// computed, as bits.
	news  []uint64
	known int32 // how many edges the rows account for

	width int
	rows  []int32  // clocks
	words []uint64 // matrix
}

// workers is how many goroutines share the work.
func workers() int { return min(runtime.GOMAXPROCS(0), 8) }

// maxReach bounds the memory of the relation, in bytes.
const maxReach = 2 << 30

// fewChains are as many as clocks are always good for.
var fewChains int32 = 64

// newReach returns nil if either relation would take too much memory.
func newReach(m *model, g *graph) *reach {
	txns := int64(len(m.txns)) << g.split
	asClocks := int64(g.nodes) * int64(m.chains.count) * 4
	asBits := int64(g.nodes) * ((txns + 63) / 64) * 8
	k := &reach{g: g, c: &m.chains, rank: make([]int32, g.nodes), news: make([]uint64, g.nodes)}
	switch {
	case fewChains < 0 || m.chains.count > fewChains && asBits < 2*asClocks && asBits <= maxReach:
		k.c = alone(int32(len(m.txns)))
		k.width = int(txns+63) / 64
		k.words = make([]uint64, int(g.nodes)*k.width)
	case asClocks <= maxReach:
		k.width = int(m.chains.count)
		k.rows = make([]int32, int(g.nodes)*k.width)
	default:
		return nil
	}
	return k
}

// clock returns a node's entries by chain.
func (k *reach) clock(node int32) []int32 {
	return k.rows[int(node)*k.width : int(node+1)*k.width]
}

// set returns the nodes that reach a node, as bits.
func (k *reach) set(node int32) []uint64 {
	return k.words[int(node)*k.width : int(node+1)*k.width]
}

// bit is 1 if a reaches b in the matrix, else 0.
func (k *reach) bit(a, b int32) int32 {
	return int32(k.words[int(b)*k.width+int(a>>6)] >> (a & 63) & 1)
}

// entry is the last position of a chain from which node can be reached: 0 is
// none.
func (k *reach) entry(node, chain int32) int32 {
	if k.rows != nil {
		return k.rows[int(node)*k.width+int(chain)]
	}
	t := k.c.members.items[chain]
	if k.g.split == 0 {
		return k.bit(t, node)
	}
	return k.bit(k.g.start(t), node) + k.bit(k.g.commit(t), node)
}

// position of a transaction's start and commit in its chain, from 1.
func (k *reach) startAt(t int32) int32  { return k.c.pos[t]<<k.g.split + 1 }
func (k *reach) commitAt(t int32) int32 { return k.c.pos[t]<<k.g.split + 1 + k.g.split }

// fromStart reports whether the start of t comes before node, or is it.
func (k *reach) fromStart(t, node int32) bool { return k.entry(node, k.c.of[t]) >= k.startAt(t) }

// fromCommit reports whether the commit of t comes before node, or is it.
func (k *reach) fromCommit(t, node int32) bool { return k.entry(node, k.c.of[t]) >= k.commitAt(t) }

// everything is the set of all chains.
const everything = ^uint64(0)

// chainBits are the bits of a chain in a set of chains; chains share bits.
func (k *reach) chainBits(c int32) uint64 {
	if k.words != nil && k.g.split == 1 {
		return 3 << (uint32(c) << 1 & 63)
	}
	return 1 << (uint32(c) & 63)
}

// update computes the rows along a topological order, each worker some columns
// of them.
func (k *reach) update(ctx context.Context, order []int32) error {
	for i, v := range order {
		k.rank[v] = int32(i)
	}
	columns := k.clockColumns
	if k.words != nil {
		columns = k.bitColumns
	}
	parts := min(workers(), k.width)
	if len(k.rows)+len(k.words) < 1<<14 { // not worth a goroutine
		parts = min(1, parts)
	}
	news := make([][]uint64, parts)
	var wg sync.WaitGroup
	for part := range parts {
		news[part] = k.news
		if part > 0 {
			news[part] = make([]uint64, len(k.news))
		}
		work := func() { columns(ctx, order, k.width*part/parts, k.width*(part+1)/parts, news[part]) }
		if part == parts-1 {
			work()
			break
		}
		wg.Add(1)
		go func() {
			defer wg.Done()
			work()
		}()
	}
	wg.Wait()
	for _, list := range news[min(1, parts):] {
		for v, bits := range list {
			k.news[v] |= bits
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	k.known = int32(len(k.g.edges))
	return nil
}

// clockColumns brings the entries of the chains from lo to hi up to date. Entries
// only grow, so that only new edges, and those from nodes with news, can change
// one.
func (k *reach) clockColumns(ctx context.Context, order []int32, lo, hi int, news []uint64) {
	g := k.g
	txns := int32(len(k.c.of)) << g.split
	for i, v := range order {
		if i&0xfff == 0 && ctx.Err() != nil {
			return
		}
		row := k.clock(v)[lo:hi]
		bits := uint64(0)
		if k.known == 0 && v < txns { // a node reaches itself
			t := g.txnOf(v)
			if c := int(k.c.of[t]); c >= lo && c < hi {
				row[c-lo] = k.startAt(t)
				if v == g.commit(t) {
					row[c-lo] = k.commitAt(t)
				}
				bits = k.chainBits(int32(c))
			}
		}
		for e := g.in[v]; e != none; e = g.edges[e].nextIn {
			from := g.edges[e].from
			if e < k.known && news[from] == 0 {
				continue
			}
			for i, p := range k.clock(from)[lo:hi][:len(row)] {
				if p > row[i] {
					row[i] = p
					bits |= 1 << (uint32(lo+i) & 63)
				}
			}
		}
		news[v] = bits
	}
}

// bitColumns does the same for the words from lo to hi.
func (k *reach) bitColumns(ctx context.Context, order []int32, lo, hi int, news []uint64) {
	g := k.g
	txns := int32(len(k.c.of)) << g.split
	for i, v := range order {
		if i&0xff == 0 && ctx.Err() != nil {
			return
		}
		row := k.set(v)[lo:hi]
		changed := uint64(0)
		if w := int(v >> 6); k.known == 0 && v < txns && w >= lo && w < hi {
			row[w-lo] |= 1 << (v & 63)
			changed = 1 << (v & 63)
		}
		for e := g.in[v]; e != none; e = g.edges[e].nextIn {
			from := g.edges[e].from
			if e < k.known && news[from] == 0 {
				continue
			}
			for i, p := range k.set(from)[lo:hi][:len(row)] {
				changed |= p &^ row[i]
				row[i] |= p
			}
		}
		news[v] = changed
	}
}

// beforeAll calls f for nodes that reach all of some nodes but not yet node:
// with clocks so many that every other one reaches one of these, with the
// matrix at most maxCommon of them.
func (k *reach) beforeAll(of []int32, node int32, f func(before int32)) {
	if k.rows != nil {
		row := k.clock(node)
		for c := range row {
			least := row[c]
			for n, v := range of {
				p := k.clock(v)[c]
				if p <= row[c] {
					least = row[c]
					break
				}
				if n == 0 || p < least {
					least = p
				}
			}
			if least > row[c] {
				t := k.c.members.of(int32(c))[(least-1)>>k.g.split]
				if least == k.commitAt(t) {
					f(k.g.commit(t))
				} else {
					f(k.g.start(t))
				}
			}
		}
		return
	}
	common := make([]uint64, k.width)
	have := k.set(node)
	for i := range common {
		common[i] = ^have[i]
		for _, v := range of {
			common[i] &= k.words[int(v)*k.width+i]
		}
	}
	for range maxCommon {
		latest := none
		for i, w := range common {
			for ; w != 0; w &= w - 1 {
				if v := int32(i<<6 + bits.TrailingZeros64(w)); latest == none || k.rank[v] > k.rank[latest] {
					latest = v
				}
			}
		}
		if latest == none {
			return
		}
		f(latest)
		for i, w := range k.set(latest) {
			common[i] &^= w
		}
	}
}

// maxCommon bounds the nodes that one call of beforeAll tells where every
// transaction is a chain of its own. Others come up in the next pass.
const maxCommon = 8
