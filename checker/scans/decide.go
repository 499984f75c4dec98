package scans

import (
	"math/rand/v2"
	"slices"
	"sort"
)

// A schedule that has come to a dead end decides that some transaction waits for another one, and goes back to where it did
// not. If that ends in a dead end without a way out, the next way out of the one before is tried. Where this does not help,
// all decisions are forgotten, the schedule goes back further, and takes ways out at random: decisions depend on each other less than
// their order says, so that trying all combinations would take long.

// decision is a dead end, and what can be done about it: one way after the other.
type decision struct {
	ways  []way
	next  int
	taken bool // the way before next holds
	low   int  // the schedule has gone back to here since
}

const (
	// mostDecisions bounds the decisions that can be taken back. Older ones are forgotten.
	mostDecisions = 64
	// mostStalled bounds the dead ends without progress where nothing counts.
	mostStalled = 24
	// leastRestarts are allowed without progress even in small histories, which are soon judged without a guess.
	leastRestarts = 2
	// mostSame bounds the restarts in a row that undo nothing, because the schedule is far before the farthest dead end, and that come to
	// about the same event again.
	mostSame = 8
	// A restart undoes restartBack events before the farthest dead end, or twice, four times, … as many, up to restartDoubled doublings.
	restartBack, restartDoubled = 16, 5
	// leastLooks and looksPerOp bound the accesses in which ways out of dead ends are looked for where statements count.
	leastLooks, looksPerOp = 1 << 22, 2048
)

// mend finds a way out of a dead end. It returns false if there is none, or if it gives up.
func (s *schedule) mend() bool {
	p := &s.past
	if len(s.order) > p.far {
		p.far, p.stalled, p.restarts = len(s.order), 0, 0
	}
	most := mostStalled
	if s.counting {
		most = p.effort().stalled
	}
	if p.stalled++; p.stalled > most {
		return s.restart()
	}
	if s.counting && s.looks <= 0 {
		return false
	}
	var r *rand.Rand
	if p.restarts > 0 {
		r = rand.New(rand.NewPCG(uint64(p.draws), uint64(len(s.order)))) // a history is always judged in the same way
	}
	ways := s.ways(r)
	if len(ways) == 0 && !s.counting {
		return false // without counts a dead end rarely leaves another choice
	}
	if r != nil {
		r.Shuffle(len(ways), func(i, j int) { ways[i], ways[j] = ways[j], ways[i] })
	}
	if len(p.decisions) >= mostDecisions {
		p.prune()
	}
	p.decisions = append(p.decisions, decision{ways: ways, low: len(s.order)})
	return s.decide()
}

// decide takes the next way of the latest decision that has one.
func (s *schedule) decide() bool {
	p := &s.past
	for len(p.decisions) > 0 && s.steps > 0 {
		d := &p.decisions[len(p.decisions)-1]
		p.retract(d)
		if d.next == len(d.ways) {
			low := d.low
			if p.decisions = p.decisions[:len(p.decisions)-1]; len(p.decisions) > 0 {
				before := &p.decisions[len(p.decisions)-1]
				before.low = min(before.low, low)
			}
			continue
		}
		w := &d.ways[d.next]
		d.next++
		to := min(w.at, d.low)
		if to < len(p.from) && p.from[to] < p.first || slices.ContainsFunc(w.moves, func(m move) bool { return s.precedes(m.x, m.other) }) {
			continue
		}
		for i := range w.moves {
			m := &w.moves[i]
			all := p.waits(m)
			if *all == nil {
				*all = map[int32][]int32{}
			}
			(*all)[m.x] = append((*all)[m.x], m.other)
		}
		d.taken, d.low = true, to
		s.rewind(to)
		return true
	}
	return s.restart()
}

// restart forgets all decisions and goes back. It returns false if that was done often enough, and where no statement counts.
func (s *schedule) restart() bool {
	p := &s.past
	if !s.counting {
		return false
	}
	most := min(leastRestarts+len(s.h.Txns)/s.patience.txns, s.patience.restarts)
	if p.restarts++; p.restarts > most {
		return false
	}
	p.draws++
	r := rand.New(rand.NewPCG(uint64(p.draws), 1))
	p.stalled, p.decisions, p.after, p.late = 0, nil, nil, nil
	back := restartBack << r.IntN(restartDoubled+1)
	to := p.far - back
	if d := len(s.order) - p.at; d < -restartBack || d > restartBack {
		p.at, p.same = len(s.order), 0
	}
	if to >= len(s.order) {
		if p.same++; p.same > mostSame {
			to, p.same = len(s.order)-back, 0
		}
	}
	to = max(to, sort.SearchInts(p.from, p.first))
	s.rewind(min(to, len(s.order)))
	for _, n := range s.pool {
		i := s.entries[n].txn
		s.turns[i] = s.turn(i)
	}
	slices.SortFunc(s.pool, func(a, b int32) int { return s.sooner(s.entries[a].txn, s.entries[b].txn) })
	return true
}

// waits returns the transactions that wait as a move says.
func (p *past) waits(m *move) *map[int32][]int32 {
	if m.late {
		return &p.late
	}
	return &p.after
}

// retract ends what the latest way of a decision said.
func (p *past) retract(d *decision) {
	if !d.taken {
		return
	}
	d.taken = false
	for i := range d.ways[d.next-1].moves {
		m := &d.ways[d.next-1].moves[i]
		all := *p.waits(m)
		list := all[m.x]
		n := slices.Index(list, m.other)
		if list = slices.Delete(list, n, n+1); len(list) == 0 {
			delete(all, m.x)
		} else {
			all[m.x] = list
		}
	}
}

// prune forgets the older half of the decisions. What they say still holds until a restart, if one of their transactions is not
// done yet.
func (p *past) prune() {
	half := p.decisions[:len(p.decisions)/2]
	for i := range half {
		if d := &half[i]; d.taken && !slices.ContainsFunc(d.ways[d.next-1].moves, func(m move) bool { return !p.done[m.x] }) {
			p.retract(d)
		}
	}
	p.decisions = slices.Delete(p.decisions, 0, len(half))
}
