package faults

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/isohound/isohound/internal/group"
)

// Server is a database server that a script may kill and pause.
type Server interface {
	// Kill ends all its processes at once. Start starts it again on the same data and address.
	Kill()
	Start() error
	// Pause stops its processes until the returned function is called: those of one session,
	// drawn at random, if backends is set, else all.
	Pause(backends bool) (resume func(), err error)
}

// Standby is a Server with a standby, as servers.Standby.
type Standby interface {
	KillStandby()
	StartAgain() error
	PauseStandby() (resume func(), err error)
}

// Disk is a Server with a disk of its own, as servers.Filler.
type Disk interface {
	Fill() (empty func() error, err error)
	Ended() bool
}

// Cluster is a Server of several nodes, of which Kill and Pause hit one.
type Cluster interface {
	// Aim names the node, from 1, that the next Kill or Pause hits. Without it that is the cluster's choice.
	Aim(node int)
}

// Breaker is a Server whose sessions can be stopped at a function, as servers.Postgres, until ctx ends. Break returns how
// often one was.
type Breaker interface {
	Break(ctx context.Context, function string, hold time.Duration) (stops int, err error)
}

// playServer runs one event that is not about connections. Every effect has ended when it returns.
func (s *Set) playServer(ctx context.Context, e *Event, start time.Time) {
	failed := false
	for t := start.Add(e.At); until(ctx, t); t = t.Add(e.Every) {
		var err error
		begun := time.Now()
		switch e.Action {
		case Kill:
			s.serving.Lock() // one kill at a time
			begun = time.Now()
			kill, again, who := s.killed(e)
			kill()
			until(ctx, t.Add(e.For))
			err = again()
			s.serving.Unlock()
			if err == nil {
				s.tell(fmt.Sprintf("%s was killed and started again, %.1f s in all", who, time.Since(begun).Seconds()))
			}
		case Pause:
			if e.Function != "" {
				err = s.stopAt(ctx, e)
				break
			}
			if !s.serving.TryLock() { // there is nothing to pause in a server that was killed
				begun = time.Time{}
				break
			}
			var resume func()
			resume, err = s.pause(e)
			s.serving.Unlock()
			if err == nil {
				until(ctx, time.Now().Add(e.For))
				resume()
			}
		case Fill:
			s.serving.Lock()
			begun = time.Now()
			err = s.fill(ctx, t.Add(e.For))
			s.serving.Unlock()
		case Exec:
			err = s.execute(ctx, e.Command)
		}
		if err == nil && !begun.IsZero() {
			s.windows.add(e, begun)
		}
		if err != nil && !failed {
			failed = true // once for each event
			s.tell(fmt.Sprintf("fault %q failed: %v", e, err))
		}
		if e.Every == 0 {
			return
		}
		for time.Until(t.Add(e.Every)) < 0 { // the effect lasted longer than the time to the next one
			t = t.Add(e.Every)
		}
	}
}

// killed returns what kills and starts the server of a Kill, and its name.
func (s *Set) killed(e *Event) (kill func(), again func() error, who string) {
	if e.Standby {
		standby := s.server.(Standby)
		return standby.KillStandby, standby.StartAgain, "the standby"
	}
	if who = "the server"; s.aim(e) {
		who = fmt.Sprintf("endpoint %d", e.Node)
	}
	return s.server.Kill, s.server.Start, who
}

// aim has the next Kill or Pause of a cluster hit the endpoint that an event names. It returns false if there is no choice.
func (s *Set) aim(e *Event) bool {
	cluster, is := s.server.(Cluster)
	if is && e.Node > 0 {
		cluster.Aim(e.Node)
		return true
	}
	return false
}

// stopAt stops sessions at a function until ctx ends.
func (s *Set) stopAt(ctx context.Context, e *Event) error {
	stops, err := s.server.(Breaker).Break(ctx, e.Function, e.For)
	if err == nil {
		s.tell(fmt.Sprintf("sessions were stopped at %s %d times, for %s each", e.Function, stops, e.For))
	}
	return err
}

func (s *Set) pause(e *Event) (resume func(), err error) {
	switch {
	case e.Standby:
		return s.server.(Standby).PauseStandby()
	case e.Backends && s.session != nil:
		return s.session()
	}
	s.aim(e)
	return s.server.Pause(e.Backends)
}

// fill fills the server's disk until a moment. A server that cannot live with that is started again.
func (s *Set) fill(ctx context.Context, end time.Time) error {
	disk, begun := s.server.(Disk), time.Now()
	empty, err := disk.Fill()
	if err != nil {
		return err
	}
	until(ctx, end)
	if err := empty(); err != nil {
		return err
	}
	text := fmt.Sprintf("the server's disk was full for %.1f s", time.Since(begun).Seconds())
	if disk.Ended() {
		if err := s.server.Start(); err != nil {
			return err
		}
		text += "; the server had ended, and was started again"
	}
	s.tell(text)
	return nil
}

// execute runs a command to its end, or kills it with its process group when ctx ends.
func (s *Set) execute(ctx context.Context, command string) error {
	c := exec.CommandContext(ctx, "sh", "-c", command)
	c.Env = append(os.Environ(), s.env...)
	group.Kill(c)
	c.WaitDelay = time.Second
	out, err := c.CombinedOutput()
	if ctx.Err() != nil {
		return nil // the sessions have ended
	}
	if text := strings.TrimSpace(string(out)); err != nil && text != "" {
		return fmt.Errorf("%w: %s", err, text[max(0, len(text)-300):])
	}
	return err
}
