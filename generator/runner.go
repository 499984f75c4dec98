package generator

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/drivers"
)

// Config says how a workload is run.
type Config struct {
	Sessions int
	// Txns is how many transactions each session runs; 0 is no limit.
	Txns int
	// Duration ends the run after a time; 0 is no limit.
	Duration time.Duration
	// Rate makes an open loop with this many transactions per second over all sessions. 0 is a
	// closed loop, in which each session starts its next transaction when the previous one is
	// done.
	Rate float64
	// Retries is how often an aborted transaction is retried.
	Retries int
	// CallTimeout bounds each call to the database; 0 is no limit.
	CallTimeout time.Duration
	// Patience is how long sessions try to reconnect when no session gets an answer any more, and how
	// long the runner asks for an unknown outcome.
	Patience time.Duration
	// Note, if set, is told when an endpoint cannot be reached, and when it can again.
	Note func(string)
	Seed int64
	// Started, if set, is called when the sessions start, and Ended when they have ended, before the
	// final read.
	Started, Ended func()
	// Cuts says when the run is cut into windows.
	Cuts Cuts
	// FenceEvery makes each session read and write history.EpochKey before its first transaction and after so many others; 0 makes
	// none do that. It is for checking in rounds, see package checker/fences.
	FenceEvery int
	// FinalRead ends the run with a read of all that it wrote, see FinalRead.
	FinalRead bool
	// Left is what an earlier process left of this run; nil for a run from the beginning.
	Left *Left
	// Fleet, if set, lets load generators in other processes join the run, which must be cut into windows. Its
	// header must have NoCommonClock. Member, if set, says that this process has joined such a run.
	Fleet  *Fleet
	Member *Member
	// Panicked, if set, is called with the value of a panic of a driver or a workload, in the goroutine that panicked. It must end the
	// process: what else runs may wait for ever for what that goroutine has locked. A panic that nobody recovers ends the process
	// with exit code 2, which has a meaning of its own.
	Panicked func(value any)
	// Lightweight says that the workload has lightweight transactions.
	Lightweight bool
}

// Defaults of Config.
const (
	DefaultRetries     = 3
	DefaultCallTimeout = 10 * time.Second
	DefaultPatience    = 10 * time.Second
)

// LogError says that the history could not be written. Everything before the error was written.
type LogError struct{ Err error }

func (e *LogError) Error() string { return "cannot write the history: " + e.Err.Error() }
func (e *LogError) Unwrap() error { return e.Err }

// Reasons for the end of a run, as in the closing line of the history.
const (
	Complete        = "complete"
	DurationReached = "duration reached"
	Interrupted     = "interrupted"
	ServerLost      = "server lost"
	TooManySessions = "too many sessions"
	Refused         = "refused by the database"
	HistoryLost     = "history not writable"
	ViolationFound  = "violation found"
)

// FullError says that a server has too few connections for the sessions of a run.
type FullError struct {
	Got   int64 // connections
	Asked int
	Err   error
}

func (e *FullError) Error() string {
	return fmt.Sprintf("cannot connect: the server refuses more connections after %d of %d; use fewer --sessions, or raise the server's limit: %v", e.Got, e.Asked, e.Err)
}

func (e *FullError) Unwrap() error { return e.Err }

// RefusedError says that a server that can be reached does not do what a run needs, and that to try again is of no use.
type RefusedError struct{ Err error }

func (e *RefusedError) Error() string { return "the database refuses to go on: " + e.Err.Error() }
func (e *RefusedError) Unwrap() error { return e.Err }

// Runner runs one workload against one database.
type Runner struct {
	cfg  Config
	dbs  []drivers.DB // one for each endpoint
	w    Workload
	rec  *Recorder
	stat *Meter

	sessions atomic.Int64 // the number of session numbers used
	stop     context.CancelCauseFunc
	once     sync.Once
	origin   int64 // when the sessions started
	fatal    error
	pace     *pace
	gate     *gate
	outages  *outages
	workers  []*worker
	final    *FinalRead
	cuts     CutStats
	// kept is what was written before the last cut, if it was given up. doubtful is what transactions
	// of unknown outcome wrote. Both are read at each cut.
	kept, doubtful written
	doubtMu        sync.Mutex
	last           []*worker // whose fences a new session reads, to come after the last cut
	lastSession    int64     // which wrote that fence; 0 if an earlier process did
}

// NewRunner prepares a run. The database's schema must exist. If the database has several
// endpoints, each is a separate DB, and others are those after the first. Workers are assigned
// to them in turn and keep their endpoint.
func NewRunner(cfg Config, db drivers.DB, w Workload, rec *Recorder, others ...drivers.DB) *Runner {
	return &Runner{cfg: cfg, dbs: append([]drivers.DB{db}, others...), w: w, rec: rec, stat: newMeter(rec.Now, 1+len(others)), pace: newPace(w, cfg.Sessions, cfg.Rate), gate: newGate(), outages: newOutages(cfg.Note, 1+len(others))}
}

