package classic

import (
	"context"

	"github.com/isohound/isohound/accel"
)

// PurdomPlus is Algorithm 1 of the paper, with these corrections:
//
//   - line 11 must begin the loop over time-successors after the last position
//     of the loop over edges; and the positions that a vertex reaches together
//     (lines 16 and 17) are those after d, without d itself, which at first is
//     the last one that overlaps;
//   - o_g (lines 22 and 27) becomes r + 1: with r, position r itself would count
//     as visited without being visited;
//   - a vertex that is last in time has no minimum time-successor, and nothing
//     is skipped there;
//   - s only keeps positions up to d.
func PurdomPlus(ctx context.Context, g *accel.Graph) (Closure, error) {
	c := newCompact(g)
	c.anew = true
	if err := c.purdom(ctx); err != nil {
		return nil, err
	}
	return c, nil
}

func (c *compact) purdom(ctx context.Context) error {
	c.reset()
	// enough is, by position, the last position that overlaps with the time-successor that ends
	// first: later positions are reached through it.
	enough := make([]int32, c.n+1)
	enough[c.n] = c.n - 1
	for i := c.n - 1; i >= 0; i-- {
		enough[i] = min(enough[i+1], c.last[i])
	}
	s := make([][]int32, c.n) // by position: what it reaches up to d, in order
	d := make([]int32, c.n)   // by position: it reaches everything after this
	var merged, spare []int32
	for n, i := range c.reverse() {
		if n&0xff == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		merged, d[i] = append(merged[:0], i), c.last[i]
		most := enough[c.last[i]+1]
		add := func(j int32) {
			d[i] = min(d[i], d[j])
			spare = union(spare[:0], merged, s[j])
			merged, spare = spare, merged
		}
		for _, j := range c.edges[i] {
			if j <= most {
				add(j)
			}
		}
		for j := c.last[i] + 1; j <= most; j++ {
			add(j)
		}
		for len(merged) > 0 && merged[len(merged)-1] > d[i] {
			merged = merged[:len(merged)-1]
		}
		s[i] = append([]int32(nil), merged...)
		for _, j := range merged {
			c.set(i, j)
		}
		for j := d[i] + 1; j <= c.last[i]; j++ {
			c.set(i, j)
		}
	}
	return nil
}

// union appends the union of two ascending lists without duplicates to out.
func union(out, a, b []int32) []int32 {
	for len(a) > 0 && len(b) > 0 {
		switch x, y := a[0], b[0]; {
		case x < y:
			out, a = append(out, x), a[1:]
		case x > y:
			out, b = append(out, y), b[1:]
		default:
			out, a, b = append(out, x), a[1:], b[1:]
		}
	}
	return append(append(out, a...), b...)
}

// reverse is timed.reverse for positions. It skips edges of time to visited positions.
func (c *compact) reverse() []int32 {
	t := timed{n: c.n, out: c.edges, last: c.last}
	places := make([]int32, c.n)
	for i := range c.n {
		places[i] = i
	}
	return t.reverse(func(i, seen int32) []int32 { return places[min(c.last[i]+1, seen):seen] })
}
