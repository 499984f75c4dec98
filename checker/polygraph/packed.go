package polygraph

import (
	"context"
	"iter"

	"github.com/isohound/isohound/accel/parallel"
)

// packed are the entries of accesses to keys with few writers, taken from a matrix
// of bits row by row: what is needed of a row lies all over it, and for each key a
// little in many rows is needed. Where not said otherwise there is a bit for each
// writer of the key, in their order.
type packed struct {
	writers places // by write
	readers places // as in model.readsOn
	wanted  []bool // by key: there are entries for its accesses; nil without a matrix
	// reads has by read whose commits reach its start, starts and commits by write
	// whose reach the start and the commit of its transaction, and begun, with
	// snapshots, whose starts reach that commit.
	reads, starts, commits, begun []uint64
	// seen has by write which readers of the key start before its commit: a bit for
	// each, in the order of model.readsOn.
	seen []uint64
}

// places say where transactions stand in the matrix.
type places struct {
	txn, column []int32 // column is of the commit
	rank        []int32 // of the start, where that is needed
}

func newPlaces(k *reach, txns []int32) places {
	p := places{txn: txns, column: make([]int32, len(txns))}
	for i, t := range txns {
		p.column[i] = k.column(t)
	}
	return p
}

func (p *places) rankAll(k *reach) {
	if p.rank == nil {
		p.rank = make([]int32, len(p.txn))
	}
	for i, t := range p.txn {
		p.rank[i] = k.rank[k.g.start(t)]
	}
}

// begin makes room, and finds the columns, if the closure is a matrix.
func (p *packed) begin(m *model, k *reach) {
	if *p = (packed{}); k.bits == nil {
		return
	}
	readers := make([]int32, len(m.readsOn.items))
	for i, r := range m.readsOn.items {
		readers[i] = m.reads[r].txn
	}
	p.writers, p.readers, p.wanted = newPlaces(k, m.writer), newPlaces(k, readers), make([]bool, m.h.KeyCount())
	p.seen, p.reads, p.commits = make([]uint64, len(m.writer)), make([]uint64, len(m.reads)), make([]uint64, len(m.writer))
	if p.starts = p.commits; k.g.split == 1 {
		p.starts, p.begun = make([]uint64, len(m.writer)), make([]uint64, len(m.writer))
	}
}

// fits reports whether the entries of each access to key k fit into words, so that
// they are packed where they are worth a look.
func (p *packed) fits(m *model, k int32) bool {
	return p.wanted != nil && m.keyFrom[k+1]-m.keyFrom[k] <= 64 && len(m.readsOn.of(k)) <= 64
}

// has reports whether there are entries of the accesses to key k.
func (p *packed) has(k int32) bool { return p.wanted != nil && p.wanted[k] }

// pack packs the entries of those keys of some runs that are worth a look.
func (s *saturator) pack(ctx context.Context, runs []int32, all bool) error {
	p := &s.packed
	if p.wanted == nil {
		return nil
	}
	clear(p.wanted)
	if err := parallel.Share(ctx, s.m.workers(), len(runs), 1, func(numbers iter.Seq[int]) {
		for i := range numbers {
			r := runs[i]
			for at := s.contested.runs[r]; at < s.contested.runs[r+1]; at++ {
				k := s.contested.keys[at]
				p.wanted[k] = p.fits(s.m, k) && s.worthALook(k, s.contested.of(at), all)
			}
		}
	}); err != nil {
		return err
	}
	if s.k.bits.Led() {
		p.writers.rankAll(s.k)
		p.readers.rankAll(s.k)
	}
	return p.fill(ctx, s.m, s.k)
}

