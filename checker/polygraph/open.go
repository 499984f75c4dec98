package polygraph

import (
	"context"

	"github.com/isohound/isohound/checker/verdict"
)

// openReads drops candidates that are impossible and draws what follows from
// all that are left.
func (s *saturator) openReads(ctx context.Context) error {
	work := s.open
	if err := s.parallel(ctx, len(work), 256, func(w *worker, from, to int) {
		for i := from; i < to; i++ {
			o := &work[i]
			w.ruleOut(o)
			if len(o.candidates) > 1 || len(o.candidates) == 1 && o.initial {
				w.afterAll(o)
				w.beforeWhatFollowsAll(o)
			}
		}
	}); err != nil {
		return err
	}
	s.open = make([]openRead, 0, len(work)) // what counts anew adds its own
	for i := range work {
		o := work[i]
		switch {
		case len(o.candidates) == 0 && !o.initial:
			s.refute(&o)
			s.closed = append(s.closed, o) // edges may rest on it
		case len(o.candidates) == 0:
			s.closed = append(s.closed, o)
			s.resolve(o.read, fromInitial)
		case len(o.candidates) == 1 && !o.initial:
			s.closed = append(s.closed, o)
			s.resolve(o.read, o.candidates[0])
		default:
			s.open = append(s.open, o)
		}
	}
	return nil
}

// ruleOut drops the candidates that come behind the reader, and those with
// another value between them and the reader.
func (s *worker) ruleOut(o *openRead) {
	m, g, k := s.m, s.g, s.k
	rd := &m.reads[o.read]
	others := s.scratch[:0]
	s.othersBefore(o.read, everything, func(w int32) bool {
		others = append(others, w)
		return true
	})
	s.scratch = others
	known := int32(len(g.edges))
	if o.initial && len(others) > 0 {
		o.initial = false
		o.ruledOut = append(o.ruledOut, ruledOut{fromInitial, others[0], known})
	}
	left := o.candidates[:0]
candidates:
	for _, w := range o.candidates {
		t := m.writer[w]
		if k.fromStart(rd.txn, g.commit(t)) {
			o.ruledOut = append(o.ruledOut, ruledOut{w, none, known})
			continue
		}
		for _, u := range others {
			if u != t && k.fromStart(t, g.commit(u)) {
				o.ruledOut = append(o.ruledOut, ruledOut{w, u, known})
				continue candidates
			}
		}
		left = append(left, w)
	}
	o.candidates = left
}

// afterAll: a read follows whatever all its candidates follow.
func (s *worker) afterAll(o *openRead) {
	if o.initial {
		return
	}
	m, g, k := s.m, s.g, s.k
	reader := m.reads[o.read].txn
	row := k.row(g.start(reader))
	first := s.scratch[:0] // of each chain, the first candidate, which the others follow
	for i, w := range o.candidates {
		if i == 0 || s.places[w].chain != s.places[o.candidates[i-1]].chain {
			first = append(first, w)
		}
	}
	s.scratch = first
	for c := range k.width {
		least := row[c]
		for n, w := range first {
			p := k.row(g.commit(m.writer[w]))[c]
			if p <= row[c] {
				least = row[c]
				break
			}
			if n == 0 || p < least {
				least = p
			}
		}
		if least > row[c] {
			t := m.chains.members.of(c)[(least-1)>>g.split]
			from := g.start(t)
			if least == k.commitAt(t) {
				from = g.commit(t)
			}
			s.link(from, g.start(reader), verdict.WR, allAfter, o.read)
		}
	}
}

// beforeWhatFollowsAll: a read comes before the writers of other values that
// follow all its candidates.
func (s *worker) beforeWhatFollowsAll(o *openRead) {
	m, g, k := s.m, s.g, s.k
	rd := &m.reads[o.read]
	s.firstBehind(rd, func(u int32) bool {
		for i, c := range o.candidates {
			if i+1 < len(o.candidates) && s.places[c].chain == s.places[o.candidates[i+1]].chain {
				continue // a later one of its chain is among them
			}
			if t := m.writer[c]; t == u || !k.fromStart(t, g.commit(u)) {
				return false
			}
		}
		return true
	}, func(u int32) {
		if !k.fromStart(rd.txn, g.commit(u)) {
			s.link(g.start(rd.txn), g.commit(u), verdict.RW, allOver, o.read)
		}
	})
}
