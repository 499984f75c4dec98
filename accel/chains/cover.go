package chains

import (
	"context"

	"github.com/isohound/isohound/accel"
)

// Cover returns a path cover of the sources. Without intervals it has the fewest disjoint paths
// along edges. With intervals, a path may continue from the vertex that ended last before the
// next vertex begins, and there are at most as many paths as vertices overlap at a time. More
// edges of the graph would join few more paths, so they are not searched.
//
// A vertex that begins a path may be reachable from the end of another path in several steps.
// Paths with such jumps were measured; they are hardly fewer.
// several steps. Paths that jump so were measured and are hardly fewer.
func Cover(ctx context.Context, s *accel.Sorted) (*accel.Cover, error) {
	m := newMatching(s)
	m.greedy()
	if s.Intervals == nil {
		if err := m.improve(ctx); err != nil {
			return nil, err
		}
	}
	c := &accel.Cover{Chain: make([]int32, m.sources), Place: make([]int32, m.sources)}
	for _, v := range s.Order {
		if v >= m.sources {
			continue
		}
		if u := m.previous[v]; u >= 0 {
			c.Chain[v], c.Place[v] = c.Chain[u], c.Place[u]+1
			continue
		}
		c.Chain[v], c.Place[v] = c.Count, 1
		c.Count++
	}
	return c, nil
}

// matching joins sources to paths by edges of which no two have the same start or the same end:
// the more edges, the fewer paths.
type matching struct {
	s       *accel.Sorted
	sources int32
	// By source: its successor and its predecessor on its path, or -1.
	next, previous []int32

	level []int32 // by source: its distance from the start of a path, by alternating edges
	tried []int32 // by source: how many of its incoming edges were tried
}

func newMatching(s *accel.Sorted) *matching {
	n := s.SourceCount()
	m := &matching{s: s, sources: n, next: make([]int32, n), previous: make([]int32, n)}
	for v := range n {
		m.next[v], m.previous[v] = -1, -1
	}
	return m
}

// greedy appends each vertex to its latest predecessor without a successor on its path, else to
// the vertex that ended last among those before it in time.
func (m *matching) greedy() {
	s := m.s
	var over []int32 // vertices that lie before all later vertices in time
	prior := int32(0)
	for _, v := range s.Order {
		if s.Intervals != nil && s.Prior(v) > prior {
			over = append(over, s.Ends()[prior:s.Prior(v)]...)
			prior = s.Prior(v)
		}
		if v >= m.sources {
			continue
		}
		best := int32(-1)
		for _, u := range s.Into(v) {
			if m.free(u) && (best < 0 || s.Rank[u] > s.Rank[best]) {
				best = u
			}
		}
		for ; best < 0 && len(over) > 0; over = over[:len(over)-1] {
			if u := over[len(over)-1]; m.free(u) {
				best = u
			}
		}
		if best >= 0 {
			m.next[best], m.previous[v] = v, best
		}
	}
}

func (m *matching) free(u int32) bool { return u < m.sources && m.next[u] < 0 }

// improve adds edges by shortest augmenting paths until there are none (Hopcroft
// and Karp, "An n^5/2 algorithm for maximum matchings in bipartite graphs", 1973).
func (m *matching) improve(ctx context.Context) error {
	m.level, m.tried = make([]int32, m.sources), make([]int32, m.sources)
	for m.measure() {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		clear(m.tried)
		for v := range m.sources {
			if m.previous[v] < 0 {
				m.augment(v)
			}
		}
	}
	return nil
}

// measure computes the levels, and reports whether there is an augmenting path.
func (m *matching) measure() bool {
	var queue []int32
	for v := range m.sources {
		m.level[v] = -1
		if m.previous[v] < 0 {
			m.level[v] = 0
			queue = append(queue, v)
		}
	}
	found := false
	for i := 0; i < len(queue); i++ {
		v := queue[i]
		for _, u := range m.s.Into(v) {
			if u >= m.sources {
				continue
			}
			if w := m.next[u]; w < 0 {
				found = true
			} else if m.level[w] < 0 {
				m.level[w] = m.level[v] + 1
				queue = append(queue, w)
			}
		}
	}
	return found
}

// augment follows the levels from v to a source without a successor, and joins each vertex on
// the way to the source through which it was reached.
func (m *matching) augment(v int32) {
	way := []int32{v}
	for len(way) > 0 {
		v := way[len(way)-1]
		in := m.s.Into(v)
		if int(m.tried[v]) == len(in) {
			way = way[:len(way)-1]
			continue
		}
		u := in[m.tried[v]]
		m.tried[v]++
		if u >= m.sources {
			continue
		}
		if w := m.next[u]; w < 0 {
			for _, v := range way {
				u := m.s.Into(v)[m.tried[v]-1]
				m.next[u], m.previous[v] = v, u
			}
			return
		} else if m.level[w] == m.level[v]+1 {
			way = append(way, w)
		}
	}
}
