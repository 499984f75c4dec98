package generator

import (
	"context"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/history"
)

// passFences lets each session that committed since the last cut write its worker's fence, those whose
// connections broke through their workers' next ones. Then one worker reads all fences until it sees
// what was written last. It returns that worker and its session, which now comes after all others. An
// endpoint that refuses writes is left out: its sessions wrote nothing. Lightweight transactions need
// no fences: they are checked with real time.
func (r *Runner) passFences(ctx context.Context) (*worker, int64, error) {
	if r.cfg.Lightweight {
		w := r.workers[len(r.workers)-1]
		return w, w.number, nil
	}
	problems, err := r.writeFences(ctx)
	if err != nil {
		return nil, 0, err
	}
	var reader *worker
	for n, w := range r.workers { // at best one whose endpoint accepts writes
		if problems[n] == nil && (reader == nil || w.fence != 0) {
			reader = w
		}
	}
	if reader == nil {
		return nil, 0, errors.New("no endpoint accepts a write")
	}
	session := reader.number
	return reader, session, reader.seeFences(ctx, session)
}

// writeFences lets each worker write its fence if one of its sessions is due. It returns, for each worker, whether
// its endpoint refused that.
func (r *Runner) writeFences(ctx context.Context) (refused []error, err error) {
	refused = make([]error, len(r.workers))
	var passing sync.WaitGroup
	for n, w := range r.workers {
		if w.committed || len(w.broken) > 0 {
			passing.Add(1)
			go func() {
				defer passing.Done()
				defer r.caught()
				refused[n] = w.passFence(ctx)
			}()
		}
	}
	passing.Wait()
	for n, err := range refused {
		if err != nil && !errors.Is(err, errRefused) {
			return nil, errors.Wrapf(err, "worker %d could not write its fence", r.workers[n].n+1)
		}
	}
	return refused, nil
}

// passFence writes the fence once for each session that is due.
func (w *worker) passFence(ctx context.Context) error {
	due := w.broken
	if w.committed {
		due = append(due, w.number)
	}
	// A session that has written the fence has no further part, even if its connection breaks.
	w.committed, w.broken = false, nil
	for n, session := range due {
		f := &fence{key: fenceOf(w.n)}
		if err := w.insist(ctx, session, f); err != nil {
			w.broken = append(w.broken, due[n:]...)
			return err
		}
		w.fence = f.wrote
	}
	return nil
}

// errUnseen says that what some sessions wrote before does not become visible.
var errUnseen = errors.New("the fences of some sessions are not seen by others")

// sightPatience is how long a session waits until it sees the fences of all.
const sightPatience = 3 * time.Second

// seeFences reads the fences of all workers, in transactions of session, until each of them has the
// value that was written last: an endpoint may be behind the others for a while. A database that loses
// commits may lose a fence, so after a while those that are not seen are written again.
func (w *worker) seeFences(ctx context.Context, session int64) error {
	deadline := time.Now().Add(sightPatience)
	for wait := time.Millisecond; ; wait *= 2 {
		late, err := w.lookForFences(ctx, session)
		switch {
		case err != nil:
			return err
		case len(late) == 0:
			return nil
		case time.Now().After(deadline):
			return errUnseen
		}
		pause(ctx, wait)
		if wait < 100*time.Millisecond {
			continue
		}
		for _, other := range late {
			if other.remote {
				w.r.cfg.Fleet.unseen(other)
				continue
			}
			other.committed = true
			if err := other.passFence(ctx); err != nil {
				return err
			}
		}
	}
}

// lookForFences returns the workers whose fences w does not see as they were written last.
func (w *worker) lookForFences(ctx context.Context, session int64) (late []*worker, err error) {
	var fenced []*worker
	for _, other := range w.r.workers {
		if other.fence != 0 {
			fenced = append(fenced, other)
		}
	}
	fenced = append(fenced, w.r.cfg.Fleet.fenced()...)
	for chunk := range slices.Chunk(fenced, placesPerRead) {
		see := &sight{workers: chunk}
		if err := w.insist(ctx, session, see); err != nil {
			return nil, errors.Wrap(err, "the fences could not be read")
		}
		late = append(late, see.late...)
		if w.r.rec.state != nil {
			w.r.rec.note(w.a.ops)
		}
	}
	return late, nil
}

