package generator

import (
	"context"
	"math"
	"sync/atomic"
	"time"
)

// Paced is a Workload whose keys change with the number of a session's transactions, for example
// a moving window. Without pacing, fast sessions in a closed loop get ahead of others, and
// finally no two sessions use the same keys.
type Paced interface {
	// Lag is how many transactions a session may be ahead of the slowest; 0 means no limit.
	Lag() int
}

// longestHold is how long one transaction is held back at most: sessions wait for a slow
// session, but continue without one that hangs.
const longestHold = 100 * time.Millisecond

// pace holds back sessions that are ahead. It changes when transactions run, not what they do.
type pace struct {
	lag  int64
	step int64 // a session checks the others after this many transactions
	hold time.Duration
	at   []atomic.Int64 // the current transaction of each worker, finished if it has ended
}

const finished = math.MaxInt64

// newPace returns nil if no session needs to be held back.
func newPace(w Workload, workers int, rate float64) *pace {
	p, ok := w.(Paced)
	if !ok || p.Lag() <= 0 || rate > 0 { // in an open loop sessions stay together anyway
		return nil
	}
	lag := int64(p.Lag())
	return &pace{lag: lag, step: 1 + lag/8, hold: longestHold, at: make([]atomic.Int64, workers)}
}

// next records that a worker is about to begin its transaction n, from 0, and waits while the
// worker is too far ahead.
func (p *pace) next(ctx context.Context, worker int, n int64) {
	if p == nil {
		return
	}
	p.at[worker].Store(n)
	if n%p.step != 0 {
		return
	}
	for until := time.Now().Add(p.hold); n-p.slowest() > p.lag && ctx.Err() == nil && time.Now().Before(until); {
		pause(ctx, 100*time.Microsecond)
	}
}

// end records that a worker begins no further transaction.
func (p *pace) end(worker int) {
	if p != nil {
		p.at[worker].Store(finished)
	}
}

func (p *pace) slowest() int64 {
	least := int64(finished)
	for i := range p.at {
		least = min(least, p.at[i].Load())
	}
	return least
}
