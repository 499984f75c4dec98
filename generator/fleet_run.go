package generator

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/pkg/errors"
)

// The methods here are called by the runner of the run. They do nothing on a nil Fleet.

// begin lets load generators join.
func (f *Fleet) begin(r *Runner) {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.r = r
}

// startSilence is how long a load generator may be silent and count as one that the run waits for. It says every aliveEvery that it
// is there. One that is silent for longer may be there again, so it is not given up, but the run does not begin with it.
const startSilence = 3 * time.Second

// start waits for those that the run needs, and begins.
func (f *Fleet) start(ctx, running context.Context) error {
	if f == nil {
		return nil
	}
	go f.watch(ctx)
	if f.cfg.Wait > 0 {
		what := "load generators"
		if f.cfg.Wait == 1 {
			what = "load generator"
		}
		f.cfg.Note(fmt.Sprintf("waiting for %d %s to join", f.cfg.Wait, what))
	}
	enough := f.waitFor(running, 0, func() bool {
		ready := 0
		for _, m := range f.loaders {
			if m.ready && time.Since(m.heard) < startSilence {
				ready++
			}
		}
		return ready >= f.cfg.Wait
	})
	if !enough {
		return errOver
	}
	f.release(nil, false)
	return nil
}

// halt asks all to stop, and to write their fences.
func (f *Fleet) halt() {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.give(orderHalt)
}

// halted waits until all have stopped. Those that are silent are given up meanwhile.
func (f *Fleet) halted(ctx context.Context, limit time.Duration) error {
	if f == nil {
		return nil
	}
	all := f.waitFor(ctx, limit, f.obeyed)
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, m := range f.loaders {
		switch {
		case !all && m.done < f.order.Number:
			return errors.Errorf("%s did not stop within %s", m.title, limit)
		case m.done == f.order.Number && m.problem != "":
			return errors.Errorf("%s: %s", m.title, m.problem)
		}
	}
	return nil
}

// release lets all go on. cut says that a new window has begun, whose sessions must first see the fences of last.
func (f *Fleet) release(last []*worker, cut bool) {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	again := f.again
	f.again = nil
	f.give(orderGo)
	f.order.Last = nil
	for _, w := range last {
		f.order.Last = append(f.order.Last, seen{w.n, w.fence})
	}
	if !cut {
		f.order.Again = again
		return
	}
	f.order.Cut++
	for _, m := range f.loaders {
		clear(m.caughtUp)
		for _, s := range m.sessions {
			s.committed = false
		}
	}
}

// alone calls do while no load generator can be given up, and no line of one can come.
func (f *Fleet) alone(do func() error) error {
	if f != nil {
		f.mu.Lock()
		defer f.mu.Unlock()
	}
	return do()
}

// adopt gives the sessions of lost load generators to workers of the run: what they were told to be committed must
// be there. It adds what load generators wrote since the last call to all, and returns how many places are left out.
func (f *Fleet) adopt(workers []*worker, all written) (left int) {
	if f == nil {
		return 0
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, session := range f.orphans {
		w := workers[session%int64(len(workers))]
		w.broken = append(w.broken, session)
	}
	maps.Copy(all, f.written)
	left = f.left
	for _, m := range f.loaders {
		maps.Copy(all, m.written)
		left += m.lost
		m.written, m.lost = written{}, 0
	}
	f.orphans, f.written, f.left = nil, written{}, 0
	return left
}

// fenced are the workers of load generators that have written their fences.
func (f *Fleet) fenced() (out []*worker) {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, m := range f.loaders {
		for _, w := range m.workers {
			if w.fence != 0 {
				own := *w // it may be lost meanwhile
				out = append(out, &own)
			}
		}
	}
	slices.SortFunc(out, func(a, b *worker) int { return a.n - b.n })
	return out
}

// unseen notes that a fence was not seen. It is written again at the next cut.
func (f *Fleet) unseen(w *worker) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !slices.Contains(f.again, w.n) {
		f.again = append(f.again, w.n)
	}
}

// finished waits until all have made their transactions, or running ends.
func (f *Fleet) finished(running context.Context) {
	if f == nil {
		return
	}
	f.waitFor(running, 0, func() bool {
		for _, m := range f.loaders {
			if !m.finished {
				return false
			}
		}
		return true
	})
}

// end asks all to end, and waits until they have.
func (f *Fleet) end(ctx context.Context, limit time.Duration) {
	if f == nil {
		return
	}
	f.mu.Lock()
	f.give(orderEnd)
	f.mu.Unlock()
	f.waitFor(ctx, limit, f.obeyed)
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, m := range f.loaders {
		switch {
		case m.done < f.order.Number:
			f.giveUp(m, "did not end in time")
		case m.problem != "":
			f.cfg.Note(m.title + ": " + m.problem)
		}
	}
}

// byeTime is how long a run that is over waits until all know it.
const byeTime = 2 * time.Second

// close ends the part of the load generators. The history gets no more of their lines.
func (f *Fleet) close() {
	if f == nil {
		return
	}
	f.mu.Lock()
	f.over = true
	f.give(orderBye)
	f.mu.Unlock()
	f.waitFor(context.Background(), byeTime, f.obeyed)
}

// Joined returns how many load generators have joined so far.
func (f *Fleet) Joined() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.joined
}
