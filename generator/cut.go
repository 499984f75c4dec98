package generator

import (
	"context"
	"slices"
	"time"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/history"
)

// Cuts says when a run is cut into windows. The zero value makes no cuts.
//
// A cut waits until no transaction is running. Each session that committed writes its fence; one session
// reads all fences, then everything that was written since the last cut, and writes its own fence again.
// What it read is the initial state of the next window. In the next window each session reads that fence
// before it does anything else. So all transactions before the cut come before its reads, and these
// before all transactions after it, by session order and by what was read. Therefore the history is
// valid at a level with session order exactly if each window is, apart from transactions of unknown
// outcome: they may take effect in any later window, and are carried over to it.
type Cuts struct {
	// Every and Txns are the time and the number of transactions after which a window ends.
	Every time.Duration
	Txns  int64
	// Auto chooses the time so that the sessions stand still for less than 2% of it.
	Auto bool
	// Most, if set, is how many transactions a window of Auto should have at most, 0 if that is not known: the checker
	// can judge so many in time. Windows are made shorter for it as long as the sessions stand still for less than 2%.
	Most func() int64
	// Before, if set, is called before a window begins, and may wait.
	Before func(ctx context.Context)
}

// Any reports whether the run is cut into windows.
func (c Cuts) Any() bool { return c.Every > 0 || c.Txns > 0 || c.Auto }

// Limits of cuts.
const (
	// cutPatience is how long a cut waits for running transactions.
	cutPatience = 30 * time.Second
	// Windows of Auto are at least shortestWindow long, standing times the duration of the cut before, and have
	// at most autoTxns transactions. standing is twice what 2% needs: the next cut may take longer.
	shortestWindow = 5 * time.Second
	// Windows that have Most transactions end earlier, from leastStanding times that duration on.
	standing      = 100
	leastStanding = 60
	autoTxns      = 1_000_000
	// A cut that was given up is tried again after this time.
	cutAgain = 10 * time.Second
	// fencesAtEnd is how often the fence that ends a cut is written if it is not seen.
	fencesAtEnd = 10
)

// CutStats say how a run was cut.
type CutStats struct {
	// Made and GivenUp are numbers of cuts. Problem is why the latest one was given up.
	Made    int    `json:"made"`
	GivenUp int    `json:"given_up"`
	Problem string `json:"problem,omitempty"`
	// Seconds is how long the sessions stood still for cuts, and for the wait before each window.
	Seconds float64 `json:"seconds"`
	// Longest is the longest of these times, in seconds.
	Longest float64 `json:"longest_seconds"`
	// LongestLag is the longest time from the end of a window to its verdict, and Waited how long the run
	// waited for the checker, in seconds.
	LongestLag float64 `json:"longest_lag_seconds,omitempty"`
	Waited     float64 `json:"waited_for_checker_seconds,omitempty"`
}

// CutStats returns what is known of the cuts after the run, or nil if there were to be none.
func (r *Runner) CutStats() *CutStats {
	if !r.cfg.Cuts.Any() {
		return nil
	}
	return &r.cuts
}

// cutting makes cuts until running ends.
func (r *Runner) cutting(ctx, running context.Context) {
	c := &r.cfg.Cuts
	every, limit := c.Every, c.Txns
	if c.Auto {
		every, limit = shortestWindow, autoTxns
	}
	began, counted := time.Now(), int64(0)
	least := every // of Auto
	away := false  // an endpoint was away when the cut was due
	for running.Err() == nil {
		pause(running, 2*time.Millisecond)
		n := r.stat.Counts()
		total := n.Committed + n.Aborted + n.Unknown
		due := every > 0 && time.Since(began) >= every || limit > 0 && total-counted >= limit
		if c.Auto && !due && c.Most != nil && time.Since(began) >= least {
			most := c.Most()
			due = most > 0 && total-counted >= most
		}
		if running.Err() != nil || !due {
			continue
		}
		if where := r.outages.away(); where != "" {
			if !away {
				r.cuts.GivenUp++
				r.cuts.Problem = awayProblem(where)
			}
			away = true
			continue
		}
		at := time.Now()
		err := r.cut(ctx, running)
		away = r.outages.away() != ""
		took := time.Since(at)
		r.cuts.Seconds += took.Seconds()
		r.cuts.Longest = max(r.cuts.Longest, took.Seconds())
		began, counted = time.Now(), total
		if c.Auto {
			every, least = autoWindow(took, standing), autoWindow(took, leastStanding)
		}
		var le *LogError
		switch {
		case errors.As(err, &le):
			r.fail(err)
			return
		case err != nil:
			r.cuts.GivenUp++
			r.cuts.Problem = err.Error()
			if every > cutAgain {
				began = began.Add(cutAgain - every)
			}
		default:
			r.cuts.Made++
		}
	}
}

// autoWindow is how long the window after a cut lasts, as a multiple of the cut.
func autoWindow(cut, times time.Duration) time.Duration { return max(shortestWindow, times*cut) }

// awayProblem says why there is no cut while an endpoint cannot be reached. What its sessions committed comes before
// the cut only when their workers have written fences there: another endpoint may not have it yet, and a fence that
// is written there says nothing of it. So the window goes on, and no session waits, until the endpoint is back.
func awayProblem(where string) string {
	return where + " could not be reached, and its sessions have to confirm there what they committed"
}

