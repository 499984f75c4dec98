package generator

import (
	"context"
	"math/rand"
	randv2 "math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/history"
)

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
	w.a.values = w.values
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
	full := derr != nil && derr.NoSpace
	if derr == nil || !derr.Broken && !full {
		w.r.outages.answered()
	}
	w.r.stat.add(&w.a.rec, due, w.a.rec.Cause)
	if derr != nil && derr.Class == drivers.Fatal || full && w.r.outages.silence() > w.r.cfg.Patience {
		return false, &RefusedError{derr}
	}
	if w.a.intentErr != nil {
		return false, &LogError{w.a.intentErr}
	}
	if full { // there may be space again in a moment
		pause(running, fullWait+time.Duration(w.jitter.Int63n(int64(fullWait))))
	}
	return status == history.Aborted && derr != nil && derr.Class != drivers.Refused, nil
}

// fullWait is how long a session waits at least after an error of a full disk.
const fullWait = 20 * time.Millisecond

// try runs program once, on the session that is there, and records it as a transaction of session
// number. derr is the error of the database; err says that the history is not writable.
func (w *worker) try(ctx, running context.Context, number int64, program Program, due int64) (status history.Status, derr *drivers.Error, err error) {
	w.a.begin(number, due)
	behind := w.behind
	status, cause, derr := w.execute(ctx, running, program)
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
func (w *worker) execute(ctx, running context.Context, program Program) (history.Status, string, *drivers.Error) {
	if p, ok := program.(LightweightProgram); ok {
		return w.executeLight(ctx, p)
	}
	tx, err := w.begin(ctx)
	if err != nil {
		e := drivers.AsError(err)
		return history.Aborted, e.Cause, e // no commit was sent
	}
	t := &Tx{tx: tx, a: &w.a, values: w.values, timeout: w.r.cfg.CallTimeout, running: running}
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
			return &FullError{o.sessions.Load(), w.r.cfg.Sessions, err}
		}
		if e.Class == drivers.Fatal && o.started.Load() {
			return errors.Wrap(&RefusedError{err}, "cannot connect")
		}
		if e.Class == drivers.Fatal || time.Since(begun) > w.r.cfg.Patience && o.silence() > w.r.cfg.Patience {
			return errors.Wrap(err, "cannot connect")
		}
		if o.started.Load() || !e.Full { // else other sessions connect all the time
			o.missed(w.a.worker%len(w.r.dbs), err)
		}
		pause(running, wait+time.Duration(randv2.Int64N(int64(wait))))
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
