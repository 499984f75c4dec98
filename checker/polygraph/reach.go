package polygraph

import (
	"context"
	"math"
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
	known int32 // how many edges the rows account for, -1 before the first update

	width  int
	rows   []int32 // clocks, or else
	matrix bool
	bands  []band
}

// band is the chains, or the words of the matrix, from lo to hi, which one
// worker brings up to date.
type band struct {
	lo, hi int
	news   []uint64

	// sets is the matrix by rows. Its columns stand in the order of the first
	// update, so that it is nearly a triangle, and most of what is early reaches
	// most of what is late: a row begins behind its leading words that are full,
	// off of them, and ends with its last bit.
	sets [][]uint64
	off  []int32
	slab []uint64 // for more rows
	size int      // of the next slab
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
	k := &reach{g: g, c: &m.chains, known: -1, rank: make([]int32, g.nodes), news: make([]uint64, g.nodes)}
	switch {
	case fewChains < 0 || m.chains.count > fewChains && asBits < 2*asClocks && asBits <= maxReach:
		k.width = int(txns+63) / 64
		k.matrix = true
	case asClocks <= maxReach:
		k.width = int(m.chains.count)
		k.rows = make([]int32, int(g.nodes)*k.width)
	default:
		return nil
	}
	k.cut()
	return k
}

// cut makes bands of about as much work each.
func (k *reach) cut() {
	parts := max(1, min(workers(), k.width))
	if int(k.g.nodes)*k.width < 1<<14 { // not worth a goroutine
		parts = 1
	}
	at := func(part int) int {
		share := float64(part) / float64(parts)
		if k.matrix {
			share = 1 - math.Sqrt(1-share)
		}
		return int(share * float64(k.width))
	}
	for part := range parts {
		b := band{lo: at(part), hi: at(part + 1), news: k.news}
		if part > 0 {
			b.news = make([]uint64, len(k.news))
		}
		if k.matrix {
			b.sets, b.off = make([][]uint64, k.g.nodes), make([]int32, k.g.nodes)
			b.size = min(int(k.g.nodes)*(b.hi-b.lo)/2+1, 1<<16)
		}
		k.bands = append(k.bands, b)
	}
}

// clock returns a node's entries by chain.
func (k *reach) clock(node int32) []int32 {
	return k.rows[int(node)*k.width : int(node+1)*k.width]
}

// column of a transaction's node in the matrix.
func (k *reach) column(node int32) int32 {
	return k.c.of[k.g.txnOf(node)]<<k.g.split | node&k.g.split
}

// nodeAt returns the node that has a column.
func (k *reach) nodeAt(column int32) int32 {
	return k.g.start(k.c.members.items[column>>k.g.split]) | column&k.g.split
}

// entry is the last position of a chain from which node can be reached: 0 is
// none.
func (k *reach) entry(node, chain int32) int32 {
	if k.rows != nil {
		return k.rows[int(node)*k.width+int(chain)]
	}
	return k.inMatrix(node, chain)
}

// inMatrix is entry in the matrix. The nodes of a transaction stand in one word.
func (k *reach) inMatrix(node, chain int32) int32 {
	split := k.g.split
	w := k.word(node, int(chain>>(6-split)))
	if split == 0 {
		return int32(w >> (chain & 63) & 1)
	}
	both := w >> (chain << 1 & 63) & 3
	return int32(both&1 + both>>1)
}

