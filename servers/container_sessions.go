package servers

import (
	"fmt"
	"math/rand"
	"sync"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/servers/docker"
)

// signaller sends signals to single processes of a container, by a shell that runs in it.
type signaller struct {
	mu    sync.Mutex
	shell *docker.Shell // nil until it is needed
}

// send sends a signal to a process, by its number in the container. A process that has ended meanwhile is no error. The
// shell ends with the container, so a new one is tried once.
func (s *signaller) send(id, signal string, pid int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shell != nil {
		if _, err := s.shell.Do(fmt.Sprintf("kill -%s %d", signal, pid)); err == nil {
			return nil
		}
		s.close()
	}
	var err error
	if s.shell, err = docker.Open(id); err != nil {
		s.shell = nil
		return err
	}
	if _, err = s.shell.Do(fmt.Sprintf("kill -%s %d", signal, pid)); err != nil {
		s.close()
	}
	return err
}

func (s *signaller) close() {
	if s.shell != nil {
		s.shell.Close()
		s.shell = nil
	}
}

// end closes the shell.
func (s *signaller) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.close()
}

// pauseSession stops the process of one session, drawn at random, until the returned function is called.
func (s *container) pauseSession() (resume func(), err error) {
	if !s.sessions {
		return nil, errors.New("its sessions are no processes; pause the whole server instead")
	}
	pids, err := s.watch.processes(s.dsn, true)
	if err != nil || len(pids) == 0 {
		return func() {}, err
	}
	pid := pids[rand.Intn(len(pids))]
	if err := s.signals.send(s.id, "STOP", pid); err != nil {
		return nil, err
	}
	return func() { _ = s.signals.send(s.id, "CONT", pid) }, nil
}
