package weak

import "github.com/isohound/isohound/history"

// clocks has, for transactions, what happened before them: for each chain, the place of the latest
// transaction on it that did, or 0. A clock is kept only until the last reader of its transaction.
type clocks struct {
	width int
	rows  [][]int32
	block []int32 // memory of further rows
	free  []int32 // rows that are not used
	row   []int32 // by transaction: its row, or none
	left  []int32 // by transaction: how often its clock is still needed
}

func (c *clocks) of(t int32) []int32 { return c.rows[c.row[t]] }

// keep stores the clock of t.
func (c *clocks) keep(t int32, clock []int32) {
	if len(c.free) > 0 {
		c.row[t] = c.free[len(c.free)-1]
		c.free = c.free[:len(c.free)-1]
		copy(c.of(t), clock)
		return
	}
	if len(c.block) < c.width {
		c.block = make([]int32, c.width*max(1, blockSize/c.width))
	}
	c.row[t] = int32(len(c.rows))
	c.rows = append(c.rows, c.block[:c.width:c.width])
	c.block = c.block[c.width:]
	copy(c.of(t), clock)
}

// blockSize is about how many numbers are allocated at once.
const blockSize = 1 << 16

// done is called after each use of the clock of t.
func (c *clocks) done(t int32) {
	if c.left[t]--; c.left[t] == 0 {
		c.free = append(c.free, c.row[t])
		c.row[t] = none
	}
}

// causal finds the edges from all transactions that happened before the reader, in O(n·k) for k chains. It
// goes through the transactions in a topological order. So a transaction's chains have, up to its clock,
// exactly the versions that it must see.
func (x *index) causal(o *order, s *sink) error {
	c := newChains(x)
	c.empty()
	var m *newest
	if !s.keep {
		m = newNewest(c)
	}
	n := len(x.counted)
	k := &clocks{width: len(c.list), row: make([]int32, n), left: make([]int32, n)}
	for t, in := range x.counted {
		if !in {
			continue
		}
		for _, r := range x.readsBy(int32(t)) {
			if r.writer != none {
				k.left[r.writer]++
			}
		}
		if b := x.before[t]; b != none && x.h.Txns[t].Status != history.Committed {
			k.left[b]++
		}
	}
	sessions := make([]int32, x.h.SessionCount()*k.width) // the clocks of the sessions
	nothing, own := make([]int32, k.width), make([]int32, k.width)
	for i, t := range o.txns {
		if err := x.stopped(i); err != nil {
			return err
		}
		at := int(x.h.Txns[t].Session) * k.width
		clock := sessions[at : at+k.width]
		if x.h.Txns[t].Status != history.Committed {
			// Later transactions of the session may come before t in the order.
			clock = own
			clear(clock)
			if b := x.before[t]; b != none {
				copy(clock, k.of(b))
				k.done(b)
			}
		}
		reads := x.readsBy(t)
		for _, r := range reads {
			if w := r.writer; w != none && clock[c.chain[w]] < c.place[w] {
				for n, p := range k.of(w)[:len(clock)] {
					clock[n] = max(clock[n], p)
				}
			}
		}
		for j, r := range reads {
			at := x.readsFrom[t] + int32(j)
			if !s.wants(at) {
				continue
			}
			known := nothing
			if r.writer != none {
				if m != nil && m.newer(&r) <= c.entriesFrom[r.key+1]-c.entriesFrom[r.key] {
					m.unseen(s, t, at, clock)
					continue
				}
				known = k.of(r.writer)
			}
			x.unseen(c, s, t, at, clock, known)
		}
		if s.backward && !s.keep {
			return nil
		}
		for _, r := range reads {
			if r.writer != none {
				k.done(r.writer)
			}
		}
		clock[c.chain[t]] = c.place[t]
		if k.left[t] > 0 {
			k.keep(t, clock)
		}
		c.add(t)
		if m != nil {
			m.add(t)
		}
	}
	return nil
}

// newest has the versions of each key in the order of the pass. In a pass that does not keep edges only those behind
// the version that was read matter: their writers are later in the order, so that an edge from one contradicts it.
type newest struct {
	*chains
	// The versions of key k are list[from[k]:from[k]+count[k]], so far.
	from, count []int32
	list        []writing
	at          []int32 // by version: its place in list
}

// writing is the writer of a version: its chain and its place there.
type writing struct{ chain, place int32 }

func newNewest(c *chains) *newest {
	keys := len(c.entriesFrom) - 1
	m := &newest{chains: c, from: make([]int32, keys+1), count: make([]int32, keys), list: make([]writing, len(c.places)), at: make([]int32, len(c.x.writer))}
	for k := range keys {
		m.from[k+1] = c.placesFrom[c.entriesFrom[k+1]]
	}
	return m
}

// add adds the versions of t.
func (m *newest) add(t int32) {
	for v := m.x.versionsFrom[t]; v < m.x.versionsFrom[t+1]; v++ {
		k := m.x.key[v]
		m.at[v] = m.from[k] + m.count[k]
		m.list[m.at[v]] = writing{m.chain[t], m.place[t]}
		m.count[k]++
	}
}

// newer returns how many versions of the key are behind the one that r returned.
func (m *newest) newer(r *read) int32 { return m.from[r.key] + m.count[r.key] - m.at[r.version] - 1 }

// unseen finds an edge that contradicts the order, if read number at, by t, forces one.
func (m *newest) unseen(s *sink, t, at int32, clock []int32) {
	r := &m.x.reads[at]
	for _, w := range m.list[m.at[r.version]+1:][:m.newer(r)] {
		if w.place <= clock[w.chain] {
			s.force(m.chains.list[w.chain][w.place-1], r.writer, t, at)
			return
		}
	}
}

// unseen finds, for read number at, by t, the edges from the writers of the key in the clock of t that are
// not known, that is, in the clock of the writer of what was read: these come before it anyway.
func (x *index) unseen(c *chains, s *sink, t, at int32, clock, known []int32) {
	r := &x.reads[at]
	lo, hi := c.entriesFrom[r.key], c.entriesFrom[r.key+1]
	chains := c.chainOf[lo:hi]
	for n, place := range c.last[lo:hi] {
		on := chains[n]
		if place <= known[on] || clock[on] <= known[on] {
			continue
		}
		if place > clock[on] {
			if place = c.upTo(lo+int32(n), clock[on]); place <= known[on] {
				continue
			}
		}
		s.force(c.list[on][place-1], r.writer, t, at)
	}
}
