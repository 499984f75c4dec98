package hunt

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/pkg/errors"
)

// Every run is recorded by a process of its own, isohound run --record-only, and judged by another one, isohound
// report. A crash, a lack of memory or a hang of one run does not end the night, the memory of each is given back,
// and whatever the hunt does can be done again by hand with the same words.

// LogFile is what the processes of a run printed, in its folder.
const LogFile = "hunt.log"

// program starts processes of isohound.
type program struct {
	path string
	// lock is held by the processes too, so that a hunt does not begin while one of an earlier hunt lives.
	lock *os.File
}

// exit is how a process ended.
type exit struct {
	code int // -1 if it was killed
	// last is what it printed last, or why it was killed.
	last string
}

// run runs a process whose output goes to the log in folder. When ctx ends it is interrupted, and when the limit is
// reached, too; some time after that it is killed.
func (p *program) run(ctx context.Context, folder string, limit time.Duration, env []string, args ...string) (exit, error) {
	log, err := os.OpenFile(filepath.Join(folder, LogFile), os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o644)
	if err != nil {
		return exit{}, errors.WithStack(err)
	}
	defer log.Close()
	from, err := log.Seek(0, 2)
	if err != nil {
		return exit{}, errors.WithStack(err)
	}
	limited, cancel := context.WithTimeoutCause(ctx, limit, errLimit)
	defer cancel()
	c := exec.CommandContext(limited, p.path, args...)
	c.Stdout, c.Stderr = log, log
	c.Env = append(os.Environ(), env...)
	c.SysProcAttr = apart()
	if p.lock != nil {
		inherit(c, p.lock)
	}
	c.Cancel = func() error { return interrupt(c.Process) }
	c.WaitDelay = lastMoment
	err = c.Run()
	if c.ProcessState == nil {
		return exit{}, errors.Wrap(err, p.path)
	}
	x := exit{code: c.ProcessState.ExitCode(), last: tail(log, from)}
	switch {
	case context.Cause(limited) == errLimit && x.code != 0:
		x.last = fmt.Sprintf("it did not end within %s", limit.Round(time.Second))
	case x.code < 0:
		x.last = "the process ended by " + c.ProcessState.String() + killedBy
	}
	return x, nil
}

const killedBy = "; if nobody killed it, the machine may have run out of memory"

var errLimit = errors.New("the time limit of a process")

// lastMoment is how long an interrupted process may take to end: it drops what it made on the server.
const lastMoment = 40 * time.Second

// tail is the last message in a log after an offset: the last line that begins with isohound:, or the last line.
func tail(log *os.File, from int64) string {
	end, err := log.Seek(0, 2)
	if err != nil {
		return ""
	}
	from = max(from, end-1<<14)
	b := make([]byte, end-from)
	n, _ := log.ReadAt(b, from)
	last, message := "", ""
	for line := range strings.Lines(string(bytes.ToValidUTF8(b[:n], nil))) {
		line = strings.TrimSpace(line)
		if after, is := strings.CutPrefix(line, "isohound: "); is {
			message = after
		}
		if line != "" {
			last = line
		}
	}
	if message == "" {
		message = last
	}
	return message
}

// record records a run.
func (p *program) record(ctx context.Context, c *Cell, s Settings, folder string) (exit, error) {
	var env []string
	if c.secret() {
		env = append(env, "ISOHOUND_DSN="+strings.Join(c.Target.DSN, "\n"))
	}
	args := append(c.arguments(s, false), "--record-only", "--no-progress", "--out", folder)
	return p.run(ctx, folder, recordLimit(c), env, args...)
}

// recordLimit is when a recording counts as hanging.
func recordLimit(c *Cell) time.Duration { return 3*c.Run + 3*time.Minute }

// judge judges a recorded run. It uses half of the cores, because another run is recorded at the same time.
func (p *program) judge(ctx context.Context, check time.Duration, folder string) (exit, error) {
	env := []string{fmt.Sprintf("GOMAXPROCS=%d", max(1, runtime.NumCPU()/2))}
	return p.run(ctx, folder, 10*check+5*time.Minute, env, "report", folder, "--check-timeout", check.String())
}
