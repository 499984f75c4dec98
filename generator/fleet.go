package generator

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/pkg/errors"
)

// Fleet is what a run knows of the load generators that have joined it from other processes. The run deals out
// numbers of workers, and with them values; it gives sessions and transactions their numbers; its history has the
// lines of all; and its cuts stop all.
//
// A load generator asks, and the run answers; each answer has the present order. Before a load generator sends a
// commit, the intent is on the run's disk. So if one is lost, each of its transactions that may have committed is
// known, and becomes one of unknown outcome. What comes later from it is refused: no commit follows.
//
// The load generators have clocks of their own. The history says so (history.Header.NoCommonClock).
type Fleet struct {
	cfg FleetConfig

	mu      sync.Mutex
	r       *Runner // nil before the run begins
	over    bool    // the history gets no more lines
	changed chan struct{}
	loaders map[string]*loader
	joined  int // how many have joined so far
	order   order
	again   []int
	// orphans are sessions of lost load generators that committed since the last cut. written is what lost ones
	// wrote since then, and left how many places it had no room for.
	orphans []int64
	written written
	left    int
}

// FleetConfig says how load generators join.
type FleetConfig struct {
	// Wait is how many the run waits for before it begins.
	Wait int
	// Sessions is how many sessions each has.
	Sessions int
	// Silence is how long one may be silent before it is given up.
	Silence time.Duration
	// Plan is what each gets that looks or joins. It may be set until the first one does.
	Plan json.RawMessage
	// Nudge tells all that there is a new order. It may fail.
	Nudge func()
	// Note tells people who joins and who leaves.
	Note func(string)
}

// workersOfRun bounds the numbers of workers of a run that others may join: that many write disjoint values.
const workersOfRun = 1 << 14

// loader is a load generator that takes part.
type loader struct {
	name     string // drawn by itself
	title    string // for people
	heard    time.Time
	ready    bool
	finished bool
	done     int // the latest order that was carried out
	problem  string
	seq      int64
	workers  []*worker // only their numbers and fences
	sessions map[int64]*remoteSession
	open     map[int64]*attempt // by its own numbers: transactions with an intent and without an outcome
	caughtUp map[int]*attempt   // by worker, how it saw the last cut
	written  written
	lost     int
}

type remoteSession struct {
	number int64
	end    int64 // of its latest transaction
	// committed says that it has since the last cut.
	committed bool
}

// NewFleet prepares a run that others may join.
func NewFleet(cfg FleetConfig) *Fleet {
	return &Fleet{cfg: cfg, changed: make(chan struct{}), loaders: map[string]*loader{}, written: written{}, order: order{Number: 1, Do: orderHalt}}
}

// step is the distance of the values of a worker.
func (f *Fleet) step(sessions int) int {
	if f == nil {
		return sessions
	}
	return max(workersOfRun, 8*sessions)
}

// signal wakes who waits for a change. f.mu is held.
func (f *Fleet) signal() {
	close(f.changed)
	f.changed = make(chan struct{})
}

// Handle answers one call of a load generator. Before the run has begun there is no answer: nil.
func (f *Fleet) Handle(body []byte) []byte {
	var c call
	a := &answer{}
	var lines []*line
	err := json.Unmarshal(body, &c)
	for i := 0; i < len(c.Lines) && err == nil; i++ {
		lines = append(lines, &line{})
		err = json.Unmarshal(c.Lines[i], lines[i])
	}
	if err != nil {
		a.Error = "the run does not understand: " + err.Error()
	} else {
		f.mu.Lock()
		if f.r == nil {
			f.mu.Unlock()
			return nil
		}
		f.answer(&c, lines, a)
		a.Order = f.order
		f.mu.Unlock()
	}
	out, err := json.Marshal(a)
	if err != nil { // an answer has nothing that cannot be spelled
		return []byte(`{"error":"the run cannot answer"}`)
	}
	return out
}

