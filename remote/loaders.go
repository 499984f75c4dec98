package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/nats-io/nats.go"
	"github.com/pkg/errors"
)

// Subjects of load generators: each asks the run that it has joined. What they say to each other is the caller's.
const (
	loading    = "isohound.load."  // and the run: a call
	nudging    = "isohound.nudge." // and the run: there is a new order
	whoIsThere = "isohound.who"    // asks all runs that may be joined to say who they are
	areAlive   = "isohound.alive"  // asks all runs
)

// lookFor is how long the answers of runs are waited for, and askTime that to one call.
const (
	lookFor = 1500 * time.Millisecond
	askTime = 2 * time.Second
)

// packFrom is the size from which calls are compressed, and packed begins one that is.
const (
	packFrom = 16 << 10
	packed   = 'z'
)

// Serve lets load generators join the run. handle answers a call, or returns nil if there is no answer yet; it may be
// called by several goroutines. nudge tells all that they should ask.
func (p *Publisher) Serve(handle func([]byte) []byte) (nudge func(), err error) {
	calls, err := p.c.nc.Subscribe(loading+p.run, func(m *nats.Msg) {
		go func() {
			body, err := unpack(m.Data)
			if err != nil {
				return
			}
			if out := handle(body); out != nil {
				m.Respond(out)
			}
		}()
	})
	if err != nil {
		return nil, p.c.explain(err)
	}
	who, err := p.c.nc.Subscribe(whoIsThere, func(m *nats.Msg) { m.Respond([]byte(p.run)) })
	if err != nil {
		return nil, p.c.explain(err)
	}
	p.subs = append(p.subs, calls, who)
	return func() { p.c.nc.Publish(nudging+p.run, nil) }, nil
}

// Run is the name of the run.
func (p *Publisher) Run() string { return p.run }

// NoRunError says that there is no run that may be joined.
type NoRunError struct{ text string }

func (e *NoRunError) Error() string { return e.text }

// Find returns the name of the run that may be joined, or checks the name that is given.
func (c *Conn) Find(ctx context.Context, run string) (string, error) {
	if strings.ContainsAny(run, ".*> \t") {
		return "", &NoRunError{fmt.Sprintf("%q is not the name of a run", run)}
	}
	there, err := c.answers(ctx, whoIsThere, run)
	switch {
	case err != nil:
		return "", err
	case run != "" && slices.Contains(there, run):
		return run, nil
	case run != "":
		return "", &NoRunError{c.absent(run, there)}
	case len(there) == 0:
		return "", &NoRunError{fmt.Sprintf("no run that may be joined is on NATS server %s; isohound run --publish URL --loaders N begins one", c.name)}
	case len(there) > 1:
		return "", &NoRunError{fmt.Sprintf("%d runs may be joined; name one of them with --run: %s", len(there), strings.Join(there, ", "))}
	}
	return there[0], nil
}

// answers are the names of the runs that answer on a subject. It does not wait for others when enough has answered.
func (c *Conn) answers(ctx context.Context, subject, enough string) (there []string, err error) {
	inbox := c.nc.NewRespInbox()
	answers, err := c.nc.SubscribeSync(inbox)
	if err != nil {
		return nil, c.explain(err)
	}
	defer answers.Unsubscribe()
	if err := c.nc.PublishRequest(subject, inbox, nil); err != nil {
		return nil, c.explain(err)
	}
	ctx, cancel := context.WithTimeout(ctx, lookFor)
	defer cancel()
	for {
		m, err := answers.NextMsgWithContext(ctx)
		if err != nil { // nobody else answers
			return there, nil
		}
		if name := string(m.Data); name != "" {
			if there = append(there, name); name == enough {
				return there, nil
			}
		}
	}
}

