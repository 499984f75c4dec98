package servers

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/pkg/errors"
)

const (
	// attachTimeout bounds the start of a debugger, which reads the symbols of the server first.
	attachTimeout = 30 * time.Second
	// detachTimeout bounds its end.
	detachTimeout = 5 * time.Second
	// sessionsTimeout bounds the time until there is a session.
	sessionsTimeout = 10 * time.Second
	// attachPoll is how often Break looks for new sessions.
	attachPoll = time.Second
)

// Break stops the processes of sessions for a time whenever they reach a function of the server, until ctx ends: an exported
// function, which every build knows by name. It is about half of the sessions, so that the others can act meanwhile, of
// those that begin later too. It returns how often a process was stopped. gdb does the work.
//
// A race whose window is some microseconds long is as wide as the time this way.
func (s *Postgres) Break(ctx context.Context, function string, hold time.Duration) (stops int, err error) {
	if _, err := exec.LookPath("gdb"); err != nil {
		return 0, errors.New("stopping at a function needs gdb, which is not installed (apt-get install gdb)")
	}
	b := &breaks{server: s, function: function, hold: hold, at: map[int]*debugger{}}
	defer b.detach()
	if err := b.first(ctx); err != nil {
		if ctx.Err() != nil {
			err = nil // the end came before the first session
		}
		return 0, err
	}
	for after(ctx, attachPoll) {
		if pids, err := s.processes(true); err == nil { // else the server is away
			b.enough(ctx, pids)
		}
	}
	b.detach()
	return b.marks.count(), nil
}

// after waits, and reports whether ctx has not ended.
func after(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// breaks are the debuggers of one call of Break.
type breaks struct {
	server   *Postgres
	function string
	hold     time.Duration
	marks    marks
	at       map[int]*debugger // by process id
}

// first attaches to the first session, so that an error is known at once.
func (b *breaks) first(ctx context.Context) error {
	deadline := time.Now().Add(sessionsTimeout)
	for {
		pids, err := b.server.processes(true)
		for _, pid := range pids {
			if !b.server.traced.claim(pid) {
				continue
			}
			aerr := b.attach(ctx, pid)
			if aerr == nil || exists(pid) || !time.Now().Before(deadline) {
				return aerr
			}
			delete(b.at, pid) // the session has ended; another one may stay
		}
		switch {
		case !time.Now().After(deadline):
		case err != nil:
			return err
		default:
			return errors.Errorf("no session to stop at %s began within %s", b.function, sessionsTimeout)
		}
		if !after(ctx, attachPoll/10) {
			return ctx.Err()
		}
	}
}

// exists reports whether there is such a process.
func exists(pid int) bool {
	p, err := os.FindProcess(pid)
	return err == nil && p.Signal(syscall.Signal(0)) == nil
}

// enough keeps every second session under a debugger.
func (b *breaks) enough(ctx context.Context, pids []int) {
	attached := 0
	for pid, d := range b.at {
		if d.lives() {
			attached++
		} else {
			delete(b.at, pid)
		}
	}
	for _, pid := range pids {
		if attached >= (len(pids)+1)/2 || ctx.Err() != nil {
			return
		}
		if b.server.traced.claim(pid) && b.attach(ctx, pid) == nil { // else it has one, or the session has ended
			attached++
		}
	}
}

// traced are the processes that have a debugger: they can have only one.
type traced struct {
	mu   sync.Mutex
	pids map[int]bool
}

func (t *traced) claim(pid int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.pids[pid] {
		return false
	}
	if t.pids == nil {
		t.pids = map[int]bool{}
	}
	t.pids[pid] = true
	return true
}

func (t *traced) release(pid int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.pids, pid)
}

// debugger is a gdb that is attached to a process.
type debugger struct {
	cmd  *exec.Cmd
	done chan struct{}
}

func (d *debugger) lives() bool {
	select {
	case <-d.done:
		return false
	default:
		return true
	}
}

