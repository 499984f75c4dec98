package generator

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/pkg/errors"
)

// Member is this process as a load generator of a run that another process has begun. Its sessions make
// transactions as in a run of its own. Their intents and outcomes go to the run, which has the history. It stops
// for the cuts of the run.
type Member struct {
	link  Link
	name  string
	share share

	order    order // the latest that was seen
	cut      int   // the latest cut of which the sessions know
	shut     bool  // the gate is closed
	ready    chan struct{}
	finished chan struct{}
	// over ends when any call is told that the run has ended, or has given this load generator up.
	over context.Context
	stop context.CancelCauseFunc
}

// pollEvery is how often a load generator asks for orders.
const pollEvery = 300 * time.Millisecond

// Look asks a run what there is to do, and does not join it: the run does not wait for a load generator that finds that it cannot do
// it. name is that with which it joins then.
func Look(ctx context.Context, link Link, name string) (plan json.RawMessage, err error) {
	a, err := link.call(ctx, &call{Loader: name, Join: true, Look: true})
	if err != nil {
		return nil, err
	}
	if a.Joined == nil {
		return nil, errNoPlan
	}
	return a.Joined.Plan, nil
}

var errNoPlan = errors.New("the run does not say what there is to do")

// Join joins a run. name must be one that no other load generator has drawn, host says to people who this is.
func Join(ctx context.Context, link Link, name, host string) (*Member, error) {
	m := &Member{link: link, name: name, cut: -1, shut: true, ready: make(chan struct{}), finished: make(chan struct{})}
	m.over, m.stop = context.WithCancelCause(context.WithoutCancel(ctx))
	a, err := link.call(ctx, &call{Loader: name, Join: true, Host: host})
	if err != nil {
		return nil, err
	}
	if a.Joined == nil {
		return nil, errNoPlan
	}
	m.share = *a.Joined
	return m, nil
}

// call asks the run over link. What the run has told another call ends this one, too: it may not tell it twice.
func (m *Member) call(ctx context.Context, link *Link, c *call) (*answer, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(m.over, func() { cancel(context.Cause(m.over)) })()
	a, err := link.call(ctx, c)
	if errors.Is(err, ErrRunEnded) || errors.Is(err, ErrGivenUp) {
		m.stop(err)
	}
	return a, err
}

// Number counts the load generators that have joined the run, from 1.
func (m *Member) Number() int { return m.share.Number }

// Recorder makes the recorder of the load generator. claims says whether the order that the database claims is
// recorded.
func (m *Member) Recorder(ctx context.Context, claims bool) *Recorder {
	return &Recorder{
		start: time.Now().Add(-time.Duration(m.share.Now)), claims: claims,
		wire: newWire(func(seq int64, lines []json.RawMessage) error {
			_, err := m.call(ctx, &m.link, &call{Loader: m.name, Seq: seq, Lines: lines})
			return err
		}),
	}
}

// RunMember runs the sessions until the run ends or gives this load generator up, stop ends, or an error ends it.
// When stop ends, running transactions finish, and the load generator leaves the run; when ctx ends, they do not.
// err is nil, ErrGivenUp, a *SilentError, an error of the database, or another one of the run.
func (r *Runner) RunMember(ctx, stop context.Context) error {
	m := r.cfg.Member
	running, cancel := context.WithCancelCause(stop)
	defer cancel(nil)
	r.stop = cancel
	r.sessions.Store(int64(r.cfg.Sessions))
	r.workers = make([]*worker, r.cfg.Sessions)
	for n := range r.workers {
		r.workers[n] = newWorker(r, n)
	}
	r.gate.shut(0, func() bool { return false })
	sessions := make(chan struct{})
	go func() {
		defer close(sessions)
		defer r.caught()
		r.memberSessions(ctx, running)
	}()
	alive, noLonger := context.WithCancel(ctx)
	defer noLonger()
	go m.sayAlive(alive)
	err := m.obey(ctx, running, r, sessions)
	cancel(err)
	if m.shut {
		r.gate.open()
	}
	<-sessions
	r.stat.stop()
	r.disconnect()
	if r.fatal != nil { // the first error tells why
		err = r.fatal
	}
	var le *LogError
	if errors.As(err, &le) {
		err = le.Err
	}
	switch {
	case errors.Is(err, ErrRunEnded):
		return nil
	case errors.Is(err, ErrGivenUp), errors.As(err, new(*SilentError)):
		return err
	}
	why := "interrupted"
	if err != nil {
		why = err.Error()
	}
	bye, cancelBye := context.WithTimeout(context.WithoutCancel(ctx), byeTime)
	defer cancelBye()
	_, lerr := m.link.call(bye, &call{Loader: m.name, Leaving: why})
	if err == nil && lerr != nil && !errors.Is(lerr, ErrRunEnded) {
		return lerr
	}
	return err
}

