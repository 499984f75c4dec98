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
	// mostStalled bounds the dead ends without progress, until all is forgotten; each other time it is soonStalled.
	mostStalled, soonStalled = 24, 8
	// leastRestarts, one for every txnsPerRestart transactions, and at most mostRestarts bound how often that happens
	// without progress. Small histories are soon judged without a guess.
	leastRestarts, txnsPerRestart, mostRestarts = 2, 50, 100
	// restartBack is by how many events the schedule goes back then, the second time twice as many, and so on.
	restartBack = 16
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
	if p.restarts%2 == 1 {
		most = soonStalled
	}
	if p.stalled++; p.stalled > most {
		return s.restart()
	}
	if s.counting && s.looks <= 0 {
		return false
	}
	ways := s.ways()
	if len(ways) == 0 && !s.counting {
		return false // without counts a dead end rarely leaves another choice
	}
	if p.restarts > 0 {
		rng := rand.New(rand.NewPCG(uint64(p.restarts), uint64(len(s.order)))) // a history is always judged in the same way
		rng.Shuffle(len(ways), func(i, j int) { ways[i], ways[j] = ways[j], ways[i] })
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
		if to < len(p.from) && p.from[to] < p.first || s.precedes(w.x, w.other) {
			continue
		}
		all := p.waits(w)
		if *all == nil {
			*all = map[int32][]int32{}
		}
		(*all)[w.x] = append((*all)[w.x], w.other)
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
	if p.restarts++; p.restarts > min(leastRestarts+len(s.h.Txns)/txnsPerRestart, mostRestarts) {
		return false
	}
	p.stalled, p.decisions, p.after, p.late = 0, nil, nil, nil
	to := max(p.far-restartBack*p.restarts, sort.SearchInts(p.from, p.first))
	s.rewind(min(to, len(s.order)))
	return true
}

// waits returns the transactions that wait as a way says.
func (p *past) waits(w *way) *map[int32][]int32 {
	if w.late {
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
	w := &d.ways[d.next-1]
	all := *p.waits(w)
	list := all[w.x]
	n := slices.Index(list, w.other)
	if list = slices.Delete(list, n, n+1); len(list) == 0 {
		delete(all, w.x)
	} else {
		all[w.x] = list
	}
}

// prune forgets the older half of the decisions. What they say of transactions that are not done yet still holds.
func (p *past) prune() {
	half := p.decisions[:len(p.decisions)/2]
	for i := range half {
		if d := &half[i]; d.taken && p.done[d.ways[d.next-1].x] {
			p.retract(d)
		}
	}
	p.decisions = slices.Delete(p.decisions, 0, len(half))
}
