package polygraph

import "slices"

// settle resolves the open reads that have one candidate left, and refutes those that have none.
func (s *saturator) settle() {
	work, left := s.open, s.open[:0]
	s.open = nil // resolve may add reads of transactions that begin to count
	closing := 0
	for i := range work {
		if n := len(work[i].candidates); n == 0 || n == 1 && !work[i].initial {
			closing++
		}
	}
	s.closed = slices.Grow(s.closed, closing)
	for i := range work {
		o := &work[i]
		switch {
		case len(o.candidates) == 0 && !o.initial:
			s.closed = append(s.closed, *o) // edges may rest on it
			s.refute(o)
		case len(o.candidates) == 0:
			s.closed = append(s.closed, *o)
			s.resolve(o.read, fromInitial)
		case len(o.candidates) == 1 && !o.initial:
			s.closed = append(s.closed, *o)
			s.resolve(o.read, o.candidates[0])
		default:
			left = append(left, *o)
		}
	}
	s.open = append(left, s.open...)
}

// refined removes the candidates that come after the reader, and those with a write of another
// value between them and the reader. It reports whether fewer than two candidates are left.
func (w *worker) refined(o *openRead) bool {
	rd, reader := &w.m.reads[o.read], w.readerOf(o.read)
	from := w.m.keyFrom[rd.key]
	others := w.scratch[:0]
	w.othersBefore(w.readRow(reader), rd.class, rd.txn, everything, func(i int32) bool {
		others = append(others, i)
		return true
	})
	w.scratch = others
	known := int32(len(w.g.edges))
	if o.initial && len(others) > 0 {
		o.initial = false
		o.ruledOut = append(o.ruledOut, ruledOut{fromInitial, w.writers[others[0]].txn, known})
	}
	if o.ruledOut == nil {
		o.ruledOut = make([]ruledOut, 0, len(o.candidates))
	}
	left := o.candidates[:0]
candidates:
	for _, c := range o.candidates {
		t := &w.writers[c-from]
		if w.startedBefore(reader, c-from) {
			o.ruledOut = append(o.ruledOut, ruledOut{c, none, known})
			continue
		}
		for _, i := range others {
			if i != c-from && w.commitRow(i)[t.chain] >= t.turn {
				o.ruledOut = append(o.ruledOut, ruledOut{c, w.writers[i].txn, known})
				continue candidates
			}
		}
		left = append(left, c)
	}
	o.candidates = left
	return len(left) == 0 || len(left) == 1 && !o.initial
}

// firsts returns the first candidate of each chain, as a writer of the current key. The other
// candidates of the chain follow it.
func (w *worker) firsts(o *openRead) []int32 {
	from := w.m.keyFrom[w.key]
	first := w.scratch[:0]
	for n, c := range o.candidates {
		if n == 0 || w.writers[c-from].chain != w.writers[o.candidates[n-1]-from].chain {
			first = append(first, c-from)
		}
	}
	w.scratch = first
	return first
}

// afterAll applies allAfter: a read follows everything that all its candidates follow. It finds
// what the closure's Common returns.
func (w *worker) afterAll(o *openRead) {
	if o.initial {
		return
	}
	first := w.firsts(o)
	for n, i := range first {
		first[n] = w.g.commit(w.writers[i].txn)
	}
	reader := w.g.start(w.m.reads[o.read].txn)
	w.reach.closure.Common(first, reader, func(v int32) {
		w.link(v, reader, allAfter, o.read)
	})
}

// beforeWhatFollowsAll applies allOver: a read comes before the writers of other values that follow
// all its candidates.
func (w *worker) beforeWhatFollowsAll(o *openRead) {
	g, from := w.g, w.m.keyFrom[w.key]
	rd := &w.m.reads[o.read]
	last := w.scratch[:0] // the last candidate of each chain, which follows the others
	for n, c := range o.candidates {
		if n+1 == len(o.candidates) || w.writers[c-from].chain != w.writers[o.candidates[n+1]-from].chain {
			last = append(last, c-from)
		}
	}
	w.scratch = last
	reader := w.readerOf(o.read)
	for c, end := range w.segments[1:] {
		lo, hi := w.segments[c], end
		for lo < hi { // binary search: if one writer follows all, so do all after it
			if mid := lo + (hi-lo)/2; w.followsAll(mid, last) {
				hi = mid
			} else {
				lo = mid + 1
			}
		}
		for ; lo < end; lo++ {
			if u := &w.writers[lo]; !w.m.accepts(rd.class, u.class) && u.txn != rd.txn && u.live {
				if !w.startedBefore(reader, lo) {
					w.link(g.start(rd.txn), g.commit(u.txn), allOver, o.read)
				}
				break
			}
		}
	}
}

// followsAll reports whether the commit of writer n follows the turn of every one of others.
func (w *worker) followsAll(n int32, others []int32) bool {
	row := w.commitRow(n)
	for _, i := range others {
		if c := &w.writers[i]; i == n || row[c.chain] < c.turn {
			return false
		}
	}
	return true
}
