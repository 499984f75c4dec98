// Package hashed has a hash table for lookups that readers make in every operation. It keeps an
// entry in one place; Go's maps need two or three memory accesses for a lookup.
package hashed

import (
	"hash/maphash"
	"math/bits"
)

// Key is what can be looked up.
type Key interface {
	comparable
	// Hash depends on the seed, which is random, so a file cannot make keys collide on purpose.
	Hash(seed uint64) uint64
}

// Number is a number as a key.
type Number uint64

// Hash implements Key.
func (n Number) Hash(seed uint64) uint64 { return fold(uint64(n)^seed, 0x9e3779b97f4a7c15) }

// Pair is two numbers as a key.
type Pair struct{ A, B uint64 }

// Hash implements Key.
func (p Pair) Hash(seed uint64) uint64 {
	return fold(fold(p.A^seed, 0x9e3779b97f4a7c15)^p.B, 0xd6e8feb86659fd93)
}

func fold(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}

// Table maps keys to entries. The zero value is empty. Nothing is ever removed.
type Table[K Key, V any] struct {
	slots []slot[K, V]
	used  int
	seed  uint64
}

type slot[K Key, V any] struct {
	key   K
	entry V
	taken bool
}

// least is the size of the smallest table.
const least = 64

// Expect makes room for that many keys.
func (t *Table[K, V]) Expect(keys int) {
	size := least
	for size/4*3 <= keys {
		size *= 2
	}
	if size > len(t.slots) {
		t.resize(size)
	}
}

// At returns the entry of k. A new k gets an entry with the zero value. The entry may be written
// until the next call.
func (t *Table[K, V]) At(k K) (entry *V, known bool) {
	if t.used >= len(t.slots)/4*3 {
		t.resize(max(2*len(t.slots), least))
	}
	s := t.find(k)
	known = s.taken
	if !known {
		s.key, s.taken = k, true
		t.used++
	}
	return &s.entry, known
}

// Find returns the entry of k, or nil. It is valid until the next call of At.
func (t *Table[K, V]) Find(k K) *V {
	if t.used == 0 {
		return nil
	}
	if s := t.find(k); s.taken {
		return &s.entry
	}
	return nil
}

// All calls f for each entry, in no order.
func (t *Table[K, V]) All(f func(*V)) {
	for i := range t.slots {
		if t.slots[i].taken {
			f(&t.slots[i].entry)
		}
	}
}

func (t *Table[K, V]) find(k K) *slot[K, V] {
	mask := uint64(len(t.slots) - 1)
	for i := k.Hash(t.seed); ; i++ {
		if s := &t.slots[i&mask]; !s.taken || s.key == k {
			return s
		}
	}
}

func (t *Table[K, V]) resize(size int) {
	if t.slots == nil {
		t.seed = maphash.Comparable(maphash.MakeSeed(), 0)
	}
	old := t.slots
	t.slots = make([]slot[K, V], size)
	for i := range old {
		if old[i].taken {
			*t.find(old[i].key) = old[i]
		}
	}
}
