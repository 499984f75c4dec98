// Package servers starts private database servers, for tests and for scenarios:
// on loopback, on ports of their own, in folders of their own, stopped by their
// process id and no other. Servers are the packages of the distribution; one that
// is missing is an error that names its package.
//
// As root, servers run as the users that their packages made; else as the user.
// On Linux they end when the process that started them does, however it ends;
// their folders are left behind then.
package servers

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/pkg/errors"
)

// process is a server process with its folder.
type process struct {
	dir     string
	port    int
	version string
	cmd     *exec.Cmd
	done    chan struct{} // closed when cmd has ended; nil when nothing runs
	cred    *syscall.SysProcAttr
}

const (
	// startTimeout bounds the start of a server. Machines may be busy.
	startTimeout = 2 * time.Minute
	// stopTimeout bounds a shutdown; a server that takes longer is killed.
	stopTimeout = 30 * time.Second
)

// newProcess makes a folder that belongs to the user as which the server is to
// run, since most refuse to run as root; "" is whoever runs this. The signal
// orphaned ends it when its parent is gone.
func newProcess(kind, owner string, orphaned syscall.Signal) (*process, error) {
	dir, err := os.MkdirTemp("", "isohound-"+kind+"-")
	if err != nil {
		return nil, errors.WithStack(err)
	}
	p := &process{dir: dir, cred: &syscall.SysProcAttr{}}
	// The server must not get the signals of the caller's terminal.
	p.cred.Setpgid = true
	endWithParent(p.cred, orphaned)
	if os.Geteuid() == 0 && owner != "" {
		if err := p.become(owner); err != nil {
			p.remove()
			return nil, err
		}
	}
	return p, nil
}

// become has the server run as a user of its own.
func (p *process) become(owner string) error {
	u, err := user.Lookup(owner)
	if err != nil {
		return errors.Wrapf(err, "as root, the server needs the user %s, which its package makes", owner)
	}
	uid, _ := strconv.Atoi(u.Uid)
	gid, _ := strconv.Atoi(u.Gid)
	p.cred.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return errors.WithStack(os.Chown(p.dir, uid, gid))
}

// command prepares a program that runs as the server's user.
func (p *process) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, name, args...)
	c.Dir = p.dir
	c.SysProcAttr = p.cred
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
	// A MariaDB that starts removes temporary tables from its TMPDIR, also those
	// of another one that is being installed.
	c.Env = append(os.Environ(), "HOME="+p.dir, "TMPDIR="+p.dir, "LC_ALL=C")
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

// launch starts the server. Its process group is its own, and its output goes
// to a file, so that nobody waits for what it leaves running.
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

// await waits until ready succeeds, as long as the server runs.
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
			return errors.Errorf("%s ended while it started; the end of its log:\n%s", name, tail(p.Logs()))
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

// Logs is what the server has written to its log, until Stop removes it.
func (p *process) Logs() string {
	text, err := os.ReadFile(p.logFile())
	if err != nil {
		return ""
	}
	return string(text)
}

// tail keeps the end of a log, which says what went wrong.
func tail(s string) string { return s[max(0, len(s)-2000):] }

// Version is what the server calls its version.
func (p *process) Version() string { return p.version }

// signal sends a signal and waits for the end of the server. A server that
// does not end is killed.
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

// Kill ends the server at once, as a crash would, with the programs that it has
// started. Child processes that form groups of their own, as PostgreSQL's do,
// notice and end too.
func (p *process) Kill() {
	if p.done == nil {
		return
	}
	select {
	case <-p.done: // its id may be another's by now
	default:
		_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
		<-p.done
	}
	p.done = nil
}

// remove deletes the server's folder. Processes that are about to end may still
// put files there.
func (p *process) remove() {
	for deadline := time.Now().Add(stopTimeout); os.RemoveAll(p.dir) != nil && time.Now().Before(deadline); {
		time.Sleep(10 * time.Millisecond)
	}
}

// find returns the path of a server program that need not be on PATH.
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
