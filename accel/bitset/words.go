package bitset

import "math"

// Common calls f for each word of columns that some source has that reaches all of
// some vertices and not v, with the bits of these. Bits behind the last column
// mean nothing.
func (c *Closure) Common(of []int32, v int32, f func(word int, bits uint64)) {
	for i := range c.bands {
		b := &c.bands[i]
		not := b.rows[v]
		words := b.stored(not)
		end := b.words
		for _, u := range of {
			end = min(end, b.rows[u].end())
		}
		for w := int(not.off); w < end; w++ {
			bits := ^not.word(words, w)
			for _, u := range of {
				r := b.rows[u]
				bits &= r.word(b.stored(r), w)
			}
			if bits != 0 {
				f(b.lo+w, bits)
			}
		}
	}
}

// Words puts into out, for each of some columns, the word of the row of v that it
// stands in. It is Word for many: the processor need not wait for one before it
// asks for the next.
func (c *Closure) Words(v int32, columns []int32, out []uint64) {
	var rows [64]row
	shift, mask := c.shift+6, 1<<c.shift-1
	for len(columns) > 0 {
		n := min(len(columns), len(rows))
		for i, column := range columns[:n] {
			rows[i] = c.bands[column>>shift].rows[v]
		}
		for i, column := range columns[:n] {
			r := rows[i]
			switch k := int(column>>6)&mask - int(r.off); {
			case k < 0:
				out[i] = math.MaxUint64
			case k < int(r.n):
				out[i] = c.bands[column>>shift].chunks[r.at>>chunkBits][int(r.at&(1<<chunkBits-1))+k]
			default:
				out[i] = 0
			}
		}
		columns, out = columns[n:], out[n:]
	}
}

// Row puts the row of v into out, which has Width words: see Word.
func (c *Closure) Row(v int32, out []uint64) {
	for i := range c.bands {
		b := &c.bands[i]
		r := b.rows[v]
		to := out[b.lo : b.lo+b.words]
		for w := range to[:r.off] {
			to[w] = math.MaxUint64
		}
		clear(to[int(r.off)+copy(to[r.off:], b.stored(r)):])
	}
}
