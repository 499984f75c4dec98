package bitset

import "github.com/isohound/isohound/accel/internal/lanes"

// everything is a full word.
const everything = ^uint64(0)

// union is a row of a band under construction: words before off are full, words from end on are
// empty and hold arbitrary data.
type union struct {
	off, end int
	words    [widest]uint64
}

func (u *union) has(bit int) bool {
	at := bit >> 6
	return at < u.off || at < u.end && u.words[at]>>(bit&63)&1 != 0
}

// extend makes the row end at or after a word.
func (u *union) extend(end int) {
	if end > u.end {
		clear(u.words[u.end:end])
		u.end = end
	}
}

// add adds a row.
func (w *work) add(u *union, r row) {
	if r.end() == 0 {
		return
	}
	u.off = max(u.off, int(r.off))
	u.extend(max(r.end(), u.off))
	words := w.after(r, u.off)
	lanes.Or(u.words[u.off:u.off+len(words)], words)
	w.moved += int64(len(words))
}
