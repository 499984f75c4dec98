package polygraph

import (
	"math/bits"
	"math/rand/v2"

	"github.com/isohound/isohound/accel/parallel"
	"github.com/isohound/isohound/history"
)

// versions finds final writes by their key and value.
type versions struct {
	m       *model
	list    []version       // by write
	initial []history.Value // by key
	// table has a hash table for each key, with twice as many slots as the key has writes. A slot
	// has the number of the first write of a value, plus 1, or 0.
	table []int32
	seed  uint64 // random, so that no input file can force hash collisions
}

type version struct {
	value  history.Value
	class  int32
	writer int32 // complemented in the first of several writes of a value
}

// newVersions numbers the final writes by key, and within a key by chain. It also assigns their
// classes.
func newVersions(m *model) *versions {
	keys := m.h.KeyCount()
	v := &versions{m: m, initial: make([]history.Value, keys), seed: rand.Uint64()}
	m.keyFrom = make([]int32, keys+1)
	parts := m.workers()
	finals := make([]finals, parts)
	parallel.Do(parts, func(p int) {
		f := newFinals(m, keys*p/parts, keys*(p+1)/parts)
		for t := range int32(len(m.txns)) {
			f.of(t, func(op history.Op) { m.keyFrom[op.Key+1]++ })
		}
		finals[p] = f
	})
	for k := range keys {
		m.keyFrom[k+1] += m.keyFrom[k]
	}
	total := int(m.keyFrom[keys])
	v.list, v.table = make([]version, total), make([]int32, 2*total)
	m.writer, m.class, m.key = make([]int32, total), make([]int32, total), make([]int32, total)
	parallel.Do(parts, func(p int) { v.place(&finals[p]) })
	parallel.Both(
		func() { m.classFrom = makeCSR(keys+total, total, func(w int32) int32 { return m.class[w] }) },
		func() { m.writesOf = makeCSR(len(m.txns), total, func(w int32) int32 { return m.writer[w] }) })
	return v
}

// place assigns numbers and classes to the writes of the keys of f.
func (v *versions) place(f *finals) {
	m := v.m
	next := append([]int32(nil), m.keyFrom[f.lo:f.hi]...)
	f.again()
	for _, t := range m.chains.members.items {
		f.of(t, func(op history.Op) {
			w := &next[int(op.Key)-f.lo]
			v.list[*w] = version{value: op.Value, writer: t}
			*w++
		})
	}
	for k := f.lo; k < f.hi; k++ {
		v.initial[k] = m.h.Initial(history.Key(k))
		v.classify(history.Key(k))
		for w := m.keyFrom[k]; w < m.keyFrom[k+1]; w++ {
			x := &v.list[w]
			m.key[w], m.class[w], m.writer[w] = int32(k), x.class, x.writer
			if x.writer < 0 {
				m.writer[w] = ^x.writer
			}
		}
	}
}

// classify assigns classes to the writes of key k.
func (v *versions) classify(k history.Key) {
	for w := v.m.keyFrom[k]; w < v.m.keyFrom[k+1]; w++ {
		x := &v.list[w]
		if x.value == v.initial[k] {
			x.class = int32(k)
			continue
		}
		at := v.at(k, x.value)
		if *at == 0 {
			*at = w + 1
			x.class = int32(len(v.initial)) + w
			continue
		}
		first := &v.list[*at-1]
		x.class = first.class
		first.writer = min(first.writer, ^first.writer)
	}
}

// at returns the slot in the table of key k for a value. The slot has the first write of that value
// plus 1, or 0. The key must have writes.
func (v *versions) at(k history.Key, value history.Value) *int32 {
	table := v.of(k)
	i := v.hash(value, table)
	for {
		at := &table[i]
		if *at == 0 || v.list[*at-1].value == value {
			return at
		}
		if i++; i == uint64(len(table)) {
			i = 0
		}
	}
}

// slot returns the content of the first slot in which the value is searched.
func (v *versions) slot(k history.Key, value history.Value) int32 {
	table := v.of(k)
	if len(table) == 0 {
		return 0
	}
	return table[v.hash(value, table)]
}

// of returns the table of k.
func (v *versions) of(k history.Key) []int32 {
	return v.table[2*int(v.m.keyFrom[k]) : 2*int(v.m.keyFrom[k+1])]
}

func (v *versions) hash(value history.Value, table []int32) uint64 {
	x := (uint64(value) ^ v.seed) * 0x9e3779b97f4a7c15
	x ^= x >> 32
	i, _ := bits.Mul64(x*0xd6e8feb86659fd93, uint64(len(table)))
	return i
}

// explain finds the class of the value that r returned, and the source if only one is possible. It
// reports whether a transaction other than r's own can have written the value.
func (v *versions) explain(r *read, value history.Value) bool {
	m := v.m
	if value == v.initial[r.key] {
		r.class = int32(r.key)
		return true
	}
	first := none
	if m.keyFrom[r.key] < m.keyFrom[r.key+1] {
		first = *v.at(r.key, value) - 1
	}
	if first == none {
		r.class = none
		return false
	}
	x := &v.list[first]
	r.class = x.class
	if x.writer < 0 {
		for _, w := range m.classFrom.of(r.class) {
			if m.writer[w] != r.txn {
				return true
			}
		}
		return false
	}
	if !m.optional[x.writer] && !m.optional[r.txn] {
		r.source = first
	}
	return x.writer != r.txn
}

// finals finds the final writes of transactions to the keys from lo up to, but not including, hi.
type finals struct {
	m      *model
	lo, hi int
	// seen is, by key, the latest transaction that was found to write it. It is used only for
	// transactions with many operations.
	seen []int32
}

func newFinals(m *model, lo, hi int) finals { return finals{m: m, lo: lo, hi: hi} }

// again prepares for another pass over the transactions.
func (f *finals) again() { stamp(f.seen) }

// short is the largest number of operations for which a transaction is scanned once per operation.
// That is faster than tables of all keys.
const short = 12

// of calls g for each final write of t to one of the keys.
func (f *finals) of(t int32, g func(history.Op)) {
	ops := f.m.h.Ops(f.m.txn(t))
	if len(ops) > short {
		f.ofLong(t, ops, g)
		return
	}
next:
	for j, op := range ops {
		if op.Kind != history.Write || int(op.Key) < f.lo || int(op.Key) >= f.hi {
			continue
		}
		for _, later := range ops[j+1:] {
			if later.Key == op.Key && later.Kind == history.Write {
				continue next
			}
		}
		g(op)
	}
}

func (f *finals) ofLong(t int32, ops []history.Op, g func(history.Op)) {
	if f.seen == nil {
		f.seen = make([]int32, f.hi-f.lo)
		stamp(f.seen)
	}
	for j := len(ops) - 1; j >= 0; j-- {
		op := ops[j]
		if k := int(op.Key) - f.lo; op.Kind == history.Write && k >= 0 && k < len(f.seen) && f.seen[k] != t {
			f.seen[k] = t
			g(op)
		}
	}
}