// aliveEvery is how often a load generator says that it is there, while it carries out an order, too.
const aliveEvery = 200 * time.Millisecond

func (m *Member) sayAlive(ctx context.Context) {
	quiet := m.link
	quiet.Note = func(string) {}
	for ctx.Err() == nil {
		_, _ = m.call(ctx, &quiet, &call{Loader: m.name}) // obey finds out what is wrong
		pause(ctx, aliveEvery)
	}
}

// memberSessions connects the sessions and runs them to their ends.
func (r *Runner) memberSessions(ctx, running context.Context) {
	m := r.cfg.Member
	r.each(func(w *worker) {
		if err := w.connect(ctx, running); err != nil {
			r.fail(err)
		}
	})
	r.outages.started.Store(true)
	r.origin = r.rec.Now()
	r.stat.start(r.origin)
	if running.Err() != nil { // a session could not connect, or nothing is to be done any more: the run must not count this one as ready
		return
	}
	close(m.ready)
	r.gate.enter() // the first window begins the work
	r.gate.leave()
	if r.cfg.Started != nil {
		r.cfg.Started()
	}
	r.each(func(w *worker) { w.run(ctx, running) })
	close(m.finished)
}

// each calls do for all workers at once, and waits.
func (r *Runner) each(do func(*worker)) {
	done := make(chan struct{})
	for _, w := range r.workers {
		go func() {
			defer r.caught()
			do(w)
			done <- struct{}{}
		}()
	}
	for range r.workers {
		<-done
	}
}

// obey carries out orders until the run ends. It returns nil if running ends.
func (m *Member) obey(ctx, running context.Context, r *Runner, sessions <-chan struct{}) error {
	c := &call{Loader: m.name}
	for {
		for _, s := range []struct {
			set  *bool
			when <-chan struct{}
		}{{&c.Ready, m.ready}, {&c.Finished, m.finished}} {
			select {
			case <-s.when:
				*s.set = true
			default:
			}
		}
		a, err := m.call(ctx, &m.link, c)
		c.Problem, c.Sessions = "", nil
		switch {
		case err != nil:
			return err
		case running.Err() != nil && m.order.Do != orderEnd:
			return nil
		case a.Order.Number > c.Done:
			m.order = a.Order
			if err := m.carryOut(ctx, r, sessions); err != nil {
				c.Problem = err.Error()
			}
			c.Done = m.order.Number
			for _, w := range r.workers {
				c.Sessions = append(c.Sessions, w.shown.Load())
			}
			continue
		}
		finished := m.finished
		if c.Finished {
			finished = nil
		}
		ready := m.ready
		if c.Ready {
			ready = nil
		}
		select {
		case <-m.link.Nudged:
		case <-finished:
		case <-ready:
		case <-running.Done():
			if m.order.Do == orderEnd {
				pause(ctx, pollEvery)
			}
		case <-time.After(pollEvery):
		}
	}
}

// carryOut carries out the latest order. An error says why that is not possible.
func (m *Member) carryOut(ctx context.Context, r *Runner, sessions <-chan struct{}) error {
	switch o := &m.order; o.Do {
	case orderHalt:
		if !m.shut {
			if inside := r.gate.shut(cutPatience, func() bool { return r.outages.away() != "" }); inside > 0 {
				if where := r.outages.away(); where != "" {
					return errors.New(awayProblem(where))
				}
				return errors.Errorf("%d transactions did not end within %s", inside, cutPatience)
			}
			m.shut = true
		}
		_, err := r.writeFences(ctx)
		return err
	case orderGo:
		if o.Cut != m.cut {
			m.cut, r.last = o.Cut, nil
			for _, s := range o.Last {
				r.last = append(r.last, &worker{n: s.Worker, fence: s.Fence, remote: true})
			}
			for _, w := range r.workers {
				w.behind = len(r.last) > 0
			}
		}
		for _, w := range r.workers {
			if slices.Contains(o.Again, w.n) {
				w.committed = true
			}
		}
		if m.shut {
			m.shut = false
			r.gate.open()
		}
	case orderEnd:
		r.stop(errEnough)
		if m.shut {
			m.shut = false
			r.gate.open()
		}
		<-sessions
		_, err := r.writeFences(ctx)
		return err
	}
	return nil
}
