// Package servers starts private database servers, for tests and for scenarios:
// on loopback, on ports of their own, in folders of their own, stopped by their
// process id and no other.
package servers

import (
	"bytes"
	"fmt"
	"net"
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
	dir  string
	port int
	cmd  *exec.Cmd
	log  *bytes.Buffer
	done chan struct{}
	cred *syscall.SysProcAttr
}

// startTimeout bounds the start of a server. Machines may be busy.
const startTimeout = 60 * time.Second

// newProcess makes a folder that belongs to the user as which the server is to
// run, since some refuse to run as root; "" is whoever runs this.
func newProcess(kind, owner string) (*process, error) {
	dir, err := os.MkdirTemp("", "isohound-"+kind+"-")
	if err != nil {
		return nil, err
	}
	p := &process{dir: dir, cred: &syscall.SysProcAttr{}}
	// The server must not get the signals of the test's terminal.
	p.cred.Setpgid = true
	if os.Geteuid() == 0 && owner != "" {
		u, err := user.Lookup(owner)
		if err != nil {
			return nil, errors.Wrapf(err, "running %s as root needs the user %s", kind, owner)
		}
		uid, _ := strconv.Atoi(u.Uid)
		gid, _ := strconv.Atoi(u.Gid)
		p.cred.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		if err := os.Chown(dir, uid, gid); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// command prepares a program that runs as the server's user.
func (p *process) command(name string, args ...string) *exec.Cmd {
	c := exec.Command(name, args...)
	c.Dir = p.dir
	c.SysProcAttr = p.cred
	// A MariaDB that starts removes temporary tables from its TMPDIR, also those
	// of another one that is being installed.
	c.Env = append(os.Environ(), "HOME="+p.dir, "TMPDIR="+p.dir, "LC_ALL=C")
	return c
}

// run runs a program to its end.
func (p *process) run(name string, args ...string) error {
	out, err := p.command(name, args...).CombinedOutput()
	return errors.Wrapf(err, "%s: %s", filepath.Base(name), bytes.TrimSpace(out))
}

// start starts the server and waits until ready succeeds.
func (p *process) start(ready func() error, name string, args ...string) error {
	p.log = &bytes.Buffer{}
	p.cmd = p.command(name, args...)
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
	if err := p.cmd.Start(); err != nil {
		return err
	}
	done := make(chan struct{})
	p.done = done
	cmd := p.cmd
	go func() {
		_ = cmd.Wait()
		close(done)
	}()
	return p.wait(ready, name)
}

// wait waits until ready succeeds.
func (p *process) wait(ready func() error, name string) error {
	done := p.done
	deadline := time.Now().Add(startTimeout)
	for {
		err := ready()
		if err == nil {
			return nil
		}
		select {
		case <-done:
			return errors.Errorf("%s ended while it started: %s", filepath.Base(name), tail(p.log.String()))
		case <-time.After(50 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			p.signal(syscall.SIGKILL)
			return errors.Wrapf(err, "%s is not ready after %s: %s", filepath.Base(name), startTimeout, tail(p.log.String()))
		}
	}
}

// tail keeps the end of a log, which says what went wrong.
func tail(s string) string { return s[max(0, len(s)-2000):] }

// signal sends a signal and waits for the end of the server.
func (p *process) signal(s syscall.Signal) {
	if p.done == nil {
		return
	}
	_ = p.cmd.Process.Signal(s)
	<-p.done
	p.done = nil
}

// remove deletes the server's folder.
func (p *process) remove() { os.RemoveAll(p.dir) }

// freePort asks the kernel for a port that nobody uses.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// find returns the path of a server program that need not be on PATH.
func find(name, hint string, globs ...string) (string, error) {
	for _, g := range globs {
		// The last match has the highest version.
		if m, _ := filepath.Glob(filepath.Join(g, name)); len(m) > 0 {
			return m[len(m)-1], nil
		}
	}
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	return "", fmt.Errorf("%s is not installed; %s", name, hint)
}
