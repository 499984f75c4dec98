package polygraph

import (
	"context"
	"fmt"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/accel/choose"
)

// saturator adds to the known graph the edges that every execution must have, in passes. It stops
// when a pass costs more than the search that it saves (pruning in the VeriStrong paper, section
// 6.1.1). Of the writers of a key before or after a node, it looks only at the last or first one in
// each chain. The edges for the other writers follow by transitivity.
//
// A version is identified by its value. So a read constrains only writers of other values. The
// source of a read is open until only one writer of its value is left.
type saturator struct {
	m     *model
	g     *graph
	how   Acceleration
	reach *reach // nil: pruning is off, and nothing is saturated

	open   []openRead
	openOn csr        // by key: the open reads on it, at the beginning of this pass
	closed []openRead // the reads that were settled or refuted, with the reasons that ruled candidates out

	contested contested
	groups    groups
	crew      crew

	// fresh is, by key: the next pass looks at the whole key.
	fresh []bool
	// refuted is a read that has no candidate left. It shows a violation without a cycle of the
	// known graph.
	refuted *openRead
	// pulled is, by transaction of unknown outcome that counts, the read that shows that it counts.
	pulled map[int32]int32
	added  int
	passes int
	opened int // reads with several candidates before the first pass
	// thorough: passes go on until nothing is added. This is for small histories, to infer
	// everything that can be inferred.
	thorough bool
	given    int     // edges before the first pass
	room     []int32 // memory for candidates
	warmed   int32   // keeps the compiler from removing fetchSources
	// pending are the reads whose candidates are not listed yet. listed: list has been called.
	pending []int32
	listed  bool
	// choices is the sum of the numbers of candidates of the open reads.
	choices int
}

// accelerate says how to compute reachability.
func (s *saturator) accelerate(how Acceleration) {
	s.how = how
	if s.reach != nil {
		s.reach = newReach(s.m, s.g, how)
	}
}

// openRead is a read with several candidates.
type openRead struct {
	read       int32
	candidates []int32 // writes
	initial    bool    // the initial value is a candidate
	ruledOut   []ruledOut
}

// ruledOut says why a candidate is excluded: the reader comes before it, or another value was
// written between the two.
type ruledOut struct {
	candidate int32 // a write, or fromInitial
	between   int32 // the transaction that wrote another value, or none
	edges     int32 // how many edges were known at that time
}

func newSaturator(m *model, g *graph, prune bool) *saturator {
	s := &saturator{m: m, g: g, pulled: map[int32]int32{}, fresh: make([]bool, m.h.KeyCount())}
	if prune {
		s.reach = newReach(m, g, Acceleration{})
		s.contested = newContested(m, g)
	}
	opened := 0 // at most
	for r := range m.reads {
		rd := &m.reads[r]
		if rd.source != fromOpen {
			continue
		}
		if n := m.mostMembers(rd); n > 1 || n == 1 && m.acceptsInitial(rd) {
			opened++
		}
	}
	s.open = make([]openRead, 0, opened)
	fetched := 0
	for i, t := range m.chains.members.items {
		if i == fetched {
			fetched = s.fetchSources(i)
		}
		if !m.optional[t] {
			s.readsOf(t)
		}
	}
	return s
}

// list lists the candidates of the open reads.
func (s *saturator) list() {
	s.listed = true
	for len(s.pending) > 0 { // settling a read may add more
		pending := s.pending
		s.pending = nil
		for _, r := range pending {
			s.listCandidates(r)
		}
	}
	s.room = nil
}

// fetchSources makes the processor load into the cache what resolve needs of the sources of some
// reads. It begins with the transaction at index i of the chains, and returns the index of the
// first transaction that it did not handle.
func (s *saturator) fetchSources(i int) int {
	items := s.m.chains.members.items
	for n := int32(0); i < len(items) && n < fetchedReads; i++ {
		from, to := s.m.readFrom[items[i]], s.m.readFrom[items[i]+1]
		for _, r := range s.m.reads[from:to] {
			if r.source >= 0 {
				s.warmed += s.g.out[s.g.commit(s.m.writer[r.source])]
			}
		}
		n += to - from
	}
	return i
}

// readsOf finds the candidates of the reads of a transaction that counts.
func (s *saturator) readsOf(t int32) {
	m := s.m
	for r := m.readFrom[t]; r < m.readFrom[t+1]; r++ {
		rd := &m.reads[r]
		switch {
		case rd.source == fromNowhere:
			continue
		case rd.source >= 0:
			s.resolve(r, rd.source)
			continue
		}
		members := m.mostMembers(rd)
		if s.choices += members; s.listed || members <= fewCandidates {
			s.listCandidates(r)
		} else {
			s.pending = append(s.pending, r)
		}
	}
}

// fewCandidates is up to how many candidates are listed at once.
const fewCandidates = 2

