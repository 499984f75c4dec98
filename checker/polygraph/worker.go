package polygraph

import (
	"context"
	"iter"
	"slices"
	"sync"

	"github.com/isohound/isohound/accel/parallel"
)

// worker looks at some of the keys. No other worker looks at them at the same time. It changes
// nothing that others can see, except the open reads of its keys. merge applies its results.
type worker struct {
	*saturator
	local
	links   []link
	refutes *openRead
	scratch []int32
}

// crew are the idle workers. They keep their memory, because allocating it again would cost more
// than looking at a small key.
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

// forget drops the results of the workers.
func (c *crew) forget() {
	for _, w := range c.idle {
		w.links = w.links[:0]
	}
}

// link is an edge that will be added.
type link struct {
	from, to, why int32
	rule          rule
}

func (w *worker) link(from, to int32, by rule, why int32) {
	if len(w.links) == cap(w.links) {
		w.links = slices.Grow(w.links, max(64, len(w.links))) // append would grow it less and more often
	}
	w.links = append(w.links, link{from, to, why, by})
}

// found is what a worker found in a run of keys.
type found struct {
	links   []link
	refutes *openRead
}

// lostError says that a closure has failed. Another backend may not fail.
type lostError struct{ error }

// visitAll visits the contested keys from index from up to index to if they have news.
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

// visitRuns makes workers visit the contested keys of some runs.
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

// visitAsked is visitRuns for a closure without rows, which must be asked first.
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

// merge adds the edges that were found.
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

// everyKey visits the contested keys that have news, and merges the results in the order of the
// keys. If it visits a sample first, and the sample predicts too few edges, it visits no more keys
// and returns false.
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
