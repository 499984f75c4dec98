package polygraph

import (
	"context"
	"runtime"
	"sync"
)

// clocks answer reachability in the known graph: for every node and chain the
// last position of that chain from which the node can be reached. A chain is a
// path, so that is exact, and one look (DESIGN, "sessions are chains").
type clocks struct {
	g     *graph
	c     *chains
	width int32
	rows  []int32
	// changed has, by node, the chains whose entries changed when its row was
	// last computed, as bits; one list for each worker, which has some chains.
	changed [][]uint64
	rank    []int32 // by node: its place in the order of the latest update
	known   int32   // how many edges the rows account for
}

// workers is how many goroutines share the work.
func workers() int { return min(runtime.GOMAXPROCS(0), 8) }

// maxClocks bounds the memory of the clocks, in entries of four bytes.
const maxClocks = 200 << 20

// newClocks returns nil if the chains are too many for the memory.
func newClocks(g *graph, c *chains) *clocks {
	if int64(g.nodes)*int64(c.count) > maxClocks {
		return nil
	}
	k := &clocks{g: g, c: c, width: c.count, rows: make([]int32, int(g.nodes)*int(c.count)), rank: make([]int32, g.nodes)}
	parts := min(workers(), int(c.count))
	if len(k.rows) < 1<<14 { // not worth a goroutine
		parts = min(1, parts)
	}
	for range parts {
		k.changed = append(k.changed, make([]uint64, g.nodes))
	}
	return k
}

func (k *clocks) row(node int32) []int32 {
	return k.rows[int(node)*int(k.width) : int(node+1)*int(k.width)]
}

// position of a transaction's start and commit in its chain, from 1.
func (k *clocks) startAt(t int32) int32  { return k.c.pos[t]<<k.g.split + 1 }
func (k *clocks) commitAt(t int32) int32 { return k.c.pos[t]<<k.g.split + 1 + k.g.split }

// fromStart reports whether the start of t comes before node.
func (k *clocks) fromStart(t, node int32) bool {
	return k.rows[int(node)*int(k.width)+int(k.c.of[t])] >= k.startAt(t)
}

// fromCommit reports whether the commit of t comes before node.
func (k *clocks) fromCommit(t, node int32) bool {
	return k.rows[int(node)*int(k.width)+int(k.c.of[t])] >= k.commitAt(t)
}

// chainBit is the bit of a chain in a set of chains; chains share bits.
func chainBit(c int32) uint64 { return 1 << (uint32(c) & 63) }

// everything is the set of all chains.
const everything = ^uint64(0)

// news returns the chains whose entries in a node's row are new.
func (k *clocks) news(node int32, all bool) uint64 {
	if all {
		return everything
	}
	bits := uint64(0)
	for _, list := range k.changed {
		bits |= list[node]
	}
	return bits
}

// update computes the rows along a topological order, each worker some columns
// of them.
func (k *clocks) update(ctx context.Context, order []int32) error {
	for i, v := range order {
		k.rank[v] = int32(i)
	}
	parts := int32(len(k.changed))
	if parts == 1 {
		k.columns(ctx, order, 0, k.width, k.changed[0])
	} else {
		k.share(ctx, order, parts)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	k.known = int32(len(k.g.edges))
	return nil
}

func (k *clocks) share(ctx context.Context, order []int32, parts int32) {
	var wg sync.WaitGroup
	for part := range parts {
		wg.Add(1)
		go func() {
			defer wg.Done()
			k.columns(ctx, order, k.width*part/parts, k.width*(part+1)/parts, k.changed[part])
		}()
	}
	wg.Wait()
}

// columns brings the entries of the chains from lo to hi up to date. Entries only
// grow, so that only new edges, and those from nodes with news, can change one.
func (k *clocks) columns(ctx context.Context, order []int32, lo, hi int32, changed []uint64) {
	g := k.g
	txns := int32(len(k.c.of)) << g.split
	for i, v := range order {
		if i&0xfff == 0 && ctx.Err() != nil {
			return
		}
		row := k.row(v)[lo:hi]
		bits := uint64(0)
		if k.known == 0 && v < txns { // a node reaches itself
			t := g.txnOf(v)
			if c := k.c.of[t]; c >= lo && c < hi {
				row[c-lo] = k.startAt(t)
				if v == g.commit(t) {
					row[c-lo] = k.commitAt(t)
				}
				bits = chainBit(c)
			}
		}
		for e := g.in[v]; e != none; e = g.edges[e].nextIn {
			from := g.edges[e].from
			if e < k.known && changed[from] == 0 {
				continue
			}
			for i, p := range k.row(from)[lo:hi][:len(row)] {
				if p > row[i] {
					row[i] = p
					bits |= chainBit(lo + int32(i))
				}
			}
		}
		changed[v] = bits
	}
}
