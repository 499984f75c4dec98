package generator

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

type paced struct {
	Workload
	lag int
}

func (p paced) Lag() int { return p.lag }

// TestPace: no worker is further ahead of the slowest than the lag and a step, for very
// different speeds, and a worker that has ended holds up nobody.
func TestPace(t *testing.T) {
	for _, lag := range []int{1, 10, 40} {
		const workers, txns = 6, 300
		p := newPace(paced{lag: lag}, workers, 0)
		p.hold = time.Hour
		var at [workers]atomic.Int64
		var wg sync.WaitGroup
		for w := range workers {
			wg.Add(1)
			go func() {
				defer wg.Done()
				rng := rand.New(rand.NewPCG(1, uint64(w)))
				for n := range int64(txns - 20*w) { // the first works longest
					p.next(context.Background(), w, n)
					at[w].Store(n)
					for i := range at {
						if ahead := n - at[i].Load(); ahead > p.lag+p.step {
							t.Errorf("lag %d: worker %d is %d ahead of worker %d", lag, w, ahead, i)
							return
						}
					}
					if w == 0 && rng.IntN(3) == 0 {
						time.Sleep(50 * time.Microsecond)
					}
				}
				at[w].Store(finished)
				p.end(w)
			}()
		}
		wg.Wait()
	}
}

// TestPaceGoesOn: a worker that hangs holds up others only for a limited time; the end of the
// run ends the wait at once.
func TestPaceGoesOn(t *testing.T) {
	p := newPace(paced{lag: 2}, 2, 0)
	p.hold = time.Millisecond
	for n := range int64(20) {
		p.next(context.Background(), 1, n)
	}
	p.hold = time.Hour
	over, cancel := context.WithCancel(context.Background())
	cancel()
	p.next(over, 1, 20)

	var none *pace
	none.next(context.Background(), 0, 1)
	none.end(0)
	if newPace(paced{lag: 0}, 2, 0) != nil || newPace(paced{lag: 3}, 2, 100) != nil || newPace(struct{ Workload }{}, 2, 0) != nil {
		t.Error("sessions are held back without need")
	}
}
