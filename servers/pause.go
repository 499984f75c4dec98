package servers

import (
	"context"
	"math/rand"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/pkg/errors"
)

// watcher is a connection that asks a PostgreSQL server for its processes.
type watcher struct {
	mu sync.Mutex
	c  *pgx.Conn
}

// watchTimeout bounds the question for the server's processes.
const watchTimeout = 5 * time.Second

// processes returns the processes of the sessions of the server at dsn, or all but the main one, without that of
// the watcher.
func (w *watcher) processes(dsn string, sessions bool) ([]int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), watchTimeout)
	defer cancel()
	if w.c != nil {
		// The connection may be one to a server that was killed since.
		if pids, err := w.ask(ctx, sessions); err == nil {
			return pids, nil
		}
		w.c.Close(ctx)
	}
	var err error
	if w.c, err = pgx.Connect(ctx, dsn); err != nil {
		return nil, err
	}
	return w.ask(ctx, sessions)
}

func (s *Postgres) processes(sessions bool) ([]int, error) {
	return s.watch.processes(s.DSN(), sessions)
}

func (w *watcher) ask(ctx context.Context, sessions bool) ([]int, error) {
	rows, err := w.c.Query(ctx, "SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND (NOT $1 OR client_addr IS NOT NULL AND backend_type = 'client backend')", sessions)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[int])
}

// Pause stops all processes of the server with SIGSTOP until the returned function is called. With
// backends it stops only the process of one session, drawn at random.
func (s *Postgres) Pause(backends bool) (resume func(), err error) {
	pids, err := s.processes(backends)
	switch {
	case err != nil:
		return nil, err
	case !backends:
		return halt(append([]int{s.cmd.Process.Pid}, pids...))
	case len(pids) == 0:
		return func() {}, nil
	}
	return halt([]int{pids[rand.Intn(len(pids))]})
}

// Pause stops the server with SIGSTOP until the returned function is called. Its sessions are threads,
// which cannot be stopped one by one.
func (s *MariaDB) Pause(backends bool) (resume func(), err error) {
	return s.pause("MariaDB", backends)
}

// Pause is the same for Firebird.
func (s *Firebird) Pause(backends bool) (resume func(), err error) {
	return s.pause("Firebird", backends)
}

// pause stops a server of one process.
func (p *process) pause(title string, backends bool) (resume func(), err error) {
	if backends {
		return nil, errors.Errorf("sessions of %s are threads of one process; pause the whole server instead", title)
	}
	if !p.running() {
		return nil, errors.New("the server does not run")
	}
	return halt([]int{p.cmd.Process.Pid})
}

// running reports whether the server's main process runs.
func (p *process) running() bool {
	if p.done == nil {
		return false
	}
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// halt stops processes. A process that has ended meanwhile is left out.
func halt(pids []int) (resume func(), err error) {
	for _, pid := range pids {
		stopProcess(pid)
	}
	return func() {
		for _, pid := range pids {
			continueProcess(pid)
		}
	}, nil
}
