// Package servers starts private database servers, for tests, scenarios and runs: on loopback, on
// free ports, in temporary folders. They are stopped by their process id only. The servers come
// from packages of the distribution; the error for a missing server names its package. PostgreSQL
// also comes in exact versions, from npm's registry (package fetch).
//
// For root, servers run as the users that their packages created; otherwise as the current user.
// On Linux they end when the process that started them ends, for whatever reason; their folders
// then remain. A server in a container (docker-NAME=IMAGE) is its daemon's: if the process that started it is
// killed, it is removed when the next one is started.
package servers

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/pkg/errors"
)

// process is a server process with its folder.
type process struct {
	folder
	port    int
	version string
	cmd     *exec.Cmd
	done    chan struct{} // closed when cmd has ended; nil when nothing runs
	cred    *syscall.SysProcAttr
	user    string   // as whom the server runs, if it is another one
	env     []string // besides those of isohound
}

const (
	// startTimeout bounds the start of a server, also on a busy machine.
	startTimeout = 2 * time.Minute
	// stopTimeout bounds a shutdown; a server that takes longer is killed.
	stopTimeout = 30 * time.Second
)

// newProcess makes a folder for a server. The folder belongs to the user as which the server
// will run, since most servers refuse to run as root; "" is the current user. The signal
// orphaned ends the server when its parent has ended. c may be nil.
func newProcess(kind, owner string, orphaned syscall.Signal, c *config) (*process, error) {
	if cannotRun != "" {
		return nil, errors.New(cannotRun)
	}
	f, err := newFolder(kind)
	if err != nil {
		return nil, err
	}
	p := &process{folder: f, cred: ownGroup()}
	endWithParent(p.cred, orphaned)
	if c != nil && c.disk {
		if err := p.ownDisk(); err != nil {
			p.remove()
			return nil, err
		}
	}
	if os.Geteuid() == 0 && owner != "" {
		if err := p.become(owner); err != nil {
			p.remove()
			return nil, err
		}
	}
	return p, nil
}

// become makes the server run as the user owner.
func (p *process) become(owner string) error {
	u, err := user.Lookup(owner)
	if err != nil {
		return errors.Wrapf(err, "as root, the server needs the user %s, which its package makes", owner)
	}
	uid, _ := strconv.Atoi(u.Uid)
	gid, _ := strconv.Atoi(u.Gid)
	p.user = owner
	runAs(p.cred, uid, gid)
	return p.give(p.dir)
}

// give makes a file or folder belong to the server's user.
func (p *process) give(path string) error {
	if uid, gid, other := owner(p.cred); other {
		return errors.WithStack(os.Chown(path, uid, gid))
	}
	return nil
}

// command prepares a program that runs as the server's user.
func (p *process) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, name, args...)
	c.Dir = p.dir
	c.SysProcAttr = p.cred
	c.Cancel = func() error { return killGroup(c.Process) }
	// Variables of etcd count as flags. A starting MariaDB removes temporary tables from its TMPDIR, also those of another
	// MariaDB that is being installed, so each has a folder of its own.
	env := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "ETCD_") })
	c.Env = append(append(env, "HOME="+p.dir, "TMPDIR="+p.dir, "LC_ALL=C"), p.env...)
	return c
}

// run runs a program to its end.
func (p *process) run(ctx context.Context, name string, args ...string) error {
	out, err := p.command(ctx, name, args...).CombinedOutput()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return errors.Wrapf(err, "%s: %s", filepath.Base(name), tail(string(bytes.TrimSpace(out))))
}

// launch starts the server in its own process group. Its output goes to a file, so that nobody
// waits for child processes that hold a pipe.
func (p *process) launch(name string, args ...string) error {
	log, err := os.OpenFile(p.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return errors.WithStack(err)
	}
	defer log.Close()
	p.cmd = p.command(context.Background(), name, args...)
	p.cmd.Stdout, p.cmd.Stderr = log, log
	if err := p.cmd.Start(); err != nil {
		return errors.WithStack(err)
	}
	cmd, done := p.cmd, make(chan struct{})
	p.done = done
	go func() {
		_ = cmd.Wait()
		close(done)
	}()
	return nil
}

// start launches the server and waits until it is ready.
func (p *process) start(ctx context.Context, ready func(context.Context) error, name string, args ...string) error {
	if err := p.launch(name, args...); err != nil {
		return err
	}
	err := p.await(ctx, ready)
	if err != nil {
		p.Kill()
	}
	return err
}

// endedError is the error of a server that ended while it started.
type endedError struct{ error }

func (e *endedError) Unwrap() error { return e.error }

// await waits until ready succeeds, or the server ends, which is an *endedError.
func (p *process) await(ctx context.Context, ready func(context.Context) error) error {
	limit, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	name := filepath.Base(p.cmd.Path)
	for {
		err := ready(limit)
		if err == nil {
			return nil
		}
		select {
		case <-p.done:
			return &endedError{errors.Errorf("%s ended while it started; the end of its log:\n%s", name, tail(p.Logs()))}
		case <-limit.Done():
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return errors.Errorf("%s is not ready after %s: %v; the end of its log:\n%s", name, startTimeout, err, tail(p.Logs()))
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (p *process) logFile() string { return filepath.Join(p.dir, "log") }

// Logs returns the server's log, until Stop removes it.
func (p *process) Logs() string {
	text, err := os.ReadFile(p.logFile())
	if err != nil {
		return ""
	}
	return string(text)
}

// tail returns the end of a log, which has the error.
func tail(s string) string { return s[max(0, len(s)-2000):] }

// Version is the version that the server reports.
func (p *process) Version() string { return p.version }

// signal sends a signal and waits for the server to end. A server that does not end is killed.
func (p *process) signal(s syscall.Signal) {
	if p.done == nil {
		return
	}
	_ = p.cmd.Process.Signal(s)
	select {
	case <-p.done:
		p.done = nil
	case <-time.After(stopTimeout):
		p.Kill()
	}
}

// Kill kills the server, like a crash, with its process group. Child processes in other groups,
// such as PostgreSQL's, notice and end too.
func (p *process) Kill() {
	if p.done == nil {
		return
	}
	select {
	case <-p.done: // its id may have been reused
	default:
		_ = killGroup(p.cmd.Process)
		<-p.done
	}
	p.done = nil
}

// Ended reports whether the server has ended by itself, or was killed.
func (p *process) Ended() bool {
	if p.done == nil {
		return true
	}
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// find returns the path of a server program that may not be in PATH.
func find(name, pkg string, globs ...string) (string, error) {
	for _, g := range globs {
		// The last match has the highest version.
		if m, _ := filepath.Glob(filepath.Join(g, name)); len(m) > 0 {
			return m[len(m)-1], nil
		}
	}
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	return "", fmt.Errorf("%s is not installed; install the package %s", name, pkg)
}
