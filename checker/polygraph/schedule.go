package polygraph

import (
	"context"
	"slices"

	"github.com/isohound/isohound/accel/parallel"
	"github.com/isohound/isohound/history"
)

// schedule guesses an execution. It takes the nodes in a topological order of the known graph. It
// places a transaction when its reads return their values, and delays a writer that would overwrite
// a value with reads still to come. At snapshot isolation it delays the start of such a writer,
// too, because all other writers of its keys wait until it commits. It then commits at once if
// possible. If no node fits, the schedule places one that does not fit. The resulting order keeps
// all known edges. Its wrong reads are left to the search. Among the nodes that fit, the one with
// the lowest priority comes first: by recorded times or, without times, by known paths.
//
// Waiting is bounded, because a few more wrong reads cost the search less than an order that is far
// from every correct one.
type schedule struct {
	m *model
	g *graph

	priority []int64 // by node; the lowest comes first
	deadline []int64 // by node: it has waited long enough when the next ready node has a higher priority
	// belongs is, by node, its estimated position on the scale of a sequence. It is nil if
	// priorities do not come from known paths. Deadlines then mean nothing.
	belongs []int32
	strict  bool // end when no node fits
	retries int  // how often retry may still look at a node that does not fit
	// lasts are starts of transactions with the last unplaced write of a value whose unplaced reads
	// are not all waiting for it yet. If want is set, these starts wait until nothing else fits.
	lasts   waiting
	want    []int32 // by class: how many starts wait for a write of it
	harm    int     // how many nodes were placed although they did not fit
	missing []int32 // by node: how many of its predecessors are not placed
	ready   waiting
	stuck   waiting // waiting nodes, by deadline; some have been woken since
	waits   []bool
	parked  []uint8 // by node: how often it has waited
	order   []int32

	current []int32 // by key: the class of its value
	left    []left  // by class: its unplaced reads and writes
	holder  []int32 // by key: the transaction that has started to write it (snapshot isolation)

	forValue, forReaders lists[int32] // by class: nodes that wait for its write, or for its reads
	forHolder            lists[int32] // by key: starts that wait for the holder's commit
	forChange            lists[int32] // by key: nodes that wait for any other value; empty without sets
}

// left counts the unplaced reads and writes of a value. reader is the latest transaction that
// reads it and found it current.
type left struct{ reads, writes, reader int32 }

// lists are linked lists of items, one for each index.
type lists[T any] struct {
	head, next []int32
	item       []T
}

func newLists[T any](n int) lists[T] {
	l := lists[T]{head: make([]int32, n)}
	stamp(l.head)
	return l
}

func (l *lists[T]) push(i int32, item T) {
	l.next = append(l.next, l.head[i])
	l.item = append(l.item, item)
	l.head[i] = int32(len(l.item) - 1)
}

func (s *schedule) rank(node int32) ranked { return ranked{s.priority[node], node} }

// patience is how often a node waits for an event. An event wakes all nodes that wait for it, and
// most of them have to wait again. After that a node waits until nothing else fits.
const patience = 16

// guess returns the nodes in an order that keeps the known edges, without the nodes after a cycle.
// It also returns their estimated positions: see alongPaths. hint, if not nil, has a position for
// each transaction. The error is the cause of ctx's end.
func guess(ctx context.Context, m *model, g *graph, hint []int64) (order, belongs []int32, err error) {
	s := newSchedule(m, g, hint)
	order, err = s.run(ctx)
	return order, s.belongs, err
}

func newSchedule(m *model, g *graph, hint []int64) *schedule {
	classes := int(m.values())
	s := &schedule{m: m, g: g, waits: make([]bool, g.nodes), parked: make([]uint8, g.nodes), order: make([]int32, 0, g.nodes),
		current: make([]int32, m.h.KeyCount()), left: make([]left, classes),
		forValue: newLists[int32](classes), forReaders: newLists[int32](classes), forHolder: newLists[int32](m.h.KeyCount())}
	if len(m.sets) > 0 {
		s.forChange = newLists[int32](m.h.KeyCount())
	}
	if g.apart {
		s.holder = make([]int32, m.h.KeyCount())
		stamp(s.holder)
	}
	for c := range s.left {
		s.left[c].reader = none
	}
	g.freeze()
	parallel.Both(func() { s.prioritize(hint) }, s.count)
	return s
}

// run places the nodes.
func (s *schedule) run(ctx context.Context) ([]int32, error) {
	for v := range s.g.nodes {
		if s.missing[v] == 0 {
			s.ready.push(s.rank(v))
		}
	}
	for n := 0; ; n++ {
		if n&0xfff == 0xfff && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		for len(s.stuck) > 0 && !s.waits[s.stuck[0].node] {
			s.stuck.pop()
		}
		switch {
		case len(s.ready) > 0 && !s.late():
			s.visit(s.ready.pop())
		case s.strict && s.retry():
		case len(s.lasts) > 0:
			if v := s.lasts.pop(); !s.mustWait(v) {
				s.place(v, false)
			} else {
				s.wait(v)
			}
		case len(s.stuck) > 0 && !s.strict:
			v := s.stuck.pop()
			s.waits[v] = false
			s.force(v)
		default:
			return s.order, nil
		}
	}
}

