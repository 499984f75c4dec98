package classic

import (
	"context"
	"slices"

	"github.com/isohound/isohound/accel"
)

// compact is the compact closure of section 4.4. Vertices are identified by their positions in
// the list of begins. Each has a byte for every position from the first to the last that
// overlaps with it; the intervals decide the others.
type compact struct {
	n     int32
	pos   []int32   // by vertex: its position
	edges [][]int32 // by position: the ends of its edges that time does not imply; E \ T
	bytes []byte    // R
	first []int32   // by position: the first that overlaps; L, or l
	last  []int32   // by position: the last that overlaps; r
	at    []int64   // by position: where its bytes begin; O
	anew  bool      // after an insertion Purdom+ constructs R again
}

// newCompact makes everything except R.
func newCompact(g *accel.Graph) *compact {
	t := newTimed(g)
	c := &compact{n: t.n, pos: t.pos, edges: make([][]int32, t.n), first: make([]int32, t.n), last: make([]int32, t.n), at: make([]int64, t.n+1)}
	first := int32(0)
	for i, v := range t.begin {
		c.last[i] = t.last[v]
		for c.last[first] < int32(i) { // first ended before i begins
			first++
		}
		c.first[i] = first
		c.at[i+1] = c.at[i] + int64(c.last[i]-first+1)
		for _, u := range t.out[v] {
			if j := t.pos[u]; j <= c.last[i] {
				c.edges[i] = append(c.edges[i], j)
			}
		}
	}
	return c
}

// Windows returns for every vertex of a graph with intervals the first and the last position,
// among the vertices sorted by their begins, of those that overlap with it.
func Windows(g *accel.Graph) (first, last []int32) {
	c := newCompact(g)
	first, last = make([]int32, c.n), make([]int32, c.n)
	for v, i := range c.pos {
		first[v], last[v] = c.first[i], c.last[i]
	}
	return first, last
}

func (c *compact) size() int64 { return c.at[c.n] }

// reset initialises R: each position reaches itself.
func (c *compact) reset() {
	c.bytes = make([]byte, c.size())
	for i := range c.n {
		c.set(i, i)
	}
}

func (c *compact) set(i, j int32) { c.bytes[c.at[i]+int64(j-c.first[i])] = 1 }

// reaches is r(i, j) for positions.
func (c *compact) reaches(i, j int32) bool {
	switch {
	case j > c.last[i]:
		return true
	case j < c.first[i]:
		return false
	}
	return c.bytes[c.at[i]+int64(j-c.first[i])] != 0
}

func (c *compact) Reaches(from, to int32) bool { return c.reaches(c.pos[from], c.pos[to]) }
func (c *compact) Bytes() int64                { return c.size() }

// Insert updates the closure, or constructs it again with Purdom+.
func (c *compact) Insert(ctx context.Context, e accel.Edge) (bool, error) {
	i, j := c.pos[e.From], c.pos[e.To]
	switch {
	case c.reaches(i, j):
		return true, nil
	case c.reaches(j, i):
		return false, nil
	case !c.anew:
		c.italiano(i, j)
		return true, nil
	}
	c.edges[i] = append(slices.Clip(c.edges[i]), j)
	return true, c.purdom(ctx)
}

// ItalianoPlus adds the edges that time does not imply one by one, like Italiano: first those of
// the transactions that begin last.
func ItalianoPlus(ctx context.Context, g *accel.Graph) (Closure, error) {
	c := newCompact(g)
	c.reset()
	for i := c.n - 1; i >= 0; i-- {
		if i&0xff == 0 && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		for _, j := range c.edges[i] {
			if !c.reaches(i, j) {
				c.italiano(i, j)
			}
		}
	}
	return c, nil
}

// italiano adds the edge from i to j. Lemma 4.3 bounds the vertices that newly reach something,
// and Lemma 4.4 the vertices that are newly reached.
func (c *compact) italiano(i, j int32) {
	for u := c.first[j]; u <= min(c.last[i], c.last[j]); u++ {
		if !c.reaches(u, i) {
			continue
		}
		for v := max(c.first[u], c.first[i], c.first[j]); v <= min(c.last[u], c.last[i]); v++ {
			if c.reaches(j, v) {
				c.set(u, v)
			}
		}
	}
}
