package chains

import "github.com/isohound/isohound/accel"

// Cover returns a path cover of the sources along edges: each vertex goes on the
// path that the latest of its predecessors is the end of.
func Cover(s *accel.Sorted) *accel.Cover {
	n := s.SourceCount()
	c := &accel.Cover{Chain: make([]int32, n), Place: make([]int32, n)}
	taken := make([]bool, n)
	for _, v := range s.Order {
		if v >= n {
			continue
		}
		last := int32(-1)
		for _, list := range [][]int32{s.Into(v), s.TimeIn(v)} {
			for _, u := range list {
				if u < n && !taken[u] && (last < 0 || s.Rank[u] > s.Rank[last]) {
					last = u
				}
			}
		}
		if last < 0 {
			c.Chain[v], c.Place[v] = c.Count, 1
			c.Count++
			continue
		}
		taken[last] = true
		c.Chain[v], c.Place[v] = c.Chain[last], c.Place[last]+1
	}
	return c
}
