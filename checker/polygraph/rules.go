package polygraph

import "github.com/isohound/isohound/checker/verdict"

// lastBy returns the last write from lo to hi, which are of one chain, whose
// transaction's place in it is at most pos, or lo-1.
func (s *saturator) lastBy(lo, hi, pos int32) int32 {
	for hi-lo > 8 {
		mid := lo + (hi-lo)/2
		if s.places[mid].pos <= pos {
			lo = mid
		} else {
			hi = mid - 1
		}
	}
	for hi >= lo && s.places[hi].pos > pos {
		hi--
	}
	return hi
}

// othersBefore calls f for the last writer, in each chain of mask, of another
// value to r's key whose commit comes before r's start.
func (s *worker) othersBefore(r int32, mask uint64, f func(t int32) bool) {
	m, split := s.m, s.g.split
	rd := &m.reads[r]
	row := s.k.row(s.g.start(rd.txn))
	from := m.keyFrom[rd.key]
	for hi := m.keyFrom[rd.key+1] - 1; hi >= from; {
		p := &s.places[hi]
		lo := p.segment
		// The last commit that the row has stands at this place of the chain.
		last := (row[p.chain] - 1 - split) >> split
		if mask&chainBit(p.chain) != 0 && last >= 0 {
			for w := s.lastBy(lo, hi, last); w >= lo; w-- {
				if s.places[w].class == rd.class {
					continue
				}
				if t := m.writer[w]; t != rd.txn && !m.optional[t] {
					if !f(t) {
						return
					}
					break
				}
			}
		}
		hi = lo - 1
	}
}

// seenWith: what r has seen beside the version that it read was written before
// that version.
func (s *worker) seenWith(r, source int32, mask uint64) {
	s.othersBefore(r, mask, func(w int32) bool {
		if source == fromInitial {
			o := openRead{read: r, ruledOut: []ruledOut{{fromInitial, w, int32(len(s.g.edges))}}}
			if s.refutes == nil {
				s.refutes = &o
			}
			return false
		}
		t := s.m.writer[source]
		if t != w && !s.k.fromCommit(w, s.g.start(t)) {
			s.link(s.g.commit(w), s.g.start(t), verdict.WW, overTake, r)
		}
		return true
	})
}

// overwrites: the readers of a version come before what follows the version,
// and writers of one key do not overlap. Of the versions that w follows, the
// readers of one that another such version of another value follows come before
// that one already.
func (s *worker) overwrites(w int32, mask uint64) {
	m, g, k := s.m, s.g, s.k
	u := m.writer[w]
	key := m.key[w]
	row := k.row(g.commit(u))
	class := s.places[w].class
	from := m.keyFrom[key]
	before := s.scratch[:0]
	latest, overwritten := none, false
	for hi := m.keyFrom[key+1] - 1; hi >= from; {
		p := &s.places[hi]
		lo := p.segment
		if bound := row[p.chain]; bound > 0 && mask&chainBit(p.chain) != 0 {
			v := s.lastBy(lo, hi, (bound-1)>>g.split)
			for v >= lo && (v == w || m.optional[m.writer[v]]) {
				v--
			}
			if v >= lo {
				t := m.writer[v]
				if g.split == 1 && !k.fromCommit(t, g.start(u)) {
					s.link(g.commit(t), g.start(u), verdict.WW, overlap, none)
				}
				overwritten = overwritten || s.places[v].class != key
				if s.places[v].class != class {
					before = append(before, v)
					if latest == none || k.rank[g.commit(t)] > k.rank[g.commit(m.writer[latest])] {
						latest = v
					}
				}
			}
		}
		hi = lo - 1
	}
	s.scratch = before
	if latest != none {
		last := k.row(g.commit(m.writer[latest]))
		for _, v := range before {
			p := &s.places[v]
			if v != latest && p.class != s.places[latest].class && last[p.chain] >= p.pos<<g.split+1 {
				continue
			}
			s.readersBefore(v, u, row)
		}
	}
	if class != key && !overwritten {
		s.readersBefore(int32(len(m.writer))+key, u, row)
	}
}

// readersBefore has the readers of a list come before the commit of u, whose
// row is given.
func (s *worker) readersBefore(list, u int32, row []int32) {
	split := s.g.split
	for h := s.readers.head[list]; h != none; h = s.readers.next[h] {
		r := &s.readers.item[h]
		if row[r.chain] < r.pos<<split+1 {
			if t := s.m.reads[r.read].txn; t != u {
				s.link(s.g.start(t), s.g.commit(u), verdict.RW, overWrite, r.read)
			}
		}
	}
}

// precedesOthers: a read comes before what follows the version that it read.
func (s *worker) precedesOthers(r, source int32) {
	m, g, k := s.m, s.g, s.k
	rd := &m.reads[r]
	s.firstBehind(rd, func(u int32) bool {
		return source == fromInitial || m.writer[source] != u && k.fromStart(m.writer[source], g.commit(u))
	},
		func(u int32) {
			if !k.fromStart(rd.txn, g.commit(u)) {
				s.link(g.start(rd.txn), g.commit(u), verdict.RW, overWrite, r)
			}
		})
}

// firstBehind calls f for the first writer in each chain, of another value to
// the key of rd, of which behind holds; what holds of one holds of all that
// follow it in its chain.
func (s *worker) firstBehind(rd *read, behind func(u int32) bool, f func(u int32)) {
	m := s.m
	from, to := m.keyFrom[rd.key], m.keyFrom[rd.key+1]
	for hi := to - 1; hi >= from; {
		lo := s.places[hi].segment
		next := lo - 1
		if behind(m.writer[hi]) {
			first, last := lo, hi
			for first < last {
				if mid := first + (last-first)/2; behind(m.writer[mid]) {
					last = mid
				} else {
					first = mid + 1
				}
			}
			for ; first <= hi; first++ {
				if u := m.writer[first]; s.places[first].class != rd.class && u != rd.txn && !m.optional[u] {
					f(u)
					break
				}
			}
		}
		hi = next
	}
}
