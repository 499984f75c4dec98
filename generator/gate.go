package generator

import (
	"sync"
	"time"
)

// gate lets transactions pass, except while it is closed. It is closed for a cut, when all sessions
// must have ended their transactions and must not begin others.
type gate struct {
	mu     sync.Mutex
	inside int
	closed bool
	// changed is closed, and made anew, when inside has become 0 or the gate was opened.
	changed chan struct{}
}

func newGate() *gate { return &gate{changed: make(chan struct{})} }

// enter waits until the gate is open. Each enter needs a leave.
func (g *gate) enter() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.closed {
		changed := g.changed
		g.mu.Unlock()
		<-changed
		g.mu.Lock()
	}
	g.inside++
}

func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.inside--; g.inside == 0 && g.closed {
		g.signal()
	}
}

// lookEvery is how often shut asks whether waiting is in vain.
const lookEvery = 20 * time.Millisecond

// shut closes the gate and waits until nobody is inside. If that takes longer than limit, or is in vain, it opens
// the gate again and returns how many are still inside.
func (g *gate) shut(limit time.Duration, vain func() bool) (inside int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	timer := time.NewTimer(limit)
	defer timer.Stop()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for g.inside > 0 {
		changed := g.changed
		g.mu.Unlock()
		late := false
		select {
		case <-changed:
		case <-timer.C:
			late = true
		case <-look.C:
			late = vain()
		}
		g.mu.Lock()
		if late && g.inside > 0 {
			g.closed = false
			g.signal()
			return g.inside
		}
	}
	return 0
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = false
	g.signal()
}

func (g *gate) signal() {
	close(g.changed)
	g.changed = make(chan struct{})
}
