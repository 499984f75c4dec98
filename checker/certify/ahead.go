package certify

import (
	"context"
	"slices"
	"sync"

	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// Ahead verifies an execution of a history while it is being found. It trusts nothing of what it was told: only
// where the witness of the verdict begins with the events that it verified, they are not verified again.
type Ahead struct {
	h      *history.History
	lvl    level.Level
	stop   *stop
	cancel context.CancelFunc
	wake   chan struct{} // something was told
	idle   chan struct{} // closed when the goroutine has ended

	mu    sync.Mutex
	told  []int32 // events that the goroutine has not taken
	ended bool

	// These belong to the goroutine until it has ended.
	replay *replay
	done   []int32 // the events that were verified
	err    error
}

// NewAhead begins to verify an execution of h at a level, which must not be weak. Its goroutine ends after End or
// Stop. h must not change until then.
func NewAhead(h *history.History, lvl level.Level) *Ahead {
	ctx, cancel := context.WithCancel(context.Background())
	a := &Ahead{h: h, lvl: lvl, stop: newStop(ctx), cancel: cancel, wake: make(chan struct{}, 1), idle: make(chan struct{})}
	go a.run(ctx)
	return a
}

// Follow says how the execution goes on: with these transactions, or at snapshot levels with these starts and commits.
func (a *Ahead) Follow(part *verdict.Witness) {
	a.tell(func() { a.told = append(a.told, eventsOf(part)...) })
}

// End says that no more is told.
func (a *Ahead) End() { a.tell(func() { a.ended = true }) }

// Stop ends the verification. Everything is then verified by Result. It returns when the goroutine has ended.
func (a *Ahead) Stop() {
	a.cancel()
	<-a.idle
	a.replay, a.h = nil, nil // and their memory
}

func (a *Ahead) tell(f func()) {
	a.mu.Lock()
	f()
	a.mu.Unlock()
	select {
	case a.wake <- struct{}{}:
	default: // it will look
	}
}

func (a *Ahead) run(ctx context.Context) {
	defer close(a.idle)
	if a.replay, a.err = newExecution(a.stop, a.h, a.lvl); a.err != nil {
		return
	}
	for {
		a.mu.Lock()
		part, ended := a.told, a.ended
		a.told = nil
		a.mu.Unlock()
		if a.err = a.replay.events(part); a.err != nil {
			return
		}
		if a.done = append(a.done, part...); len(part) > 0 {
			continue
		}
		if ended {
			return
		}
		select {
		case <-a.wake:
		case <-ctx.Done():
			a.err = ctx.Err()
			return
		}
	}
}

// Result is the function Result, which it calls unless r is a satisfied verdict on the history and the level of a whose
// witness begins with what was verified. It is called after End or Stop. a may be nil.
func (a *Ahead) Result(ctx context.Context, h *history.History, r *verdict.Result) error {
	if a == nil {
		return Result(ctx, h, r)
	}
	forget := context.AfterFunc(ctx, a.cancel)
	<-a.idle
	forget()
	play := a.replay
	a.replay = nil // it serves once
	if play == nil || a.err != nil || h != a.h || r.Level != a.lvl || r.Verdict != verdict.Satisfied || r.Witness == nil || (r.Witness.Points != nil) != a.lvl.Snapshot() {
		return Result(ctx, h, r)
	}
	all := eventsOf(r.Witness)
	if len(all) < len(a.done) || !slices.Equal(all[:len(a.done)], a.done) {
		return Result(ctx, h, r)
	}
	*a.stop = *newStop(ctx)
	err := play.execution(all[len(a.done):])
	if err == nil {
		err = Agrees(h, r.Level, r.Witness)
	}
	return err
}

func eventsOf(w *verdict.Witness) []int32 {
	if w.Points != nil {
		return w.Points
	}
	return w.Order
}
