package generator

import (
	"context"
	"math/rand"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/history"
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
	HistoryLost     = "history not writable"
	ViolationFound  = "violation found"
)

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
	switch {
	case errors.As(r.fatal, &le):
		return HistoryLost
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
			w.disconnect()
		}()
	}
	ended.Wait()
}

// fail ends the run. The first error is kept.
func (r *Runner) fail(err error) {
	r.once.Do(func() { r.fatal = err })
	r.stop(err)
}

// worker is one of the concurrent sessions: a plan and at most one connection at a time. Each
// connection is a separate session in the history.
type worker struct {
	r       *Runner
	n       int  // the number, from 0, unique in the run
	remote  bool // it works elsewhere; only n and fence are used
	db      drivers.DB
	plan    Plan
	jitter  *rand.Rand // for waits, separate from the plan's stream
	values  *values
	session drivers.Session
	number  int64 // of the session
	// shown is number, for other goroutines.
	shown *atomic.Int64
	a     attempt
	// committed says that the session has committed a transaction since the last cut. broken are
	// the numbers of the earlier sessions of this worker that did, whose connections broke since.
	committed bool
	broken    []int64
	// caughtUp is the transaction by which the session, or the one before, saw the last cut.
	caughtUp attempt
	// behind says that the session has not yet seen the last cut.
	behind bool
	// epoched is the session that has read and written history.EpochKey, before the latest since transactions.
	epoched int64
	since   int
	// fence is what the worker's fence holds, 0 if it has none.
	fence   int64
	written written
	lost    int // places that written had no room for
}

func newWorker(r *Runner, n int) *worker {
	node := n % len(r.dbs)
	a := attempt{r: r.rec, worker: n}
	if len(r.dbs) > 1 {
		a.node = int16(node + 1)
	}
	w := &worker{r: r, n: n, number: int64(n + 1), shown: new(atomic.Int64), db: r.dbs[node], a: a, written: written{}}
	w.shown.Store(w.number)
	step := r.cfg.Fleet.step(r.cfg.Sessions)
	if m := r.cfg.Member; m != nil {
		w.n, step = m.share.First+n, int(m.share.Step)
	}
	w.plan = r.w.Plan(w.n, Stream(r.cfg.Seed, w.n))
	w.jitter = Stream(r.cfg.Seed, -2-w.n)
	w.values = newValues(w.n, step)
	return w
}

// run runs the plan. running ends when no further transaction may start.
func (w *worker) run(ctx, running context.Context) {
	cfg := &w.r.cfg
	defer w.r.pace.end(w.a.worker)
	for j := 0; (cfg.Txns == 0 || j < cfg.Txns) && running.Err() == nil; j++ {
		w.r.pace.next(running, w.a.worker, int64(j))
		program := w.plan.Next()
		if p, ok := program.(Waiter); ok && cfg.Rate == 0 {
			pause(running, p.Wait())
			if running.Err() != nil {
				return
			}
		}
		due := w.r.rec.Now()
		if cfg.Rate > 0 {
			due = w.r.origin + int64(float64(j*cfg.Sessions+w.a.worker)/cfg.Rate*1e9)
			pause(running, time.Duration(due-w.r.rec.Now()))
			if running.Err() != nil {
				return
			}
		}
		for try := 0; try <= cfg.Retries && running.Err() == nil; try++ {
			if try > 0 {
				pause(running, time.Duration(w.jitter.Int63n(int64(time.Millisecond)<<min(try, 6))))
			}
			if err := w.passEpoch(ctx, running); err != nil {
				w.r.fail(err)
				return
			}
			again, err := w.attempt(ctx, running, program, due)
			if err != nil {
				w.r.fail(err)
				return
			}
			if !again {
				break
			}
		}
		w.r.stat.finished.Add(1)
	}
}

// passEpoch makes the session read and write history.EpochKey, if that is due. A session does nothing else before.
func (w *worker) passEpoch(ctx, running context.Context) error {
	every := w.r.cfg.FenceEvery
	for try := 1; every > 0 && (w.epoched != w.number || w.since >= every) && running.Err() == nil; try++ {
		if _, err := w.attempt(ctx, running, &fence{key: history.EpochKey}, w.r.rec.Now()); err != nil {
			return err
		}
		if w.epoched != w.number || w.since >= every {
			pause(running, time.Duration(w.jitter.Int63n(int64(time.Millisecond)<<min(try, 6))))
		}
	}
	return nil
}

