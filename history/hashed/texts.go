package hashed

import (
	"hash/maphash"
	"slices"
	"strings"
)

// Texts numbers texts from 0, in the order in which they are added. Go's map would hash a new text
// twice, and all texts again when it grows. The zero value is empty. Nothing is ever removed.
type Texts struct {
	slots []textSlot // a power of two of them
	texts []string   // by number
	// room is where the next texts are copied to; many texts share an allocation.
	room *strings.Builder
	seed maphash.Seed
}

// textSlot is an entry of the table. Of the hash it keeps what decides the place in a larger
// table.
type textSlot struct {
	hash   uint32
	number uint32 // plus 1; 0 is an empty slot
}

// Len returns the number of texts.
func (t *Texts) Len() int { return len(t.texts) }

// Text returns the text with a number.
func (t *Texts) Text(number int) string { return t.texts[number] }

// Add returns the number of a text, and adds the text if it is not known. The caller may overwrite
// it afterwards.
func (t *Texts) Add(text []byte) (number int, known bool) {
	if len(t.texts) >= len(t.slots)/4*3 {
		t.resize()
	}
	i, hash := t.place(text)
	if n := t.slots[i].number; n > 0 {
		return int(n - 1), true
	}
	t.texts = append(t.texts, t.keep(text))
	t.slots[i] = textSlot{hash, uint32(len(t.texts))}
	return len(t.texts) - 1, false
}

// Find returns the number of a text, if it is known.
func (t *Texts) Find(text []byte) (number int, known bool) {
	if len(t.texts) == 0 {
		return 0, false
	}
	i, _ := t.place(text)
	return int(t.slots[i].number) - 1, t.slots[i].number > 0
}

// place returns the slot of a text, or the empty one where it belongs, and its hash.
func (t *Texts) place(text []byte) (slot, hash uint32) {
	hash = uint32(maphash.Bytes(t.seed, text))
	mask := uint32(len(t.slots) - 1)
	for slot = hash & mask; t.slots[slot].number > 0; slot = (slot + 1) & mask {
		if s := t.slots[slot]; s.hash == hash && t.texts[s.number-1] == string(text) {
			break
		}
	}
	return slot, hash
}

// Clone returns a copy.
func (t *Texts) Clone() Texts {
	return Texts{slots: slices.Clone(t.slots), texts: slices.Clone(t.texts), seed: t.seed}
}

// The sizes of shared allocations, in bytes, and the length from which a text gets its own.
const leastRoom, mostRoom, longText = 512, 256 << 10, 16 << 10

// keep copies a text.
func (t *Texts) keep(text []byte) string {
	if len(text) >= longText {
		return string(text)
	}
	if t.room == nil || t.room.Cap()-t.room.Len() < len(text) {
		size := leastRoom
		if t.room != nil {
			size = min(2*t.room.Cap(), mostRoom)
		}
		t.room = &strings.Builder{}
		t.room.Grow(max(size, len(text)))
	}
	from := t.room.Len()
	t.room.Write(text)
	return t.room.String()[from:]
}

func (t *Texts) resize() {
	if t.slots == nil {
		t.seed = maphash.MakeSeed()
	}
	old := t.slots
	t.slots = make([]textSlot, max(2*len(old), least))
	t.texts = slices.Grow(t.texts, len(t.slots)/4*3-len(t.texts))
	mask := uint32(len(t.slots) - 1)
	for _, s := range old {
		if s.number > 0 {
			i := s.hash & mask
			for t.slots[i].number > 0 {
				i = (i + 1) & mask
			}
			t.slots[i] = s
		}
	}
}
