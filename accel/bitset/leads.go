package bitset

import "github.com/isohound/isohound/accel"

// leads holds the edges out of the firsts of pairs, so that firsts need no columns: the edges of
// pair i lead to the vertices with the columns column[from[i]:from[i+1]].
type leads struct{ from, column []int32 }

// with returns the leads plus those of more edges, over which each iterates.
func (l *leads) with(c *Closure, each func(f func(from, to int32))) *leads {
	pairs := len(c.column) / 2
	now := &leads{from: make([]int32, pairs+1)}
	each(func(from, to int32) {
		if c.isLead(from, to) {
			now.from[from>>1+1]++
		}
	})
	for i := range pairs {
		now.from[i+1] += now.from[i]
		if l != nil {
			now.from[i+1] += l.from[i+1] - l.from[i]
		}
	}
	now.column = make([]int32, now.from[pairs])
	next := make([]int32, pairs) // by pair: where its next edge is stored
	for i := range next {
		next[i] = now.from[i]
		if l != nil {
			next[i] += int32(copy(now.column[next[i]:], l.column[l.from[i]:l.from[i+1]]))
		}
	}
	each(func(from, to int32) {
		if c.isLead(from, to) {
			now.column[next[from>>1]] = c.column[to]
			next[from>>1]++
		}
	})
	return now
}

// isLead reports whether an edge leads from the first of a pair to a vertex other than its
// second.
func (c *Closure) isLead(from, to int32) bool {
	return from < int32(len(c.column)) && from&1 == 0 && to != from|1
}

// findLeads lists the leads of the graph.
func (c *Closure) findLeads() {
	c.leads = c.leads.with(c, func(f func(from, to int32)) {
		for v := int32(1); v < int32(len(c.column)); v += 2 {
			for _, u := range c.g.Into(v) {
				f(u, v)
			}
		}
	})
}

// addLeads adds the leads among inserted edges.
func (c *Closure) addLeads(edges []accel.Edge) {
	if c.leads != nil {
		c.leads = c.leads.with(c, func(f func(from, to int32)) {
			for _, e := range edges {
				f(e.From, e.To)
			}
		})
	}
}

// of returns the columns of the vertices to which a first leads, without its second.
func (l *leads) of(first int32) []int32 { return l.column[l.from[first>>1]:l.from[first>>1+1]] }

// leadsTo is Reaches for the first of a pair.
func (c *Closure) leadsTo(from, to int32) bool {
	if from == to {
		return true
	}
	if c.s.Rank[from] > c.s.Rank[to] {
		return false
	}
	if c.set(c.stand[from], to) {
		return true
	}
	for _, column := range c.leads.of(from) {
		if c.set(column, to) {
			return true
		}
	}
	return false
}

// set reports whether the row of v has the bit of a column.
func (c *Closure) set(column, v int32) bool {
	return c.word(v, int(column>>6))>>(column&63)&1 != 0
}

// reach reports whether the first of a pair reaches a vertex, given the row of the vertex, on a
// path that does not begin with the edge to its second.
func (l *leads) reach(first int32, row []uint64) bool {
	for _, column := range l.of(first) {
		if row[column>>6]>>(column&63)&1 != 0 {
			return true
		}
	}
	return false
}