// attempt runs program once and reports whether a retry makes sense. An error ends the run.
func (w *worker) attempt(ctx, running context.Context, program Program, due int64) (again bool, err error) {
	w.r.gate.enter()
	defer w.r.gate.leave()
	if err := w.connect(ctx, running); err != nil || w.session == nil {
		return false, err
	}
	recorded := history.NoTime
	if w.r.cfg.Rate > 0 {
		recorded = due
	}
	if err := w.catchUp(ctx); err != nil {
		return false, err
	}
	number := w.number
	epoch, isEpoch := program.(*fence)
	if !isEpoch && w.r.cfg.FenceEvery > 0 && w.epoched != number {
		return true, nil // the session is new
	}
	status, derr, err := w.try(ctx, running, number, program, recorded)
	if err != nil {
		return false, err
	}
	if w.since++; status == history.Committed {
		w.noteCommit(number)
		if isEpoch && epoch.key == history.EpochKey {
			w.epoched, w.since = number, 0
		}
	}
	if derr == nil || !derr.Broken {
		w.r.outages.answered()
	}
	w.r.stat.add(&w.a.rec, due, w.a.rec.Cause)
	if derr != nil && derr.Class == drivers.Fatal {
		return false, errors.Wrap(derr, "the database refuses to go on")
	}
	if w.a.intentErr != nil {
		return false, &LogError{w.a.intentErr}
	}
	return status == history.Aborted && derr != nil && derr.Class != drivers.Refused, nil
}

// try runs program once, on the session that is there, and records it as a transaction of session
// number. derr is the error of the database; err says that the history is not writable.
func (w *worker) try(ctx, running context.Context, number int64, program Program, due int64) (status history.Status, derr *drivers.Error, err error) {
	w.a.begin(number, due)
	behind := w.behind
	status, cause, derr := w.execute(ctx, program)
	if derr != nil && derr.Broken {
		w.disconnect()
	}
	if status == history.Unknown {
		if status = w.resolve(ctx, running); status == history.Unknown && w.r.fenced() && !w.r.cfg.Lightweight {
			// It may take effect after what its worker does at the next cut in the name of this
			// session. So it is a session by itself.
			w.a.rec.Session = w.r.sessions.Add(1)
			if !behind {
				if err := w.repeatCatchUp(w.a.rec.Session); err != nil {
					return status, derr, &LogError{err}
				}
			}
		}
	}
	if err := w.a.finish(status, cause); err != nil {
		return status, derr, &LogError{err}
	}
	if status != history.Aborted && w.r.fenced() && w.r.cfg.Member == nil {
		w.lost += w.written.note(w.a.ops)
	}
	if status == history.Unknown && w.r.cfg.Cuts.Any() {
		w.r.doubt(&w.a)
	}
	return status, derr, nil
}

// fenced reports whether sessions write fences.
func (r *Runner) fenced() bool {
	return r.cfg.FinalRead || r.cfg.Cuts.Any() || r.cfg.Member != nil
}

// doubt keeps a transaction of unknown outcome for the later windows.
func (r *Runner) doubt(a *attempt) {
	r.doubtMu.Lock()
	defer r.doubtMu.Unlock()
	if r.doubtful == nil {
		r.doubtful = written{}
	}
	r.doubtful.note(a.ops)
	r.rec.carried = append(r.rec.carried, attempt{r: r.rec, rec: a.rec, ops: slices.Clone(a.ops)})
}

// noteCommit remembers that a session of this worker committed.
func (w *worker) noteCommit(number int64) {
	if number == w.number {
		w.committed = true
	} else if !slices.Contains(w.broken, number) {
		w.broken = append(w.broken, number)
	}
}

// execute runs the transaction and returns its outcome.
func (w *worker) execute(ctx context.Context, program Program) (history.Status, string, *drivers.Error) {
	if p, ok := program.(LightweightProgram); ok {
		return w.executeLight(ctx, p)
	}
	tx, err := w.begin(ctx)
	if err != nil {
		e := drivers.AsError(err)
		return history.Aborted, e.Cause, e // no commit was sent
	}
	t := &Tx{tx: tx, a: &w.a, values: w.values, timeout: w.r.cfg.CallTimeout}
	if err := program.Run(ctx, t); err != nil {
		return w.rollback(ctx, t, err)
	}
	if err := w.a.intend(); err != nil {
		w.a.intentErr = err
		return w.rollback(ctx, t, notWritable(err))
	}
	cctx, cancel := t.call(ctx)
	defer cancel()
	err = tx.Commit(cctx)
	w.a.noteID(tx)
	w.a.noteSnapshot(tx)
	if err == nil {
		w.a.noteClaim(tx)
		return history.Committed, "", nil
	}
	e := drivers.AsError(err)
	if e.Class == drivers.OutcomeUnknown {
		return history.Unknown, e.Cause, e
	}
	return history.Aborted, e.Cause, e
}