func (f *Fleet) answer(c *call, lines []*line, a *answer) {
	m := f.loaders[c.Loader]
	switch {
	case f.over:
		if a.Ended = true; m != nil {
			m.done = f.order.Number
			f.signal()
		}
		return
	case m == nil && c.Look:
		a.Joined = &share{Plan: f.cfg.Plan}
		return
	case m == nil && c.Join:
		if m = f.join(c, a); m == nil {
			return
		}
	case m == nil:
		a.Gone = true
		return
	}
	if c.Join {
		a.Joined = &share{Number: m.number(), First: m.workers[0].n, Step: int64(f.step(f.cfg.Sessions)), Now: f.r.rec.Now(), Plan: f.cfg.Plan}
	}
	m.heard = time.Now()
	if c.Leaving != "" {
		f.giveUp(m, "leaves: "+c.Leaving)
		return
	}
	if len(lines) > 0 && c.Seq > m.seq {
		switch {
		case c.Seq != m.seq+1 || m.done == f.order.Number && f.order.Do != orderGo:
			f.giveUp(m, "has sent something out of turn")
			a.Gone = true
			return
		default:
			if err := f.absorb(m, lines); err != nil {
				f.r.fail(&LogError{err})
				a.Error = "the run cannot write its history"
				return
			}
			m.seq = c.Seq
		}
	}
	if c.Done > m.done {
		m.done, m.problem = c.Done, c.Problem
		m.prune(c.Sessions)
	}
	m.ready, m.finished = m.ready || c.Ready, m.finished || c.Finished
	f.signal()
}

// number is the place of a load generator among all that have joined.
func (m *loader) number() int { return m.workers[0].n / len(m.workers) }

// join makes a new load generator, or says why not.
func (f *Fleet) join(c *call, a *answer) *loader {
	first := (f.joined + 1) * f.cfg.Sessions
	switch {
	case first+f.cfg.Sessions > f.step(f.cfg.Sessions):
		a.Error = fmt.Sprintf("the run has dealt out all its numbers: %d load generators have joined", f.joined)
		return nil
	case f.order.Do == orderEnd:
		a.Error = "the run is ending"
		return nil
	}
	f.joined++
	m := &loader{
		name: c.Loader, title: fmt.Sprintf("load generator %d (%s)", f.joined, c.Host), heard: time.Now(),
		sessions: map[int64]*remoteSession{}, open: map[int64]*attempt{}, caughtUp: map[int]*attempt{}, written: written{},
	}
	if f.order.Do == orderHalt {
		m.done = f.order.Number // nothing of it is running
	}
	for n := range f.cfg.Sessions {
		m.workers = append(m.workers, &worker{n: first + n, remote: true})
	}
	f.loaders[m.name] = m
	f.cfg.Note(m.title + " joins")
	return m
}

// watch gives up load generators that are silent, until ctx ends.
func (f *Fleet) watch(ctx context.Context) {
	for ctx.Err() == nil {
		began := time.Now()
		pause(ctx, 100*time.Millisecond)
		f.mu.Lock()
		if time.Since(began) > time.Second { // it is this process that heard nobody: it was stopped, or busy
			for _, m := range f.loaders {
				m.heard = time.Now()
			}
		}
		for _, m := range f.loaders {
			if silent := time.Since(m.heard); silent > f.cfg.Silence && !f.over {
				f.giveUp(m, fmt.Sprintf("was not heard of for %.0f s, the run goes on without it", silent.Seconds()))
			}
		}
		f.mu.Unlock()
	}
}

// waitFor waits until holds, which is called with f.mu held, or until ctx ends or the limit is over. 0 is no limit.
func (f *Fleet) waitFor(ctx context.Context, limit time.Duration, holds func() bool) bool {
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	for {
		f.mu.Lock()
		ok, changed := holds(), f.changed
		f.mu.Unlock()
		if ok {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-changed:
		}
	}
}

// give gives all load generators an order. f.mu is held.
func (f *Fleet) give(do string) {
	f.order.Number++
	f.order.Do, f.order.Again = do, nil
	f.cfg.Nudge()
}

// obeyed reports whether all have carried out the present order.
func (f *Fleet) obeyed() bool {
	for _, m := range f.loaders {
		if m.done < f.order.Number {
			return false
		}
	}
	return true
}

// errOver says that a run ended before the load generators that it waited for had joined.
var errOver = errors.New("the run ended before the load generators that it waited for had joined")
