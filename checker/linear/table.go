package linear

import (
	"math/bits"

	"github.com/isohound/isohound/history"
)

// versionTable finds the version of a key and value: open addressing with
// linear probing, at most two thirds full. The initial values are not in it.
type versionTable struct {
	slots   []slot
	shift   uint
	initial []history.Value
}

type slot struct {
	value   history.Value
	key     history.Key
	version int32 // plus one; 0 in a free slot
}

func newVersionTable(versions int, initial []history.Value) *versionTable {
	width := bits.Len(uint(versions + versions/2 + 1))
	return &versionTable{slots: make([]slot, 1<<width), shift: uint(64 - width), initial: initial}
}

// hash spreads keys and values over the table; multiplication by odd constants
// with the high bits kept is enough for values that count upwards in any
// stride.
func (t *versionTable) hash(k history.Key, v history.Value) uint64 {
	h := uint64(v) * 0x9E3779B97F4A7C15
	h ^= h >> 32
	h += uint64(k) * 0xC2B2AE3D27D4EB4F
	return h * 0xD6E8FEB86659FD93 >> t.shift
}

// insert adds a version and returns none, or returns the version that the key
// and value already have.
func (t *versionTable) insert(k history.Key, v history.Value, version int32) int32 {
	if v == t.initial[k] {
		return int32(k)
	}
	mask := uint64(len(t.slots) - 1)
	for i := t.hash(k, v); ; i = (i + 1) & mask {
		s := &t.slots[i]
		if s.version == 0 {
			*s = slot{value: v, key: k, version: version + 1}
			return none
		}
		if s.value == v && s.key == k {
			return s.version - 1
		}
	}
}

// find returns the version of a key and value, or none.
func (t *versionTable) find(k history.Key, v history.Value) int32 {
	if v == t.initial[k] {
		return int32(k)
	}
	mask := uint64(len(t.slots) - 1)
	for i := t.hash(k, v); ; i = (i + 1) & mask {
		s := &t.slots[i]
		if s.version == 0 {
			return none
		}
		if s.value == v && s.key == k {
			return s.version - 1
		}
	}
}
