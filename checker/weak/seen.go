package weak

import (
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/history"
)

// seen finds the edges from the transactions that earlier transactions of a session read from. At MR the
// reader comes after these in their session. At WFR it read from one of them, or from a later one.
//
// Each transaction is added once for each session that read from it, so this takes O(n·k) for k sessions.
// The readers of a transaction look only at the latest one of each session that they read from.
type seen struct {
	x     *index
	s     *sink
	known memory
	added []int32 // by transaction: the last session, plus 1, that it was added for
	// The readers of t are readers[readersFrom[t]:readersFrom[t+1]].
	readersFrom, readers []int32
}

// memory has the writers of each key that a session has read from, as far as they matter.
type memory interface {
	// add adds that the session numbered now has read from w.
	add(w, now int32)
	// each calls f with writers of a key that were added for the session numbered now.
	each(k history.Key, now int32, f func(w int32))
}

// latestOfKeys is the memory of a pass that does not keep edges: of the writers of a key, the one that is last in
// the order of the sink is enough.
type latestOfKeys struct {
	x    *index
	rank []int32
	// By key: the writer, valid if mark is the number of the session.
	who, mark []int32
}

func (m *latestOfKeys) add(w, now int32) {
	for v := m.x.versionsFrom[w]; v < m.x.versionsFrom[w+1]; v++ {
		if k := m.x.key[v]; m.mark[k] != now || m.rank[m.who[k]] < m.rank[w] {
			m.mark[k], m.who[k] = now, w
		}
	}
}

func (m *latestOfKeys) each(k history.Key, now int32, f func(w int32)) {
	if m.mark[k] == now {
		f(m.who[k])
	}
}

// latestOfChains is the memory of a pass that keeps edges: of the writers of a key on a chain, the last one
// is enough.
type latestOfChains struct {
	*chains
	// By entry: the place on its chain, valid if mark is the number of the session.
	at, mark []int32
}

func (m *latestOfChains) add(w, now int32) {
	for v := m.x.versionsFrom[w]; v < m.x.versionsFrom[w+1]; v++ {
		if e := m.entry[v]; m.mark[e] != now || m.at[e] < m.place[w] {
			m.mark[e], m.at[e] = now, m.place[w]
		}
	}
}

func (m *latestOfChains) each(k history.Key, now int32, f func(w int32)) {
	for e := m.entriesFrom[k]; e < m.entriesFrom[k+1]; e++ {
		if m.mark[e] == now {
			f(m.list[m.chainOf[e]][m.at[e]-1])
		}
	}
}

func (x *index) seen(_ *order, s *sink) error {
	p := &seen{x: x, s: s, added: make([]int32, len(x.counted))}
	if s.keep {
		c := newChains(x)
		p.known = &latestOfChains{chains: c, at: make([]int32, len(c.chainOf)), mark: make([]int32, len(c.chainOf))}
	} else {
		p.known = &latestOfKeys{x: x, rank: s.rank, who: make([]int32, x.h.KeyCount()), mark: make([]int32, x.h.KeyCount())}
	}
	monotonic, follow := x.c.lvl != level.WFR, x.c.lvl != level.MR
	if follow {
		p.readersFrom, p.readers = x.readersByTxn()
	}
	for session, txns := range x.h.BySession() {
		now := int32(session) + 1
		for n, t := range txns {
			if err := x.stopped(n); err != nil {
				return err
			}
			if !x.counted[t] {
				continue
			}
			if monotonic {
				p.look(t, now)
			}
			committed := x.h.Txns[t].Status == history.Committed
			if committed {
				p.learn(t, now)
			}
			if !follow {
				continue
			}
			for i, r := range p.readers[p.readersFrom[t]:p.readersFrom[t+1]] {
				if i > 0 && p.readers[p.readersFrom[t]+int32(i)-1] == r {
					continue
				}
				if !committed {
					p.twice(t, r)
				}
				if p.latest(t, r) {
					p.look(r, now)
				}
			}
		}
		if s.backward && !s.keep {
			return nil
		}
	}
	return nil
}

// readersByTxn groups the transactions by those that they read from. If one read several times from
// another, it is there as often, next to each other.
func (x *index) readersByTxn() (from, readers []int32) {
	each := func(f func(w, t int32)) {
		for t, in := range x.counted {
			if !in {
				continue
			}
			for _, r := range x.readsBy(int32(t)) {
				if r.writer != none {
					f(r.writer, int32(t))
				}
			}
		}
	}
	from = make([]int32, len(x.counted)+1)
	each(func(w, _ int32) { from[w+1]++ })
	for t := range x.counted {
		from[t+1] += from[t]
	}
	readers = make([]int32, from[len(x.counted)])
	each(func(w, t int32) {
		readers[from[w]] = t
		from[w]++
	})
	copy(from[1:], from)
	from[0] = 0
	return from, readers
}

// learn adds what t read from.
func (p *seen) learn(t, now int32) {
	for _, r := range p.x.readsBy(t) {
		if w := r.writer; w != none && p.added[w] != now {
			p.added[w] = now
			p.known.add(w, now)
		}
	}
}

// look finds the edges that the reads of t force if it must see what was added.
func (p *seen) look(t, now int32) {
	for at := p.x.readsFrom[t]; at < p.x.readsFrom[t+1]; at++ {
		if !p.s.wants(at) {
			continue
		}
		r := &p.x.reads[at]
		p.known.each(r.key, now, func(w int32) {
			if w != r.writer {
				p.s.force(w, r.writer, t, at)
			}
		})
	}
}

// latest reports whether t is the last transaction of its session that r read from.
func (p *seen) latest(t, r int32) bool {
	h := p.x.h
	for _, read := range p.x.readsBy(r) {
		if w := read.writer; w > t && h.Txns[w].Session == h.Txns[t].Session {
			return false
		}
	}
	return true
}

// twice finds the edges that the reads of r force if it must see what t read from. It is for a t of unknown
// outcome, which the session does not learn from.
func (p *seen) twice(t, r int32) {
	x := p.x
	for _, read := range x.readsBy(t) {
		w := read.writer
		if w == none {
			continue
		}
		for at := x.readsFrom[r]; at < x.readsFrom[r+1]; at++ {
			if of := &x.reads[at]; of.writer != w && p.s.wants(at) && x.writesKey(w, of.key) {
				p.s.force(w, of.writer, r, at)
			}
		}
	}
}
