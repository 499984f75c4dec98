package certify

// clauses are what a refutation has derived so far. What follows from them by
// unit propagation alone, without any assumption, is kept assigned; each clause
// of two or more open literals is found by two of them, which are not false.
//
// A literal is 2v or 2v+1, a variable or its negation.
type clauses struct {
	values  []int8 // by literal: 1 true, -1 false, 0 open
	watches [][]watcher
	lits    [][]int32 // by clause; nil where it was forgotten
	has     []int32   // by literal: the latest clause, by its number of now, with that literal
	now     int32
	trail   []int32
	head    int // trail[:head] has been propagated
	// refuted: the clauses contradict each other by unit propagation.
	refuted bool
	effort  int // literals and watchers looked at since takeEffort
}

// watcher is a clause with one of its literals, which if true spares the look.
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

// none stands for a clause that need not be kept.
const none = int32(-1)

// add adds a clause, which must be true of every execution, and returns its
// number, or none where what it says is already assigned.
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

// forget drops a clause; what it has forced stays assigned.
func (c *clauses) forget(n int32) { c.lits[n] = nil }

// follows reports whether the negation of a clause leads to a contradiction by
// unit propagation, and takes the assumption back.
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

// propagate assigns what the clauses force and returns false if one is false.
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
