package remote

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"
	"github.com/pkg/errors"
)

// aliveEvery is how often a judge says that it is alive.
const aliveEvery = 3 * time.Second

// Publisher publishes the windows of one run. Its methods may be called by several goroutines.
type Publisher struct {
	c     *Conn
	run   string
	about About
	subs  []*nats.Subscription
	// Arrived has the number of each window for which there is news. It may miss some: Verdict is what counts.
	Arrived chan int

	mu     sync.Mutex
	judges map[string]time.Time // when they were last heard of
	names  map[string]bool      // all judges that were heard of
	failed map[int]string       // windows that judges gave up
	last   time.Time            // when any judge was heard of, or the run began
}

// Publish begins a run under a new name.
func (c *Conn) Publish() (*Publisher, error) {
	p := &Publisher{c: c, run: nuid.Next(), Arrived: make(chan int, 1024), judges: map[string]time.Time{}, names: map[string]bool{}, failed: map[int]string{}, last: time.Now()}
	alive, err := c.nc.Subscribe(judging, p.heard)
	if err != nil {
		return nil, c.explain(err)
	}
	about, err := c.nc.Subscribe(runSubject+p.run, p.told)
	if err != nil {
		return nil, c.explain(err)
	}
	here, err := c.nc.Subscribe(areAlive, func(m *nats.Msg) { m.Respond([]byte(p.run)) })
	if err != nil {
		return nil, c.explain(err)
	}
	p.subs = []*nats.Subscription{alive, about, here}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	p.about = About{Began: time.Now(), Host: fmt.Sprintf("%s/%d", host, os.Getpid())}
	if err := p.putAbout(context.Background()); err != nil && !Full(err) {
		return nil, c.explain(err)
	}
	if err := c.nc.Publish(asking, nil); err != nil {
		return nil, c.explain(err)
	}
	return p, nil
}

func (p *Publisher) heard(m *nats.Msg) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last = time.Now()
	p.judges[string(m.Data)], p.names[string(m.Data)] = p.last, true
}

func (p *Publisher) told(m *nats.Msg) {
	var n news
	if json.Unmarshal(m.Data, &n) != nil {
		return
	}
	if n.Failed != "" {
		p.mu.Lock()
		p.failed[n.Window] = n.Failed
		p.mu.Unlock()
	}
	select {
	case p.Arrived <- n.Window:
	default:
	}
}

// Judges returns how many judges are alive.
func (p *Publisher) Judges() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	for name, at := range p.judges {
		if time.Since(at) > Patience {
			delete(p.judges, name)
		}
	}
	return len(p.judges)
}

// Silent reports whether no judge was heard of for Patience.
func (p *Publisher) Silent() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Since(p.last) > Patience
}

// Put publishes a window, whose file is at path. It begins again if the connection was lost meanwhile.
func (p *Publisher) Put(ctx context.Context, job Job, path string) error {
	job.Protocol, job.Run = protocol, p.run
	st, err := os.Stat(path)
	if err != nil {
		return errors.WithStack(err)
	}
	job.Bytes = st.Size()
	for try := 1; ; try++ {
		steady, cancel := p.c.steady(ctx, job.Bytes)
		err := p.put(steady, &job, path)
		lost := context.Cause(steady)
		cancel()
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(lost, errReconnected) && try < maxTries:
		case lost != nil:
			return p.c.explain(lost)
		default:
			return p.c.explain(err)
		}
	}
}

func (p *Publisher) put(ctx context.Context, job *Job, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return errors.WithStack(err)
	}
	defer f.Close()
	if _, err := p.c.objects.Put(ctx, jetstream.ObjectMeta{Name: job.object()}, io.Reader(f)); err != nil {
		return err
	}
	data, err := json.Marshal(job)
	if err != nil {
		return errors.WithStack(err)
	}
	_, err = p.c.js.Publish(ctx, job.subject(), data)
	return err
}

// Verdict returns what a judge found in window n, or nil if there is nothing yet.
func (p *Publisher) Verdict(ctx context.Context, n int) (*Result, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	e, err := p.c.keys.Get(ctx, verdictKey(p.run, n))
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		p.mu.Lock()
		defer p.mu.Unlock()
		if why := p.failed[n]; why != "" {
			return &Result{Window: n, Failed: why}, nil
		}
		return nil, nil
	}
	if err != nil {
		return nil, p.c.explain(err)
	}
	r := &Result{}
	if err := json.Unmarshal(e.Value(), r); err != nil {
		return nil, errors.Wrapf(err, "the verdict on window %d", n)
	}
	p.mu.Lock()
	p.names[r.Judge] = true
	p.mu.Unlock()
	if r.Object != "" {
		if r.Verdict, err = p.c.objects.GetBytes(ctx, r.Object); err != nil {
			return nil, p.c.explain(err)
		}
	}
	return r, nil
}

// Queued reports whether window n waits for a judge or is with one.
func (p *Publisher) Queued(ctx context.Context, n int) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	job := Job{Run: p.run, Window: n}
	_, err := p.c.queue.GetLastMsgForSubject(ctx, job.subject())
	if errors.Is(err, jetstream.ErrMsgNotFound) || errors.Is(err, jetstream.ErrStreamNotFound) {
		return false, nil
	}
	if err != nil {
		return false, p.c.explain(err)
	}
	return true, nil
}

// SetState says what has to be known of windows 1 to n when the next one is judged. Judges say that
// of the windows that they judge.
func (p *Publisher) SetState(ctx context.Context, n int, state json.RawMessage) error {
	data, err := json.Marshal(entry{State: state})
	if err != nil {
		return errors.WithStack(err)
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	if _, err := p.c.keys.Put(ctx, stateKey(p.run, n), data); err != nil {
		return p.c.explain(err)
	}
	return nil
}

// Counted removes window n from the server, because its verdict was counted. A judge that has it may go on.
func (p *Publisher) Counted(ctx context.Context, n int) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	job := Job{Run: p.run, Window: n}
	if err := p.c.queue.Purge(ctx, jetstream.WithPurgeSubject(job.subject())); err != nil {
		return p.c.explain(err)
	}
	for _, name := range []string{job.object(), longVerdict(p.run, n)} {
		if err := p.c.objects.Delete(ctx, name); err != nil && !errors.Is(err, jetstream.ErrObjectNotFound) {
			return p.c.explain(err)
		}
	}
	return nil
}

// Done removes what the run still has on the server.
func (p *Publisher) Done(ctx context.Context) error {
	for _, s := range p.subs {
		s.Unsubscribe()
	}
	ctx, cancel := context.WithTimeout(ctx, 3*callTime)
	defer cancel()
	if err := p.c.queue.Purge(ctx, jetstream.WithPurgeSubject(queueSubject+p.run+".>")); err != nil {
		return p.c.explain(err)
	}
	keys, err := p.c.js.Stream(ctx, "KV_"+bucket)
	if err == nil {
		err = keys.Purge(ctx, jetstream.WithPurgeSubject("$KV."+bucket+"."+p.run+".>"))
	}
	if err == nil {
		p.about.Ended = time.Now()
		err = p.putAbout(ctx)
	}
	if err != nil {
		return p.c.explain(err)
	}
	return nil
}

// Seen returns how many judges were heard of in the whole run.
func (p *Publisher) Seen() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.names)
}
