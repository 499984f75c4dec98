package sim

import (
	"math/rand/v2"
	"slices"
	"sync"
)

// Sessions of the store are goroutines, which nothing stops from outside, and its calls take next to no time. So where a
// pause meets a session is drawn: before its next call or, without the protection commit-latch, inside its next commit.

// halting has the sessions that can be told to halt.
type halting struct {
	mu       sync.Mutex
	rng      *rand.Rand
	sessions []*session
}

// halt tells a session to halt until over is closed. inside says that it halts in its next commit, not before.
type halt struct {
	inside bool
	over   chan struct{}
}

func (h *halting) add(s *session) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sessions = append(h.sessions, s)
}

func (h *halting) remove(s *session) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sessions = slices.DeleteFunc(h.sessions, func(o *session) bool { return o == s })
}

// PauseSession implements drivers.Pauser.
func (d *db) PauseSession() (resume func(), err error) {
	d.halting.mu.Lock()
	defer d.halting.mu.Unlock()
	if len(d.halting.sessions) == 0 {
		return func() {}, nil
	}
	s := d.halting.sessions[d.halting.rng.IntN(len(d.halting.sessions))]
	h := &halt{d.opt.off[commitLatch] && d.halting.rng.Float64() < d.opt.window, make(chan struct{})}
	if !s.halt.CompareAndSwap(nil, h) {
		return func() {}, nil // it halts already
	}
	return func() {
		s.halt.Store(nil)
		close(h.over)
	}, nil
}

// stop waits while the session is told to halt before a call.
func (s *session) stop() {
	if h := s.halt.Load(); h != nil && !h.inside {
		<-h.over
	}
}

// between is the time from the check of a commit to its writes. Without commit-latch, others may do anything in it while the
// session halts there. The store is locked before and after.
func (t *tx) between() {
	h := t.s.halt.Load()
	if h == nil || !h.inside || t.s.keeps(commitLatch) {
		return
	}
	t.s.db.mu.Unlock()
	<-h.over
	t.s.db.mu.Lock()
}
