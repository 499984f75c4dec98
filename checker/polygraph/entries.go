package polygraph

import (
	"context"
	"math/bits"
	"slices"

	"github.com/isohound/isohound/accel"
)

// fillRow puts the entries of a node of a transaction that accesses the key, by
// local chain the last position from which it can be reached, for as many chains
// as out has room.
func (w *worker) fillRow(node int32, out []int32) {
	switch k := w.k; {
	case k.clocks != nil:
		row := k.clocks.Row(node)
		for i, c := range w.chains[:len(out)] {
			out[i] = row[c]
		}
	case k.bits != nil:
		w.fillBits(node, out)
	default:
		w.fillFetched(node, out)
	}
}

// nodeBits are as many bits as a transaction has nodes.
func (g *graph) nodeBits() uint64 { return 1<<(1<<g.split) - 1 }

// lastOf is the last position in its chain of a transaction that is one by
// itself, from which something can be reached, given the bits of its nodes.
func lastOf(nodes uint64) int32 { return int32(nodes&1 + nodes>>1) }

// fillBits takes the entries from the matrix.
func (w *worker) fillBits(node int32, out []int32) {
	w.words = slices.Grow(w.words[:0], len(out))[:len(out)]
	w.k.bits.Words(node, w.columns[:len(out)], w.words)
	for i, word := range w.words {
		out[i] = w.bitEntry(word>>(w.columns[i]&63)&1, node, w.chains[i])
	}
}

// bitEntry is the entry of a node for a transaction, given whether its commit
// reaches the node. Of starts only the commits of others matter.
func (w *worker) bitEntry(committed uint64, node, t int32) int32 {
	g := w.g
	switch {
	case committed != 0:
		return 1 + g.split
	case g.split == 1 && node&1 != 0 && w.k.bits.Reaches(g.start(t), node):
		return 1
	}
	return 0
}

// single returns one entry of a node.
func (w *worker) single(node, chain int32) int32 {
	switch k := w.k; {
	case k.clocks != nil:
		return k.clocks.Entry(node, w.chains[chain])
	case k.bits != nil:
		column := w.columns[chain]
		return w.bitEntry(k.bits.Word(node, int(column>>6))>>(column&63)&1, node, w.chains[chain])
	}
	return w.fetchedEntry(w.fetchedRow(node), int(chain))
}

// fetched is what the closure has told about a run of keys: which of the nodes
// of the transactions that access a key reach which. Those of local chain i are
// members i<<split and, where there are two, the one behind it.
type fetched struct {
	accel.Groups
	group []int32 // by key that was asked about: its group, or none where nothing is to be looked at
	at    int     // the group of the key at hand
}

// fillFetched takes the entries from what was fetched.
func (w *worker) fillFetched(node int32, out []int32) {
	row := w.fetchedRow(node)
	for i := range out {
		out[i] = w.fetchedEntry(row, i)
	}
}

func (w *worker) fetchedRow(node int32) []uint64 {
	f, split := &w.fetched, w.g.split
	words := int64(f.Start[f.at+1]-f.Start[f.at]+63) / 64
	member := int64(w.localOf[w.g.txnOf(node)]<<split | node&split)
	return f.Bits[f.At[f.at]+member*words:][:words]
}

func (w *worker) fetchedEntry(row []uint64, chain int) int32 {
	at := chain << w.g.split
	return lastOf(row[at>>6] >> (at & 63) & w.g.nodeBits())
}

// maxFetched bounds the words that are fetched at once.
const maxFetched = 4 << 20

// fetch asks the closure about the contested keys that have news, from one place
// on and up to another, and returns the first that it left for the next time.
func (w *worker) fetch(ctx context.Context, from, to int32, all bool) (int32, error) {
	f := &w.fetched
	f.group, f.Start, f.Members = f.group[:0], append(f.Start[:0], 0), f.Members[:0]
	words := 0
	for ; from < to && words < maxFetched; from++ {
		group := none
		if k := w.contested.keys[from]; w.worthALook(k, everything, all) {
			w.begin(k)
			for _, t := range w.m.writer[w.m.keyFrom[k]:w.m.keyFrom[k+1]] {
				w.localChain(t)
			}
			for _, r := range w.m.readsOn.of(k) {
				w.localChain(w.m.reads[r].txn)
			}
			if w.entryCount() <= maxLocal {
				group = int32(len(f.Start) - 1)
				for _, t := range w.chains {
					f.Members = append(f.Members, w.g.start(t))
					if w.g.split == 1 {
						f.Members = append(f.Members, w.g.commit(t))
					}
				}
				m := len(f.Members) - int(f.Start[group])
				words += m * ((m + 63) / 64)
				f.Start = append(f.Start, int32(len(f.Members)))
			}
		}
		f.group = append(f.group, group)
	}
	if len(f.Start) == 1 {
		return from, nil
	}
	return from, w.k.closure.Among(ctx, &f.Groups)
}

// beforeAll calls f for commits that reach all of some nodes but not yet node:
// with clocks so many that every other one reaches one of these, with a matrix
// at most maxCommon of them, and none with what is far away: that would be asked
// of each node by itself.
func (k *reach) beforeAll(of []int32, node int32, f func(before int32)) {
	switch {
	case k.clocks != nil:
		k.chainsBeforeAll(of, node, f)
	case k.bits != nil:
		k.bitsBeforeAll(of, node, f)
	}
}

func (k *reach) chainsBeforeAll(of []int32, node int32, f func(before int32)) {
	row := k.clocks.Row(node)
	for c := range row {
		least := row[c]
		for n, v := range of {
			p := k.clocks.Entry(v, int32(c))
			if p <= row[c] {
				least = row[c]
				break
			}
			if n == 0 || p < least {
				least = p
			}
		}
		if k.g.split == 1 {
			least &^= 1 // the commit at or before it: what leads out of starts leads to commits
		}
		if least > row[c] {
			f(k.clocks.VertexAt(int32(c), least))
		}
	}
}

// bitsBeforeAll tells the latest ones first.
func (k *reach) bitsBeforeAll(of []int32, node int32, f func(before int32)) {
	var common []int32 // sources
	k.bits.Common(of, node, func(i int, w uint64) {
		for ; w != 0; w &= w - 1 {
			if column := int32(i<<6 + bits.TrailingZeros64(w)); column < k.bits.Columns() {
				common = append(common, k.bits.VertexAt(column))
			}
		}
	})
	for range maxCommon {
		latest := none
		for _, v := range common {
			if latest == none || k.rank[v] > k.rank[latest] {
				latest = v
			}
		}
		if latest == none {
			return
		}
		f(latest)
		common = slices.DeleteFunc(common, func(v int32) bool { return k.bits.Reaches(v, latest) })
	}
}

// maxCommon bounds the nodes that one call of beforeAll tells where every
// transaction is a chain of its own. Others come up in the next pass.
const maxCommon = 8