// insist runs program as a transaction of session number until it commits. If the connection breaks,
// the worker's next one continues the session.
func (w *worker) insist(ctx context.Context, number int64, program Program) error {
	deadline := time.Now().Add(w.r.cfg.Patience)
	for try := 0; ; try++ {
		if err := w.connect(ctx, ctx); err != nil {
			return err
		}
		if w.session == nil {
			return context.Cause(ctx)
		}
		status, derr, err := w.try(ctx, ctx, number, program, history.NoTime)
		switch {
		case err != nil:
			return err
		case w.a.intentErr != nil:
			return &LogError{w.a.intentErr}
		case status == history.Committed:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case derr != nil && derr.Class == drivers.Refused:
			return errors.Wrap(errRefused, w.a.rec.Cause)
		case derr == nil:
			return ErrRollback
		case derr.Class == drivers.Fatal || time.Now().After(deadline):
			return errors.New(w.a.rec.Cause)
		}
		pause(ctx, rand.N(time.Millisecond<<min(try, 6))) // not w.jitter, which the worker may be using while it waits for the gate
	}
}

// errRefused says that an endpoint does not accept a transaction.
var errRefused = errors.New("refused")

func fenceOf(worker int) string { return history.Fence + strconv.Itoa(worker+1) }

// workerOf is the worker, from 0, whose fence a key is.
func workerOf(key string) (worker int, ok bool) {
	n, ok := strings.CutPrefix(key, history.Fence)
	if !ok {
		return 0, false
	}
	worker, err := strconv.Atoi(n)
	return worker - 1, err == nil && worker > 0
}

// fence is the transaction that reads and writes a fence.
type fence struct {
	key   string
	wrote int64
}

// Run implements Program.
func (f *fence) Run(ctx context.Context, tx *Tx) error {
	_, found, err := tx.Read(ctx, f.key)
	if err != nil {
		return err
	}
	f.wrote = tx.Fresh()
	if !found {
		return tx.Insert(ctx, f.key, f.wrote)
	}
	if found, err = tx.Update(ctx, f.key, f.wrote); err == nil && !found {
		err = ErrRollback // although it was there before: the record shows that
	}
	return err
}

// sight is the transaction that reads the fences of workers. late are those whose fences did not have
// the value that was written last. The values of a worker's fence increase. With insist, it is rolled back if there are any.
type sight struct {
	workers, late []*worker
	insist        bool
}

// Run implements Program.
func (s *sight) Run(ctx context.Context, tx *Tx) error {
	s.late = nil
	keys := make([]string, len(s.workers))
	for i, w := range s.workers {
		keys[i] = fenceOf(w.n)
	}
	found, err := tx.readMany(ctx, keys)
	if err != nil {
		return err
	}
	for i, w := range s.workers {
		if found[i].Value < w.fence { // a later value is of a fence without an answer, and comes after this one
			s.late = append(s.late, w)
		}
	}
	if s.insist && len(s.late) > 0 {
		return ErrRollback
	}
	return nil
}

// reading is a transaction that reads what the run wrote.
type reading struct {
	names  []string
	places written
}

// Run implements Program.
func (r *reading) Run(ctx context.Context, tx *Tx) error {
	var keys []string
	for _, name := range r.names {
		p := r.places[name]
		if p.table == nil {
			keys = append(keys, name)
		} else if _, _, err := tx.Row(ctx, p.table, p.row); err != nil {
			return err
		}
	}
	for chunk := range slices.Chunk(keys, placesPerRead) { // keys of unknown outcomes may be more
		if _, err := tx.readMany(ctx, chunk); err != nil {
			return err
		}
	}
	return nil
}

// lightReading reads one key as a lightweight transaction.
type lightReading struct{ *reading }

// RunLightweight implements LightweightProgram.
func (r lightReading) RunLightweight(ctx context.Context, l *Light) error {
	_, _, err := l.ReadOne(ctx, r.names[0])
	return err
}
