package accel

// Merge makes the edges that were added rows like the others, in a graph of its
// own. The order is that of Adjacency.Order again where there are intervals.
func (s *Sorted) Merge() error {
	s.merge()
	if s.Intervals == nil {
		return nil
	}
	order, err := s.Adjacency.Order()
	if err != nil {
		return err
	}
	s.Order = order
	s.rank(0, s.Len())
	return nil
}

func (a *Adjacency) merge() {
	n := a.Len()
	g := *a.Graph
	g.Start = make([]int64, n+1)
	for _, e := range a.Added {
		g.Start[e.To]++
	}
	end := int64(0)
	for v := range n {
		end += g.Start[v] + int64(len(a.Into(v)))
		g.Start[v] = end
	}
	g.Start[n] = end
	g.From = make([]int32, end)
	for _, e := range a.Added {
		g.Start[e.To]--
		g.From[g.Start[e.To]] = e.From
	}
	for v := range n {
		list := a.Into(v)
		g.Start[v] -= int64(len(list))
		copy(g.From[g.Start[v]:], list)
	}
	a.Graph = &g
	a.Added, a.nextOut, a.nextIn, a.addedOut, a.addedIn = nil, nil, nil, nil, nil
	a.turn()
}
