package polygraph

import (
	"context"
	"slices"

	"github.com/isohound/isohound/accel/parallel"
	"github.com/isohound/isohound/history"
)

// schedule guesses an execution: it goes through the known graph and takes a
// transaction when its reads find their values, holding back a writer that
// would overwrite a value still to be read; at snapshot isolation already its
// start, as all other writers of its keys wait until it commits, which it does at
// once where it can. Where nothing fits it takes something all the same; the order
// that comes out keeps all known edges, and what it misreads is left to the search.
// The recorded times, or else how far along the known graph they stand, decide
// between those that fit.
//
// Where waiting does not lead to right reads after all, it has an end: misreads cost
// the search less than an order far from all that are right.
type schedule struct {
	m *model
	g *graph

	priority []int64 // by node, least first
	deadline []int64 // by node: the priority at which it has waited long enough
	// belongs is, by node, where paths have it, as a place in a sequence; nil without
	// priorities by paths, and then deadlines mean nothing.
	belongs []int32
	strict  bool // end where nothing fits
	retries int  // how often a node that has waited long enough may be looked at in vain
	// lasts are starts of transactions that write the last of a value, of which some
	// reads cannot start yet. They wait until nothing else fits, where want is set.
	lasts   waiting
	want    []int32 // by class: how many starts wait for it
	harm    int     // how much was taken that did not fit
	missing []int32 // by node: predecessors not placed
	ready   waiting
	stuck   waiting // nodes that wait, by their deadlines; some have been woken since
	waits   []bool
	parked  []uint8 // by node: how often it has waited
	order   []int32

	current []int32 // by key: the class of its value
	left    []left  // by class: what is not placed
	holder  []int32 // by key: the transaction that has started to write it (snapshot isolation)

	forValue, forReaders lists[int32] // by class: nodes that wait for it to come, or to have been read
	forHolder            lists[int32] // by key: starts that wait for the holder's commit
	forChange            lists[int32] // by key: nodes that wait for another value than it has; empty without sets
}

// left counts the reads and writes of a value that are not placed. reader is the latest
// transaction that could start and reads it.
type left struct{ reads, writes, reader int32 }

// lists are growing lists.
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

// patience is how often a node waits for something: what wakes one often wakes
// all that wait for the same, of which the others wait again. Then it waits until
// nothing fits.
const patience = 16

// guess returns the nodes in an order that keeps the known edges, without those
// that stand behind a cycle, and where they belong: see alongPaths. hint, if not
// nil, has a place for each transaction. The error is the cause of ctx's end.
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

// writesLast reports whether a start is that of a transaction that writes the last of
// a value, of which some reads cannot start yet.
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

// retry places the first of the nodes that wait and fit by now, and reports whether
// there was one: nodes are not woken again and again.
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

// late reports whether something has waited long enough. While a commit waits, which
// holds others up, these may.
func (s *schedule) late() bool {
	return s.belongs != nil && len(s.stuck) > 0 && s.stuck[0].priority != atOnce && s.ready[0].priority > s.stuck[0].priority &&
		s.harm > harmless && s.harm > len(s.order)/harmlessShare
}

// So much that does not fit, in all or of so many nodes one, is no sign that waiting
// is in vain.
const (
	harmless      = 4
	harmlessShare = 256
)

// count counts what is not placed.
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

// atOnce is the priority of time points, and of commits where these are apart from
// starts: what has started holds others up.
const atOnce = -1

// prioritize gives the start of a transaction its place in hint or its time, or else
// a place by known paths.
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

// alongPaths gives each start the middle between how early and how late it may
// come, by the longest paths before and behind it: a step of these is 2. It may wait
// a quarter of the way from there to the latest, and two steps. A transaction belongs
// to the middle of its start. Nodes that stand behind a cycle get no priority.
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

// visit places a node, or has it wait.
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

// wait has a node wait for what mustWait has noted.
func (s *schedule) wait(node int32) {
	s.waits[node] = true
	s.parked[node]++
	s.stuck.push(ranked{s.deadline[node], node})
}

// force places a node that may not fit.
func (s *schedule) force(node int32) {
	if s.mustWait(node) {
		s.harm++
	}
	s.place(node, true)
}

// counts returns the transaction of a node, or none where the node is a time point
// or its transaction need not count.
func (s *schedule) counts(node int32) int32 {
	if node < int32(len(s.m.txns))<<s.g.split {
		if t := s.g.txnOf(node); !s.m.optional[t] {
			return t
		}
	}
	return none
}

// mustWait reports whether a node does not fit yet, and notes what it waits for.
func (s *schedule) mustWait(node int32) bool {
	t := s.counts(node)
	if t == none {
		return false
	}
	start, commit := node == s.g.start(t), node == s.g.commit(t)
	return start && s.startWaits(node, t) || commit && s.commitWaits(node, t, start)
}

// place places a node. Where it is forced, so is the commit behind a start.
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
			next = to // right behind its start a commit overlaps with nothing
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
		// As long as a transaction has not committed others wait for it.
		return s.commitWaits(node, t, true)
	}
	return false
}

// commitWaits: values that t overwrites are still to be read. Its own reads, if
// they are still to come, are no reason.
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
