package servers

import (
	"context"
	"fmt"
	"os"
	"sync"

	"github.com/pkg/errors"
)

// PostgresFailover is a primary of PostgreSQL with a synchronous standby: a commit waits until it is on the standby's disk.
// When the primary is killed, the standby is promoted at once. It has all commits that clients were told of.
type PostgresFailover struct {
	mu sync.Mutex
	// primary and standby are who they are now; standby is nil while there is none.
	primary, standby *Postgres
	// nodes are both, in the order of their addresses in the DSN.
	nodes [2]*Postgres
	// failed is why the standby was not promoted.
	failed error
}

// StartPostgresFailover starts both. Settings are those of both.
func StartPostgresFailover(opts ...Option) (*PostgresFailover, error) {
	if !canKillAll {
		return nil, errors.New("postgres-failover needs Linux: elsewhere isohound cannot be sure that all processes of a killed primary have ended")
	}
	primary, err := StartPostgres(opts...)
	if err != nil {
		return nil, err
	}
	standby, err := primary.StartStandby(append(opts[:len(opts):len(opts)], Synchronous())...)
	if err != nil {
		primary.Stop()
		return nil, errors.WithMessage(err, "the standby")
	}
	return &PostgresFailover{primary: primary, standby: standby, nodes: [2]*Postgres{primary, standby}}, nil
}

// DSN leads to the one that is the primary.
func (s *PostgresFailover) DSN() string {
	return fmt.Sprintf("postgres://isohound@127.0.0.1:%d,127.0.0.1:%d/postgres?target_session_attrs=read-write", s.nodes[0].port, s.nodes[1].port)
}

// Exact is that of the primary.
func (s *PostgresFailover) Exact() string { return s.nodes[0].Exact() }

// Version is that of both.
func (s *PostgresFailover) Version() string { return s.nodes[0].version }

// Logs returns the logs of both, until Stop removes them.
func (s *PostgresFailover) Logs() string {
	return fmt.Sprintf("== server on port %d\n%s== server on port %d\n%s", s.nodes[0].port, s.nodes[0].Logs(), s.nodes[1].port, s.nodes[1].Logs())
}

// Kill kills the primary with all its processes, and promotes the standby if there is one.
func (s *PostgresFailover) Kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.primary.killAll()
	if s.failed = nil; s.standby == nil {
		return
	}
	if s.failed = s.standby.Promote(); s.failed == nil {
		s.primary, s.standby = s.standby, nil
	}
}

// Start starts again what Kill has killed. If the standby was promoted, the other one becomes its standby, with a copy of its data.
func (s *PostgresFailover) Start() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.primary.running() {
		if err := s.primary.Start(); err != nil {
			return err
		}
	}
	if s.failed != nil {
		return errors.WithMessage(s.failed, "the standby was not promoted")
	}
	if s.standby != nil {
		return nil
	}
	other := s.nodes[0]
	if other == s.primary {
		other = s.nodes[1]
	}
	if err := s.rejoin(other); err != nil {
		return errors.WithMessage(err, "the killed server does not become a standby")
	}
	s.standby = other
	return nil
}

// rejoin makes a server that does not run a standby of the primary.
func (s *PostgresFailover) rejoin(again *Postgres) error {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	if err := os.RemoveAll(again.data); err != nil {
		return errors.WithStack(err)
	}
	if err := s.primary.backup(ctx, again); err != nil {
		return err
	}
	again.waitsFor = nil
	if err := again.begin(ctx); err != nil {
		return err
	}
	return s.follow(ctx, again)
}

// follow waits until commits of the primary wait for a standby, and for no other.
func (s *PostgresFailover) follow(ctx context.Context, standby *Postgres) error {
	s.primary.waitsFor = nil
	return s.primary.waitFor(ctx, standby)
}

// KillStandby kills the standby. Commits of the primary wait until it is back.
func (s *PostgresFailover) KillStandby() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.standby != nil {
		s.standby.killAll()
	}
}

// StartAgain starts the standby after KillStandby.
func (s *PostgresFailover) StartAgain() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.standby == nil || s.standby.running() {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	err := s.standby.begin(ctx)
	if err == nil {
		err = s.follow(ctx, s.standby)
	}
	return errors.WithMessage(err, "the standby")
}

// PauseStandby stops the standby with SIGSTOP until the returned function is called.
func (s *PostgresFailover) PauseStandby() (resume func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.standby == nil {
		return nil, errors.New("there is no standby")
	}
	return s.standby.Pause(false)
}

// Pause stops the primary, or one of its sessions, with SIGSTOP until the returned function is called.
func (s *PostgresFailover) Pause(backends bool) (resume func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.primary.Pause(backends)
}

// Stop ends both and removes their folders.
func (s *PostgresFailover) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.nodes {
		if n != s.primary {
			n.Stop()
		}
	}
	s.primary.Stop()
}