// listCandidates lists the candidates of a read. If there is only one, it settles the read.
func (s *saturator) listCandidates(r int32) {
	m := s.m
	rd := &m.reads[r]
	t := rd.txn
	o := openRead{read: r, initial: m.acceptsInitial(rd)}
	members := m.members(rd)
	if cap(s.room)-len(s.room) < len(members) {
		s.room = make([]int32, 0, max(len(members), leastRoom))
	}
	from := len(s.room)
	for _, w := range members {
		if u := m.writer[w]; u != t && !m.broken[u] {
			s.room = append(s.room, w)
		}
	}
	o.candidates = s.room[from:len(s.room):len(s.room)]
	switch count := len(o.candidates); {
	case count == 0 && o.initial:
		s.resolve(r, fromInitial)
	case count == 0:
		s.refute(&o)
	case count == 1 && !o.initial:
		s.resolve(r, o.candidates[0])
	default:
		s.open = append(s.open, o)
	}
}

// mostChoices bounds the candidates that are listed, at four bytes each. If there are more,
// saturation is skipped.
const mostChoices = 1 << 27

// leastRoom is how many candidates memory is allocated for at once.
const leastRoom = 1 << 10

func (s *saturator) refute(o *openRead) {
	if s.refuted == nil {
		c := *o
		s.refuted = &c
	}
}

// resolve sets the source of read r.
func (s *saturator) resolve(r, source int32) {
	m, g := s.m, s.g
	rd := &m.reads[r]
	rd.source = source
	if source != fromInitial {
		t := m.writer[source]
		s.link(g.commit(t), g.start(rd.txn), given, r)
		s.include(t, r)
	}
	s.fresh[rd.key] = true
}

// include records that a transaction of unknown outcome counts. because is a read from it.
func (s *saturator) include(t, because int32) {
	if !s.m.optional[t] {
		return
	}
	s.pulled[t] = because
	s.m.optional[t] = false
	s.readsOf(t)
	for _, w := range s.m.writesOf.of(t) {
		s.fresh[s.m.key[w]] = true
	}
	for r := s.m.readFrom[t]; r < s.m.readFrom[t+1]; r++ {
		s.fresh[s.m.reads[r].key] = true
	}
	s.placeBetween(t)
}

// link adds an edge unless one between the same nodes is found among the latest edges into to.
func (s *saturator) link(from, to int32, by rule, why int32) {
	n := 0
	for e := s.g.in[to]; e != none && n < 32; e = s.g.edges[e].nextIn {
		if s.g.edges[e].from == from {
			return
		}
		n++
	}
	s.g.add(from, to, rules[by].kind, by, why)
	s.added++
}

// met is a Bloom filter of edges, with 64 bits for each node: the bits are for the nodes that edges
// into it come from. If a bit is not set, there is no such edge.
type met []uint64

func newMet(g *graph) met {
	m := make(met, g.nodes)
	for i := range g.edges {
		m.add(g.edges[i].from, g.edges[i].to)
	}
	return m
}

// add adds an edge. It reports whether there may have been one between these nodes before.
func (m met) add(from, to int32) bool {
	bit := uint64(1) << (uint32(from) * 0x9e3779b1 >> 26)
	before := m[to]
	m[to] |= bit
	return before&bit != 0
}

// worth has the least number of edges for which another pass is worth its time, as a share of the
// accesses that a pass looks at. With fewer edges a pass costs more than the search saves.
type worth struct {
	next    float64 // edges that the previous pass added
	sampled float64 // edges that this pass would add, estimated by a sample of the keys
}

// With many open reads the search is harder, so that fewer edges are enough.
var (
	worthClosed = worth{next: 0.45, sampled: 1.0 / 20}
	worthOpen   = worth{next: 1.0 / 6, sampled: 1.0 / 20}
	// For few transactions a pass takes almost no time, and more saturation makes the
	// counterexamples shorter.
	worthFew = worth{next: 1.0 / 200, sampled: 1.0 / 200}
)

// fewTxns is the number of transactions below which worthFew applies.
const fewTxns = 1 << 11

func (s *saturator) worth() *worth {
	switch {
	case len(s.m.txns) < fewTxns:
		return &worthFew
	case 8*len(s.open) > len(s.m.txns):
		return &worthOpen
	}
	return &worthClosed
}

// enough reports whether edges are at least the given share of the accesses.
func (s *saturator) enough(edges int, share float64) bool {
	return float64(edges) > share*float64(s.contested.accesses)
}

// run saturates. It sets s.refuted if a read has no candidate left. It does not report whether the
// graph has a cycle.
func (s *saturator) run(ctx context.Context) error {
	defer func() { s.crew.idle, s.groups = nil, groups{} }()
	if s.choices > mostChoices {
		s.opened = len(s.open) + len(s.pending)
		if s.reach != nil {
			s.reach.told.Backend, s.reach.told.Reason = string(choose.None), fmt.Sprintf("reads have %d candidates, too many to list", s.choices)
		}
		return nil
	}
	s.list()
	s.opened, s.given = len(s.open), len(s.g.edges)
	for s.reach != nil && s.refuted == nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if ok, err := s.reach.update(ctx); err != nil || !ok {
			return err
		}
		s.added = 0
		more, err := s.everyKey(ctx, s.reach.first || s.thorough)
		var lost *lostError
		if errors.As(err, &lost) {
			if err := s.reach.drop(ctx, lost.error); err != nil {
				return err
			}
			continue
		}
		s.passes++
		if err != nil {
			return err
		}
		clear(s.fresh)
		s.settle()
		if !more || s.added == 0 || !s.thorough && !s.enough(s.added, s.worth().next) {
			return nil
		}
	}
	return nil
}