func (w *worker) begin(ctx context.Context) (drivers.Tx, error) {
	if w.r.cfg.CallTimeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, w.r.cfg.CallTimeout)
		defer cancel()
	}
	return w.session.Begin(ctx)
}

// rollback ends a transaction after err. The transaction is aborted in any case, since no commit
// was sent. A session whose rollback fails is disconnected, which makes the server roll back.
func (w *worker) rollback(ctx context.Context, t *Tx, err error) (history.Status, string, *drivers.Error) {
	w.a.noteSnapshot(t.tx)
	var e *drivers.Error
	cause := "rolled back by the workload"
	if !errors.Is(err, ErrRollback) {
		e = drivers.AsError(err)
		cause = e.Cause
	}
	if e == nil || !e.Broken {
		ctx, cancel := t.call(ctx)
		defer cancel()
		if t.tx.Rollback(ctx) != nil {
			w.disconnect()
		}
	}
	return history.Aborted, cause, e
}

// connect makes sure that there is a session. It tries until patience ends: before the sessions
// start, that of this worker; later, that with all endpoints. A new connection is a new session. It
// returns without a session when the run is over.
func (w *worker) connect(ctx, running context.Context) error {
	if w.session != nil {
		return nil
	}
	o := w.r.outages
	begun := time.Now()
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		// A server that is paused accepts connections and does not answer.
		cctx, cancel := context.WithTimeout(ctx, w.r.cfg.Patience+time.Second)
		s, err := w.db.Connect(cctx)
		cancel()
		if err == nil {
			w.session = s
			o.reached(w.a.worker % len(w.r.dbs))
			return nil
		}
		if running.Err() != nil {
			return nil
		}
		e := drivers.AsError(err)
		if !o.started.Load() && e.Full && time.Since(begun) > startFull {
			return errors.Wrapf(err, "cannot connect: the server refuses more connections after %d of %d; use fewer --sessions, or raise the server's limit", o.sessions.Load(), w.r.cfg.Sessions)
		}
		if e.Class == drivers.Fatal || time.Since(begun) > w.r.cfg.Patience && o.silence() > w.r.cfg.Patience {
			return errors.Wrap(err, "cannot connect")
		}
		o.missed(w.a.worker%len(w.r.dbs), err)
		pause(running, wait+time.Duration(w.jitter.Int63n(int64(wait))))
	}
}

// disconnect ends the session; the next one has a new number.
func (w *worker) disconnect() {
	if w.session == nil {
		return
	}
	w.session.Close()
	w.session = nil
	if w.committed {
		w.broken = append(w.broken, w.number)
	}
	w.committed, w.behind = false, len(w.r.last) > 0
	w.renumber(w.r.sessions.Add(1))
}

// renumber gives the session another number.
func (w *worker) renumber(number int64) {
	w.number = number
	w.shown.Store(number)
}

// resolve asks for the outcome of an unanswered commit, if the database supports it, until the
// outcome is known or patience ends.
func (w *worker) resolve(ctx, running context.Context) history.Status {
	w.disconnect() // an open connection could keep the transaction open
	db, ok := w.db.(drivers.Resolver)
	if !ok || w.a.rec.DBTxn == 0 {
		return history.Unknown
	}
	deadline := time.Now().Add(w.r.cfg.Patience)
	for wait := 10 * time.Millisecond; time.Now().Before(deadline); wait = min(2*wait, time.Second) {
		cctx, cancel := context.WithDeadline(ctx, deadline)
		outcome, err := db.Resolve(cctx, w.a.rec.DBTxn)
		cancel()
		switch {
		case err != nil && drivers.AsError(err).Class == drivers.Fatal:
			return history.Unknown // asking again would fail too
		case err != nil || outcome == drivers.InProgress:
		case outcome == drivers.DidCommit:
			return history.Committed
		case outcome == drivers.DidAbort:
			return history.Aborted
		default:
			return history.Unknown
		}
		pause(ctx, wait)
		if ctx.Err() != nil {
			break
		}
	}
	return history.Unknown
}
