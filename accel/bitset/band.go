package bitset

import (
	"cmp"
	"slices"
	"sort"
	"sync"

	"github.com/isohound/isohound/accel"
)

const (
	chunkBits = 16
	widest    = 1 << 7 // words of a band; small enough for the bytes in row
	narrowest = 1 << 4
)

// band is a range of columns of all rows.
type band struct {
	lo, words int // its first word, and how many
	rows      []row
	chunks    [][]uint64
	used      int // words of the last chunk
	held      int // words of all chunks
	chunk     int // words of the next chunk
}

// row is the part of a row in one band. The first off words are full. The next n words are
// stored in chunks at address at, with room for size words. The remaining words are empty.
type row struct {
	at           uint32
	off, n, size uint8
}

func (r row) end() int { return int(r.off) + int(r.n) }

// cut divides the columns into bands.
func (c *Closure) cut(words int) {
	if words == 0 {
		words = widest
	}
	for words > narrowest && c.width/words < c.workers {
		words /= 2
	}
	n := int(c.s.Len())
	for c.shift = 0; 1<<c.shift < words && (1<<c.shift < c.width || n > 1<<(31-c.shift)); c.shift++ {
	}
	for c.shift > 0 && uint64(n)<<c.shift > 1<<31 { // so that addresses fit into 32 bits
		c.shift--
	}
	words = 1 << c.shift
	c.bound = n*words + n*words/64
	for lo := 0; lo < c.width; lo += words {
		c.bands = append(c.bands, band{lo: lo, words: min(words, c.width-lo)})
	}
}

// stored returns the stored words of a row.
func (b *band) stored(r row) []uint64 {
	if r.n == 0 {
		return nil
	}
	at := int(r.at & (1<<chunkBits - 1))
	return b.chunks[r.at>>chunkBits][at : at+int(r.n)]
}

// room allocates size words and returns their address.
func (b *band) room(size int) uint32 {
	if last := len(b.chunks) - 1; last < 0 || b.used+size > len(b.chunks[last]) {
		b.chunk = min(max(2*b.chunk, 8*b.words, 64), 1<<chunkBits)
		b.chunks = append(b.chunks, newChunk(b.chunk))
		b.held += b.chunk
		b.used = 0
	}
	at := uint32(len(b.chunks)-1)<<chunkBits + uint32(b.used)
	b.used += size
	return at
}

// chunks keeps the chunks of closed closures, because fresh memory costs more than the work done
// on it. Reused chunks are not zeroed.
var chunks sync.Pool

func newChunk(size int) []uint64 {
	if size == 1<<chunkBits {
		if c, ok := chunks.Get().(*[1 << chunkBits]uint64); ok {
			return c[:]
		}
	}
	return make([]uint64, size)
}

// free gives back the chunks of a band.
func (b *band) free() {
	for _, c := range b.chunks {
		if len(c) == 1<<chunkBits {
			chunks.Put((*[1 << chunkBits]uint64)(c))
		}
	}
	b.chunks, b.rows, b.used, b.held, b.chunk = nil, nil, 0, 0, 0
}

// grow extends the stored words of the row of v up to end, and reserves a few more when it moves
// them.
func (b *band) grow(v int32, end int) {
	r := b.rows[v]
	old := b.stored(r)
	need := end - int(r.off)
	if need > int(r.size) {
		r.size = uint8(min((need+7)&^7, b.words-int(r.off)))
		r.at = b.room(int(r.size))
	}
	r.n = uint8(need)
	now := b.stored(r)
	copy(now, old)
	clear(now[len(old):])
	b.rows[v] = r
}

// compact moves the rows together if they hold more words than the bound.
func (b *band) compact(bound int) {
	if b.held-b.chunk <= bound {
		return
	}
	from := *b
	b.chunks, b.used, b.held = nil, 0, 0
	for v, r := range b.rows {
		words := from.stored(r)
		r.size = r.n
		if r.n > 0 {
			r.at = b.room(len(words))
			copy(b.stored(r), words)
		}
		b.rows[v] = r
	}
}

// Memory implements accel.Backend. It counts a bit for every vertex and every source that may
// reach it; with intervals, only for sources that overlap with the vertex. It adds eight bytes
// for each row of a band, and for each band the unused part of a chunk.
func (b Backend) Memory(g *accel.Graph) int64 {
	n, sources := int64(g.Len()), int64(g.SourceCount())
	columns, led := sources, int64(0)
	if g.Pairs {
		columns, led = sources/2, int64(len(g.From))
	}
	width := columns/64 + 1
	bands := (width + narrowest - 1) / narrowest
	matrix := 8 * n * width
	if g.Intervals != nil && !b.Full {
		matrix = min(matrix, 8*overlaps(g))
	}
	slack := matrix/64 + bands<<(chunkBits+3) + 64*width
	lists := 12*sources + 8*64*width + 4*int64(len(g.From)) + int64(len(g.From))/8 + 8*led + 28*n + 64*bands
	return matrix + slack + 8*n*bands + lists + accel.SortedMemory(g)
}

// overlaps bounds the total number of words of all rows of a graph with intervals. Sorted by
// their begins, the vertices that overlap with one are between the first that ends late enough
// and the last that begins early enough. Rows have whole words at both ends.
func overlaps(g *accel.Graph) int64 {
	n := g.Len()
	begins, latest := make([]int64, 0, n), make([]int64, 0, n)
	var order []accel.Interval
	for v, at := range g.Intervals[:g.SourceCount()] {
		if !g.Pairs || v&1 != 0 {
			order = append(order, at)
		}
	}
	slices.SortFunc(order, func(a, b accel.Interval) int { return cmp.Compare(a.Begin, b.Begin) })
	for _, at := range order {
		begins = append(begins, at.Begin)
		end := at.End
		if len(latest) > 0 {
			end = max(end, latest[len(latest)-1])
		}
		latest = append(latest, end)
	}
	words := int64(0)
	for _, at := range g.Intervals {
		first, _ := slices.BinarySearch(latest, at.Begin)
		last := sort.Search(len(begins), func(i int) bool { return begins[i] > at.End })
		words += int64(max(0, last-first)/64 + 2)
	}
	return words
}

// Bytes implements accel.Closure.
func (c *Closure) Bytes() int64 {
	bytes := 4*int64(cap(c.column)+cap(c.at)+cap(c.touched)) + 8*int64(cap(c.news)+cap(c.added)+cap(c.in)/2+cap(c.spared)) + c.s.Bytes()
	if c.s.Graph != c.g {
		bytes += 8*int64(cap(c.s.Start)) + 4*int64(cap(c.s.From))
	}
	if c.leads != nil {
		bytes += 4*int64(cap(c.stand)) + 4*int64(cap(c.leads.from)+cap(c.leads.column))
	}
	for i := range c.bands {
		b := &c.bands[i]
		bytes += 8*int64(b.held+cap(b.rows)) + 24*int64(cap(b.chunks))
	}

	for _, p := range c.passes {
		bytes += p.bytes()
	}
	return bytes
}
