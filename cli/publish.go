//go:build !front && !embedded

package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/remote"
	"github.com/isohound/isohound/results"
)

// checks says a judge what is to be checked.
type checks struct {
	Levels []string `json:"levels"`
	Engine string   `json:"engine"`
	Accel  string   `json:"accel"`
	// Versions is that of --versions; "" is hint.
	Versions string        `json:"versions,omitempty"`
	Timeout  time.Duration `json:"timeout_ns"`
	Explain  time.Duration `json:"explain_ns"`
	Certify  bool          `json:"certify"`
}

// published has windows judged through a NATS server.
type published struct {
	app    *app
	server remote.Server
	conn   *remote.Conn
	pub    *remote.Publisher
	w      *windowRun
	checks checks

	queue chan upload
	after string // digest of the latest window
	// ended ends the uploads and the tasks; judged, before that, the tasks that only help judges.
	ended, judged context.Context
	end, noJudges context.CancelFunc
	uploaded      chan struct{} // closed when uploading has ended
	tasks         sync.WaitGroup

	mu      sync.Mutex
	uploads map[int]*upload
	found   map[int]*remote.Result // verdicts that were not counted yet

	violated    atomic.Int64 // how many windows judges found violated
	there, here int          // how many windows were judged
}

// upload is a window that is published. done is closed when that has ended; err is why it failed.
type upload struct {
	number       int
	path, digest string
	after        string
	done         chan struct{}
	err          error
}

func (a *app) publish(o *runOptions) (elsewhere, error) {
	p := &published{app: a, uploads: map[int]*upload{}, found: map[int]*remote.Result{}, queue: make(chan upload, 1<<16)}
	var err error
	if p.server, p.conn, err = a.dial("--publish", o.publish); err != nil {
		return nil, err
	}
	if p.pub, err = p.conn.Publish(); err != nil {
		p.conn.Close()
		return nil, withCode(exitUnavailable, err)
	}
	return p, nil
}

// dial connects to the server that the flags name.
func (a *app) dial(flag string, s natsServer) (remote.Server, *remote.Conn, error) {
	server := remote.Server{URL: s.url, Creds: s.creds, CA: s.ca}
	if err := server.Validate(); err != nil {
		return server, nil, usage("%s: %v", flag, err)
	}
	for flag, path := range map[string]string{"--nats-creds": s.creds, "--nats-ca": s.ca} {
		if path == "" {
			continue
		}
		if _, err := os.Stat(path); err != nil {
			return server, nil, usage("%s: %v", flag, err)
		}
	}
	conn, err := remote.Dial(a.stop, server, func(line string) { fmt.Fprintf(a.msg, "isohound: %s\n", line) })
	return server, conn, withCode(exitUnavailable, err)
}

func (p *published) begin(w *windowRun) {
	p.w = w
	k := &w.judge.k
	p.checks = checks{Engine: string(k.engine), Accel: string(k.accel), Versions: string(k.versions), Timeout: k.timeout, Explain: k.explain, Certify: k.certify}
	for _, lvl := range k.levels {
		p.checks.Levels = append(p.checks.Levels, lvl.String())
	}
	p.ended, p.end = context.WithCancel(context.Background())
	p.judged, p.noJudges = context.WithCancel(p.ended)
	p.uploaded = make(chan struct{})
	go p.uploading()
}

func (p *published) put(number int, path, digest string) {
	u := upload{number: number, path: path, digest: digest, after: p.after, done: make(chan struct{})}
	p.after = digest
	p.mu.Lock()
	p.uploads[number] = &u
	p.mu.Unlock()
	p.queue <- u
}

// uploading publishes windows, one after the other.
func (p *published) uploading() {
	defer close(p.uploaded)
	for {
		select {
		case <-p.ended.Done():
			return
		case u := <-p.queue:
			c := p.checks
			if p.violated.Load() >= int64(p.w.judge.explained) {
				c.Explain = 0
			}
			raw, err := json.Marshal(&c)
			if err == nil {
				err = p.pub.Put(p.ended, remote.Job{Window: u.number, SHA256: u.digest, After: u.after, File: filepath.Base(u.path), Checks: raw}, u.path)
			}
			p.mu.Lock()
			if mine := p.uploads[u.number]; mine != nil { // else it was judged meanwhile
				mine.err = err
			}
			p.mu.Unlock()
			close(u.done)
		}
	}
}

func (p *published) serve(handle func([]byte) []byte) (nudge func(), join string, err error) {
	if nudge, err = p.pub.Serve(handle); err != nil {
		return nil, "", withCode(exitUnavailable, err)
	}
	return nudge, fmt.Sprintf("isohound load --join %s --run %s", p.server.Name(), p.pub.Run()), nil
}