// writesLast reports whether node is a start that belongs to lasts.
func (s *schedule) writesLast(node int32) bool {
	t := s.counts(node)
	if t == none || node != s.g.start(t) {
		return false
	}
	for _, w := range s.m.writesOf.of(t) {
		if c := s.m.class[w]; s.left[c].writes == 1 && s.left[c].reads > s.want[c] {
			return true
		}
	}
	return false
}

// retry places the first waiting node that fits now, and reports whether there was one. It is
// needed because a node is no longer woken after patience waits.
func (s *schedule) retry() bool {
	var still []ranked
	placed := false
	for len(s.stuck) > 0 && !placed && s.retries > 0 {
		r := s.stuck[0]
		s.stuck.pop()
		switch {
		case !s.waits[r.node]:
		case s.mustWait(r.node):
			s.retries--
			still = append(still, r)
		default:
			s.waits[r.node] = false
			s.place(r.node, false)
			placed = true
		}
	}
	for _, r := range still {
		s.stuck.push(r)
	}
	return placed
}

// late reports whether a node has waited past its deadline. It is false while a commit waits: the
// commit blocks other nodes, so the ready ones go first.
func (s *schedule) late() bool {
	return s.belongs != nil && len(s.stuck) > 0 && s.stuck[0].priority != atOnce && s.ready[0].priority > s.stuck[0].priority &&
		s.harm > harmless && s.harm > len(s.order)/harmlessShare
}

// Up to harmless forced placements, or one in harmlessShare nodes, do not show that waiting is in
// vain.
const (
	harmless      = 4
	harmlessShare = 256
)

// count initialises the numbers of unplaced predecessors, reads and writes.
func (s *schedule) count() {
	m := s.m
	s.missing = s.g.incoming()
	for k := range s.current {
		s.current[k] = int32(k)
	}
	for r := range m.reads {
		if rd := &m.reads[r]; rd.source != fromNowhere && rd.class < m.values() && !m.optional[rd.txn] {
			s.left[rd.class].reads++
		}
	}
	for w, c := range m.class {
		if !m.optional[m.writer[w]] {
			s.left[c].writes++
		}
	}
}

// atOnce is the priority of nodes that are placed as soon as possible: time points, and commits
// that are not also starts. A transaction that has started blocks others.
const atOnce = -1

// prioritize sets the priority of each start: its position in hint, or its recorded time, or else
// its estimated position by known paths.
func (s *schedule) prioritize(hint []int64) {
	m, g := s.m, s.g
	s.priority = make([]int64, g.nodes)
	if hint == nil && !m.h.Timed() {
		s.alongPaths()
		return
	}
	s.deadline = s.priority
	for v := range s.priority {
		s.priority[v] = atOnce
	}
	for t := range int32(len(m.txns)) {
		var p int64
		switch x := m.txn(t); {
		case hint != nil:
			p = hint[t]
		case x.End != history.NoTime:
			p = x.End
		case x.Begin != history.NoTime:
			p = x.Begin
		}
		s.priority[g.start(t)] = p
	}
}

// alongPaths estimates the position of each start by known paths: the middle between its earliest
// and its latest possible position, by the longest paths before and after it. In priorities and
// deadlines one step of a path is 2. The deadline is a quarter of the way from the middle to the
// latest position, plus two steps. A commit belongs half a step after its start. Nodes after a
// cycle get no priority.
func (s *schedule) alongPaths() {
	g := s.g
	before, behind := make([]int32, g.nodes), make([]int32, g.nodes)
	longest := int32(0)
	order := g.topological(func(v, to int32) { before[to] = max(before[to], before[v]+1) })
	for _, v := range slices.Backward(order) {
		for _, to := range g.after.of(v) {
			behind[v] = max(behind[v], behind[to]+1)
		}
		longest = max(longest, behind[v])
	}
	s.deadline = make([]int64, g.nodes)
	for _, v := range order {
		s.priority[v] = int64(g.nodes + before[v] - behind[v])
		s.deadline[v] = s.priority[v] + int64(longest-before[v]-behind[v])/4 + 4
	}
	s.belongs = make([]int32, g.nodes)
	place := func(half int32) int32 { return int32(int64(half) * span / int64(2*longest+2)) }
	for t := range int32(len(s.m.txns)) {
		v, c := g.start(t), g.commit(t)
		half := longest + before[v] - behind[v]
		s.belongs[v] = place(half)
		if c != v {
			s.belongs[c], s.priority[c], s.deadline[c] = place(half+1), atOnce, atOnce
		}
	}
}

// visit places a node or makes it wait.
func (s *schedule) visit(node int32) {
	if s.want != nil && s.writesLast(node) {
		s.lasts.push(s.rank(node))
		return
	}
	if s.mustWait(node) {
		s.wait(node)
		return
	}
	s.place(node, false)
}

