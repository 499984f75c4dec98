package polygraph

import (
	"context"
	"math/bits"
)

// packed are the entries of accesses to keys with few writers, taken from a matrix
// of bits row by row: what is needed of a row lies all over it, and for each key a
// little in many rows is needed. There are as many bits for each writer as a
// transaction has nodes.
type packed struct {
	columns []int32 // by write: the column of its transaction's first node; nil without a matrix
	wanted  []bool  // by key: there are entries for its accesses
	// reads are by read, of the start; commits and starts by write.
	reads, commits, starts []uint64
	// seen has by write which readers of the key start before its commit: a bit for
	// each, of which readers has the columns.
	seen    []uint64
	readers []int32 // as in model.readsOn
}

// begin makes room, and finds the columns, if the closure is a matrix.
func (p *packed) begin(m *model, k *reach) {
	if *p = (packed{}); k.bits == nil {
		return
	}
	p.columns, p.wanted = make([]int32, len(m.writer)), make([]bool, m.h.KeyCount())
	for w, t := range m.writer {
		p.columns[w] = k.column(t)
	}
	p.readers, p.seen = make([]int32, len(m.readsOn.items)), make([]uint64, len(m.writer))
	for i, r := range m.readsOn.items {
		p.readers[i] = k.column(m.reads[r].txn)
	}
	p.reads, p.commits = make([]uint64, len(m.reads)), make([]uint64, len(m.writer))
	if p.starts = p.commits; k.g.split == 1 {
		p.starts = make([]uint64, len(m.writer))
	}
}

// fits reports whether the entries of each access to key k fit into words, so that
// they are packed where they are worth a look.
func (p *packed) fits(m *model, g *graph, k int32) bool {
	return p.columns != nil && (m.keyFrom[k+1]-m.keyFrom[k])<<g.split <= 64 && len(m.readsOn.of(k)) <= 64
}

// has reports whether there are entries of the accesses to key k.
func (p *packed) has(k int32) bool { return p.columns != nil && p.wanted[k] }

// pack packs the entries of those keys of some runs that are worth a look.
func (s *saturator) pack(ctx context.Context, runs []int32, all bool) error {
	p := &s.packed
	if p.columns == nil {
		return nil
	}
	clear(p.wanted)
	if err := share(ctx, len(s.m.txns), len(runs), func(next func() (int, bool)) {
		for i, more := next(); more; i, more = next() {
			r := runs[i]
			for at := s.contested.runs[r]; at < s.contested.runs[r+1]; at++ {
				k := s.contested.keys[at]
				p.wanted[k] = p.fits(s.m, s.g, k) && s.worthALook(k, s.contested.of(at), all)
			}
		}
	}); err != nil {
		return err
	}
	return p.fill(ctx, s.m, s.k)
}

// fill finds the entries of all accesses to wanted keys. The matrix has rows that
// are near each other in its order near each other in memory.
func (p *packed) fill(ctx context.Context, m *model, k *reach) error {
	const run = 256 // columns
	count := int(k.bits.Columns())
	return share(ctx, len(m.txns), (count+run-1)/run, func(next func() (int, bool)) {
		row := make([]uint64, k.bits.Width())
		for i, more := next(); more; i, more = next() {
			for c := i * run; c < min((i+1)*run, count); c += 1 << k.g.split {
				if v := k.bits.VertexAt(int32(c)); v >= 0 && v < int32(len(m.txns))<<k.g.split {
					p.fillTxn(m, k, k.g.txnOf(v), row)
				}
			}
		}
	})
}

func (p *packed) fillTxn(m *model, k *reach, t int32, row []uint64) {
	g := k.g
	known := none // the node of which row is the row
	look := func(node, key int32) uint64 {
		if node != known {
			k.bits.Row(node, row)
			known = node
		}
		mask, split := g.nodeBits(), g.split
		entries := uint64(0)
		for i, c := range p.columns[m.keyFrom[key]:m.keyFrom[key+1]] {
			entries |= row[c>>6] >> (c & 63) & mask << (i << split)
		}
		return entries
	}
	for i := m.readFrom[t]; i < m.readFrom[t+1]; i++ {
		if key := int32(m.reads[i].key); p.wanted[key] {
			p.reads[i] = look(g.start(t), key)
		}
	}
	for _, w := range m.writesOf.of(t) {
		if key := m.key[w]; g.split == 1 && p.wanted[key] {
			p.starts[w] = look(g.start(t), key)
		}
	}
	for _, w := range m.writesOf.of(t) {
		if key := m.key[w]; p.wanted[key] {
			p.commits[w] = look(g.commit(t), key)
			seen := uint64(0)
			for i, c := range p.readers[m.readsOn.from[key]:m.readsOn.from[key+1]] {
				seen |= row[c>>6] >> (c & 63) & 1 << i
			}
			p.seen[w] = seen
		}
	}
}

// expand puts entries into out, one for each writer.
func (p *packed) expand(entries uint64, g *graph, out []int32) {
	mask := g.nodeBits()
	for i := range out {
		out[i] = int32(bits.OnesCount64(entries >> (i << g.split) & mask))
	}
}
