package remote

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/pkg/errors"
)

// maxTries is how often a window is given to judges. A window that ends each process that judges it, for
// lack of memory say, is then left to its run.
const maxTries = 10

// Task is a window that a judge has taken.
type Task struct {
	Job
	// Path is the file of the window on this machine.
	Path string
	c    *Conn
	wait time.Duration // after which another judge gets the window of one that is gone
}

// Judge judges a window and returns its verdict. It ends with ctx. Before that, as soon as it knows what
// the next window has to know of this one, it calls Entered; and if it has to know that of earlier
// windows, Before.
type Judge func(ctx context.Context, t *Task) (verdict json.RawMessage, err error)

// errEarly says that it is not known yet what has to be known of earlier windows.
var errEarly = errors.New("an earlier window was not read yet")

// Before returns the state that was told of the window before, or nil if this is the first window or no window
// before had anything to tell. It waits for judges that are reading earlier windows.
func (t *Task) Before(ctx context.Context) (json.RawMessage, error) {
	deadline := time.Now().Add(2 * t.wait)
	for n := t.Window - 1; n > 0; {
		e, err := t.get(ctx, n)
		switch {
		case err != nil:
			return nil, err
		case e != nil && !e.Same:
			return e.State, nil
		case e != nil:
			n--
		case time.Now().After(deadline):
			return nil, errEarly
		default:
			select {
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			case <-time.After(20 * time.Millisecond):
			}
		}
	}
	return nil, nil
}

func (t *Task) get(ctx context.Context, n int) (*entry, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	e, err := t.c.keys.Get(ctx, stateKey(t.Run, n))
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, &serverError{t.c.explain(err)}
	}
	out := &entry{}
	return out, errors.WithStack(json.Unmarshal(e.Value(), out))
}

// Entered tells what has to be known of the windows up to this one when the next one is judged. nil says
// that this window changes nothing.
func (t *Task) Entered(ctx context.Context, state json.RawMessage) error {
	data, err := json.Marshal(entry{Same: state == nil, State: state})
	if err != nil {
		return errors.WithStack(err)
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	if _, err = t.c.keys.Create(ctx, stateKey(t.Run, t.Window), data); err != nil && !errors.Is(err, jetstream.ErrKeyExists) {
		return &serverError{t.c.explain(err)}
	}
	return nil
}

// serverError is an error of the server or of the way to it.
type serverError struct{ error }

// LocalError is an error of this machine, such as a full disk. It says nothing about the window.
type LocalError struct{ Err error }

func (e *LocalError) Error() string { return e.Err.Error() }
func (e *LocalError) Unwrap() error { return e.Err }

// Worker takes windows and judges them, one at a time.
type Worker struct {
	// Dir is a folder for the files of windows. It must exist.
	Dir string
	// Idle is how long the worker waits for a window before it ends; 0 is for ever.
	Idle time.Duration
	// Judge judges.
	Judge Judge
	// Note is told what goes wrong.
	Note func(line string)

	c    *Conn
	name string
	cons jetstream.Consumer
	wait time.Duration
}

// Work works until stop ends, nothing came for w.Idle, or this machine fails. If ctx ends, it gives back the
// window that it has.
func (c *Conn) Work(ctx, stop context.Context, w *Worker) error {
	w.c = c
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	w.name = fmt.Sprintf("%s/%d", host, os.Getpid())
	if err := w.open(ctx); err != nil {
		return err
	}
	alive, cancel := context.WithCancel(ctx)
	defer cancel()
	here := func() { c.nc.Publish(judging, []byte(w.name)) }
	asked, err := c.nc.Subscribe(asking, func(*nats.Msg) { here() })
	if err != nil {
		return c.explain(err)
	}
	defer asked.Unsubscribe()
	go every(alive, aliveEvery, here)
	var told string
	for last := time.Now(); stop.Err() == nil && (w.Idle == 0 || time.Since(last) < w.Idle); {
		m, err := w.cons.Next(jetstream.FetchMaxWait(time.Second))
		switch {
		case err == nil:
			told = ""
			if err := w.take(ctx, m); err != nil {
				return err
			}
			last = time.Now()
		case errors.Is(err, nats.ErrTimeout), errors.Is(err, jetstream.ErrNoMessages):
		default:
			if text := c.explain(err).Error(); text != told && c.nc.IsConnected() {
				w.Note(text)
				told = text
			}
			select {
			case <-stop.Done():
			case <-time.After(time.Second):
			}
			if c.nc.IsConnected() { // the stores may be new ones
				if err := c.open(ctx); err == nil {
					w.open(ctx)
				}
			}
		}
	}
	return nil
}

// open opens the consumer that all judges share, or makes it.
func (w *Worker) open(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	cons, err := w.c.queue.Consumer(ctx, consumer)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		cons, err = w.c.queue.CreateOrUpdateConsumer(ctx, jetstream.ConsumerConfig{Durable: consumer, AckPolicy: jetstream.AckExplicitPolicy, AckWait: ackWait})
	}
	if err != nil {
		return w.c.explain(err)
	}
	w.cons, w.wait = cons, cons.CachedInfo().Config.AckWait
	return nil
}

