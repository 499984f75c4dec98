package generator

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// startFull is how long a session tries to connect, at the beginning of a run, to a server that has
// reached its limit of connections. Connections that have just ended count for a moment.
const startFull = 2 * time.Second

// outages knows which endpoints can be reached, and when the database last answered.
type outages struct {
	note func(string)
	// started says that the sessions have started.
	started atomic.Bool
	// sessions counts the connections made.
	sessions atomic.Int64
	last     atomic.Int64 // the last answer, in nanoseconds since origin
	origin   time.Time

	mu    sync.Mutex
	since []time.Time // for each endpoint, since when it cannot be reached; zero if it can
	ever  bool        // an endpoint could not be reached after the sessions had started
}

func newOutages(note func(string), endpoints int) *outages {
	if note == nil {
		note = func(string) {}
	}
	return &outages{note: note, origin: time.Now(), since: make([]time.Time, endpoints)}
}

// answered notes an answer of the database.
func (o *outages) answered() { o.last.Store(int64(time.Since(o.origin))) }

// silence is how long no session has had an answer. Before the sessions start, it is endless.
func (o *outages) silence() time.Duration {
	if !o.started.Load() {
		return 1<<63 - 1
	}
	return time.Since(o.origin) - time.Duration(o.last.Load())
}

func (o *outages) name(node int) string {
	if len(o.since) == 1 {
		return "the database"
	}
	return fmt.Sprintf("endpoint %d", node+1)
}

// away names an endpoint that cannot be reached, "" if there is none.
func (o *outages) away() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	for node := range o.since {
		if !o.since[node].IsZero() {
			return o.name(node)
		}
	}
	return ""
}

// missed notes that a session could not connect to an endpoint.
func (o *outages) missed(node int, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.since[node].IsZero() {
		o.since[node] = time.Now()
		o.ever = o.ever || o.started.Load()
		o.note(fmt.Sprintf("%s cannot be reached, its sessions try on: %v", o.name(node), err))
	}
}

// reached notes that a session could connect to an endpoint.
func (o *outages) reached(node int) {
	o.answered()
	o.sessions.Add(1)
	o.mu.Lock()
	defer o.mu.Unlock()
	if since := o.since[node]; !since.IsZero() {
		o.since[node] = time.Time{}
		o.note(fmt.Sprintf("%s answers again, after %.1f s", o.name(node), time.Since(since).Seconds()))
	}
}

// Silence is how long no session has had an answer; 0 before the sessions start.
func (r *Runner) Silence() time.Duration {
	if !r.outages.started.Load() {
		return 0
	}
	return r.outages.silence()
}

// Away reports whether an endpoint could not be reached for a time, after the sessions had started.
func (r *Runner) Away() bool {
	r.outages.mu.Lock()
	defer r.outages.mu.Unlock()
	return r.outages.ever
}
