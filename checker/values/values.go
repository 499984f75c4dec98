// Package values finds the versions of a history by their keys and values.
package values

import (
	"math"
	"math/bits"

	"github.com/isohound/isohound/history"
)

// None is no version.
const None = int32(-1)

// Table finds the version of a key and value. The initial values are versions 0 to KeyCount-1; they are
// not in its slots but in a list of their own. The caller numbers the others.
//
// Generators take unique values from counters, so the values of a history are often distinct and
// dense. Then the value itself is the index of the slot. This also keeps values that are close in
// time close in memory. If two keys have the same value, the table becomes a hash table with linear
// probing. If the values are sparse, it is a hash table from the start.
type Table struct {
	slots   []slot
	direct  bool
	low     history.Value // the lowest written value, at slots[0] if direct
	shift   uint          // of the hash
	initial []history.Value
	writes  int
}

type slot struct {
	value   history.Value
	key     history.Key
	version int32 // plus one; 0 in a free slot
}

// sparse is how many slots for each write a table indexed by values may have.
const sparse = 3

// New returns a table of the initial values of h, with room for its writes.
func New(h *history.History) *Table {
	t := &Table{initial: make([]history.Value, h.KeyCount()), low: math.MaxInt64}
	for k := range t.initial {
		t.initial[k] = h.Initial(history.Key(k))
	}
	high := history.Value(math.MinInt64)
	for _, op := range h.AllOps() {
		if op.Kind == history.Write {
			t.writes++
			t.low, high = min(t.low, op.Value), max(high, op.Value)
		}
	}
	if span := uint64(high) - uint64(t.low); t.writes > 0 && span < uint64(sparse*t.writes) {
		t.direct = true
		t.slots = make([]slot, span+1)
		return t
	}
	t.makeHash()
	return t
}

// Writes is the number of writes of the history, an upper bound on the number of versions but the
// initial ones.
func (t *Table) Writes() int { return t.writes }

// makeHash allocates a hash table for all writes, at most two thirds full.
func (t *Table) makeHash() {
	width := bits.Len(uint(t.writes + t.writes/2 + 1))
	t.direct = false
	t.slots = make([]slot, 1<<width)
	t.shift = uint(64 - width)
}

// hash is the slot at which the search for a key and value starts. Multiplying by odd constants and
// keeping the high bits is enough for values that count upwards with any stride.
func (t *Table) hash(k history.Key, v history.Value) uint64 {
	h := uint64(v) * 0x9E3779B97F4A7C15
	h ^= h >> 32
	h += uint64(k) * 0xC2B2AE3D27D4EB4F
	return h * 0xD6E8FEB86659FD93 >> t.shift
}

// slot returns the slot of a key and value, or the free slot where it belongs. A table indexed by
// values may return the slot of another key with the same value.
func (t *Table) slot(k history.Key, v history.Value) *slot {
	if t.direct {
		return &t.slots[v-t.low]
	}
	mask := uint64(len(t.slots) - 1)
	for i := t.hash(k, v); ; i = (i + 1) & mask {
		s := &t.slots[i]
		if s.version == 0 || s.value == v && s.key == k {
			return s
		}
	}
}

// Insert adds a version and returns None, or returns the version that the key
// and value already have.
func (t *Table) Insert(k history.Key, v history.Value, version int32) int32 {
	if v == t.initial[k] {
		return int32(k)
	}
	s := t.slot(k, v)
	if t.direct && s.version != 0 && s.key != k {
		t.rehash()
		s = t.slot(k, v)
	}
	if s.version != 0 {
		return s.version - 1
	}
	*s = slot{value: v, key: k, version: version + 1}
	return None
}

func (t *Table) rehash() {
	old := t.slots
	t.makeHash()
	for _, s := range old {
		if s.version != 0 {
			*t.slot(s.key, s.value) = s
		}
	}
}

// Find returns the version of a key and value, or None.
func (t *Table) Find(k history.Key, v history.Value) int32 {
	if v == t.initial[k] {
		return int32(k)
	}
	if t.direct && (v < t.low || uint64(v-t.low) >= uint64(len(t.slots))) {
		return None
	}
	if s := t.slot(k, v); s.version != 0 && s.key == k {
		return s.version - 1
	}
	return None
}
