package bitset

import (
	"context"
	"iter"
	"math/bits"
	"slices"

	"github.com/isohound/isohound/accel"
	"github.com/isohound/isohound/accel/parallel"
)

// Closing implements accel.Closure.
func (c *Closure) Closing(ctx context.Context, edges []accel.Edge, groups []int32, out []bool) error {
	return accel.Closing(ctx, c, c.workers, edges, groups, out)
}

// TwoCycles implements accel.Closure.
func (c *Closure) TwoCycles(ctx context.Context, edges []accel.Edge, f func(i, j int32) bool) error {
	return accel.TwoCycles(ctx, c, c.s.Rank, c.workers, edges, f)
}

// Among implements accel.Closure. A group asks for a few bits of many rows, all over the rows.
// Therefore each row is read once for all groups, in the order of the columns: rows that are
// near each other in this order are near each other in memory.
func (c *Closure) Among(ctx context.Context, groups *accel.Groups) error {
	groups.Layout()
	a := newAmong(c, groups)
	return parallel.Share(ctx, c.workers, len(c.at), 256, func(numbers iter.Seq[int]) {
		rows := [2][]uint64{make([]uint64, c.width), make([]uint64, c.width)}
		for column := range numbers {
			a.fill(column, rows)
		}
	})
}

// among answers a question about groups.
type among struct {
	c *Closure
	*accel.Groups
	column []uint32 // by member: its column; for the first of a pair that of the second
	// The members with column i are members[first[i]:first[i+1]].
	members []member
	first   []int32
	// With pairs: seconds is, by group, the number of members up to the last second; rank is, by
	// member, its position in the order.
	seconds, rank []int32
}

// member is a member of a group, by its index among the members of all groups.
type member struct{ at, group int32 }

func newAmong(c *Closure, groups *accel.Groups) *among {
	n, columns := len(groups.Members), len(c.at)
	a := &among{c: c, Groups: groups, column: make([]uint32, n), first: make([]int32, columns+1), members: make([]member, n)}
	if c.leads != nil {
		a.seconds, a.rank = make([]int32, len(groups.Start)), make([]int32, n)
	}
	// A counting sort. Each part of the groups counts for itself.
	parts := 1
	if n > 1<<14 {
		parts = parallel.Workers(c.workers)
	}
	next := make([][]int32, parts) // by part and column: where its next member goes
	all := len(a.Start) - 1
	parallel.Do(parts, func(p int) {
		next[p] = make([]int32, columns)
		for g := all * p / parts; g < all*(p+1)/parts; g++ {
			a.count(g, next[p])
		}
	})
	end := int32(0)
	for column := range columns {
		a.first[column] = end
		for p := range parts {
			next[p][column], end = end, end+next[p][column]
		}
	}
	a.first[columns] = end
	parallel.Do(parts, func(p int) {
		for g := all * p / parts; g < all*(p+1)/parts; g++ {
			for i := a.Start[g]; i < a.Start[g+1]; i++ {
				at := &next[p][a.column[i]]
				a.members[*at] = member{i, int32(g)}
				*at++
			}
		}
	})
	return a
}

// count counts the members of a group by column, and notes what is asked of each.
func (a *among) count(g int, counts []int32) {
	for i := a.Start[g]; i < a.Start[g+1]; i++ {
		v := a.Members[i]
		a.column[i] = uint32(a.c.stand[v])
		counts[a.c.stand[v]]++
		if a.rank != nil {
			a.rank[i] = a.c.s.Rank[v]
			if v&1 != 0 {
				a.seconds[g] = i + 1 - a.Start[g]
			}
		}
	}
}

// fill answers for all members with a column: a source or both sources of a pair. rows is
// scratch for their rows.
func (a *among) fill(column int, rows [2][]uint64) {
	var read [2]bool
	for _, m := range a.members[a.first[column]:a.first[column+1]] {
		v := a.Members[m.at]
		if !read[v&1] {
			a.c.row(v, rows[v&1])
			read[v&1] = true
		}
		a.answer(m.at, m.group, rows[v&1])
	}
}

// answer fills the row of member i, which is in group g, given its row of the matrix.
func (a *among) answer(i, g int32, row []uint64) {
	from, to := a.Start[g], a.Start[g+1]
	words := int64(to-from+63) / 64
	out := a.Bits[a.At[g]+int64(i-from)*words:][:words]
	second := a.Members[i]&1 != 0
	if a.rank != nil && !second {
		to = from + a.seconds[g]
	}
	for w := 0; from < to; w, from = w+1, from+64 {
		end := min(to, from+64)
		word := uint64(0)
		for b, column := range a.column[from:end] {
			word |= row[column>>6] >> (column & 63) & 1 << (b & 63)
		}
		if a.rank != nil && second && len(a.c.leads.column) > 0 {
			word |= a.firsts(i, from, end, word, row)
		}
		out[w] = word
	}
}

// firsts returns the bits of the firsts in [from, to) that reach member i on a path that does
// not begin with the edge to their second. word has the other bits.
func (a *among) firsts(i, from, to int32, word uint64, row []uint64) uint64 {
	bits := uint64(0)
	for b, rank := range a.rank[from:to] {
		if v := a.Members[from+int32(b)]; rank < a.rank[i] && word>>b&1 == 0 && v&1 == 0 && a.c.leads.reach(v, row) {
			bits |= 1 << b
		}
	}
	return bits
}

// mostCommon bounds the number of sources that one call of Common returns.
const mostCommon = 8

// Common implements accel.Closure. It calls f for the latest such source, then for the latest of
// those that do not reach it, and so on.
func (c *Closure) Common(of []int32, not int32, f func(from int32)) {
	var common []int32
	c.common(of, not, func(i int, w uint64) {
		for ; w != 0; w &= w - 1 {
			if column := i<<6 + bits.TrailingZeros64(w); column < len(c.at) {
				common = append(common, c.at[column])
			}
		}
	})
	for range mostCommon {
		if len(common) == 0 {
			return
		}
		latest := common[0]
		for _, v := range common {
			if c.s.Rank[v] > c.s.Rank[latest] {
				latest = v
			}
		}
		f(latest)
		common = slices.DeleteFunc(common, func(v int32) bool { return c.Reaches(v, latest) })
	}
}

// common calls f for each word of columns with sources that reach all vertices in of and do not
// reach not, with the bits of these sources. Bits after the last column are undefined.
func (c *Closure) common(of []int32, not int32, f func(word int, bits uint64)) {
	for i := range c.bands {
		b := &c.bands[i]
		r := b.rows[not]
		words := b.stored(r)
		end := b.words
		for _, u := range of {
			end = min(end, b.rows[u].end())
		}
		for w := int(r.off); w < end; w++ {
			bits := ^r.word(words, w)
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