// absent says why a run does not answer.
func (c *Conn) absent(run string, there []string) string {
	ctx, cancel := context.WithTimeout(context.Background(), callTime)
	defer cancel()
	others := ""
	if len(there) > 0 {
		others = "; these may be joined: " + strings.Join(there, ", ")
	}
	e, err := c.keys.Get(ctx, aboutKey(run))
	if err != nil {
		return fmt.Sprintf("there is no run %s on NATS server %s%s", run, c.name, others)
	}
	var a About
	if json.Unmarshal(e.Value(), &a) == nil && !a.Ended.IsZero() {
		return fmt.Sprintf("run %s has ended at %s%s", run, a.Ended.Local().Format(time.DateTime), others)
	}
	return fmt.Sprintf("run %s does not answer; it was begun at %s by %s without --loaders, or was killed%s", run, a.Began.Local().Format(time.DateTime), a.Host, others)
}

// Joiner is the way to a run.
type Joiner struct {
	c     *Conn
	run   string
	sub   *nats.Subscription
	nudge chan struct{}
}

// Join prepares to ask a run.
func (c *Conn) Join(run string) (*Joiner, error) {
	j := &Joiner{c: c, run: run, nudge: make(chan struct{}, 1)}
	var err error
	j.sub, err = c.nc.Subscribe(nudging+run, func(*nats.Msg) {
		select {
		case j.nudge <- struct{}{}:
		default:
		}
	})
	if err != nil {
		return nil, c.explain(err)
	}
	return j, nil
}

// Nudged gets something when the run has news.
func (j *Joiner) Nudged() <-chan struct{} { return j.nudge }

// Close ends what Join began.
func (j *Joiner) Close() { j.sub.Unsubscribe() }

// TooLargeError says that a call does not fit into a message.
type TooLargeError struct{ Bytes, Most int64 }

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("a transaction needs a message of %d bytes, and the NATS server takes %d; raise its max_payload", e.Bytes, e.Most)
}

// Ask sends one call to the run. Any error but a *TooLargeError says that there was no answer; the call may have
// arrived.
func (j *Joiner) Ask(ctx context.Context, call []byte) ([]byte, error) {
	body, err := pack(call)
	if err != nil {
		return nil, err
	}
	if most := j.c.nc.MaxPayload(); most > 0 && int64(len(body)) > most {
		return nil, &TooLargeError{int64(len(body)), most}
	}
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	m, err := j.c.nc.RequestWithContext(ctx, loading+j.run, body)
	switch {
	case err == nil:
		return m.Data, nil
	case !j.c.nc.IsConnected():
		return nil, errors.Errorf("NATS server %s is away", j.c.name)
	case errors.Is(err, nats.ErrNoResponders):
		return nil, errors.Errorf("run %s is not there", j.run)
	}
	return nil, errors.Errorf("run %s is silent", j.run)
}

// Why says why a run that did not answer is not there.
func (j *Joiner) Why() string {
	if !j.c.nc.IsConnected() {
		return fmt.Sprintf("NATS server %s is away", j.c.name)
	}
	return j.c.absent(j.run, nil)
}

func pack(b []byte) ([]byte, error) {
	if len(b) < packFrom {
		return b, nil
	}
	out := bytes.NewBuffer([]byte{packed})
	w, err := zstd.NewWriter(out, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		return nil, errors.WithStack(err)
	}
	if _, err := w.Write(b); err != nil {
		return nil, errors.WithStack(err)
	}
	if err := w.Close(); err != nil {
		return nil, errors.WithStack(err)
	}
	return out.Bytes(), nil
}

// unpacked bounds a call, in bytes.
const unpacked = 1 << 30

func unpack(b []byte) ([]byte, error) {
	if len(b) == 0 || b[0] != packed {
		return b, nil
	}
	r, err := zstd.NewReader(bytes.NewReader(b[1:]), zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(io.LimitReader(r, unpacked))
}

// About is what the server keeps of a run, also when it has ended or was killed.
type About struct {
	Began time.Time `json:"began"`
	Host  string    `json:"host"` // and the process
	Ended time.Time `json:"ended,omitzero"`
}

func aboutKey(run string) string { return "about." + run }

func (p *Publisher) putAbout(ctx context.Context) error {
	data, err := json.Marshal(&p.about)
	if err != nil {
		return errors.WithStack(err)
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	_, err = p.c.keys.Put(ctx, aboutKey(p.run), data)
	return err
}
