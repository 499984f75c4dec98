package servers

import (
	"context"
	"fmt"
	"path/filepath"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// Postgres is a private PostgreSQL server.
type Postgres struct {
	*process
	bin  string
	data string
}

// StartPostgres makes a cluster and starts it.
func StartPostgres() (*Postgres, error) {
	initdb, err := find("initdb", "install the package postgresql", "/usr/lib/postgresql/*/bin")
	if err != nil {
		return nil, err
	}
	p, err := newProcess("postgres", "postgres")
	if err != nil {
		return nil, err
	}
	s := &Postgres{process: p, bin: filepath.Dir(initdb), data: filepath.Join(p.dir, "data")}
	if err := p.run(initdb, "-D", s.data, "-A", "trust", "-U", "isohound", "--no-sync", "-E", "UTF8"); err != nil {
		p.remove()
		return nil, err
	}
	if p.port, err = freePort(); err == nil {
		err = s.Start()
	}
	if err != nil {
		p.remove()
		return nil, err
	}
	return s, nil
}

// StartStandby makes a copy of the server and starts it as a hot standby, which
// follows by streaming replication.
func (s *Postgres) StartStandby() (*Postgres, error) {
	p, err := newProcess("standby", "postgres")
	if err != nil {
		return nil, err
	}
	c := &Postgres{process: p, bin: s.bin, data: filepath.Join(p.dir, "data")}
	err = p.run(filepath.Join(s.bin, "pg_basebackup"), "-D", c.data, "-R", "--checkpoint=fast", "--no-sync",
		"-h", "127.0.0.1", "-p", fmt.Sprint(s.port), "-U", "isohound")
	if err == nil {
		p.port, err = freePort()
	}
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		p.remove()
		return nil, err
	}
	return c, nil
}

// Start starts the server again after Kill.
func (s *Postgres) Start() error {
	return s.start(s.ping, filepath.Join(s.bin, "postgres"), "-D", s.data, "-k", s.dir, "-p", fmt.Sprint(s.port),
		"-c", "listen_addresses=127.0.0.1", "-c", "deadlock_timeout=10ms", "-c", "max_connections=200")
}

// DSN is where the server listens.
func (s *Postgres) DSN() string {
	return fmt.Sprintf("postgres://isohound@127.0.0.1:%d/postgres", s.port)
}

func (s *Postgres) ping() error {
	return s.Admin(func(ctx context.Context, c *pgx.Conn) error { return c.Ping(ctx) })
}

// Admin runs f on a connection of its own.
func (s *Postgres) Admin(f func(context.Context, *pgx.Conn) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	c, err := pgx.Connect(ctx, s.DSN())
	if err != nil {
		return err
	}
	defer c.Close(ctx)
	return f(ctx, c)
}

// Kill ends the server at once, as a crash would. Its child processes notice
// and end too.
func (s *Postgres) Kill() { s.signal(syscall.SIGKILL) }

// Stop shuts the server down and removes its folder.
func (s *Postgres) Stop() {
	s.signal(syscall.SIGINT)
	s.remove()
}