func (p *published) judges() int { return p.pub.Judges() }

// lookEvery is how often a run looks for a verdict of which nothing was told, and lostEvery whether its
// window is still in the queue.
const lookEvery, lostEvery = time.Second, 5 * time.Second

// await waits until a judge has judged window n. It returns nil and why if the run has to judge it.
func (p *published) await(n int) (*remote.Result, string, error) {
	look, lost := time.NewTicker(lookEvery), time.NewTicker(lostEvery)
	defer look.Stop()
	defer lost.Stop()
	p.mu.Lock()
	u := p.uploads[n]
	p.mu.Unlock()
	for {
		if r := p.found[n]; r != nil {
			delete(p.found, n)
			return r, r.Failed, nil
		}
		if p.pub.Silent() {
			return nil, fmt.Sprintf("no judge was heard of for %s", remote.Patience), nil
		}
		select {
		case <-u.done:
			if u.err != nil {
				return nil, u.err.Error(), nil
			}
		default:
		}
		select {
		case <-p.app.work.Done():
			return nil, "", context.Cause(p.app.work)
		case m := <-p.pub.Arrived:
			p.look(m)
		case <-look.C:
			p.look(n)
		case <-lost.C:
			select {
			case <-u.done:
			default:
				continue
			}
			if queued, err := p.pub.Queued(p.app.work, n); err == nil && !queued {
				if p.look(n) && p.found[n] == nil {
					return nil, "the server has neither the window nor its verdict", nil
				}
			}
		}
	}
}

// look fetches the verdict on window n if there is one. It reports whether the server answered.
func (p *published) look(n int) bool {
	if n <= p.w.judge.number || p.found[n] != nil { // counted, or about to be
		return true
	}
	r, err := p.pub.Verdict(p.app.work, n)
	if err != nil {
		p.tell(err.Error())
		return false
	}
	if r == nil {
		return true
	}
	p.found[n] = r
	var v windowVerdict
	if r.Failed == "" && json.Unmarshal(r.Verdict, &v) == nil &&
		slices.ContainsFunc(v.Outcomes, func(o results.Outcome) bool { return o.Verdict == verdict.Violated }) {
		p.violated.Add(1)
		if p.w.o.onViolation == "stop" {
			p.w.stop(generator.ErrViolated)
		}
	}
	return true
}

// tell reports something once.
func (p *published) tell(line string) {
	if _, told := p.app.warned.LoadOrStore(line, true); !told {
		fmt.Fprintf(p.app.msg, "isohound: %s\n", line)
	}
}

func (p *published) next(path string) error {
	j := p.w.judge
	n := j.number + 1
	r, why, err := p.await(n)
	if err != nil {
		return err
	}
	if r != nil && why == "" {
		if err := p.count(path, n, r); err != nil {
			why = err.Error()
		} else {
			p.there++
		}
	}
	if why != "" {
		p.tell(fmt.Sprintf("%s is judged here: %s", filepath.Base(path), why))
		if err := j.next(path); err != nil {
			return err
		}
		p.here++
		p.publishState(n)
	}
	p.mu.Lock()
	delete(p.uploads, n)
	p.mu.Unlock()
	p.later(p.ended, func(ctx context.Context) error { return p.pub.Counted(ctx, n) })
	return nil
}

// publishState tells judges what they have to know of window n, which was judged here.
func (p *published) publishState(n int) {
	raw, err := json.Marshal(p.w.judge.state.State())
	if err != nil {
		p.tell(err.Error())
		return
	}
	p.later(p.judged, func(ctx context.Context) error { return p.pub.SetState(ctx, n, raw) })
}

// later does something on the server, and again until it works or ctx ends.
func (p *published) later(ctx context.Context, do func(context.Context) error) {
	p.tasks.Add(1)
	go func() {
		defer p.tasks.Done()
		for do(ctx) != nil && ctx.Err() == nil {
			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
			}
		}
	}()
}

// endTime is how long the end of a run waits for the server.
const endTime = 10 * time.Second

func (p *published) done() {
	p.noJudges()
	settled := make(chan struct{})
	go func() {
		p.tasks.Wait()
		close(settled)
	}()
	select {
	case <-settled:
	case <-time.After(endTime):
	}
	p.end()
	<-p.uploaded
	if err := p.pub.Done(context.Background()); err != nil {
		p.tell(fmt.Sprintf("what the run has left on the server will be removed in some days: %v", err))
	}
	p.conn.Close()
	fmt.Fprintf(p.app.msg, "judged by %s: %s; judged here: %d\n", plural(p.pub.Seen(), "judge"), plural(p.there, "window"), p.here)
}