// fill finds the entries of all accesses to wanted keys. The matrix has rows that
// are near each other in its order near each other in memory.
func (p *packed) fill(ctx context.Context, m *model, k *reach) error {
	const run = 256 // columns
	return parallel.Share(ctx, m.workers(), int(k.bits.Columns()), run, func(numbers iter.Seq[int]) {
		rows := &rows{p: p, m: m, k: k, start: make([]uint64, k.bits.Width())}
		if rows.commit = rows.start; k.g.split == 1 {
			rows.commit = make([]uint64, k.bits.Width())
		}
		for c := range numbers {
			rows.fill(k.g.txnOf(k.bits.VertexAt(int32(c))))
		}
	})
}

// rows are the two rows of a transaction, or the one.
type rows struct {
	p             *packed
	m             *model
	k             *reach
	start, commit []uint64
}

func (x *rows) fill(t int32) {
	p, m := x.p, x.m
	have := false
	for i := m.readFrom[t]; i < m.readFrom[t+1]; i++ {
		if key := int32(m.reads[i].key); p.wanted[key] {
			if !have {
				x.k.bits.Row(x.k.g.start(t), x.start)
				have = true
			}
			p.reads[i] = gathered(x.start, p.writers.column[m.keyFrom[key]:m.keyFrom[key+1]])
		}
	}
	written := false
	for _, w := range m.writesOf.of(t) {
		if key := m.key[w]; p.wanted[key] {
			if !written {
				x.load(t, have)
				written = true
			}
			x.fillWrite(t, w, key)
		}
	}
}

// load has both rows at hand; have says whether that of the start is.
func (x *rows) load(t int32, have bool) {
	b, g := x.k.bits, x.k.g
	if !have {
		b.Row(g.start(t), x.start)
	}
	switch {
	case g.split == 0:
	case b.Led():
		b.Row(g.commit(t), x.commit)
	default: // nothing but its start leads to a commit
		copy(x.commit, x.start)
		c := b.Column(g.commit(t))
		x.commit[c>>6] |= 1 << (c & 63)
	}
}

func (x *rows) fillWrite(t, w, key int32) {
	p, m := x.p, x.m
	columns := p.writers.column[m.keyFrom[key]:m.keyFrom[key+1]]
	from, to := m.readsOn.from[key], m.readsOn.from[key+1]
	p.commits[w] = gathered(x.commit, columns)
	p.seen[w] = gathered(x.commit, p.readers.column[from:to])
	if p.begun == nil {
		return
	}
	p.starts[w], p.begun[w] = gathered(x.start, columns), p.commits[w]
	if x.k.bits.Led() {
		rank := x.k.rank[x.k.g.commit(t)]
		p.begun[w] |= x.led(p.begun[w], &p.writers, m.keyFrom[key], m.keyFrom[key+1], rank)
		p.seen[w] |= x.led(p.seen[w], &p.readers, from, to, rank)
	}
}

// gathered are the bits of a row in some columns.
func gathered(row []uint64, columns []int32) uint64 {
	bits := uint64(0)
	for i, c := range columns {
		bits |= row[c>>6] >> (c & 63) & 1 << i
	}
	return bits
}

// led are those of some transactions whose starts reach the commit at hand, with a
// rank, where their commits, that are known, do not.
func (x *rows) led(known uint64, at *places, from, to, rank int32) uint64 {
	bits := uint64(0)
	for i, r := range at.rank[from:to] {
		if r < rank && known>>i&1 == 0 && x.k.bits.Leads(x.commit, x.k.g.start(at.txn[int(from)+i])) {
			bits |= 1 << i
		}
	}
	return bits
}

// ofCommit returns the entries of the commit of a write, and ofStart those of a
// start with such bits: see expand.
func (p *packed) ofCommit(w int32) (committed, begun uint64) {
	if p.begun == nil {
		return p.commits[w], 0
	}
	return p.commits[w], p.begun[w]
}

func (p *packed) ofStart(committed uint64) (same, begun uint64) {
	if p.begun == nil {
		return committed, 0
	}
	return committed, committed
}

// expand puts entries into out, one for each writer.
func expand(committed, begun uint64, out []int32) {
	for i := range out {
		out[i] = int32(committed>>i&1 + begun>>i&1)
	}
}