// cut ends a window and begins the next one. If it fails, the window goes on.
func (r *Runner) cut(ctx, running context.Context) error {
	fleet, made := r.cfg.Fleet, false
	fleet.halt()
	defer func() { fleet.release(r.last, made) }()
	if inside := r.gate.shut(cutPatience, func() bool { return r.outages.away() != "" }); inside > 0 {
		if where := r.outages.away(); where != "" {
			return errors.New(awayProblem(where))
		}
		return errors.Errorf("%d transactions did not end within %s", inside, cutPatience)
	}
	defer r.gate.open()
	if err := fleet.halted(ctx, haltedWithin(r.cfg.Patience)); err != nil {
		return err
	}
	if running.Err() != nil {
		return nil
	}
	f := &FinalRead{}
	places, names := r.collect(f)
	err := r.readState(ctx, f, places, names)
	if err != nil {
		r.kept = places
		return err
	}
	if r.cfg.Cuts.Before != nil {
		r.cfg.Cuts.Before(ctx)
	}
	if err := fleet.alone(r.rec.nextWindow); err != nil {
		return &LogError{err}
	}
	made = true
	return nil
}

// haltedWithin is how long load generators have to stop and to write their fences.
func haltedWithin(patience time.Duration) time.Duration { return cutPatience + 2*patience }

// readState reads what was written since the last cut into the state of the recorder, and makes all
// workers see it before their next transactions.
func (r *Runner) readState(ctx context.Context, f *FinalRead, places written, names []string) error {
	if f.Left > 0 {
		return errors.Errorf("a session wrote more than %d keys and rows", maxWritten)
	}
	reader, session, err := r.fenceAndRead(ctx, f, places, names)
	if err != nil {
		return err
	}
	for _, w := range r.workers {
		w.behind = true
	}
	r.last, r.lastSession = []*worker{reader}, session
	for try := 1; !r.cfg.Lightweight; try++ { // a database that loses commits may lose this one
		end := &fence{key: fenceOf(reader.n)}
		if err := reader.insist(ctx, session, end); err != nil {
			return errors.Wrap(err, "the fence could not be written")
		}
		reader.fence = end.wrote
		see := &sight{workers: []*worker{reader}}
		if err := reader.insist(ctx, session, see); err != nil {
			return errors.Wrap(err, "the fence could not be read")
		}
		if len(see.late) == 0 {
			r.rec.note(reader.a.ops)
			break
		}
		if try == fencesAtEnd {
			return errUnseen
		}
	}
	return nil
}

// catchUp makes the worker's session see the last cut before it does anything else. What is older than the cut is of no state
// of the window, and at levels without real time a session may see it. So a transaction that reads it does not commit.
func (w *worker) catchUp(ctx context.Context) error {
	if !w.behind || w.r.cfg.Lightweight {
		return nil
	}
	begun := time.Now()
	own := w.r.cutter() == w && w.number == w.r.lastSession
	for wait := time.Millisecond; ; wait = min(2*wait, time.Second) {
		if own { // it wrote this fence itself, and must see it
			own = false
			see := &sight{workers: w.r.last}
			if err := w.insist(ctx, w.r.lastSession, see); err != nil {
				return errors.Wrap(err, "the last cut could not be read")
			}
			if len(see.late) == 0 && w.number == w.r.lastSession {
				w.sawCut()
				return nil
			}
		}
		see := &sight{workers: w.r.last, insist: true}
		number := w.number
		err := w.insist(ctx, number, see)
		if err != nil && !errors.Is(err, ErrRollback) {
			return errors.Wrap(err, "the last cut could not be read")
		}
		if err == nil && number == w.number {
			w.sawCut()
			return nil
		}
		if time.Since(begun) > w.r.cfg.Patience {
			return errCutUnseen
		}
		pause(ctx, wait)
	}
}

// errCutUnseen says that what the last cut wrote does not become visible.
var errCutUnseen = errors.New("a session does not see the last cut, which came before it began")

// cutter is the worker whose session made the last cut, or nil if that was in another process or before a resume.
func (r *Runner) cutter() *worker {
	if len(r.last) != 1 || r.last[0].remote || r.lastSession == 0 || r.cfg.Lightweight {
		return nil
	}
	return r.last[0]
}

// confirmCut reads the last cut in the name of the session that made it, when all sessions have ended because one does not see it. That
// session wrote it, so the history shows that the database lost it, or that other sessions are behind. Its connection may
// have broken: then another one to the same endpoint, which had all of Patience to catch up, continues it.
func (r *Runner) confirmCut(ctx context.Context) {
	w := r.cutter()
	if w == nil {
		return
	}
	if err := w.insist(ctx, r.lastSession, &sight{workers: r.last}); errors.As(err, new(*LogError)) {
		r.fatal = err
	}
}

// sawCut notes that the latest transaction of the worker's session saw the last cut.
func (w *worker) sawCut() {
	w.behind = false
	w.caughtUp = attempt{r: w.r.rec, worker: w.a.worker, rec: w.a.rec, ops: slices.Clone(w.a.ops)}
}

// repeatCatchUp records once more, for another session, how the worker's session saw the last cut. A
// transaction of unknown outcome, which is a session by itself, then comes after the cut, too.
func (w *worker) repeatCatchUp(session int64) error {
	if len(w.r.last) == 0 || w.r.cfg.Lightweight {
		return nil
	}
	a := w.caughtUp
	a.rec.ID, a.rec.Session = w.r.rec.nextID.Add(1), session
	return a.write()
}

// note keeps what the attempt read as the state of the next window.
func (r *Recorder) note(ops []op) {
	for i := range ops {
		if o := &ops[i]; o.kind == history.Read {
			if o.none {
				delete(r.state, o.key)
			} else {
				r.state[o.key] = string(o.appendValue(nil))
			}
		}
	}
}