// wait makes a node wait. mustWait has already recorded what it waits for.
func (s *schedule) wait(node int32) {
	s.waits[node] = true
	s.parked[node]++
	s.stuck.push(ranked{s.deadline[node], node})
}

// force places a node even if it does not fit.
func (s *schedule) force(node int32) {
	if s.mustWait(node) {
		s.harm++
	}
	s.place(node, true)
}

// counts returns the transaction of a node. It returns none if the node is a time point or if the
// transaction need not count.
func (s *schedule) counts(node int32) int32 {
	if node < int32(len(s.m.txns))<<s.g.split {
		if t := s.g.txnOf(node); !s.m.optional[t] {
			return t
		}
	}
	return none
}

// mustWait reports whether a node does not fit yet, and records what it waits for.
func (s *schedule) mustWait(node int32) bool {
	t := s.counts(node)
	if t == none {
		return false
	}
	start, commit := node == s.g.start(t), node == s.g.commit(t)
	return start && s.startWaits(node, t) || commit && s.commitWaits(node, t, start)
}

// place places a node. If it is a start and its commit is ready, the commit is next. If the start
// was forced, the commit is forced, too.
func (s *schedule) place(node int32, forced bool) {
	if t := s.counts(node); t != none {
		if node == s.g.start(t) {
			s.started(t)
		}
		if node == s.g.commit(t) {
			s.committed(t)
		}
	}
	commit, next := none, none
	if s.holder != nil && node < int32(len(s.m.txns))<<s.g.split && node == s.g.start(s.g.txnOf(node)) {
		commit = s.g.commit(s.g.txnOf(node))
	}
	s.order = append(s.order, node)
	for _, to := range s.g.after.of(node) {
		switch s.missing[to]--; {
		case s.missing[to] > 0:
		case to == commit:
			next = to // a commit right after its start overlaps with no other transaction
		default:
			s.ready.push(s.rank(to))
		}
	}
	switch {
	case next == none:
	case forced:
		s.force(next)
	default:
		s.visit(next)
	}
}

func (s *schedule) startWaits(node, t int32) bool {
	for r := s.m.readFrom[t]; r < s.m.readFrom[t+1]; r++ {
		rd := &s.m.reads[r]
		if rd.source == fromNowhere {
			continue
		}
		switch {
		case !s.m.accepts(rd.class, s.current[rd.key]):
			if rd.class < s.m.values() {
				s.forValue.push(rd.class, node)
				if s.want != nil {
					s.want[rd.class]++
				}
			} else {
				s.forChange.push(int32(rd.key), node)
			}
			return true
		case rd.class < s.m.values():
			s.left[rd.class].reader = t
		}
	}
	if s.holder != nil {
		for _, w := range s.m.writesOf.of(t) {
			if k := s.m.key[w]; s.holder[k] != none {
				s.forHolder.push(k, node)
				return true
			}
		}
		// Other writers wait until this transaction commits, so it starts only when it could commit.
		return s.commitWaits(node, t, true)
	}
	return false
}

// commitWaits reports whether t overwrites a value that has unplaced reads and no other unplaced
// write. Reads by t itself do not count.
func (s *schedule) commitWaits(node, t int32, starting bool) bool {
	for _, w := range s.m.writesOf.of(t) {
		c := s.current[s.m.key[w]]
		if c == s.m.class[w] || s.left[c].writes > 0 || s.left[c].reads == 0 {
			continue
		}
		if starting && s.left[c].reads == 1 && s.left[c].reader == t {
			continue
		}
		s.forReaders.push(c, node)
		return true
	}
	return false
}

func (s *schedule) started(t int32) {
	for r := s.m.readFrom[t]; r < s.m.readFrom[t+1]; r++ {
		if rd := &s.m.reads[r]; rd.source != fromNowhere && rd.class < s.m.values() {
			l := &s.left[rd.class]
			if l.reads--; l.reads <= 1 {
				s.wake(&s.forReaders, rd.class)
			}
		}
	}
	if s.holder != nil {
		for _, w := range s.m.writesOf.of(t) {
			s.holder[s.m.key[w]] = t
		}
	}
}

func (s *schedule) committed(t int32) {
	for _, w := range s.m.writesOf.of(t) {
		k, c := s.m.key[w], s.m.class[w]
		s.left[c].writes--
		s.current[k] = c
		s.wake(&s.forValue, c)
		if s.want != nil {
			s.want[c] = 0 // all are woken
		}
		if len(s.m.sets) > 0 {
			s.wake(&s.forChange, k)
		}
		if s.holder != nil {
			s.holder[k] = none
			s.wake(&s.forHolder, k)
		}
	}
}

func (s *schedule) wake(l *lists[int32], i int32) {
	if l.head[i] == none {
		return
	}
	for h := l.head[i]; h != none; h = l.next[h] {
		if v := l.item[h]; s.waits[v] && s.parked[v] < patience {
			s.waits[v] = false
			s.ready.push(s.rank(v))
		}
	}
	l.head[i] = none
}
