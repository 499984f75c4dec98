package scans

import (
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// Follower is told an execution while it is guessed, such as certify.Ahead.
type Follower interface {
	// Follow says how the execution goes on.
	Follow(part *verdict.Witness)
	// End says that the execution is complete.
	End()
	// Stop says that some of what was told is undone. After that nothing is told.
	Stop()
}

// follower tells a guess to a Follower while it is being made. A nil follower does nothing.
type follower struct {
	to   Follower // nil if nothing is told, or not any more
	lvl  level.Level
	sent int // events
}

// leastBack is by how many events the follower stays behind: most guesses that go back go back less far. It tells at
// least as many at a time.
const leastBack = 1 << 6

// newFollower returns a follower for the level that is checked first. It is nil at a weak level.
func newFollower(h *history.History, levels []level.Level, begin func(*history.History, level.Level) Follower) *follower {
	if begin == nil {
		return nil
	}
	for _, lvl := range level.Strongest(levels) {
		if !lvl.Weak() && lvl != level.PSI && level.SSER.Implies(lvl) {
			return &follower{to: begin(h, lvl), lvl: lvl}
		}
	}
	return nil
}

// follow says what the order of the transactions is so far.
func (f *follower) follow(order []int32) {
	if f != nil && f.to != nil && len(order) >= f.sent+2*leastBack {
		f.send(order[:len(order)-leastBack])
	}
}

func (f *follower) send(order []int32) {
	f.to.Follow((&verdict.Witness{Order: order[f.sent:]}).At(f.lvl))
	f.sent = len(order)
}

// rewind says that the events from one on are undone.
func (f *follower) rewind(to int) {
	if f != nil && to < f.sent {
		f.stop()
	}
}

// complete says that a witness was guessed.
func (f *follower) complete(w *verdict.Witness) {
	if f != nil && f.to != nil {
		f.send(w.Order)
		f.to.End()
		f.to = nil
	}
}

// stop says that what was told is no execution, unless it is complete.
func (f *follower) stop() {
	if f != nil && f.to != nil {
		f.to.Stop()
		f.to = nil
	}
}
