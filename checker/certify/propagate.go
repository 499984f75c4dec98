package certify

// clauses are the clauses that a refutation has derived so far. Literals that follow from them by
// unit propagation, without assumptions, stay assigned. Each clause of two or more unassigned
// literals is watched by two literals that are not false.
//
// A literal is 2v for variable v, or 2v+1 for its negation.
type clauses struct {
	values  []int8 // by literal: 1 true, -1 false, 0 unassigned
	watches [][]watcher
	lits    [][]int32 // by clause; nil if it was deleted
	has     []int32   // by literal: the latest clause that had it, by the number now
	now     int32
	trail   []int32
	head    int // trail[:head] has been propagated
	// refuted: unit propagation has derived a contradiction.
	refuted bool
	effort  int // literals and watchers looked at since takeEffort
}

// watcher is a clause with one of its literals, the blocker. If the blocker is true, the clause
// need not be visited.
type watcher struct{ clause, blocker int32 }

// variable adds a variable and returns it as a literal.
func (c *clauses) variable() int32 {
	c.values = append(c.values, 0, 0)
	c.watches = append(c.watches, nil, nil)
	c.has = append(c.has, 0, 0)
	return int32(len(c.values) - 2)
}

func (c *clauses) assign(l int32) {
	c.values[l], c.values[l^1] = 1, -1
	c.trail = append(c.trail, l)
}

func (c *clauses) takeEffort() int {
	n := c.effort
	c.effort = 0
	return n
}

// none stands for a clause that is not kept.
const none = int32(-1)

// add adds a clause that is true in every execution. It returns the clause's number, or none if the
// clause is not kept: it is satisfied, or it is unit and assigned at once.
func (c *clauses) add(clause []int32) int32 {
	c.effort += len(clause)
	c.now++
	var open []int32
	for _, l := range clause {
		switch {
		case c.values[l] == 1 || c.has[l^1] == c.now:
			return none
		case c.values[l] == -1 || c.has[l] == c.now:
			continue
		}
		c.has[l] = c.now
		open = append(open, l)
	}
	switch len(open) {
	case 0:
		c.refuted = true
	case 1:
		c.assign(open[0])
		c.refuted = !c.propagate() || c.refuted
	default:
		n := int32(len(c.lits))
		c.lits = append(c.lits, open)
		c.watches[open[0]] = append(c.watches[open[0]], watcher{n, open[1]})
		c.watches[open[1]] = append(c.watches[open[1]], watcher{n, open[0]})
		return n
	}
	return none
}

// forget deletes a clause. The literals that it has forced stay assigned.
func (c *clauses) forget(n int32) { c.lits[n] = nil }

// follows reports whether unit propagation from the negation of a clause leads to a contradiction
// (RUP). It undoes the assignments.
func (c *clauses) follows(clause []int32) bool {
	if c.refuted {
		return true
	}
	mark := len(c.trail)
	found := false
	for _, l := range clause {
		if c.values[l] == 1 {
			found = true
			break
		}
		if c.values[l] == 0 {
			c.assign(l ^ 1)
		}
	}
	found = found || !c.propagate()
	for _, l := range c.trail[mark:] {
		c.values[l], c.values[l^1] = 0, 0
	}
	c.trail = c.trail[:mark]
	c.head = mark
	return found
}

// propagate does unit propagation. It returns false if a clause is violated.
func (c *clauses) propagate() bool {
	for c.head < len(c.trail) {
		l := c.trail[c.head] ^ 1 // has become false
		c.head++
		list := c.watches[l]
		c.effort += len(list)
		kept := list[:0]
		for i, w := range list {
			if c.values[w.blocker] == 1 {
				kept = append(kept, w)
				continue
			}
			lits := c.lits[w.clause]
			if lits == nil {
				continue
			}
			if lits[0] == l {
				lits[0], lits[1] = lits[1], lits[0]
			}
			first := lits[0]
			moved := false
			if c.values[first] != 1 {
				for n := 2; n < len(lits); n++ {
					if c.values[lits[n]] != -1 {
						lits[1], lits[n] = lits[n], lits[1]
						c.watches[lits[1]] = append(c.watches[lits[1]], watcher{w.clause, first})
						moved = true
						break
					}
				}
			}
			if moved {
				continue
			}
			kept = append(kept, watcher{w.clause, first})
			switch c.values[first] {
			case -1:
				c.watches[l] = append(kept, list[i+1:]...)
				return false
			case 0:
				c.assign(first)
			}
		}
		c.watches[l] = kept
	}
	return true
}