// attach starts a debugger for a process that was claimed, and waits until it has its breakpoint.
func (b *breaks) attach(ctx context.Context, pid int) (err error) {
	d := &debugger{done: make(chan struct{})}
	defer func() {
		if d.cmd == nil {
			b.server.traced.release(pid)
		}
	}()
	script, err := os.CreateTemp("", "isohound-gdb-*")
	if err != nil {
		return errors.WithStack(err)
	}
	defer os.Remove(script.Name())
	_, err = fmt.Fprintf(script, "set pagination off\nset confirm off\nset breakpoint pending off\nhandle all nostop noprint pass\nbreak %s\necho %s\ncommands\nsilent\necho %s\nshell sleep %g\ncontinue\nend\ncontinue\n",
		b.function, markReady+`\n`, markStop+`\n`, b.hold.Seconds())
	if cerr := script.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return errors.WithStack(err)
	}
	out := &markWriter{marks: &b.marks, ready: make(chan struct{})}
	cmd := exec.Command("gdb", "-q", "-nx", "-batch", "-p", strconv.Itoa(pid), "-x", script.Name())
	cmd.Env = append(os.Environ(), "DEBUGINFOD_URLS=") // nothing is fetched
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = ownGroup()
	if err := cmd.Start(); err != nil {
		return errors.WithStack(err)
	}
	d.cmd = cmd
	go func() {
		_ = cmd.Wait()
		b.server.traced.release(pid)
		close(d.done)
	}()
	b.at[pid] = d
	select {
	case <-out.ready:
		return nil
	case <-d.done:
		return errors.Errorf("gdb cannot stop processes at %s: %s", b.function, out.why())
	case <-ctx.Done():
		return ctx.Err() // detach ends it
	case <-time.After(attachTimeout):
		return errors.Errorf("gdb is not attached after %s: %s", attachTimeout, out.why())
	}
}

// detach ends the debuggers, and lets the processes go on. A debugger that has to be killed leaves its breakpoint behind: the
// process then ends there, and the server starts again.
func (b *breaks) detach() {
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGKILL} {
		for _, d := range b.at {
			if d.lives() {
				_ = d.cmd.Process.Signal(s)
			}
		}
		limit := time.After(detachTimeout)
		for pid, d := range b.at {
			select {
			case <-d.done:
				delete(b.at, pid)
			case <-limit:
				limit = time.After(0) // the others have had their time, too
			}
		}
	}
}

const (
	markReady = "isohound: attached"
	markStop  = "isohound: stopped"
)

// marks counts the stops that debuggers report.
type marks struct {
	mu    sync.Mutex
	stops int
}

func (m *marks) count() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.stops
}

// markWriter reads what a debugger prints.
type markWriter struct {
	marks *marks
	ready chan struct{}
	rest  []byte
	last  []string // lines that are no marks
}

func (w *markWriter) Write(p []byte) (int, error) {
	w.marks.mu.Lock()
	defer w.marks.mu.Unlock()
	w.rest = append(w.rest, p...)
	for {
		line, rest, whole := bytes.Cut(w.rest, []byte("\n"))
		if !whole {
			return len(p), nil
		}
		w.rest = rest
		switch text := strings.TrimSpace(string(line)); text {
		case markStop:
			w.marks.stops++
		case markReady:
			close(w.ready)
		case "":
		default:
			w.last = append(w.last[max(0, len(w.last)-9):], text)
		}
	}
}

// why is what gdb said last that tells a reason.
func (w *markWriter) why() string {
	w.marks.mu.Lock()
	defer w.marks.mu.Unlock()
	for n := len(w.last) - 1; n >= 0; n-- {
		if strings.Contains(w.last[n], "not permitted") || strings.Contains(w.last[n], "not defined") {
			return w.last[n]
		}
	}
	return strings.Join(w.last, "; ")
}
