package polygraph

import (
	"context"
	"iter"
	"slices"
	"sync"

	"github.com/isohound/isohound/accel/parallel"
)

// worker looks at some of the keys, which are its alone for the time. It
// changes nothing that others see, but the open reads of its keys; merge does.
type worker struct {
	*saturator
	local
	links   []link
	refutes *openRead
	scratch []int32
}

// crew are workers between their work. What they have room for they keep, as
// fresh memory costs more than small keys.
type crew struct {
	mu   sync.Mutex
	idle []*worker
}

func (c *crew) worker(s *saturator) *worker {
	c.mu.Lock()
	defer c.mu.Unlock()
	last := len(c.idle) - 1
	if last < 0 {
		return &worker{saturator: s}
	}
	w := c.idle[last]
	c.idle = c.idle[:last]
	return w
}

func (c *crew) done(w *worker) {
	c.mu.Lock()
	c.idle = append(c.idle, w)
	c.mu.Unlock()
}

// forget has the workers forget what they have found.
func (c *crew) forget() {
	for _, w := range c.idle {
		w.links = w.links[:0]
	}
}

// link is an edge to be.
type link struct {
	from, to, why int32
	rule          rule
}

func (w *worker) link(from, to int32, by rule, why int32) {
	if len(w.links) == cap(w.links) {
		w.links = slices.Grow(w.links, max(64, len(w.links))) // append would grow it by less, and more often
	}
	w.links = append(w.links, link{from, to, why, by})
}

// found is what a worker has found in a run of keys.
type found struct {
	links   []link
	refutes *openRead
}

// lostError is that a closure has failed, which another backend may not.
type lostError struct{ error }

// visitAll looks at the contested keys from one place on and up to another that have
// news.
func (w *worker) visitAll(ctx context.Context, from, to int32, all bool) {
	for ; from < to; from++ {
		k, chains := w.contested.keys[from], w.contested.of(from)
		if w.reach.rows == nil {
			if w.group = w.groups.of[from]; w.group != none {
				w.visit(ctx, k, chains, all)
			}
		} else if w.worthALook(k, chains, all) {
			w.visit(ctx, k, chains, all)
		}
	}
}

// visitRuns has workers look at the contested keys of some runs.
func (s *saturator) visitRuns(ctx context.Context, runs []int32, all bool, results []found) error {
	return parallel.Share(ctx, s.m.workers(), len(runs), 1, func(numbers iter.Seq[int]) {
		w := s.crew.worker(s)
		for i := range numbers {
			r := runs[i]
			before := len(w.links)
			w.visitAll(ctx, s.contested.runs[r], s.contested.runs[r+1], all)
			results[r] = found{w.links[before:], w.refutes}
			w.refutes = nil
		}
		s.crew.done(w)
	})
}

// visitAsked is visitRuns with a closure that has to be asked.
func (s *saturator) visitAsked(ctx context.Context, runs []int32, all bool, results []found) error {
	for len(runs) > 0 {
		asked, err := s.ask(ctx, runs, all)
		if err != nil {
			return &lostError{err}
		}
		if err := s.visitRuns(ctx, runs[:asked], all, results); err != nil {
			return err
		}
		runs = runs[asked:]
	}
	return nil
}

// merge adds what was found.
func (s *saturator) merge(f *found, known met) {
	for _, l := range f.links {
		if known.add(l.from, l.to) {
			s.link(l.from, l.to, l.rule, l.why)
			continue
		}
		s.g.add(l.from, l.to, rules[l.rule].kind, l.rule, l.why)
		s.added++
	}
	if f.refutes != nil {
		s.refute(f.refutes)
	}
}

// everyKey looks at the contested keys that have news, and merges what it finds
// in the order of the keys. It returns false where it looked at a sample of them
// only, as that says that too little would come of all.
func (s *saturator) everyKey(ctx context.Context, all bool) (more bool, err error) {
	s.openOn = makeCSR(s.m.h.KeyCount(), len(s.open), func(i int32) int32 { return int32(s.m.reads[s.open[i].read].key) })
	if s.reach.first {
		s.contested.bits(s.m, s.reach)
	}
	results := make([]found, len(s.contested.sizes))
	defer s.crew.forget()
	visit := s.visitRuns
	if s.reach.rows == nil {
		visit = s.visitAsked
	}
	more = true
	runs := s.contested.order
	if !all && len(runs) > 2*sample {
		var first []int32
		first, runs = s.contested.sample()
		if err := visit(ctx, first, all, results); err != nil {
			return false, err
		}
		more = s.enough(s.contested.estimate(first, func(r int32) int { return len(results[r].links) }), s.worth().sampled)
	}
	if more {
		if err := visit(ctx, runs, all, results); err != nil {
			return false, err
		}
	}
	count := 0
	for i := range results {
		count += len(results[i].links)
	}
	s.g.reserve(count)
	known := newMet(s.g)
	for i := range results {
		s.merge(&results[i], known)
	}
	return more, nil
}