// every calls do at once and then in each interval, until ctx ends.
func every(ctx context.Context, interval time.Duration, do func()) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		do()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// take judges the window of a message. It returns an error only if the worker cannot go on.
func (w *Worker) take(ctx context.Context, m jetstream.Msg) error {
	busy, cancel := context.WithCancel(ctx)
	defer cancel()
	go every(busy, w.wait/3, func() { m.InProgress() })
	t := &Task{c: w.c, wait: w.wait}
	if err := json.Unmarshal(m.Data(), &t.Job); err != nil || t.Protocol != protocol {
		w.Note(fmt.Sprintf("the message %s is of another version of isohound", m.Subject()))
		m.NakWithDelay(w.wait)
		return nil
	}
	meta, err := m.Metadata()
	var verdict json.RawMessage
	if err == nil && meta.NumDelivered > maxTries {
		err = errors.Errorf("it was given to judges %d times, and none gave a verdict", maxTries)
	} else if err == nil {
		verdict, err = w.judge(ctx, t)
	}
	r := &Result{Window: t.Window, Judge: w.name, Verdict: verdict}
	var local *LocalError
	var server *serverError
	switch {
	case ctx.Err() != nil:
		m.Nak()
		return nil
	case errors.Is(err, jetstream.ErrObjectNotFound): // its verdict was counted
		m.Term()
		return nil
	case errors.As(err, &local):
		m.Nak()
		return err
	case errors.Is(err, errEarly):
		m.NakWithDelay(time.Second)
		return nil
	case errors.As(err, &server) && !Full(err):
		w.Note(fmt.Sprintf("window %d of run %s is given back: %v", t.Window, t.Run, err))
		m.NakWithDelay(time.Second)
		return nil
	case err != nil:
		r.Failed = err.Error()
	}
	told := news{Window: t.Window, Failed: r.Failed}
	if err := w.store(ctx, t, r); err != nil { // the run judges it, which makes space
		told.Failed = err.Error()
		w.Note(fmt.Sprintf("the verdict on window %d of run %s cannot be stored: %v", t.Window, t.Run, err))
		m.NakWithDelay(w.wait)
	} else if err := w.acknowledge(ctx, m); err != nil { // the next judge finds the verdict
		w.Note(err.Error())
	}
	data, err := json.Marshal(&told)
	if err == nil {
		w.c.nc.Publish(runSubject+t.Run, data)
	}
	return nil
}

func (w *Worker) acknowledge(ctx context.Context, m jetstream.Msg) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	if err := m.DoubleAck(ctx); err != nil {
		return w.c.explain(err)
	}
	return nil
}

// judge fetches the window and judges it, unless its verdict is there already.
func (w *Worker) judge(ctx context.Context, t *Task) (json.RawMessage, error) {
	if _, err := w.c.keys.Get(ctx, verdictKey(t.Run, t.Window)); err == nil {
		return nil, jetstream.ErrObjectNotFound
	}
	t.Path = filepath.Join(w.Dir, fmt.Sprintf("%s-%s", t.Run, filepath.Base(t.File)))
	defer os.Remove(t.Path)
	if err := t.fetch(ctx); err != nil {
		return nil, err
	}
	return w.Judge(ctx, t)
}

// fetch writes the window to t.Path.
func (t *Task) fetch(ctx context.Context) error {
	ctx, cancel := t.c.steady(ctx, t.Bytes)
	defer cancel()
	in, err := t.c.objects.Get(ctx, t.object())
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		return err
	}
	if err != nil {
		return &serverError{t.c.explain(err)}
	}
	defer in.Close()
	f, err := os.Create(t.Path)
	if err != nil {
		return &LocalError{err}
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(&diskWriter{io.MultiWriter(f, sum)}, in); errors.As(err, new(*LocalError)) {
		return err
	} else if err != nil {
		return &serverError{t.c.explain(err)}
	}
	if err := f.Close(); err != nil {
		return &LocalError{err}
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != t.SHA256 {
		return errors.Errorf("its digest is %s, and the run has said %s", got, t.SHA256)
	}
	return nil
}

// diskWriter tells errors of writing from those of the network.
type diskWriter struct{ w io.Writer }

func (d *diskWriter) Write(p []byte) (int, error) {
	n, err := d.w.Write(p)
	if err != nil {
		err = &LocalError{err}
	}
	return n, err
}

// longVerdict is the name of the object for a verdict that is too long for a message.
func longVerdict(run string, n int) string { return fmt.Sprintf("%s/%06d.verdict", run, n) }

// storeTries is how often storing a verdict is tried while the server is away.
const storeTries = 30

// store puts the verdict into the bucket. It waits for a server that is away.
func (w *Worker) store(ctx context.Context, t *Task, r *Result) error {
	var err error
	for try := 0; try < storeTries && ctx.Err() == nil; try++ {
		if err = w.c.put(ctx, t, r); err == nil || Full(err) {
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
	return err
}

func (c *Conn) put(ctx context.Context, t *Task, r *Result) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	short := *r
	data, err := json.Marshal(&short)
	if err != nil {
		return errors.WithStack(err)
	}
	if int64(len(data)) > c.nc.MaxPayload()*3/4 {
		short.Verdict, short.Object = nil, longVerdict(t.Run, t.Window)
		if _, err := c.objects.PutBytes(ctx, short.Object, r.Verdict); err != nil {
			return c.explain(err)
		}
		if data, err = json.Marshal(&short); err != nil {
			return errors.WithStack(err)
		}
	}
	if _, err = c.keys.Create(ctx, verdictKey(t.Run, t.Window), data); err != nil && !errors.Is(err, jetstream.ErrKeyExists) {
		return c.explain(err)
	}
	return nil
}
