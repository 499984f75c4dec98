package polygraph

import (
	"context"
	"fmt"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/accel/choose"
)

// saturator adds to the known graph the edges that every execution must have
// because of it, pass after pass, as long as that costs less than the search that
// it spares (the pruning of the VeriStrong paper, section 6.1.1). Of the writers of a key that come
// before or behind something, it looks only at the last or first of each
// chain: the others follow from the chain.
//
// A version matters by its value: a reader is constrained only against writers
// of other values, and which of several writers of its value it read from is
// open until one is left.
type saturator struct {
	m     *model
	g     *graph
	how   Acceleration
	reach *reach // nil: not wanted, and nothing is saturated

	open   []openRead
	openOn csr        // by key: the open reads on it, in this pass
	closed []openRead // the ones settled or refuted, with what ruled candidates out

	contested contested
	groups    groups
	crew      crew

	// fresh has the keys of which everything is looked at in the next pass.
	fresh []bool
	// refuted is a read that has no candidate left: a contradiction of the known
	// graph other than a cycle.
	refuted *openRead
	// pulled has, for transactions of unknown outcome that count, the read that
	// shows it.
	pulled map[int32]int32
	added  int
	passes int
	opened int // reads with several candidates before the first pass
	// thorough: passes go on as long as anything follows, for small histories of
	// which everything that can be shown is to be shown.
	thorough bool
	given    int     // edges before the first pass
	room     []int32 // for candidates
	warmed   int32   // so that the compiler keeps fetchSources
	// pending are the reads whose candidates list has not listed yet; listed says that
	// it has.
	pending []int32
	listed  bool
	// choices is how many candidates the open reads have, together.
	choices int
}

// accelerate says how reachability is to be computed.
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

// ruledOut says why a candidate is none: the reader comes before it, or
// another value was written between the two.
type ruledOut struct {
	candidate int32 // a write, or fromInitial
	between   int32 // the transaction that wrote another value, or none
	edges     int32 // how many edges were known then
}

func newSaturator(m *model, g *graph, prune bool) *saturator {
	s := &saturator{m: m, g: g, pulled: map[int32]int32{}, fresh: make([]bool, m.h.KeyCount())}
	if prune {
		s.reach = newReach(m, g, Acceleration{})
		s.contested = newContested(m, g)
	}
	opened := 0 // at most
	for r := range m.reads {
		if m.reads[r].source == fromOpen {
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
	for len(s.pending) > 0 { // a read that is settled may add others
		pending := s.pending
		s.pending = nil
		for _, r := range pending {
			s.listCandidates(r)
		}
	}
	s.room = nil
}

// fetchSources has the processor fetch what is needed of the sources of some
// reads, of the transactions from a place in the chains on, and returns the first
// of which it has not.
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

// fewCandidates are listed at once.
const fewCandidates = 2

// listCandidates lists the candidates of a read, or settles it where there is only
// one.
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

// mostChoices is how many candidates are listed at most, with four bytes each.
// Beyond that nothing is saturated.
const mostChoices = 1 << 27

// leastRoom is for how many candidates room is made at once.
const leastRoom = 1 << 10

func (s *saturator) refute(o *openRead) {
	if s.refuted == nil {
		c := *o
		s.refuted = &c
	}
}

// resolve settles where r read from.
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

// include has a transaction of unknown outcome count, because of a read.
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
}

// link adds an edge that no other edge between the same nodes makes needless.
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

// met has by node a set of where edges into it come from, as bits that they share:
// where one has no bit there is no edge.
type met []uint64

func newMet(g *graph) met {
	m := make(met, g.nodes)
	for i := range g.edges {
		m.add(g.edges[i].from, g.edges[i].to)
	}
	return m
}

// add adds an edge, and reports whether there may have been one.
func (m met) add(from, to int32) bool {
	bit := uint64(1) << (uint32(from) * 0x9e3779b1 >> 26)
	before := m[to]
	m[to] |= bit
	return before&bit != 0
}

// worth is how many edges, as a share of the accesses that a pass looks at, make
// another pass worth its time; with fewer it costs more than the search saves.
type worth struct {
	next    float64 // that the pass before has added
	sampled float64 // that this pass would add, by a sample of the keys
}

// Reads with several candidates make the search harder.
var (
	worthClosed = worth{next: 0.45, sampled: 1.0 / 20}
	worthOpen   = worth{next: 1.0 / 6, sampled: 1.0 / 20}
	// A few transactions take no time, and what saturation refutes is shorter.
	worthFew = worth{next: 1.0 / 200, sampled: 1.0 / 200}
)

// fewTxns are what worthFew is for.
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

// enough reports whether so many edges are at least a share of the accesses.
func (s *saturator) enough(edges int, share float64) bool {
	return float64(edges) > share*float64(s.contested.accesses)
}

// run saturates. s.refuted is then set where a read cannot have got its value;
// whether the graph has an order it does not tell.
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
