package bitset

import "math"

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