// Meter returns the run's counters, which may be read during the run.
func (r *Runner) Meter() *Meter { return r.stat }

// ErrViolated is the cause with which the context stop of Run ends when a window is violated.
var ErrViolated = errors.New("a window is violated")

var errEnough = errors.New("the run's time is over")

// Run runs the sessions until they are done, the duration is over, stop ends, or an error ends
// the run. Then it writes the closing line. When stop ends, running transactions finish; when
// ctx ends, they do not. reason says why the run ended; err is a *LogError or an error of the
// database.
func (r *Runner) Run(ctx, stop context.Context) (reason string, err error) {
	running, cancel := context.WithCancelCause(stop)
	defer cancel(nil)
	r.stop = cancel
	fleet := r.cfg.Fleet
	watched, noWatch := context.WithCancel(ctx)
	defer noWatch()
	fleet.begin(r)
	r.sessions.Store(int64(r.cfg.Sessions))
	// All sessions connect first and then start together. So short runs are concurrent too, and
	// connecting does not count for duration and rate.
	var connected, ended sync.WaitGroup
	start := make(chan struct{})
	r.workers = make([]*worker, r.cfg.Sessions)
	for n := range r.workers {
		r.workers[n] = newWorker(r, n)
	}
	if r.cfg.Left != nil {
		if err := r.resume(); err != nil {
			return HistoryLost, err
		}
	}
	for _, w := range r.workers {
		connected.Add(1)
		ended.Add(1)
		go func() {
			defer ended.Done()
			defer r.caught()
			if err := w.connect(ctx, running); err != nil {
				r.fail(err)
			}
			connected.Done()
			<-start
			w.run(ctx, running)
		}()
	}
	connected.Wait()
	r.outages.started.Store(true)
	err = fleet.start(watched, running)
	if r.cfg.Duration > 0 {
		timer := time.AfterFunc(r.cfg.Duration, func() { cancel(errEnough) })
		defer timer.Stop()
	}
	r.origin = r.rec.Now()
	r.stat.start(r.origin)
	if r.cfg.Started != nil {
		r.cfg.Started()
	}
	close(start)
	cutsEnd := make(chan struct{})
	cuttable, noMoreCuts := context.WithCancel(running)
	go func() {
		defer close(cutsEnd)
		defer r.caught()
		if r.cfg.Cuts.Any() {
			r.cutting(ctx, cuttable)
		}
	}()
	ended.Wait()
	if err == nil {
		fleet.finished(running)
	}
	noMoreCuts()
	<-cutsEnd
	fleet.end(ctx, haltedWithin(r.cfg.Patience))
	if errors.Is(r.fatal, errCutUnseen) {
		r.confirmCut(ctx)
	}
	r.stat.stop()
	if r.cfg.Ended != nil {
		r.cfg.Ended()
	}
	reason = r.reason(stop, running)
	if r.cfg.FinalRead {
		if err := r.finalRead(ctx, reason); err != nil {
			r.fail(err)
			reason = HistoryLost
		}
	}
	fleet.close()
	r.disconnect()
	if reason == HistoryLost {
		return reason, r.fatal // the log accepts no closing line any more
	}
	if err := r.rec.Close(reason); err != nil {
		return HistoryLost, &LogError{err}
	}
	return reason, r.fatal
}

// reason says why the sessions ended.
func (r *Runner) reason(stop, running context.Context) string {
	var le *LogError
	var full *FullError
	var refused *RefusedError
	switch {
	case errors.As(r.fatal, &le):
		return HistoryLost
	case errors.As(r.fatal, &full):
		return TooManySessions
	case errors.As(r.fatal, &refused):
		return Refused
	case r.fatal != nil:
		return ServerLost
	case errors.Is(context.Cause(stop), ErrViolated):
		return ViolationFound
	case stop.Err() != nil:
		return Interrupted
	case errors.Is(context.Cause(running), errEnough):
		return DurationReached
	}
	return Complete
}

// disconnect ends all sessions, several at a time because closing may take a round trip.
func (r *Runner) disconnect() {
	var ended sync.WaitGroup
	for _, w := range r.workers {
		ended.Add(1)
		go func() {
			defer ended.Done()
			defer r.caught()
			w.disconnect()
		}()
	}
	ended.Wait()
}

// caught is deferred in goroutines that call a driver or a workload.
func (r *Runner) caught() {
	if r.cfg.Panicked == nil {
		return
	}
	if p := recover(); p != nil {
		r.cfg.Panicked(p)
	}
}

// fail ends the run. The first error is kept.
func (r *Runner) fail(err error) {
	r.once.Do(func() { r.fatal = err })
	r.stop(err)
}
