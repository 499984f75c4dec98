package linear

import (
	"slices"

	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// order is a topological order of the dependency graph, complete if and only
// if the graph is acyclic.
//
// Transaction T has two nodes: its start T<<shift and its commit T<<shift + shift. For
// serializability shift is 0, and both are one node. For snapshot isolation shift is 1. SO, WR, WW
// and RT edges lead from a commit to a start, RW edges from a start to a commit, and there is an
// edge from each start to its own commit. With two nodes the cycles are exactly those of (SO ∪ WR ∪
// WW ∪ RT) ; RW? (Definition 6). So one routine serves every level.
type order struct {
	shift int32
	nodes []int32 // in order; shorter than total when the graph has a cycle
	total int
	done  []bool // by node: it is in nodes
}

// sorter builds an order. It goes through the transactions as they are in the history, which is
// nearly a topological order, and places each one as soon as all its predecessors are placed. A
// node that cannot be placed waits for one missing thing: a commit, or the readers of a version
// that it overwrites. The edges into a node are computed from its own operations, so no edge is
// stored.
type sorter struct {
	*order
	x     *index
	h     *history.History
	ready []int32 // nodes to visit

	before    []int32 // by transaction: its predecessor in session order, or none
	forCommit []int32 // by transaction: the first node that waits for its commit
	forReads  []int32 // by version: the first node that waits for its readers
	alsoWaits []int32 // by node: the next node that waits for the same thing
	// missing is, by version, how many of its pure readers are not placed.
	missing []int32
	rt      *realTime

	// more are the edges of class reads. forStart is, by transaction, the first node that waits for
	// its start; nil if there are no class reads.
	more     []verdict.Edge
	into     edgesInto
	forStart []int32
}

// topological sorts the graph with some more edges.
func (x *index) topological(c *check, guesses []verdict.Edge) (*order, error) {
	h, shift := x.h, int32(0)
	if c.lvl.Snapshot() {
		shift = 1
	}
	n := len(h.Txns)
	s := &sorter{x: x, h: h, missing: x.pure, order: &order{shift: shift, done: make([]bool, n<<shift)}}
	for _, in := range x.counted {
		if in {
			s.total++
		}
	}
	s.total <<= shift
	if x.classes != nil {
		s.missing = slices.Clone(x.pure) // the graph may be sorted again
		s.more = slices.Concat(x.classes.edges, guesses)
		s.into = newEdgesInto(n, s.more)
		s.forStart = make([]int32, n)
		fill(s.forStart, none)
	}
	s.nodes = make([]int32, 0, s.total)
	s.forCommit, s.forReads, s.alsoWaits = make([]int32, n), make([]int32, len(x.writer)), make([]int32, n<<shift)
	fill(s.forCommit, none)
	fill(s.forReads, none)
	if c.lvl.SessionOrder() {
		s.before = x.predecessors()
	}
	if c.lvl.RealTime() {
		s.rt = newRealTime(x)
	}
	for i, in := range x.counted {
		if i%pollEvery == 0 {
			if err := c.stopped(); err != nil {
				return nil, err
			}
		}
		if !in {
			continue
		}
		s.ready = append(s.ready, int32(i)<<shift)
		for len(s.ready) > 0 {
			node := s.ready[len(s.ready)-1]
			s.ready = s.ready[:len(s.ready)-1]
			s.visit(node)
		}
	}
	return s.order, nil
}

// predecessors returns, by transaction, the latest committed transaction before it in its session.
// A transaction of unknown outcome may have ended at any later time, so no session-order edge
// leaves it.
func (x *index) predecessors() []int32 {
	before := make([]int32, len(x.h.Txns))
	last := make([]int32, x.h.SessionCount())
	fill(last, none)
	for i := range x.h.Txns {
		t := &x.h.Txns[i]
		before[i] = last[t.Session]
		if t.Status == history.Committed {
			last[t.Session] = int32(i)
		}
	}
	return before
}

// visit places node or makes it wait.
func (s *sorter) visit(node int32) {
	i := node >> s.shift
	t := &s.h.Txns[i]
	ops := s.h.Ops(t)
	versions := s.x.opVersion[s.h.FirstOp(t):][:len(ops)]
	start, commit := node == i<<s.shift, node == i<<s.shift+s.shift
	if start && s.startWaits(node, i, ops, versions) || commit && s.commitWaits(node, i, ops, versions) {
		return
	}
	if s.into.first != nil && (start && s.classWaits(node, i, verdict.WR) || commit && s.classWaits(node, i, verdict.RW)) {
		return
	}
	s.nodes = append(s.nodes, node)
	s.done[node] = true
	if start {
		for j, v := range versions {
			if v == none || ops[j].Kind != history.Read || s.x.writesLater(i, ops, j) {
				continue
			}
			if s.missing[v]--; s.missing[v] == 0 {
				s.wake(&s.forReads[v])
			}
		}
		if s.forStart != nil {
			s.wake(&s.forStart[i])
		}
		if !commit {
			s.ready = append(s.ready, node+1)
		}
	}
	if commit {
		s.wake(&s.forCommit[i])
		if s.rt != nil {
			s.rt.ended(i, s)
		}
	}
}

// startWaits makes the start of i wait if one of these commits is missing: that of its predecessor,
// of a transaction that it read from, or of one that ended before it began.
func (s *sorter) startWaits(node, i int32, ops []history.Op, versions []int32) bool {
	if s.before != nil && s.before[i] != none && s.commitMissing(node, s.before[i]) {
		return true
	}
	for j, v := range versions {
		if v != none && ops[j].Kind == history.Read {
			if w := s.x.writer[v]; w != none && s.commitMissing(node, w) {
				return true
			}
		}
	}
	return s.rt != nil && s.rt.holds(i)
}

// classWaits makes a node of i wait if the other end of an edge of a class read is missing: for WR,
// which leads to the start, a commit, and for RW, which leads to the commit, a start.
func (s *sorter) classWaits(node, i int32, kind verdict.EdgeKind) bool {
	for n := s.into.first[i]; n != none; n = s.into.next[n] {
		from := s.more[n].From
		switch {
		case s.more[n].Kind != kind:
		case kind == verdict.WR:
			if s.commitMissing(node, from) {
				return true
			}
		case !s.done[from<<s.shift]:
			s.alsoWaits[node], s.forStart[from] = s.forStart[from], node
			return true
		}
	}
	return false
}

func (s *sorter) commitMissing(node, w int32) bool {
	if s.done[w<<s.shift+s.shift] {
		return false
	}
	s.alsoWaits[node], s.forCommit[w] = s.forCommit[w], node
	return true
}

// commitWaits makes the commit of i wait if i overwrote a version of which the start of a reader is
// missing.
func (s *sorter) commitWaits(node, i int32, ops []history.Op, versions []int32) bool {
	for j, v := range versions {
		if v != none && ops[j].Kind == history.Read && s.x.next[v] == i && s.missing[v] > 0 {
			s.alsoWaits[node], s.forReads[v] = s.forReads[v], node
			return true
		}
	}
	return false
}

// wake makes all nodes of a waiting list ready again.
func (s *sorter) wake(list *int32) {
	for n := *list; n != none; n = s.alsoWaits[n] {
		s.ready = append(s.ready, n)
	}
	*list = none
}

// witness turns a complete order into the witness of a satisfied verdict.
func (o *order) witness() *verdict.Witness {
	if o.shift == 0 {
		return &verdict.Witness{Order: o.nodes}
	}
	return &verdict.Witness{Points: o.nodes}
}