// word is one of a node's row in the matrix.
func (k *reach) word(node int32, at int) uint64 {
	b := &k.bands[0]
	for i := 1; at >= b.hi; i++ {
		b = &k.bands[i]
	}
	set := b.sets[node]
	switch at -= b.lo + int(b.off[node]); {
	case at < 0:
		return everything
	case at < len(set):
		return set[at]
	}
	return 0
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
	if k.matrix && k.g.split == 1 {
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
	if k.matrix {
		columns = k.bitColumns
		if k.known < 0 {
			k.c = alone(k.g, len(k.c.of), order)
		}
	}
	var wg sync.WaitGroup
	for i := range k.bands[1:] {
		wg.Go(func() { columns(ctx, order, &k.bands[i+1]) })
	}
	columns(ctx, order, &k.bands[0])
	wg.Wait()
	for _, b := range k.bands[1:] {
		for v, bits := range b.news {
			k.news[v] |= bits
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	k.known = int32(len(k.g.edges))
	return nil
}

// clockColumns brings the entries of a band of chains up to date. Entries
// only grow, so that only new edges, and those from nodes with news, can change
// one.
func (k *reach) clockColumns(ctx context.Context, order []int32, b *band) {
	g, lo, hi, news := k.g, b.lo, b.hi, b.news
	txns := int32(len(k.c.of)) << g.split
	for i, v := range order {
		if i&0xfff == 0 && ctx.Err() != nil {
			return
		}
		row := k.clock(v)[lo:hi]
		bits := uint64(0)
		if k.known < 0 && v < txns { // a node reaches itself
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

// bitColumns does the same for words of the matrix.
func (k *reach) bitColumns(ctx context.Context, order []int32, b *band) {
	g, news := k.g, b.news
	txns := int32(len(k.c.of)) << g.split
	for i, v := range order {
		if i&0xff == 0 && ctx.Err() != nil {
			return
		}
		own := -1
		if k.known < 0 && v < txns {
			if c := int(k.column(v)); c>>6 >= b.lo && c>>6 < b.hi {
				own = c - b.lo<<6
			}
		}
		off, end := b.off[v], int32(own>>6+1)
		for e := g.in[v]; e != none; e = g.edges[e].nextIn {
			from := g.edges[e].from
			if e < k.known && news[from] == 0 {
				continue
			}
			off = max(off, b.off[from])
			end = max(end, b.off[from]+int32(len(b.sets[from])))
		}
		changed := b.resize(v, off, end)
		row := b.sets[v]
		if own >= 0 {
			row[own>>6-int(off)] |= 1 << (own & 63)
			changed |= 1 << (own & 63)
		}
		for e := g.in[v]; e != none; e = g.edges[e].nextIn {
			from := g.edges[e].from
			skip := int(off - b.off[from])
			if e < k.known && news[from] == 0 || skip >= len(b.sets[from]) {
				continue
			}
			set := b.sets[from][skip:]
			for i, p := range row[:len(set)] {
				changed |= set[i] &^ p
				row[i] = p | set[i]
			}
		}
		for len(row) > 0 && row[0] == everything {
			row = row[1:]
			off++
		}
		b.sets[v], b.off[v] = row, off
		news[v] = changed
	}
}

// resize makes the leading off words of a row full and gives it room up to end.
// It returns the bits that changed.
func (b *band) resize(v, off, end int32) uint64 {
	row := b.sets[v]
	changed := uint64(0)
	for ; b.off[v] < off; b.off[v]++ {
		if len(row) == 0 {
			changed = everything
			continue
		}
		changed |= ^row[0]
		row = row[1:]
	}
	if need := int(end - off); need > len(row) {
		if need > len(b.slab) {
			b.slab = make([]uint64, max(need, b.size))
		}
		copy(b.slab, row)
		row, b.slab = b.slab[:need:need], b.slab[need:]
	}
	b.sets[v] = row
	return changed
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
	for i := range common {
		common[i] = ^k.word(node, i)
		for _, v := range of {
			common[i] &= k.word(v, i)
		}
	}
	for range maxCommon {
		latest := none
		for i, w := range common {
			for ; w != 0; w &= w - 1 {
				v := k.nodeAt(int32(i<<6 + bits.TrailingZeros64(w)))
				if latest == none || k.rank[v] > k.rank[latest] {
					latest = v
				}
			}
		}
		if latest == none {
			return
		}
		f(latest)
		for i := range common {
			common[i] &^= k.word(latest, i)
		}
	}
}

// maxCommon bounds the nodes that one call of beforeAll tells where every
// transaction is a chain of its own. Others come up in the next pass.
const maxCommon = 8
