package polygraph

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/isohound/isohound/checker/verdict"
)

// worker looks at some of the transactions, or open reads, which are its alone
// for the time. It changes nothing that others see; merge does that.
type worker struct {
	*saturator
	links   []link
	refutes *openRead
	scratch []int32
}

// link is an edge to be.
type link struct {
	from, to, why int32
	kind          verdict.EdgeKind
	rule          rule
}

func (w *worker) link(from, to int32, kind verdict.EdgeKind, by rule, why int32) {
	w.links = append(w.links, link{from, to, why, kind, by})
}

// merge adds what a worker has found.
func (s *saturator) merge(w *worker) {
	for _, l := range w.links {
		s.link(l.from, l.to, l.kind, l.rule, l.why)
	}
	if w.refutes != nil {
		s.refute(w.refutes)
	}
}

// parallel has workers share the numbers from 0 to n-1 in runs of some length,
// and merges what they find in the order of the numbers.
func (s *saturator) parallel(ctx context.Context, n, run int, do func(w *worker, from, to int)) error {
	if n <= run { // not worth a goroutine
		w := &worker{saturator: s}
		do(w, 0, n)
		s.merge(w)
		return nil
	}
	runs := (n + run - 1) / run
	results := make([]*worker, runs)
	var next atomic.Int64
	var wg sync.WaitGroup
	for range workers() {
		wg.Add(1)
		go func() {
			defer wg.Done()
			var scratch []int32
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= runs {
					return
				}
				w := &worker{saturator: s, scratch: scratch}
				do(w, i*run, min((i+1)*run, n))
				scratch, results[i] = w.scratch, w
			}
		}()
	}
	wg.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	for _, w := range results {
		s.merge(w)
	}
	return nil
}

// everyTxn looks at the transactions that have news.
func (s *saturator) everyTxn(ctx context.Context, all bool) error {
	return s.parallel(ctx, len(s.m.txns), 4096, func(w *worker, from, to int) {
		for t := int32(from); t < int32(to); t++ {
			if s.m.optional[t] {
				continue
			}
			if mask := s.k.news(s.g.start(t), all); mask != 0 {
				for r := s.m.readFrom[t]; r < s.m.readFrom[t+1]; r++ {
					if src := s.m.reads[r].source; src >= fromInitial {
						w.seenWith(r, src, mask)
					}
				}
			}
			if mask := s.k.news(s.g.commit(t), all); mask != 0 {
				for _, wr := range s.m.writesOf.of(t) {
					w.overwrites(wr, mask)
				}
			}
		}
	})
}
